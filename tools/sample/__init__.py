"""The sample game's sources, made from numbers alone: the same bytes in every run."""
