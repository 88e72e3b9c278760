"""What ufbx hands out, in a form that is safe to use.

ufbx 0.0.5 hands items of lists out without counting the reference, and an object that is counted
too low is freed while it is in use. One count more makes up for it, and costs nothing in a process
that ends after one file. A second file in the same process can crash it all the same.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


def kept(value: Any) -> Any:
    """Return an object of the library that stays alive."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    return value


def items(found: Any) -> list[Any]:
    """Return the items of one of the library's lists."""
    return [kept(found[number]) for number in range(len(found))]


def numbers(found: Any) -> npt.NDArray[np.int64]:
    """Return a list of whole numbers as an array."""
    return np.array([found[number] for number in range(len(found))], np.int64)


def table(found: Any, dtype: type[np.generic] = np.float64) -> npt.NDArray[Any]:
    """Return a list of vectors as rows; its memory is the library's, so it is copied."""
    return np.array(memoryview(found), dtype) if len(found) else np.zeros((0, 2), dtype)


def vector(value: Any) -> tuple[float, float, float]:
    """Return a vector as numbers."""
    return value.x, value.y, value.z


def quaternion(value: Any) -> tuple[float, float, float, float]:
    """Return a rotation as numbers."""
    return value.x, value.y, value.z, value.w


def matrix(value: Any) -> Doubles:
    """Return an affine matrix (4, 4)."""
    columns = (value.c0, value.c1, value.c2, value.c3)
    found = np.eye(4)
    found[:3] = np.array([vector(column) for column in columns]).T
    return found


def mesh_name(mesh: Any) -> str:
    """Return what people call a mesh: its name, or that of the first node that shows it."""
    shown = items(mesh.instances)
    return str(mesh.name or (shown[0].name if shown else ""))
