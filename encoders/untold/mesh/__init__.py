"""The meshes of tiles: components, attributes, splitting and simplifying."""
