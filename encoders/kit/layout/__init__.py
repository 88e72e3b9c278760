"""Binary layouts as tables."""
