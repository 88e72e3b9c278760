"""Sounds: resampling, SPU-ADPCM."""
