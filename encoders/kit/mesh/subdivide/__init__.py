"""Subdivision surfaces: control nets, and what is refined with them."""
