"""What several formats use: headers, limits, libraries that read more than one of them."""
