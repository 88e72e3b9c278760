"""The files of the console: tables, writer and reader of each."""
