"""How an extra of this project is installed, as messages say it."""

from __future__ import annotations


def install_command(*extras: str) -> str:
    """Return the command that installs these extras, quoted because zsh expands brackets."""
    return f'pip install "cartwright-build[{",".join(extras)}]"'
