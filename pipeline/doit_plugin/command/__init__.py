"""The commands, a file each: those of our own are entry points, those of doit stand in doit.cfg."""
