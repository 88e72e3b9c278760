"""A copy of this repository's packages, whose native kernels a test may change."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.content.kernel import source_digest
from tests.pipeline.game import ROOT

NATIVE = "encoders/kit/native"
# What has the name of a kernel, and does not have to be built.
EXTENSION = "def bc1_encode(*arguments):\n    raise AssertionError\n"


class Checkout:
    """The packages in a folder of their own, without an extension."""

    def __init__(self, root: Path) -> None:
        self.root = root
        leave = shutil.ignore_patterns("__pycache__", "_native*")
        for name in ("pipeline", "encoders"):
            shutil.copytree(ROOT / name, root / name, ignore=leave)
        shutil.copy(ROOT / "cartwright_doit.py", root)

    @property
    def native(self) -> Path:
        return self.root / NATIVE

    @property
    def extension(self) -> Path:
        return self.root / "encoders/kit/_native.py"

    @property
    def digest(self) -> str:
        return source_digest(str(self.native))

    def change(self, name: str = "bc1.c") -> None:
        """Change a C source in a way that changes no behaviour."""
        with (self.native / name).open("a") as file:
            file.write("/* changed */\n")

    def build(self, digest: str | None) -> None:
        """Put an extension in place that was built from sources of this digest, or says nothing."""
        said = "" if digest is None else f'SOURCE_DIGEST = "{digest}"\n'
        self.extension.write_text(said + EXTENSION)
