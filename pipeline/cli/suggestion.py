"""What the sources of a new project need of a target, by looking into them.

Sources that can't be read, or whose library is not installed, are taken as they are: the first
build says what is wrong with them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from encoders.kit.error import EncodeError
from encoders.kit.option import Value
from encoders.kit.plan import Kind, Params, Survey, Target
from encoders.kit.source.registry import is_composed, survey_functions
from pipeline.cli.found_source import ASSET, FoundSource, by_likelihood
from pipeline.process.isolate import call

# Models that are looked into for each table: one is taken, and reading a model takes time.
MAX_CANDIDATES = 8


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The sources of a first manifest: one for each table, and options that some of them need.

    `unfit` are sources that no option would make fit.
    """

    sources: Sequence[FoundSource]
    chosen: Mapping[str, FoundSource]
    options: Mapping[str, Params]
    settings: Mapping[str, Value]
    unfit: Sequence[FoundSource] = ()


def suggest(root: str, target: Target, sources: Sequence[FoundSource]) -> Suggestion:
    """Return what a manifest for these sources should say."""
    first = next(iter(target.kinds.values())).table
    kinds = [
        kind for kind in target.kinds.values() if any(kind_reads(kind, one) for one in sources)
    ]
    settings = dict(kind.needs for kind in kinds if kind.needs)
    if first == ASSET:
        options = _needed_options(root, kinds, sources)
        fitting = [one for one in sources if options.get(one.path, {}) is not None]
        needed = {path: one for path, one in options.items() if one is not None}
        unfit = [one for one in sources if one not in fitting]
        return Suggestion(fitting, {}, needed, settings, unfit)
    return Suggestion(sources, _choose_tables(root, target, first, sources), {}, settings)


def kind_reads(kind: Kind, source: FoundSource) -> bool:
    """Tell whether a kind reads a source by its suffix."""
    return source.suffix in kind.suffixes


def _needed_options(
    root: str, kinds: Sequence[Kind], sources: Sequence[FoundSource]
) -> dict[str, Params | None]:
    """Return the options that single sources need, by path; None where no options help."""
    found: dict[str, Params | None] = {}
    for kind in kinds:
        for one in sources if kind.suggest else ():
            survey = _survey(root, one) if kind_reads(kind, one) else None
            options = kind.suggest(survey) if kind.suggest and survey else {}
            if options != {}:
                found[one.path] = options
    return found


def _choose_tables(
    root: str, target: Target, first: str, sources: Sequence[FoundSource]
) -> dict[str, FoundSource]:
    """Return the likeliest source for each table that one of the sources is meant for."""
    chosen: dict[str, FoundSource] = {}
    candidates = by_likelihood(sources)
    if not any(kind.suggest for kind in target.kinds.values()):
        return {first: candidates[0]} if candidates else {}
    known = [(one, _survey(root, one)) for one in candidates[:MAX_CANDIDATES]]
    # What can't be read may be anything, so it is taken only where nothing else is.
    for one, survey in sorted(known, key=lambda pair: pair[1] is None):
        if survey is None and chosen:
            break
        for kind in target.kinds.values():
            if _is_meant(kind, survey, kind.table == first):
                chosen.setdefault(kind.table, one)
    return chosen


def _is_meant(kind: Kind, survey: Survey | None, is_first: bool) -> bool:
    """Tell whether a source is one for this kind; what is not known is one for the first table."""
    if survey is None or kind.suggest is None:
        return is_first
    return kind.suggest(survey) is not None


def _survey(root: str, source: FoundSource) -> Survey | None:
    """Return what a build would know of a source before planning, None where it can't be read."""
    function = survey_functions().get(source.suffix)
    # A composed source is read with its layers, which only a plan finds.
    if function is None or is_composed(source.path):
        return None
    try:
        with open(os.path.join(root, source.path), "rb") as file:
            found: Survey = call(function, file.read(), source.path)
    except (EncodeError, OSError):
        return None
    return found
