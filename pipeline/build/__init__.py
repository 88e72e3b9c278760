"""A run: jobs, executors, placing files."""
