"""Where a name written inside a source leads: always to a path below the project's root.

Absolute paths, addresses of other machines and paths that climb out are refused, so a source
from somewhere else can never make a build read what is not the project's.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection
from urllib.parse import unquote

from encoders.kit.error import EncodeError
from encoders.kit.plan import Survey, Surveys

PERCENT_ENCODED = (".gltf", ".glb")
# The files that refer to others; an image that is broken is found out by whoever decodes it.
REFERRING = (".obj", ".mtl", ".gltf", ".glb")
HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def resolve_reference(source: str, written: str) -> str:
    """Give the project path that `written` means inside the file `source`."""
    name = unquote(written) if source.lower().endswith(PERCENT_ENCODED) else written
    name = name.replace("\\", "/")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
    leaves = path == ".." or path.startswith("../")
    if (
        leaves
        or name.startswith("/")
        or "\0" in name
        or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", name)
    ):
        raise EncodeError(
            "reference leads out of the project",
            {"file": source, "refers to": written},
            "Name the file by a relative path that stays inside the project.",
        )
    return path


def follow_references(
    source: str, surveys: Surveys, slots: Collection[str] | None = None
) -> list[str]:
    """List the project paths of a source and of all that it leads to, there or not, each once.

    With `slots`, maps that only other slots of materials use are left out: a target that shows no
    normal maps need not build again when one changes.
    """
    found, seen = [source], {source}
    for path in found:
        survey = surveys.get(path, {}) if path.lower().endswith(REFERRING) else {}
        for ref in _wanted(survey, slots):
            leads_to = resolve_reference(path, ref)
            if leads_to not in seen:
                seen.add(leads_to)
                found.append(leads_to)
    return found


def _wanted(survey: Survey, slots: Collection[str] | None) -> list[str]:
    refs, maps = survey.get("refs"), survey.get("maps")
    names = [str(ref) for ref in refs] if isinstance(refs, list) else []
    if slots is None or not isinstance(maps, dict):
        return names
    uses = {slot: set(uris) for slot, uris in maps.items() if isinstance(uris, list)}
    useless = set().union(*uses.values())
    useless -= set().union(*(uris for slot, uris in uses.items() if slot in slots))
    return [name for name in names if name not in useless]
