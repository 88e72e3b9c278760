"""Node encoder of a sound: a sound file as SPU-ADPCM, for the `.spu` of a scene."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from encoders.kit.audio.adpcm import BLOCK_SAMPLES, decode_adpcm, encode_adpcm
from encoders.kit.audio.loop import fit_loop
from encoders.kit.audio.sound import (
    Sound,
    convert_rate,
    describe_clipped,
    mix_to_mono,
    quantise_pcm16,
)
from encoders.kit.error import EncodeError
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.sound import open_sound
from encoders.kit.warning import grouped
from encoders.splashpack.intermediate import encode_json
from encoders.splashpack.v20.spu_file import finish_clip

# What the sound processor mixes at; a faster sound takes memory and is heard no better.
SPU_RATE = 44_100


def encode_sound(inputs: Inputs, params: Params) -> Outputs:
    """Encode a sound as `clip`, and its rate, loop and loss as `about`."""
    source, loop = str(params["source"]), bool(params["loop"])
    if "sound" not in inputs:
        hint = "Mend `source` in [[sound]], or add the file."
        raise EncodeError("the sound is missing", {"file": source}, hint)
    sound = open_sound(inputs["sound"], source)
    if not len(sound.samples):
        raise EncodeError("the sound has no samples", {"file": source})
    warnings: list[str] = []
    pcm, rate = _prepare(sound, params["rate"], loop, warnings)
    blocks = encode_adpcm(pcm, is_restart=loop)
    clip = finish_clip(blocks, rate, loop=loop)
    decoded = decode_adpcm(blocks.tobytes())[: len(pcm)]
    about = {"rate": rate, "loop": loop, "samples": len(pcm), **_energies(pcm, decoded)}
    return {
        "clip": clip.data,
        "about": encode_json(about),
        WARNINGS: "\n".join(warnings).encode(),
    }


def _prepare(
    sound: Sound, rate: object, loop: bool, warnings: list[str]
) -> tuple[NDArray[np.int16], int]:
    """Return 16-bit samples of one channel and their rate, and add what is lost to `warnings`."""
    if sound.samples.shape[1] > 1:
        warnings.append(grouped("sound", "stereo was mixed to one channel"))
    wanted = min(sound.rate, SPU_RATE) if rate is None else int(str(rate))
    if rate is None and wanted != sound.rate:
        warnings.append(grouped("sound", f"resampled from {sound.rate} to {wanted} Hz"))
    mono = mix_to_mono(sound)
    # A loop that ends inside of a block would be continued by silence.
    fitted = fit_loop(mono, wanted, BLOCK_SAMPLES) if loop else convert_rate(mono, wanted)
    pcm = quantise_pcm16(fitted)
    if pcm.clipped:
        warnings.append(grouped("sound", describe_clipped(pcm.clipped)))
    return pcm.samples[:, 0], fitted.rate


def _energies(pcm: NDArray[np.int16], decoded: NDArray[np.int16]) -> dict[str, int]:
    """Return the sums of squares of the sound and of its encoding's errors, exactly."""
    whole, off = pcm.astype(np.int64), pcm.astype(np.int64) - decoded
    return {"signal": int((whole * whole).sum()), "noise": int((off * off).sum())}
