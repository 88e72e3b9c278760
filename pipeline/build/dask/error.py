"""The error that ends a build on a cluster; it can be imported where Dask is not installed."""


class ClusterError(Exception):
    """The cluster cannot do the jobs that are left; finished jobs are kept."""
