"""What doit.cfg names as its loader: Cartwright's packages, whatever else has their names.

A game may have a `pipeline` folder or an `encoders.py` of its own, and `python -m doit` puts the
game's folder first on the path. So this module, whose name nobody else has, imports the packages
that are installed beside it before anything of the game is imported. From then on, modules of the
standard library are not looked for in the game's folder either: it may have a `random.py`.
"""

from __future__ import annotations

import importlib
import os
import sys

PACKAGES = ("pipeline", "encoders")
_here = os.path.dirname(os.path.abspath(__file__))


def refuse_hidden_modules() -> None:
    """End with one sentence if a module of the game hides one of Python."""
    game = os.getcwd()
    hidden = [
        name
        for name, module in sorted(sys.modules.items())
        if name in sys.stdlib_module_names
        and os.path.dirname(os.path.abspath(getattr(module, "__file__", None) or "/")) == game
    ]
    if hidden:
        sys.stderr.write(
            f"ERROR: {sys.modules[hidden[0]].__file__} hides Python's own module `{hidden[0]}`; "
            "rename it, or run `doit` instead of `python -m doit`\n"
        )
        raise SystemExit(3)


def refuse_empty_words() -> None:
    """End with one sentence if a word of the command line is empty, which doit cannot read.

    A variable that is not set leaves one, as in `doit --json "$RESULT"`.
    """
    program = os.path.splitext(sys.argv[0])[0].replace(os.sep, "/")
    is_doit = program.endswith(("/doit", "/doit/__main__"))  # `cartwright` has looked already
    if is_doit and "" in sys.argv[1:]:
        before = sys.argv[sys.argv.index("", 1) - 1]
        where = f" after {before}" if before != sys.argv[0] else ""
        sys.stderr.write(
            f"ERROR: a word of the command line is empty{where}; is a variable not set?\n"
        )
        raise SystemExit(3)


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


refuse_empty_words()
refuse_hidden_modules()
import_own_packages()

from pipeline.process.standard_library import StandardLibraryFinder  # noqa: E402 - surely ours now

sys.meta_path.insert(0, StandardLibraryFinder(os.getcwd()))

from pipeline.doit_plugin.loader import Loader  # noqa: E402 - and Python's modules surely Python's

__all__ = ["Loader"]
