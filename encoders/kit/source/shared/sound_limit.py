"""How long a sound may be, and at which rates and in how many channels.

Only the standard library is imported, because surveys check it too.
"""

from __future__ import annotations

from encoders.kit.error import EncodeError

# Lower rates than any recording has would make a small file grow a thousandfold when resampled.
MIN_RATE, MAX_RATE = 1_000, 384_000
# Longer than any console holds.
MAX_SECONDS = 600
MAX_CHANNELS = 64


def check_length(frames: int, rate: int, form: str, name: str) -> None:
    """Refuse a sound of more than MAX_SECONDS."""
    if frames > MAX_SECONDS * rate:
        raise EncodeError(
            f"the {form} is too long",
            {"file": name, "seconds": frames // rate, "allowed": MAX_SECONDS},
        )


def check_channels(channels: int, rate: int, form: str, name: str) -> None:
    """Refuse a sound without channels, with too many, or with an absurd rate."""
    if not 1 <= channels <= MAX_CHANNELS:
        raise EncodeError(
            f"the {form} has too many channels" if channels else f"the {form} has no channels",
            {"file": name, "channels": channels, "allowed": f"1 to {MAX_CHANNELS}"},
            "Mix it down to mono or stereo.",
        )
    if not MIN_RATE <= rate <= MAX_RATE:
        raise EncodeError(
            f"the {form} has a sample rate that is not supported",
            {"file": name, "rate": rate, "allowed": f"{MIN_RATE} to {MAX_RATE}"},
        )
