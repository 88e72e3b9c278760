"""The `cartwright` command: what `doit` does, from any folder of the project, and a start."""
