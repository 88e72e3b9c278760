"""What earlier runs found out: the SQLite state, its records, the list of our own files."""
