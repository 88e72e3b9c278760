"""A stage, composed from bytes: files are written to a scratch folder and opened there.

The folder is gone when the stage is open: layers are in memory or mapped by then.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pxr import Sdf, Usd

from encoders.kit.error import EncodeError
from encoders.kit.isolate import scratch_files
from encoders.kit.source.usd.layer import (
    FAULTS,
    damaged,
    first_layer,
    is_package,
    leads_out,
    list_layers,
    reason_of,
)
from encoders.kit.warning import grouped


@dataclass
class Opened:
    """A composed stage, the time at which it is read, and warnings so far."""

    stage: Any
    name: str
    files: Mapping[str, bytes]
    folder: str
    time: Any
    warnings: list[str] = field(default_factory=list)

    def project_path(self, path: str) -> str:
        """Return the project's path of a file in the scratch folder."""
        return posixpath.relpath(path.replace("\\", "/"), self.folder)


def open_stage(files: Mapping[str, bytes], name: str) -> Opened:
    """Compose a stage of files by path, of which `name` is the root."""
    for path, data in files.items():
        # Everything that will be opened is checked, whoever listed it.
        list_layers(data, path)
    with scratch_files(files) as scratch:
        folder = scratch.replace("\\", "/")
        try:
            stage: Any = Usd.Stage.Open(f"{folder}/{name}")
        except FAULTS as error:
            raise damaged(files[name], name, reason_of(error)) from None
        opened = Opened(stage, name, files, folder, _time(stage))
        _check_layers(opened)
    opened.warnings += _composition_warnings(opened)
    return opened


def read_value(opened: Opened, attribute: Any) -> Any:
    """Return the value of an attribute at the time that is shown; refuse one of unknown type."""
    value = attribute.Get(opened.time)
    if isinstance(value, Sdf.UnregisteredValue):
        facts = {"file": opened.name, "attribute": attribute.GetPath()}
        raise EncodeError("an attribute has a type that is not known", facts)
    return value


def _time(stage: Any) -> Any:
    """Return the time at which a stage is shown: its start, else the first of all values."""
    if not any(layer.ListAllTimeSamples() for layer in stage.GetUsedLayers()):
        return Usd.TimeCode.Default()  # the same, and faster
    if stage.HasAuthoredTimeCodeRange():
        return Usd.TimeCode(stage.GetStartTimeCode())
    return Usd.TimeCode.EarliestTime()


def _check_layers(opened: Opened) -> None:
    """Refuse a stage that took a layer from elsewhere than the files that were given."""
    for layer in opened.stage.GetUsedLayers():
        path = layer.realPath.replace("\\", "/")
        if not layer.anonymous and not path.startswith(f"{opened.folder}/"):
            raise leads_out(opened.name, layer.identifier)
    # Clips are opened when a value is asked for, from paths that nobody has looked at.
    for prim in opened.stage.TraverseAll():
        if prim.HasAuthoredMetadata("clips"):
            facts = {"file": opened.name, "prim": prim.GetPath()}
            hint = "Write the animation into one file, as `usdstitch` does."
            raise EncodeError("value clips cannot be read", facts, hint)


def _composition_warnings(opened: Opened) -> list[str]:
    """Return what could not be composed."""
    texts = {str(one).replace(f"{opened.folder}/", "") for one in _errors(opened.stage)}
    return [
        grouped("missing", f"{opened.name}: left out, because {' '.join(text.split())}")
        for text in sorted(texts)
    ]


def _errors(stage: Any) -> list[Any]:
    return list(stage.GetCompositionErrors())


def layer_folder(opened: Opened, layer: Any) -> tuple[str, str]:
    """Return the project path of a layer's file, and the place inside of it for a package."""
    outer, inner = layer.realPath.replace("\\", "/"), ""
    if "[" in outer:
        outer, _, inner = outer.partition("[")
        inner = inner.removesuffix("]")
    path = opened.project_path(outer)
    # The library calls the root layer of a package by the package's own name.
    if is_package(path) and not inner:
        inner = first_layer(opened.files[path], path)
    return path, inner


def written_asset(attribute: Any, time: Any) -> tuple[str, Any] | None:
    """Return an asset path as written, and the layer that wrote it; None where there is none."""
    value = attribute.Get(time)
    if not isinstance(value, Sdf.AssetPath) or not value.path:
        return None
    for spec in attribute.GetPropertyStack(time):
        if spec.HasDefaultValue() or spec.layer.GetNumTimeSamplesForPath(spec.path):
            return value.path, spec.layer
    return None
