"""Version 20 of the format, which today's runtime loads: three files for a scene."""
