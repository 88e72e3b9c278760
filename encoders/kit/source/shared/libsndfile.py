"""Sounds that libsndfile decodes (soundfile, an optional extra): OGG, FLAC and MP3.

It is native code that damaged files may crash, so it runs in a process of its own. Lossy formats
are decoded in floating-point numbers: another version of the library, or another processor, may
differ in the last bit.
"""

from __future__ import annotations

import io
import posixpath
from typing import Any

import numpy as np

from encoders.kit.audio.resample import Samples
from encoders.kit.audio.sound import Sound, refuse_wild_samples
from encoders.kit.error import EncodeError
from encoders.kit.isolate import isolated
from encoders.kit.source.shared.sound_limit import MAX_SECONDS, check_channels, check_length
from encoders.kit.source.signature import describe_beginning
from encoders.kit.warning import Warn, grouped, ignore

try:
    import soundfile
except OSError as error:  # the package is there, but not the library that it loads
    raise ImportError(str(error)) from error

# Formats that a sound may have instead of the one that its name says, as the library calls them.
_SUFFIXES = {"WAV": ".wav", "WAVEX": ".wav", "OGG": ".ogg", "FLAC": ".flac", "MP3": ".mp3"}


def decode_ogg(data: bytes, name: str, warn: Warn = ignore) -> Sound:
    """Return the sound of an Ogg file: Vorbis, Opus or FLAC."""
    return _decode(data, name, "OGG", warn)


def decode_flac(data: bytes, name: str, warn: Warn = ignore) -> Sound:
    """Return the sound of a FLAC file."""
    return _decode(data, name, "FLAC", warn)


def decode_mp3(data: bytes, name: str, warn: Warn = ignore) -> Sound:
    """Return the sound of an MP3 file."""
    return _decode(data, name, "MP3", warn)


def _decode(data: bytes, name: str, form: str, warn: Warn) -> Sound:
    rate, samples, declared = read_samples(data, name, form)
    if len(samples) < declared:
        text = f"{name}: the {form} ends after {len(samples)} of {declared} frames"
        warn(grouped("damage", f"{text}; these were read"))
    return Sound(rate, samples)


@isolated
def read_samples(data: bytes, name: str, form: str) -> tuple[int, Samples, int]:
    """Return the rate, the samples as (frames, channels), and how many frames there should be."""
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            return _read(file, name, form)
    except soundfile.SoundFileError as error:
        # The whole message names the stream by its address, which is another one each time.
        reason = getattr(error, "error_string", error)
        facts = {"file": name, "reason": reason, "found": describe_beginning(data)}
        problem = f"the {form} is damaged or of an unknown kind"
        raise EncodeError(problem, facts, "Export the sound again.") from error


def _read(file: Any, name: str, form: str) -> tuple[int, Samples, int]:
    if file.format != form:
        raise _other_format(file.format, name, form)
    check_channels(file.channels, file.samplerate, form, name)
    # Before anything is decoded: minutes of silence are a few bytes.
    check_length(file.frames, file.samplerate, form, name)
    declared, most = file.frames, MAX_SECONDS * file.samplerate
    samples = np.asarray(file.read(most + 1, "float64", always_2d=True))
    check_length(len(samples), file.samplerate, form, name)
    if not len(samples):
        raise EncodeError(f"the {form} holds no samples", {"file": name})
    refuse_wild_samples(samples, form, name)
    return file.samplerate, samples, declared


def _other_format(found: str, name: str, form: str) -> EncodeError:
    stem = posixpath.splitext(posixpath.basename(name))[0]
    hint = f"Export the sound as {form}."
    if found in _SUFFIXES:
        hint = f"Name it {stem}{_SUFFIXES[found]}, or export the sound as {form}."
    return EncodeError(f"the file is no {form}", {"file": name, "format": found}, hint)
