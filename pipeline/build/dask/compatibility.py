"""Whether a worker produces the same bytes as the driver: same Cartwright, code and libraries.

Both ends must read messages in the same way. The version of Cartwright includes a digest of the
modules that decide this, because a version number alone does not change during development.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from pipeline.content.kernel import KERNELS

# The modules that decide what a message means and what a result contains. Extend the list when
# one of them hands such a decision to another module.
MODULES = (
    "build/dask/input_bundle.py",
    "build/dask/message.py",
    "build/dask/worker.py",
    "change/fingerprint.py",
    "cache/receipt.py",
    "cache/shared/action_result.py",
    "build/job.py",
    "build/work.py",
    "output.py",
    "state/serial.py",
)
SHORT = 8  # hexadecimal digits, enough to see that two digests differ


@cache
def own_version() -> str:
    """Return the version of this Cartwright, with a digest of `MODULES`."""
    digest = hashlib.sha256()
    # As resources, not by path: Cartwright may be installed from a wheel or from a checkout.
    for name in MODULES:
        digest.update(files("pipeline").joinpath(name).read_bytes())
    return f"{version('cartwright-build')} ({digest.hexdigest()[:SHORT]})"


def differences(driver: Mapping[str, str], worker: Mapping[str, str]) -> list[str]:
    """Describe each difference between the driver's code and libraries and a worker's."""
    return [
        f"{name}: {_shown(name, worker.get(name))} there, {_shown(name, driver.get(name))} here"
        for name in sorted({*driver, *worker})
        if driver.get(name) != worker.get(name)
    ]


def _shown(name: str, value: str | None) -> str:
    if value is None:
        return "absent"
    is_code = name == KERNELS or name.partition(".")[0] == "encoders"
    return f"code {value[:SHORT]}" if is_code else value
