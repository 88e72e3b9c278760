"""The sound node: a sound file as the plain samples that a ROM holds, and as `.ewzsnd`.

Where the manifest wants no loose files nothing is compressed, since only they hold QOA.
"""

from __future__ import annotations

from encoders.emberware.format.sound import RATE, pack_sound
from encoders.kit.audio.sound import convert_rate, describe_clipped, mix_to_mono, quantise_pcm16
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.sound import open_sound
from encoders.kit.warning import grouped


def encode_sound(inputs: Inputs, params: Params) -> Outputs:
    """Encode a sound; samples that are already 16-bit mono at 22,050 Hz are kept exactly."""
    warnings: list[str] = []
    sound = open_sound(inputs["sound"], str(params["source"]), warnings.append)
    channels = sound.samples.shape[1]
    if channels > 1:
        what = "stereo was" if channels == 2 else f"{channels} channels were"
        warnings.append(grouped("sound", f"{what} mixed to one channel"))
    if sound.rate != RATE:
        warnings.append(grouped("sound", f"resampled from {sound.rate} to {RATE} Hz"))
    pcm = quantise_pcm16(convert_rate(mix_to_mono(sound), RATE))
    if pcm.clipped:
        warnings.append(grouped("sound", describe_clipped(pcm.clipped)))
    samples = pcm.samples[:, 0]
    outputs = {
        "samples": samples.astype("<i2").tobytes(),
        WARNINGS: "\n".join(warnings).encode(),
    }
    if params.get("loose_file", True):
        outputs["file"] = pack_sound(samples, best=params["quality"] == "best")
    return outputs
