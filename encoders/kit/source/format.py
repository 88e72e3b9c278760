"""What a source format declares: a `FORMAT` in the `format.py` of its own folder.

The registry finds every declaration, and targets ask the registry; no target lists suffixes. A
declaration is imported whenever a build is planned, so it names functions instead of importing
them, as `package.module:function`.
"""

from __future__ import annotations

from dataclasses import dataclass

# Bytes that a file has at an offset.
Magic = tuple[int, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFormat:
    """A kind of source file: its suffixes, its survey, and what it can be opened as.

    Functions, each "" where there is none:
    - `survey`: (data, name) -> what planning must know, as `encoders.kit.source.outline` says;
    - `model`: (inputs, source, split, with_materials) -> Model;
    - `image`: (data, name) -> RGBA8 array, top row first. Where `image_warns` is set it also takes
      a function to call with each warning about a fault that does not change pixels;
    - `sound`: (data, name, warn) -> Sound, where `warn` takes warnings;
    - `tracker`: (data, name) -> the module of that format, recognised by its magic;
    - `convert`: (data, name) -> GLB. Where `convert_warns` is set it also takes a function to call
      with each thing that is lost. It runs in a process of its own, because its library may
      crash. A format that is converted declares no other function but `layers`: it is taken as
      glTF;
    - `layers`: (data, name) -> a survey whose `refs` are the files that this one is composed
      with. Then `convert` is (files, name, with_data, subdivide, triangle_limit) -> (GLB,
      warnings): `files` are the source and all its layers by path, and without data the GLB only
      has to be good for a survey. Subdivision surfaces are refined `subdivide` times.

    An image is recognised by its `magic`, all of it, or by one of `other_magic`, which its file
    begins with instead, because names inside a model may be wrong or missing; a format without
    magic is recognised by its suffix. `percent_encoded` tells how
    files are named inside. `package` is an optional library that the functions import, and `extra`
    the extra of this project that installs it. `other_packages` are further ones of that extra, as
    pairs of the module that is imported and the package that has it.
    """

    name: str
    suffixes: tuple[str, ...]
    survey: str = ""
    model: str = ""
    image: str = ""
    image_warns: bool = False
    sound: str = ""
    tracker: str = ""
    convert: str = ""
    convert_warns: bool = False
    is_static: bool = False  # a model without skins and clips
    layers: str = ""
    magic: tuple[Magic, ...] = ()
    other_magic: tuple[bytes, ...] = ()
    percent_encoded: bool = False
    package: str = ""
    extra: str = ""
    other_packages: tuple[tuple[str, str], ...] = ()
