"""The JSON of a glTF: typed values, extensions, references; no bulk data."""
