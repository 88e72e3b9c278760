"""What can be seen of a picture, a sound or a model that is no target's own format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from encoders.kit.source.registry import (
    format_of,
    image_suffixes,
    is_composed,
    model_suffixes,
    sound_suffixes,
)
from pipeline.manifest.glob import suffix_of
from pipeline.plan.referred_file import read_referred
from pipeline.process.isolate import call

if TYPE_CHECKING:
    from encoders.kit.view.scene import View

MODEL_VIEW = "encoders.kit.view.model_view:view_model"
CONVERSION = "encoders.kit.source.conversion:encode_glb"
COMPOSITION = "encoders.kit.source.conversion:encode_composed_glb"
# What decides how a model looks, beside what draws it.
SOURCE_FUNCTIONS = (MODEL_VIEW, CONVERSION, COMPOSITION)


def view_source(data: bytes, path: str, inputs: Mapping[str, bytes]) -> View | None:
    """Decode a source; `inputs` are the other files that a model refers to.

    None is for a kind of file with nothing to see.
    """
    suffix = suffix_of(path)
    if suffix in model_suffixes():
        files = {**inputs, path: data}
        scene: View = call(MODEL_VIEW, {**files, path: _converted(files, path)}, path)
        return scene
    if suffix in image_suffixes():
        return _view_picture(data, path)
    return _view_sound(data, path) if suffix in sound_suffixes() else None


def _converted(files: Mapping[str, bytes], path: str) -> bytes:
    """Return a model as builds open it: of some formats it is converted first."""
    form = format_of(path)
    if form is None or not form.convert:
        return files[path]
    if form.layers:
        # A layer that is missing is left out of the picture: the build tells of it.
        composed = {name: one for name, one in files.items() if is_composed(name)}
        made = call(COMPOSITION, composed, {"source": path, "layers": []})
    else:
        made = call(CONVERSION, {"source": files[path]}, {"source": path})
    glb: bytes = made["glb"]
    return glb


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


def place_of(path: str) -> tuple[str, str]:
    """Return the folder that a source's references must stay in, and the source's name in it."""
    root, name = os.getcwd(), os.path.relpath(path).replace(os.sep, "/")
    if name.startswith("../"):  # outside of a project its own folder is all there is
        return os.path.dirname(os.path.abspath(path)), os.path.basename(path)
    return root, name


def view_with_files(data: bytes, path: str) -> View | None:
    """Decode a source with the files that it is composed with or refers to."""
    root, name = place_of(path)
    found = read_referred(root, name)
    return view_source(data, name, {other: one for other, one in found.items() if one is not None})
