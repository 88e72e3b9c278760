"""Native kernels, each beside a Python reference that gives the same bytes."""
