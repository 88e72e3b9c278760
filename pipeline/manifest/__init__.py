"""What the user wrote: manifests, their mistakes, globs and assets."""
