"""The `.untold` file: tables, chunks, writer, reader and validation."""
