"""What git knows of the project's folder; nothing, where there is no git or no repository."""

from __future__ import annotations


def find_commit(root: str, name: str) -> str:
    """Return the commit that a name or an abbreviation stands for; "" where there is none."""
    return _git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or ""


def checked_out_commit(root: str) -> str:
    """Return the commit that is checked out; "" where there is none."""
    return find_commit(root, "HEAD")


def clean_commit(root: str) -> str:
    """Return the commit that is checked out; "" where tracked files differ from it."""
    if _git(root, "status", "--porcelain", "--untracked-files=no") != "":
        return ""
    return checked_out_commit(root)


def _git(root: str, *words: str) -> str | None:
    """Return what git says; None where it fails, or there is no git."""
    import subprocess  # a run with nothing to do must not pay for it

    try:
        ran = subprocess.run(
            ["git", "-C", root, *words], capture_output=True, text=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout.strip() if ran.returncode == 0 else None
