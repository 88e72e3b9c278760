"""Meshes: welding, simplification, patches, strips, normals and tangents."""
