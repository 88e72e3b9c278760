"""Pictures and GLBs of built files: neutral values that readers decode to, drawn in one place."""
