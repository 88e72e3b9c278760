"""Builds on a Dask cluster: job descriptions and digests travel through Dask, bytes do not."""
