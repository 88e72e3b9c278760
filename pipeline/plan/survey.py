"""Surveys: what must be known of the sources before planning, for new content only.

A survey is followed through the files that a source refers to. One that fails spoils only the
assets that lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import xxhash

from encoders.kit.error import EncodeError
from encoders.kit.plan import Survey
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import survey_functions
from pipeline.content.code import Code
from pipeline.content.source import Sources
from pipeline.content.target_error import bug_in
from pipeline.disk.file import leads_out, read_file
from pipeline.disk.listing import Tree, is_link, is_text, shown_name
from pipeline.manifest.glob import suffix_of
from pipeline.process.isolate import call
from pipeline.state.database import State
from pipeline.state.record import canonical, plain

MANY_OLD = 5000
MANY = 256  # from so many new sources on, worker processes are worth their start
MISTAKEN = "This is a mistake in the survey, not in your files."

NOTHING_SEEN = xxhash.xxh3_128_hexdigest(canonical({}))


class SurveyBook(Mapping[str, Survey]):
    """Surveys by path; asking for one that failed raises its error."""

    def __init__(self, found: dict[str, Survey | EncodeError]) -> None:
        self._found = found

    def __getitem__(self, path: str) -> Survey:
        survey = self._found[path]
        if isinstance(survey, EncodeError):
            raise survey
        return survey

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def digest(self, path: str) -> str:
        """Digest what a plan may have seen of a source."""
        survey = self._found.get(path)
        if survey == {}:
            return NOTHING_SEEN
        seen = error_record(survey) if isinstance(survey, EncodeError) else survey
        return xxhash.xxh3_128_hexdigest(canonical(seen))


def error_record(error: EncodeError) -> dict[str, Any]:
    """Give an error as data."""
    return {"problem": error.problem, "facts": error.facts, "hint": error.hint}


def survey_file(path: str, name: str, dotted: str) -> dict[str, Any]:
    """Read one source and survey it; an error comes back as data, `of` says of which content."""
    try:
        data = read_file(path)
    except OSError as error:
        return {"error": error_record(EncodeError(error.strerror or "", {"file": name})), "of": ""}
    of = xxhash.xxh3_128_hexdigest(data)
    try:
        return {"survey": _checked(plain(call(dotted, data, name)), name), "of": of}
    except EncodeError as error:
        return {"error": error_record(error), "of": of}
    except (Exception, SystemExit) as error:
        return {"error": error_record(bug_in("survey", error, {"file": name})), "of": of}


def _checked(found: Any, name: str) -> Survey:
    """Give what a survey found, if it is what surveys have to give."""
    refs = (found.get("refs") or []) if isinstance(found, dict) else []
    if not isinstance(found, dict):
        problem = "a survey has to give a mapping"
    elif not isinstance(refs, list | tuple) or not all(isinstance(ref, str) for ref in refs):
        problem = "`refs` of a survey has to be a list of texts"
    else:
        return found
    raise EncodeError(problem, {"file": name, "found": repr(found)}, MISTAKEN)


Mapper = Callable[[Callable[..., Any], list[tuple[str, str, str]]], Iterable[Any]]


class Surveyor:
    """Surveys sources and what they refer to, remembering the results by content."""

    def __init__(
        self, tree: Tree, sources: Sources, state: State, code: Code, in_parallel: Mapper
    ) -> None:
        self._tree, self._sources, self._state = tree, sources, state
        self._code, self._in_parallel = code, in_parallel
        self._new: dict[str, Any] = {}
        self._keys: dict[tuple[str, tuple[str, ...]], str] = {}
        self._of: dict[str, str] = {}
        self._used: set[str] = set()

    def survey(self, paths: Iterable[str], own: Mapping[str, str]) -> SurveyBook:
        """Survey the paths and all that they lead to; `own` adds to the kit's surveys."""
        functions = {**survey_functions(), **own}
        found: dict[str, Survey | EncodeError] = {}
        waiting = sorted(set(paths))
        while waiting:
            found.update(self._survey_level(waiting, functions))
            refs = {ref for path in waiting for ref in self._references(path, found)}
            waiting = sorted(refs - found.keys())
        return SurveyBook(found)

    def _survey_level(
        self, paths: list[str], functions: Mapping[str, str]
    ) -> dict[str, Survey | EncodeError]:
        found: dict[str, Survey | EncodeError] = {}
        missing: dict[str, tuple[str, str, str]] = {}
        for path in paths:
            dotted = functions.get(suffix_of(path))
            stamp = self._tree.stamp(path)
            if stamp is None:
                continue
            if is_link(stamp) and leads_out(f"{self._tree.root}/{path}", self._tree.root):
                found[path] = EncodeError("link leads out of the project", {"file": path})
            elif dotted is None:
                found[path] = {}
            else:
                known = self._remembered(path, dotted)
                if known is not None:
                    found[path] = _opened(known)
                else:
                    missing[path] = (f"{self._tree.root}/{path}", path, dotted)
        found.update(self._survey_new(missing))
        return found

    def _survey_new(
        self, missing: Mapping[str, tuple[str, str, str]]
    ) -> dict[str, Survey | EncodeError]:
        jobs = list(missing.values())
        if len(jobs) >= MANY:
            results: Iterable[Any] = self._in_parallel(survey_file, jobs)
        else:
            results = (survey_file(*job) for job in jobs)
        found: dict[str, Survey | EncodeError] = {}
        for path, result in zip(missing, results, strict=True):
            self._new[self._key(path, missing[path][2], result["of"])] = result
            self._of[path] = result["of"]
            found[path] = _opened(result)
        return found

    def _references(self, path: str, found: dict[str, Survey | EncodeError]) -> list[str]:
        survey = found.get(path)
        if survey is None or isinstance(survey, EncodeError):
            return []
        refs: Any = survey.get("refs") or []
        wrong = [shown_name(ref) for ref in refs if not is_text(ref)]
        try:
            if wrong:
                facts = {"file": path, "named": wrong[0]}
                raise EncodeError("a file that it refers to is not named in UTF-8", facts)
            return [resolve_reference(path, ref) for ref in refs]
        except EncodeError as error:
            found[path] = error
            return []

    def _key(self, path: str, dotted: str, digest: str) -> str:
        code = dotted, (suffix_of(path),)
        if code not in self._keys:
            table = canonical(self._code.table(*code))
            self._keys[code] = xxhash.xxh3_64_hexdigest(table)
        return f"{self._keys[code]}:{digest}"

    def surveyed_content(self, path: str) -> str:
        """Give the digest of what was surveyed; the file may have been saved since it was read."""
        digest = self._sources.digest(path)
        return self._of.get(path, digest.xxh if digest else "")

    def _remembered(self, path: str, dotted: str) -> Any:
        digest = self._sources.digest(path)
        key = self._key(path, dotted, digest.xxh if digest else "")
        self._used.add(key)
        return self._new.get(key) or self._state.fact("survey", key)

    def save(self) -> None:
        """Remember new surveys, in the caller's transaction; too many old ones are forgotten."""
        self._state.set_facts("survey", self._new)
        self._new = {}
        if self._state.count_facts("survey") > MANY_OLD + 4 * len(self._used):
            self._state.drop_facts("survey", self._state.facts("survey").keys() - self._used)


def _opened(result: dict[str, Any]) -> Survey | EncodeError:
    if "error" in result:
        return EncodeError(**result["error"])
    survey: Survey = result["survey"]
    return survey
