"""What can be seen of a built file: its view, decoded with the files that lie beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from encoders.kit.error import EncodeError
from encoders.kit.plan import Reader, Siblings
from pipeline.content.code import load_function
from pipeline.disk.file import leads_out, read_if_there

if TYPE_CHECKING:
    from encoders.kit.view.scene import View


def siblings_of(path: str) -> Siblings:
    """Return a function that reads files in the folder of a file, and no others."""
    folder = os.path.realpath(os.path.dirname(path) or ".")

    def read(name: str) -> bytes | None:
        # The name comes from the file that is inspected, and may be anything.
        place = os.path.join(folder, name)
        try:
            return None if leads_out(place, folder) else read_if_there(place)
        except (OSError, ValueError):  # a damaged file may name what no file can be called
            return None

    return read


def load_view(reader: Reader, data: bytes, path: str, option: str = "render") -> View:
    """Decode what can be seen of a file, or refuse a kind of file with nothing to see."""
    if not reader.view:
        raise EncodeError(f"this kind of file has no --{option}", {"file": path})
    view: View = load_function(reader.view)(data, path, siblings_of(path))
    return view
