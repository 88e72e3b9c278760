"""Pictures: pixel formats, block compression, palettes, mip chains."""
