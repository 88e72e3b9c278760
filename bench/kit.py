"""Measure the kit beside its peers: every `kit_<topic>.py` of this folder, one table each.

Run `python bench/kit.py`, or one topic alone. Peers that are not installed are left out.
"""

from __future__ import annotations

from suite import run_suite

if __name__ == "__main__":
    run_suite("kit")
