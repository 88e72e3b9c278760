"""What an image's header says, in the same shape for every format, and the orientation applied.

It needs the standard library only, because surveys use it where nothing heavy may be imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.image_limit import check_image_size
from encoders.kit.source.shared.tag_directory import UPRIGHT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# From this orientation on, rows of the file are columns of the picture.
_FIRST_TURNED = 5


class ImageHeader(NamedTuple):
    """Width and height as they are stored, whether pixels can be transparent, and the orientation.

    `orientation` is EXIF's number, 1 to 8. `warning` says what of the file is not read.
    """

    width: int
    height: int
    has_alpha: bool
    orientation: int = UPRIGHT
    warning: str = ""


def checked_header(header: ImageHeader, form: str, data: bytes, name: str) -> ImageHeader:
    """Return the header; refuse a picture without an area or over the size limit."""
    if header.width <= 0 or header.height <= 0:
        facts = {"file": name, "size": f"{header.width} x {header.height}"}
        raise EncodeError(f"the {form} has no area", facts)
    check_image_size(header.width, header.height, name, len(data))
    return header


def damaged_header(form: str, name: str, data: bytes, reason: object = None) -> EncodeError:
    """Return the error for a header that is cut short or contradicts itself."""
    facts = {"file": name, "bytes": len(data)} | ({"reason": reason} if reason else {})
    return EncodeError(f"the {form}'s header is damaged", facts, "Export the image again.")


def survey_header(form: str, header: ImageHeader) -> dict[str, Any]:
    """Return `format`, `width`, `height` and `has_alpha`, the size as the picture is shown."""
    shown = shown_header(header)
    return {"format": form.lower(), "width": shown.width, "height": shown.height} | {
        "has_alpha": header.has_alpha
    }


def shown_header(header: ImageHeader) -> ImageHeader:
    """Return the header of the picture as it is shown, upright."""
    width, height = header.width, header.height
    if header.orientation >= _FIRST_TURNED:
        width, height = height, width
    return header._replace(width=width, height=height, orientation=UPRIGHT)


def apply_orientation(image: npt.NDArray[np.uint8], orientation: int) -> npt.NDArray[np.uint8]:
    """Return a stored picture the way it is to be shown."""
    if orientation == UPRIGHT:
        return image
    # Orientations 5 to 8 are 1, 4, 2 and 3 of the picture with rows and columns exchanged.
    turned = image.swapaxes(0, 1) if orientation >= _FIRST_TURNED else image
    flips_rows, flips_columns = {
        2: (False, True),
        3: (True, True),
        4: (True, False),
        5: (False, False),
        6: (False, True),
        7: (True, True),
        8: (True, False),
    }[orientation]
    rows = slice(None, None, -1 if flips_rows else 1)
    columns = slice(None, None, -1 if flips_columns else 1)
    # The writers of textures want memory in the order of the rows.
    return turned[rows, columns].copy()
