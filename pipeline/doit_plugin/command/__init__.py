"""The commands, one file each: new ones are entry points, replacements of doit's in doit.cfg."""
