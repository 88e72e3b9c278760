"""The side that faces doit: loader, commands, reporter. No other module knows doit."""
