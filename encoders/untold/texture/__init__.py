"""Textures as the engine stores them: ASTC blocks, levels, the container."""
