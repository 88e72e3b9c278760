"""What doit.cfg names as its loader: Cartwright's packages, whatever else has their names.

A game may have a `pipeline` folder or an `encoders.py` of its own, and `python -m doit` puts the
game's folder first on the path. So this module, whose name nobody else has, imports the packages
that are installed beside it before anything of the game is imported.
"""

from __future__ import annotations

import importlib
import os
import sys

PACKAGES = ("pipeline", "encoders")
_here = os.path.dirname(os.path.abspath(__file__))


def import_own_packages() -> None:
    """Import Cartwright's packages from beside this file, or end with one sentence."""
    sys.path.insert(0, _here)
    try:
        for name in PACKAGES:
            module = importlib.import_module(name)
            found = os.path.abspath(module.__file__ or "")
            if os.path.dirname(found) != os.path.join(_here, name):
                sys.stderr.write(
                    f"ERROR: {found} was imported as `{name}` before doit began, and hides "
                    f"Cartwright's package of that name; rename it, or keep it off PYTHONPATH\n"
                )
                raise SystemExit(3)
    finally:
        sys.path.remove(_here)


import_own_packages()

from pipeline.doit_plugin.loader import Loader  # noqa: E402 - only now it is surely ours

__all__ = ["Loader"]
