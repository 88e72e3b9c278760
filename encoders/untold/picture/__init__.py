"""What can be seen of the engine's files, for pictures and GLBs."""
