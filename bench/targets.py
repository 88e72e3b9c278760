"""Measure the targets: every `targets_<name>.py` of this folder, one table each.

Run `python bench/targets.py`, or one target alone.
"""

from __future__ import annotations

from suite import run_suite

if __name__ == "__main__":
    run_suite("targets")
