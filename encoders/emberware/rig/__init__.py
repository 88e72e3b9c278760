"""Joints: which file's joints a model uses, how vertices hang on them."""
