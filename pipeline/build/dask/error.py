"""The one way in which a cluster ends a build before it is done."""


class ClusterError(Exception):
    """The cluster cannot do the work that is left; what was finished is kept."""
