"""VRAM: sizes of textures, where they are placed, and a picture of it."""
