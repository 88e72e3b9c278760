"""The layers of a USD file, and what may be opened: files of the project and nothing else.

usd-core opens whatever a layer names, so the names are looked at before a stage is composed: each
layer is opened alone here. A package (`.usdz`) may only name files inside of itself.
"""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from typing import Any

from pxr import Sdf, Tf, UsdUtils

from encoders.kit.error import EXPORT_AGAIN, EncodeError
from encoders.kit.isolate import scratch_files
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import suffix_of
from encoders.kit.source.signature import describe_content

PACKAGE_SUFFIX = ".usdz"
LAYER_SUFFIXES = (".usd", ".usda", ".usdc", PACKAGE_SUFFIX)
# A path that starts like this is an expression, which could become any path.
EXPRESSION = "`"
HINT = "Name the file by a relative path that stays inside the project."
SOURCE_PLACE = re.compile(r"Error in '[^']*' at line \d+ in file \S+ : ")
SCRATCH_PATH = re.compile(r"/\S*?/cartwright-[0-9a-f]+/\d+/")
INNER_NAME = re.compile(r"pxrInternal_\w*?pxrReserved_*(pegtl)?(::)?")
# What the library raises about damaged files; texts of such files may be of any bytes.
FAULTS = (Tf.ErrorException, UnicodeDecodeError)
# Takes the library's messages, which would go to the terminal otherwise.
MESSAGES = UsdUtils.CoalescingDiagnosticDelegate()


def list_layers(data: bytes, name: str) -> list[str]:
    """Return the paths of the layers that a USD file names, as written but with slashes."""
    with scratch_files({name: data}) as folder:
        if is_package(name):
            _check_package(data, name, f"{folder}/{name}")
            return []
        named = layer_names(f"{folder}/{name}", data, name)
    for one in named:
        if one.startswith(EXPRESSION):
            raise leads_out(name, one)
        resolve_reference(name, one.replace("%", "%25"))
    # Layers of other formats, such as MaterialX, are not composed.
    return [one for one in named if suffix_of(one) in LAYER_SUFFIXES]


def is_package(name: str) -> bool:
    """Tell whether a file holds other files."""
    return suffix_of(name) == PACKAGE_SUFFIX


def layer_names(path: str, data: bytes, name: str) -> list[str]:
    """Return the paths that a layer is composed with, as written."""
    try:
        # Anonymous, so that the library does not keep it for the next file of this path.
        layer: Any = Sdf.Layer.OpenAsAnonymous(path)
        if layer is None:
            raise damaged(data, name, "the layer cannot be opened")
        return sorted(one for one in layer.GetCompositionAssetDependencies() if one)
    except FAULTS as error:
        raise damaged(data, name, reason_of(error)) from None


def damaged(data: bytes, name: str, reason: str) -> EncodeError:
    """Return the error of a file that the library does not accept."""
    facts = {"file": name, "reason": reason, "looks like": describe_content(data)}
    return EncodeError("the USD file is damaged or of an unknown kind", facts, EXPORT_AGAIN)


def reason_of(error: Exception) -> str:
    """Return what the library says is wrong, without the places in its own sources."""
    try:
        text = str(error)
    except UnicodeDecodeError:  # it repeats the file's bytes
        text = ""
    if not text or isinstance(error, UnicodeDecodeError):
        return "a text in it is not UTF-8"
    said = [one.strip("' \n\t") for one in SOURCE_PLACE.split(text)[1:]]
    first = next((one for one in said if one), text.strip())
    # The path of a scratch file means nothing to a user; line and column follow it.
    return INNER_NAME.sub("", SCRATCH_PATH.sub("", " ".join(first.split())))


def leads_out(name: str, written: str) -> EncodeError:
    """Return the error of a reference to a file outside of the project."""
    facts = {"file": name, "refers to": written}
    return EncodeError("reference leads out of the project", facts, HINT)


def package_members(data: bytes, name: str) -> zipfile.ZipFile:
    """Open the directory of a package."""
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise damaged(data, name, str(error)) from None


def first_layer(data: bytes, name: str) -> str:
    """Return the layer that a package stands for: its first file."""
    with package_members(data, name) as package:
        return next(iter(package.namelist()), "")


def package_file(data: bytes, name: str, member: str) -> bytes | None:
    """Return a file inside of a package, None where there is none that is stored as it is."""
    with package_members(data, name) as package:
        try:
            info = package.getinfo(member)
            # A package stores files as they are, so a compressed one could grow without limit.
            stored = info.compress_type == zipfile.ZIP_STORED and info.file_size <= len(data)
            return package.read(member) if stored else None
        except (KeyError, RuntimeError, zipfile.BadZipFile, EOFError, OSError, ValueError):
            return None


def _check_package(data: bytes, name: str, path: str) -> None:
    """Refuse a package with a layer that names files outside of it."""
    with package_members(data, name) as package:
        members = [one for one in package.namelist() if suffix_of(one) in LAYER_SUFFIXES]
    if not members:
        raise damaged(data, name, "the package has no layer")
    for member in members:
        if is_package(member):
            facts = {"file": name, "inside": member}
            raise EncodeError("a package inside of a package cannot be read", facts)
        for written in layer_names(f"{path}[{member}]", data, name):
            _check_inside(name, member, written)


def _check_inside(name: str, member: str, written: str) -> None:
    place = posixpath.normpath(posixpath.join(posixpath.dirname(member), written))
    is_plain = not (written.startswith(EXPRESSION) or ":" in written or "\\" in written)
    if not is_plain or place.startswith(("/", "../")) or place == "..":
        raise leads_out(name, f"{written} (in {member})")
