"""The tracker node: a module as the patterns and the sounds that a ROM holds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from encoders.emberware.format.ncit import pack_ncit
from encoders.emberware.format.ncxm import pack_ncxm
from encoders.emberware.music import Music, console_samples, it_music, sound_id, xm_music
from encoders.kit.audio.sound import describe_clipped
from encoders.kit.plan import WARNINGS, Inputs, Outputs, Params
from encoders.kit.source.tracker import open_tracker
from encoders.kit.source.xm.module import XmModule
from encoders.kit.warning import grouped

XM, IT = 0, 1


def encode_tracker(inputs: Inputs, params: Params) -> Outputs:
    """Encode a module: `patterns`, `sounds` one after another, and `info` on both as JSON."""
    name, tracker = str(params["source"]), str(params["id"])
    module = open_tracker(inputs["tracker"], name)
    if isinstance(module, XmModule):
        music, chosen = xm_music(module)
        pairs = zip(module.instruments, chosen, strict=True)
        samples = [None if which is None else one.samples[which] for one, which in pairs]
        form, patterns = XM, pack_ncxm(module, samples)
    else:
        music, form, patterns = it_music(module), IT, pack_ncit(module, name)
    if params["sound_ids"] == "number":
        music = _without_names(music)
    sounds, told = _sounds(music, tracker, name)
    info = {
        "format": form,
        "has_patterns": params["patterns"],
        "sounds": told,
        "instruments": _instruments(music, tracker),
    }
    return {
        "info": json.dumps(info, ensure_ascii=False).encode(),
        "patterns": patterns if params["patterns"] else b"",
        "sounds": sounds,
        WARNINGS: "\n".join(music.warnings).encode(),
    }


def _without_names(music: Music) -> Music:
    """Return the music with every name empty, so that ids are made of numbers."""
    sounds = [replace(one, name="") for one in music.sounds]
    return Music(sounds, [replace(one, name="") for one in music.voices], music.warnings)


def _sounds(music: Music, tracker: str, name: str) -> tuple[bytes, list[dict[str, Any]]]:
    """Return the samples of all sounds, and the id and length of each."""
    data, told = [], []
    clipped: list[int] = []
    for one in music.sounds:
        samples, loud = console_samples(one.sound, name)
        clipped += [loud] if loud else []
        data.append(samples.astype("<i2").tobytes())
        asset_id = sound_id(one.name, tracker, one.number)
        told.append({"id": asset_id, "part": one.part, "bytes": len(data[-1])})
    if clipped:
        text = describe_clipped(sum(clipped), sounds=len(clipped))
        music.warnings.append(grouped("sound", text))
    return b"".join(data), told


def _instruments(music: Music, tracker: str) -> list[dict[str, Any]]:
    """Return for each instrument the number of its sound, or the names that one may have."""
    found: list[dict[str, Any]] = []
    for number, voice in enumerate(music.voices):
        if voice.sound is not None:
            found.append({"sound": voice.sound})
        else:
            names = [voice.name, sound_id(voice.name, tracker, number)] if voice.name else []
            found.append({"names": names, "is_played": voice.is_played})
    return found
