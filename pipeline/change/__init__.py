"""What is out of date, and why."""
