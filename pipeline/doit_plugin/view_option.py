"""The options of `doit inspect` that say how a picture is taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doit.exceptions import InvalidCommand

from encoders.kit.view.request import ViewRequest

# The longest side of a picture; more would take memory without showing more.
SIDE_LIMIT = 8192
# Sums and products of places still have to be numbers.
PLACE_LIMIT = 1e300
CAMERAS = ("front", "back", "left", "right", "top", "iso", "start")
HELP = {
    "camera": "from where to draw: front, back, left, right, top or iso; for a splashpack also "
    "start, where the console's camera starts",
    "eye": "where the camera stands: x,y,z in the units of the file, y up",
    "at": "what the camera looks at: x,y,z; the middle, if not given",
    "size": "width and height of the picture, as 640x480",
    "frame": "which frame of a clip to draw; a strip of frames, if not given",
}
opt_view = tuple(
    {"name": name, "long": name, "type": str, "default": "", "help": text}
    for name, text in HELP.items()
)


def parse_request(options: Mapping[str, Any]) -> ViewRequest:
    """Return what the options ask for, or refuse what makes no sense."""
    given = [name for name in HELP if options[name]]
    if given and not options["render"]:
        raise InvalidCommand(f"inspect: --{given[0]} goes with --render")
    if options["camera"] and options["eye"]:
        raise InvalidCommand("inspect: give --camera or --eye, not both")
    if options["camera"] and options["camera"] not in CAMERAS:
        known = ", ".join(CAMERAS)
        raise InvalidCommand(f"inspect: --camera is one of {known}, not {options['camera']}")
    return ViewRequest(
        camera=options["camera"] or None,
        eye=_place("eye", options["eye"]),
        at=_place("at", options["at"]),
        size=_size(options["size"]),
        frame=_frame(options["frame"]),
    )


def _place(option: str, text: str) -> tuple[float, float, float] | None:
    if not text:
        return None
    try:
        x, y, z = (float(one) for one in text.split(","))
    except ValueError:
        raise InvalidCommand(f"inspect: --{option} is x,y,z, not {text}") from None
    if not all(abs(one) <= PLACE_LIMIT for one in (x, y, z)):  # which nan is not
        raise InvalidCommand(f"inspect: --{option} is x,y,z, not {text}")
    return x, y, z


def _size(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    width, _, height = text.lower().partition("x")
    sides = [int(one) if one.isascii() and one.isdigit() else 0 for one in (width, height)]
    if not all(1 <= side <= SIDE_LIMIT for side in sides):
        raise InvalidCommand(
            f"inspect: --size is a width and a height up to {SIDE_LIMIT}, as 640x480, not {text}"
        )
    return sides[0], sides[1]


def _frame(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise InvalidCommand(f"inspect: --frame is a number from 0, not {text}")
    return int(text)
