"""Check that a tag, the version in pyproject.toml and the newest entry of CHANGELOG.md agree.

Run `python tools/check_release.py v0.2.0` before the tag is pushed; the release job runs it too.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def find_problems(tag: str, project: str, changelog: str) -> list[str]:
    """Return what keeps a tag from being released."""
    version = tomllib.loads(project)["project"]["version"]
    headings = re.findall(r"^## (.+)$", changelog, re.MULTILINE)
    problems = []
    if tag != f"v{version}":
        problems.append(f"the tag is {tag}, and pyproject.toml has version {version}")
    if not headings or not headings[0].startswith(version):
        newest = headings[0] if headings else "nothing"
        problems.append(f"the newest heading of CHANGELOG.md is {newest}, not {version}")
    return problems


def main() -> None:
    """Exit with what is wrong, if anything is."""
    texts = [(ROOT / name).read_text("utf-8") for name in ("pyproject.toml", "CHANGELOG.md")]
    problems = find_problems(sys.argv[1], *texts)
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
