"""Sounds: resampling."""
