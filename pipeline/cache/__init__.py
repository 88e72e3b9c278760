"""Results by fingerprint, bytes by digest; on this machine and shared between machines."""
