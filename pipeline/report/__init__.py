"""What a build found out, for people and for machines."""
