"""What can be seen of a picture, a sound or a model that is no target's own format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from encoders.kit.source.registry import (
    image_suffixes,
    is_composed,
    model_suffixes,
    sound_suffixes,
)
from pipeline.manifest.glob import suffix_of
from pipeline.plan.referred_file import read_referred
from pipeline.plan.survey import read_layers
from pipeline.process.isolate import call

if TYPE_CHECKING:
    from encoders.kit.view.scene import View

MODEL_VIEW = "encoders.kit.view.model_view:view_model"


def view_source(data: bytes, path: str, inputs: Mapping[str, bytes]) -> View | None:
    """Decode a source; `inputs` are the other files that a model refers to.

    None is for a kind of file with nothing to see.
    """
    suffix = suffix_of(path)
    if suffix in model_suffixes():
        scene: View = call(MODEL_VIEW, {**inputs, path: data}, path)
        return scene
    if suffix in image_suffixes():
        return _view_picture(data, path)
    return _view_sound(data, path) if suffix in sound_suffixes() else None


def _view_picture(data: bytes, path: str) -> View:
    # Here, as numpy is nothing that every command needs.
    from encoders.kit.view.scene import ViewPicture

    return ViewPicture(call("encoders.kit.source.image:open_image", data, path))


def _view_sound(data: bytes, path: str) -> View:
    import numpy as np

    from encoders.kit.view.scene import ViewSound

    sound = call("encoders.kit.source.sound:open_sound", data, path)
    mono = np.clip(sound.samples.mean(axis=1) * 32768, -32768, 32767)
    return ViewSound(mono.astype(np.int16), sound.rate)


def read_with_source(data: bytes, path: str) -> tuple[str, dict[str, bytes]]:
    """Return a source's name and, by name, the files that it is composed with or refers to."""
    root, name = os.getcwd(), os.path.relpath(path).replace(os.sep, "/")
    if name.startswith("../"):  # outside of a project its own folder is all there is
        root, name = os.path.dirname(os.path.abspath(path)), os.path.basename(path)
    if is_composed(name):
        return name, read_layers(root, data, name)
    found = read_referred(root, name)
    return name, {other: one for other, one in found.items() if one is not None}
