"""Files and folders: whole files or none, folder listings with stamps, the project's lock."""
