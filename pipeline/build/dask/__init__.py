"""Nodes on the workers of a Dask cluster: descriptors and digests travel, bytes do not."""
