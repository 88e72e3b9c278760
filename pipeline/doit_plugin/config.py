"""What a project's dodo.py imports from Cartwright.

The tasks come from the loader that doit.cfg names. Without doit.cfg, doit calls this instead, so
that a missing file is an error and not an empty build.
"""

from __future__ import annotations

import os
from typing import NoReturn

from doit.exceptions import InvalidDodoFile


def task_cartwright() -> NoReturn:
    """Raise an error that says why the content build is not loaded.

    doit calls this only without doit.cfg.
    """
    # doit reads doit.cfg where it is started, and goes to the folder of dodo.py only after that.
    root = os.getcwd()
    if os.path.isfile("doit.cfg"):
        raise InvalidDodoFile(
            f"doit was started outside of the project's root, where it does not see doit.cfg: "
            f"change to {root} and run it there"
        )
    raise InvalidDodoFile(
        "doit.cfg is missing: copy Cartwright's doit.cfg to the project's root, beside dodo.py"
    )
