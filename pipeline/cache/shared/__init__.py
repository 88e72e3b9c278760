"""A cache that machines share, over Bazel's HTTP protocol; imported only where one is set."""
