"""Meshes of a glTF in the scene: attributes, morphs, skins, transforms."""
