"""Worker processes: the pool, the worker's loop, calls in a process of their own."""
