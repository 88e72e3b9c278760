"""What the user asks of a picture.

Imported while the command line is parsed, so it must not import numpy.
"""

from __future__ import annotations

from dataclasses import dataclass

from encoders.kit.error import EncodeError


@dataclass(frozen=True)
class ViewRequest:
    """What the user asks of a picture; None leaves the choice to the renderer."""

    camera: str | None = None
    eye: tuple[float, float, float] | None = None
    at: tuple[float, float, float] | None = None
    size: tuple[int, int] | None = None
    frame: int | None = None


def check_frame(request: ViewRequest, count: int) -> None:
    """Refuse a frame number that the file does not have."""
    if request.frame is None or 0 <= request.frame < count:
        return
    if not count:
        raise EncodeError("it has no frames", {"frame": request.frame}, "Leave out `--frame`.")
    facts = {"frame": request.frame, "frames": f"0 to {count - 1}"}
    raise EncodeError("there is no such frame", facts)
