"""What planning knows of a scene: sources, the grid of tiles, distances, textures."""
