"""Pictures, models and sounds of one file: the only module that knows how they are made.

A built file is shown by the view that its target's reader declares; a source by the kit's readers.
A file with nothing to see has no media. One that should be seen and cannot be drawn has a problem,
which the page shows in the picture's place.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from PIL import Image

from encoders.kit.error import EncodeError
from encoders.kit.plan import Reader, Siblings
from encoders.kit.source.registry import image_suffixes
from encoders.kit.view.draw import draw_view
from encoders.kit.view.glb import encode_glb
from encoders.kit.view.request import ViewRequest
from encoders.kit.view.scene import View, ViewPicture, ViewSheet, ViewSound
from pipeline.content.code import load_function
from pipeline.manifest.glob import suffix_of
from pipeline.plan.source_view import view_source

Pixels = npt.NDArray[np.uint8]
SCENE_SIZE = (256, 192)
SMALL, SMALL_QUALITY = 64, 50  # pixels of the longer side, quality of WebP
WAVE_SIZE = (256, 96)
MOST_CELLS = 64  # of a sheet; more would be specks on a thumbnail
# The functions that decide what media look like, beside the views of targets.
DRAWING = ("encoders.kit.view.draw:draw_view", "encoders.kit.view.glb:encode_glb")
# A page is opened on a phone as well: larger models and sounds are left to `doit inspect`.
MODEL_LIMIT_BYTES, SOUND_LIMIT_BYTES = 4_000_000, 1_000_000
PROBLEM_LIMIT = 120  # characters
# One picture is not worth a report, whatever a view raises.
UNSEEN = (Exception,)


@dataclass(frozen=True)
class Media:
    """What can be seen and heard of a file: WebP, GLB and WAV files; None where there is none.

    `small` is the thumbnail for pages with thousands of them, `problem` is why there is no picture.
    """

    thumbnail: bytes | None = None
    small: bytes | None = None
    glb: bytes | None = None
    sound: bytes | None = None
    problem: str = ""


NOTHING = Media()


def picture_media(
    picture: Image.Image, glb: bytes | None = None, sound: bytes | None = None
) -> Media:
    """Return media with a picture, which is at most as large as a thumbnail of a scene."""
    return Media(
        _webp(fit(picture, max(SCENE_SIZE))),
        _webp(fit(picture, SMALL), SMALL_QUALITY),
        _within(glb, MODEL_LIMIT_BYTES),
        _within(sound, SOUND_LIMIT_BYTES),
    )


def media_of_output(readers: Sequence[Reader], data: bytes, path: str, siblings: Siblings) -> Media:
    """Return the media of a built file, by the first reader that accepts it."""
    problems = []
    for reader in readers:
        try:
            return _media_of_view(load_function(reader.view)(data, path, siblings))
        except UNSEEN as error:
            problems.append(_problem(error))
    if suffix_of(path) in image_suffixes():
        return media_of_source(data, path, {})
    return Media(problem=problems[0]) if problems else NOTHING


def _problem(error: Exception) -> str:
    """Return in a few words why a file cannot be drawn."""
    said = error.problem if isinstance(error, EncodeError) else f"{type(error).__name__}: {error}"
    return said[:PROBLEM_LIMIT]


def _media_of_view(view: View) -> Media:
    if isinstance(view, ViewPicture):
        return picture_media(Image.fromarray(view.pixels))
    if isinstance(view, ViewSound):
        wave = draw_view(view, ViewRequest(size=WAVE_SIZE))
        return picture_media(Image.fromarray(wave), sound=encode_wav(view.samples, view.rate))
    if isinstance(view, ViewSheet):
        few = replace(view, cells=view.cells[:MOST_CELLS])
        return picture_media(Image.fromarray(draw_view(few, ViewRequest())))
    # Of a clip, a frame in which it has moved.
    still = None if view.clip is None else view.clip.frame_count // 3
    pixels = draw_view(view, ViewRequest(size=SCENE_SIZE, frame=still))
    try:
        glb = encode_glb(view)
    except (EncodeError, ImportError):  # nothing but bones, or no library to write it
        glb = None
    return picture_media(Image.fromarray(pixels), glb)


def media_of_source(data: bytes, path: str, inputs: Mapping[str, bytes]) -> Media:
    """Return the media of a source; `inputs` are the other files that a model refers to."""
    try:
        view = view_source(data, path, inputs)
        return NOTHING if view is None else _media_of_view(view)
    except UNSEEN as error:
        return Media(problem=_problem(error))


def encode_wav(samples: npt.NDArray[np.int16], rate: int) -> bytes:
    """Return mono samples as a WAV file."""
    data = samples.astype("<i2").tobytes()
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def fit(picture: Image.Image, side: int) -> Image.Image:
    """Return a picture at most `side` pixels wide and high."""
    if max(picture.size) <= side:
        return picture
    # Without the weights of alpha, the colours of invisible pixels would show at edges.
    scaled = picture.convert("RGBa") if picture.mode == "RGBA" else picture.copy()
    scaled.thumbnail((side, side), Image.Resampling.BOX)
    return scaled.convert(picture.mode)


def _webp(picture: Image.Image, quality: int = 72) -> bytes:
    stream = io.BytesIO()
    # Small pictures are pixel art, which lossy compression smears.
    is_tiny = max(picture.size) <= 32
    picture.save(stream, "WEBP", quality=quality, lossless=is_tiny, method=2)
    return stream.getvalue()


def _within(data: bytes | None, limit: int) -> bytes | None:
    return data if data is not None and len(data) <= limit else None
