"""The folder of this user in which programs keep what they can make again."""

from __future__ import annotations

import os
import sys


def machine_folder() -> str | None:
    """Return Cartwright's folder for this user and machine, or None where there is none.

    A folder that belongs to somebody else is not used: what lies there is believed, and run.
    """
    given = {"win32": "LOCALAPPDATA"}.get(sys.platform, "XDG_CACHE_HOME")
    usual = {"win32": "~/AppData/Local", "darwin": "~/Library/Caches"}.get(sys.platform, "~/.cache")
    base = os.path.expanduser(os.environ.get(given) or usual)
    if not os.path.isabs(base):  # without a home `~` stays as it is
        return None
    folder = f"{base}/cartwright"
    return folder if _is_ours(folder) else None


def _is_ours(folder: str) -> bool:
    """Make the folder where it is missing; tell whether it belongs to this user."""
    try:
        if not os.path.isdir(folder):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        return not hasattr(os, "getuid") or os.stat(folder).st_uid == os.getuid()
    except OSError:
        return False
