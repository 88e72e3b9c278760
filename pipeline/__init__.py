"""The engine: manifests in, exactly what changed out."""
