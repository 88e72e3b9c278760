"""The folder of this user in which programs keep what they can make again."""

from __future__ import annotations

import os
import sys
from stat import S_IWGRP, S_IWOTH

WRITABLE_BY_OTHERS = S_IWGRP | S_IWOTH


def machine_folder() -> str | None:
    """Return Cartwright's folder for this user and machine, or None where there is none.

    A folder that belongs to somebody else, or that others may write to, is not used: what lies
    there is believed, and run.
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
        facts = os.lstat(folder)
        return not hasattr(os, "getuid") or (
            facts.st_uid == os.getuid() and not facts.st_mode & WRITABLE_BY_OTHERS
        )
    except OSError:
        return False
