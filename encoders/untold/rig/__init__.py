"""Rigs of models: joints, what follows them, and clips that move them."""
