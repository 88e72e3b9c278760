"""The registry of source formats: each folder beside this module declares one.

A new format is a new folder with a `format.py`. The functions that formats name are imported on
demand, so an encoder's static imports do not show them; `modules_loaded_by` returns their modules,
which are part of the cache key.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Any, Literal

from encoders.kit.error import EncodeError
from encoders.kit.extra import install_command
from encoders.kit.source.format import SourceFormat

Capability = Literal["model", "image", "sound", "tracker", "convert", "layers", "survey"]

PACKAGE = "encoders.kit.source"
SHARED = "shared"  # the folder of what several formats use
REGISTRY = f"{PACKAGE}.registry"
# What every format that is converted becomes.
GLB_SUFFIX = ".glb"
# The module that tells image formats apart by content, so that all of them count there.
CONTENT = f"{PACKAGE}.content"
# The modules that call what formats name, and in which field it is named.
OPENERS: Mapping[str, Capability] = MappingProxyType(
    {
        f"{PACKAGE}.model": "model",
        f"{PACKAGE}.image": "image",
        f"{PACKAGE}.image_survey": "survey",
        f"{PACKAGE}.sound": "sound",
        f"{PACKAGE}.tracker": "tracker",
        f"{PACKAGE}.tracker_survey": "survey",
        f"{PACKAGE}.conversion": "convert",
    }
)
IMAGE_SURVEY = f"{PACKAGE}.image_survey:survey_image"
TRACKER_SURVEY = f"{PACKAGE}.tracker_survey:survey_tracker"
CONVERSION_SURVEY = f"{PACKAGE}.conversion_survey:survey_converted"
COMPOSITION_SURVEY = f"{PACKAGE}.conversion_survey:survey_composed"
LAYER_SURVEY = f"{PACKAGE}.conversion_survey:survey_layers"


def find_formats(package: str = PACKAGE) -> dict[str, SourceFormat]:
    """Import the declaration in every folder of a package; return formats by module name."""
    # Sorted, because the order of a folder depends on the file system.
    found = iter_modules(import_module(package).__path__)
    folders = sorted(one.name for one in found if one.ispkg and one.name != SHARED)
    modules = [f"{package}.{folder}.format" for folder in folders]
    return {module: import_module(module).FORMAT for module in modules}


def index_suffixes(formats: Iterable[SourceFormat]) -> dict[str, SourceFormat]:
    """Return formats by suffix, refusing a suffix that two formats claim."""
    found: dict[str, SourceFormat] = {}
    for one in formats:
        for suffix in one.suffixes:
            other = found.setdefault(suffix, one)
            if other is not one:
                raise ValueError(f"{suffix} is claimed by {other.name} and by {one.name}")
    return found


# Read once, at import: the formats of an installation do not change while a process runs.
MODULES: Mapping[str, SourceFormat] = MappingProxyType(find_formats())
FORMATS: tuple[SourceFormat, ...] = tuple(MODULES.values())
SUFFIXES: Mapping[str, SourceFormat] = MappingProxyType(index_suffixes(FORMATS))
IMAGE_FORMATS = tuple(one for one in FORMATS if one.image)
TRACKER_FORMATS = tuple(one for one in FORMATS if one.tracker)
# Openers that recognise files by content, and the formats that they choose from: a suffix does not
# tell which decoder will run.
BY_CONTENT: Mapping[str, tuple[SourceFormat, ...]] = MappingProxyType(
    {
        f"{PACKAGE}.image": IMAGE_FORMATS,
        f"{PACKAGE}.image_survey": IMAGE_FORMATS,
        f"{PACKAGE}.tracker": TRACKER_FORMATS,
        f"{PACKAGE}.tracker_survey": TRACKER_FORMATS,
    }
)


def suffix_of(path: str) -> str:
    """Return the suffix by which a path's format is known."""
    return posixpath.splitext(path)[1].lower()


def format_of(path: str) -> SourceFormat | None:
    """Return the format of a file by its suffix, None where no format has it."""
    return SUFFIXES.get(suffix_of(path))


def format_read(path: str) -> SourceFormat | None:
    """Return the format in which encoders get a file: glTF where it is converted."""
    found = format_of(path)
    return SUFFIXES[GLB_SUFFIX] if found is not None and found.convert else found


def is_gltf(path: str) -> bool:
    """Tell whether encoders get a file as glTF, with nodes, skins, clips and images inside."""
    return format_read(path) is SUFFIXES[GLB_SUFFIX]


def is_model(path: str) -> bool:
    """Tell whether a file can be opened as a model."""
    found = format_read(path)
    return found is not None and bool(found.model)


def _suffixes(wanted: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(sorted(suffix for suffix in SUFFIXES if wanted(f"x{suffix}")))


def model_suffixes() -> tuple[str, ...]:
    """List the suffixes of what can be opened as a model."""
    return _suffixes(is_model)


def gltf_suffixes() -> tuple[str, ...]:
    """List the suffixes of the models that are glTF, or are converted to it."""
    return _suffixes(is_gltf)


def rigged_suffixes() -> tuple[str, ...]:
    """List the suffixes of the models that can have skins and clips."""
    return tuple(one for one in gltf_suffixes() if not SUFFIXES[one].is_static)


def image_suffixes() -> tuple[str, ...]:
    """List the suffixes of what can be opened as an image."""
    return tuple(sorted(suffix for suffix, one in SUFFIXES.items() if one.image))


def sound_suffixes() -> tuple[str, ...]:
    """List the suffixes of what can be opened as a sound."""
    return tuple(sorted(suffix for suffix, one in SUFFIXES.items() if one.sound))


def tracker_suffixes() -> tuple[str, ...]:
    """List the suffixes of what can be opened as a tracker's module."""
    return tuple(sorted(suffix for suffix, one in SUFFIXES.items() if one.tracker))


def survey_functions() -> dict[str, str]:
    """Name the function that surveys the files of each suffix."""
    return {suffix: name for suffix, one in SUFFIXES.items() if (name := _survey_function(one))}


def layer_functions() -> dict[str, str]:
    """Name the function that lists the layers of a file, for each suffix of composed formats."""
    return {suffix: LAYER_SURVEY for suffix, one in SUFFIXES.items() if one.layers}


def is_composed(path: str) -> bool:
    """Tell whether a file is composed with other files, its layers."""
    found = format_of(path)
    return found is not None and bool(found.layers)


def _survey_function(one: SourceFormat) -> str:
    if one.layers:
        return COMPOSITION_SURVEY
    if one.convert:
        # A survey of the result of the conversion, so that plans see only glTF.
        return CONVERSION_SURVEY
    if one.tracker:
        return TRACKER_SURVEY
    return IMAGE_SURVEY if one.image else one.survey


@cache
def load(function: str) -> Callable[..., Any]:
    """Import the function that a format names."""
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def load_reader(form: SourceFormat, field: Capability, file: str) -> Callable[..., Any]:
    """Import a function of a format to read a file, or say which package is missing."""
    try:
        return load(getattr(form, field))
    except ImportError as error:
        # A format without an optional package must import; then the error is a bug, not a hint.
        if not form.package:
            raise
        raise EncodeError(
            f"{_lacking(form, error)} is needed to read {form.name}",
            {"file": file, "reason": error},
            f"Install it with `{install_command(form.extra)}`, or use another format.",
        ) from error


def _lacking(form: SourceFormat, error: ImportError) -> str:
    """Name the package that is missing: the format's own, or one that is installed with it."""
    module = (error.name or "").partition(".")[0]
    return dict(form.other_packages).get(module, form.package)


def modules_loaded_by(modules: Collection[str], suffixes: Iterable[str]) -> set[str]:
    """Name the modules that these modules may load through the registry, from such sources."""
    if REGISTRY not in modules:
        return set()
    known = [suffix for suffix in suffixes if suffix in SUFFIXES]
    chosen = {SUFFIXES[suffix] for suffix in known}
    # A converted format is read as glTF afterwards, so that reader counts as well.
    chosen |= {one for suffix in known if (one := format_read(f"x{suffix}"))}
    found = _declarations(chosen | set(IMAGE_FORMATS) if CONTENT in modules else chosen)
    for opener in OPENERS.keys() & modules:
        formats = set(BY_CONTENT.get(opener, chosen))
        found |= _declarations(formats)
        functions = {getattr(one, OPENERS[opener]) for one in formats} - {""}
        found |= {function.partition(":")[0] for function in functions}
    return found


def _declarations(formats: Collection[SourceFormat]) -> set[str]:
    return {module for module, one in MODULES.items() if one in formats}
