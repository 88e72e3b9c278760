"""What the header of a compressed sound says, checked, in the shape that surveys have.

Only the standard library is imported, because surveys use it.
"""

from __future__ import annotations

import posixpath

from encoders.kit.error import EncodeError
from encoders.kit.source.shared.sound_limit import check_channels, check_length
from encoders.kit.source.signature import describe_beginning


def sound_survey(form: str, name: str, rate: int, channels: int, frames: int) -> dict[str, object]:
    """Return `rate` and `channels`, and `frames` where the header knows them (0: it does not)."""
    check_channels(channels, rate, form, name)
    check_length(frames, rate, form, name)
    found: dict[str, object] = {"rate": rate, "channels": channels}
    return found | {"frames": frames} if frames else found


def no_sound(form: str, name: str, data: bytes) -> EncodeError:
    """Return the error for a file that is not of the format that its name says."""
    problem = f"{posixpath.basename(name)} is not {form}: {describe_beginning(data)}"
    return EncodeError(problem, {"file": name}, "Export the sound again.")


def skip_tag(data: bytes) -> int:
    """Return where a file begins behind an ID3 tag, whose size has 7 bits in each byte."""
    if data[:3] != b"ID3" or len(data) < 10:
        return 0
    size = 0
    for byte in data[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size
