"""The objects of a scene: imported geometry, materials and their textures."""
