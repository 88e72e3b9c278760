"""Content by digest: sources, encoder code, libraries."""
