"""The doit plug-in: loader, runner, reporter and commands. No other room imports doit."""
