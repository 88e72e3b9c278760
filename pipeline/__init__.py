"""The build engine: it reads manifests and builds the nodes that are out of date."""
