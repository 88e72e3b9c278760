"""Fewer triangles with the least error."""
