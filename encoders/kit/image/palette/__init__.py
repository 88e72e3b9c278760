"""Pictures of few colours: choosing palettes, dithering, shared codebooks."""
