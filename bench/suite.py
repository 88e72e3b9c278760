"""Running benchmarks that belong together, each in a process of its own: none warms another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run_suite(name: str) -> None:
    """Run every `<name>_<topic>.py` beside this file; stop at the first that fails."""
    for path in sorted(HERE.glob(f"{name}_*.py")):
        print(f"\n== {path.stem}", flush=True)
        subprocess.run([sys.executable, str(path)], cwd=HERE.parent, check=True)
