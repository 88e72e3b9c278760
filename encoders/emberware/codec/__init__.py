"""How the console stores numbers, samples, pixels and serialised values; no file formats."""
