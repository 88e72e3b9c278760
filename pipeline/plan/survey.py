"""Surveys: what must be known of the sources before planning, computed for new content only.

References to other files are followed. A survey that fails fails only the assets that lead to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import xxhash

from encoders.kit.error import EncodeError
from encoders.kit.plan import Survey
from encoders.kit.source.conversion_survey import relative_reference
from encoders.kit.source.outline import reference_field
from encoders.kit.source.reference import resolve_reference
from encoders.kit.source.registry import is_composed, layer_functions, survey_functions
from encoders.kit.source.source_input import LAYERS
from pipeline.content.code import Code, Suffixes
from pipeline.content.source import LinkError, Sources, link_error, read_source
from pipeline.content.target_error import target_error
from pipeline.disk.file import problem_of_link
from pipeline.disk.listing import Snapshot, is_broken_link, is_text, shown_name
from pipeline.manifest.glob import suffix_of
from pipeline.process.capacity import work_seconds
from pipeline.process.isolate import call
from pipeline.process.worker import prepare_encoders
from pipeline.state.serial import canonical, plain
from pipeline.state.state import State

if TYPE_CHECKING:
    from pipeline.plan.survey_exchange import SurveyExchange

UNUSED_KEPT = 5000  # how many surveys of old content are remembered
PARALLEL_FROM = 256  # from so many new sources on, worker processes may pay
# They do where surveys have kept this process busy for so long, and those that are left would for
# this much longer: most surveys read a header, and a worker imports numpy before its first one.
BUSY_SECONDS, LEFT_SECONDS = 0.1, 1.0
MISTAKEN = "This is a mistake in the survey, not in your files."

CONTENT = "content"  # what the survey of a composed source calls the digest of its own bytes

Job = tuple[Any, ...]  # the arguments of `survey_file`

NOTHING_SEEN = xxhash.xxh3_128_hexdigest(canonical({}))


class BrokenLinkError(EncodeError):
    """A source is a link that leads to no file."""


class SurveyResults(Mapping[str, Survey]):
    """Surveys by path; getting one that failed raises its error."""

    def __init__(self, found: dict[str, Survey | EncodeError]) -> None:
        self._found = found
        self._links_out = {path for path, one in found.items() if isinstance(one, LinkError)}

    def __getitem__(self, path: str) -> Survey:
        survey = self._found[path]
        if isinstance(survey, EncodeError):
            raise survey
        return survey

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def refuse_broken_links(self, paths: Iterable[str]) -> None:
        """Raise the error of a path that is a broken link, even if no plan asks for its survey."""
        for path in paths:
            found = self._found.get(path)
            if isinstance(found, BrokenLinkError):
                raise found

    def refuse_links_out(self, paths: Iterable[str]) -> None:
        """Raise the error of a path that leads out of the project, asked for or not."""
        for path in self._links_out.intersection(paths):
            raise self._found[path]  # type: ignore[misc] # these are the errors

    def with_reference(self, error: LinkError, sources: Iterable[str]) -> EncodeError:
        """Add to an error where its file is named, by the sources or by what they lead to."""
        waiting = list(sources)
        for source in waiting:
            survey: Any = self._found.get(source)
            refs = survey.get("refs") or () if isinstance(survey, Mapping) else ()
            paths = {resolve_reference(source, written): written for written in refs}
            written = paths.get(error.facts["file"])
            if written is not None:
                named = f"{source}, {reference_field(survey, written)}"
                return EncodeError(error.problem, {**error.facts, "named in": named}, error.hint)
            waiting += [path for path in paths if path not in waiting]
        return error

    def digest(self, path: str) -> str:
        """Return a digest of all that a plan can know of a source."""
        survey = self._found.get(path)
        if survey == {}:
            return NOTHING_SEEN
        seen = error_fields(survey) if isinstance(survey, EncodeError) else survey
        return xxhash.xxh3_128_hexdigest(canonical(seen))


def _survey_here(jobs: list[Job]) -> list[SurveyRecord]:
    """Survey in this process: all sources, or the first of many whose surveys prove long."""
    results: list[SurveyRecord] = []
    seconds, longest = 0.0, 0.0
    for job in jobs:
        began, cpu_began = monotonic(), process_time()
        results.append(survey_file(*job))
        took = work_seconds(monotonic() - began, process_time() - cpu_began)
        seconds, longest = seconds + took, max(longest, took)
        # The longest is left out, because it may have been long for what it imported.
        each = (seconds - longest) / max(1, len(results) - 1)
        left = each * (len(jobs) - len(results))
        if len(jobs) >= PARALLEL_FROM and seconds > BUSY_SECONDS and left > LEFT_SECONDS:
            break
    return results


def error_fields(error: EncodeError) -> dict[str, Any]:
    """Return an error as plain data."""
    return {"problem": error.problem, "facts": error.facts, "hint": error.hint}


class SurveyRecord(NamedTuple):
    """The survey of one content, or the fields of its error; `content` digests what was read."""

    content: str
    survey: Survey | None
    error: dict[str, Any] | None = None

    def result(self) -> Survey | EncodeError:
        """Return the survey or the error."""
        return EncodeError(**self.error) if self.survey is None else self.survey  # type: ignore[arg-type]


def survey_file(
    root: str, name: str, dotted: str, layers: tuple[str, ...] | None = None
) -> SurveyRecord:
    """Read one source and survey it; an error is a result as well.

    `layers` are the files that a composed source is surveyed with.
    """
    try:
        data = read_source(root, name)
        composed = None if layers is None else _read_layers(root, layers)
    except EncodeError as error:
        return SurveyRecord("", None, error_fields(error))
    except OSError as error:
        problem = EncodeError(error.strerror or str(error), {"file": name})
        return SurveyRecord("", None, error_fields(problem))
    content = xxhash.xxh3_128_hexdigest(data)
    arguments = (data, name) if composed is None else (data, name, composed)
    try:
        survey = _checked(plain(call(dotted, *arguments)), name)
        if layers is not None:
            digests: Any = _layer_digests(name, layers, composed)
            survey = {**survey, CONTENT: content, LAYERS: digests}
        return SurveyRecord(content, survey)
    except EncodeError as error:
        return SurveyRecord(content, None, error_fields(error))
    except (Exception, SystemExit) as error:
        problem = target_error("survey", error, {"file": name})
        return SurveyRecord(content, None, error_fields(problem))


def _read_layers(root: str, layers: Iterable[str]) -> dict[str, bytes]:
    """Read the layers of a source, without those that are missing: its node reports them."""
    found = {}
    for path in layers:
        with suppress(FileNotFoundError, NotADirectoryError):
            found[path] = read_source(root, path)
    return found


def read_layers(root: str, data: bytes, name: str) -> dict[str, bytes]:
    """Read the files that a source is composed with, and those that these are composed with."""
    found = {name: data}
    waiting = [name]
    for path in waiting:
        refs = call(layer_functions()[suffix_of(path)], found[path], path)["refs"]
        named = {resolve_reference(path, one) for one in refs} - found.keys()
        found |= _read_layers(root, sorted(named))
        waiting += sorted(named & found.keys())
    return {path: one for path, one in found.items() if path != name}


def _layer_digests(
    name: str, layers: Iterable[str], read: Mapping[str, bytes] | None
) -> dict[str, str]:
    """Return digests of what was read, by the reference from the source; "" where it is missing.

    They are part of the survey: a plan must be made again when any layer changes.
    """
    data = {one: (read or {}).get(one) for one in layers}
    return {
        relative_reference(name, one): "" if text is None else xxhash.xxh3_128_hexdigest(text)
        for one, text in data.items()
    }


def _checked(found: Any, name: str) -> Survey:
    """Return the result of a survey, or raise EncodeError where it is of the wrong form."""
    refs = (found.get("refs") or []) if isinstance(found, dict) else []
    if not isinstance(found, dict):
        problem = "a survey has to give a mapping"
    elif not isinstance(refs, list | tuple) or not all(isinstance(ref, str) for ref in refs):
        problem = "`refs` of a survey has to be a list of texts"
    else:
        return found
    raise EncodeError(problem, {"file": name, "found": repr(found)}, MISTAKEN)


def _content_of(record: SurveyRecord) -> str:
    """Return a digest of everything that a survey was made from."""
    layers: Any = (record.survey or {}).get(LAYERS)
    return record.content if layers is None else _composed_content(record.content, layers)


def _composed_content(content: str, layers: Mapping[str, str]) -> str:
    return xxhash.xxh3_128_hexdigest(canonical([content, sorted(layers.items())]))


Mapper = Callable[[Callable[..., Any], list[Job]], Iterable[Any]]


class Surveyor:
    """Surveys sources and what they refer to; results are remembered by content."""

    def __init__(
        self,
        snapshot: Snapshot,
        sources: Sources,
        state: State,
        code: Code,
        in_parallel: Mapper,
        exchange: SurveyExchange | None = None,
    ) -> None:
        self._snapshot, self._sources, self._state = snapshot, sources, state
        self._code, self._in_parallel, self._exchange = code, in_parallel, exchange
        self._new: dict[str, SurveyRecord] = {}
        self._keys: dict[tuple[str, Suffixes], str] = {}
        self._content: dict[str, str] = {}
        self._used: set[str] = set()
        self._layers: dict[str, list[str] | EncodeError] = {}

    def survey(self, paths: Iterable[str], own: Mapping[str, str]) -> SurveyResults:
        """Survey the paths and all that they lead to; `own` are the target's surveys by suffix."""
        functions = {**survey_functions(), **own}
        found: dict[str, Survey | EncodeError] = {}
        waiting = sorted(set(paths))
        while waiting:
            self._find_layers([path for path in waiting if is_composed(path)])
            found.update(self._survey_level(waiting, functions))
            # Level by level: what a level refers to is surveyed together, in parallel
            # if it is much.
            refs = {ref for path in waiting for ref in self._references(path, found)}
            waiting = sorted(refs - found.keys())
        for path in self._layer_files() - found.keys():
            # Also where a layer is no asset: a change of it must be noticed.
            found[path] = {CONTENT: self.surveyed_content(path)}
        return SurveyResults(found)

    def _layer_files(self) -> set[str]:
        lists = (one for one in self._layers.values() if not isinstance(one, EncodeError))
        return {path for one in lists for path in one if self._snapshot.stamp(path) is not None}

    def _find_layers(self, sources: list[str]) -> None:
        """Find the files that sources are composed with, and those that these are composed with."""
        direct: dict[str, list[str]] = {}
        found: dict[str, Survey | EncodeError] = {}
        waiting = sources
        while waiting:
            found.update(self._survey_level(waiting, layer_functions()))
            direct.update({path: self._references(path, found) for path in waiting})
            named = {layer for path in waiting for layer in direct[path]}
            waiting = sorted(named - direct.keys())
        for source in sources:
            reached = [source]
            for path in reached:
                reached += [layer for layer in direct[path] if layer not in reached]
            errors = [one for path in reached if isinstance(one := found.get(path), EncodeError)]
            self._layers[source] = errors[0] if errors else sorted(reached[1:])

    def _survey_level(
        self, paths: list[str], functions: Mapping[str, str]
    ) -> dict[str, Survey | EncodeError]:
        found: dict[str, Survey | EncodeError] = {}
        missing: dict[str, Job] = {}
        for path in paths:
            dotted = functions.get(suffix_of(path))
            stamp = self._snapshot.stamp(path)
            if stamp is None:
                continue
            leads_to = self._snapshot.outside(path)
            if leads_to:
                found[path] = link_error(path, leads_to)
            elif is_broken_link(stamp):
                found[path] = self._broken_link(path)
            elif dotted is None:
                found[path] = {}
            elif isinstance(layers := self._layers_for(path, dotted), EncodeError):
                found[path] = layers
            elif known := self._remembered(path, dotted, layers) or self._shared(path, dotted):
                found[path] = known.result()
            else:
                missing[path] = (self._snapshot.root, path, dotted, layers)
        found.update(self._survey_new(missing))
        return found

    def _shared(self, path: str, dotted: str) -> SurveyRecord | None:
        """Return the survey that another machine made of what a Git LFS pointer stands for."""
        if self._exchange is None or path not in self._sources.pointers:
            return None
        survey = self._exchange.find(self._code_key(path, dotted), self._sources.sha(path) or "")
        if survey is None:
            return None
        with suppress(EncodeError):  # of the wrong form: as good as none
            content = self._digest(path)
            record = SurveyRecord(content, _checked(survey, path))
            self._new[self._key(path, dotted, content)] = record
            return record
        return None

    def _offer(self, path: str, dotted: str, record: SurveyRecord) -> None:
        """Keep a new survey for machines that have no more than a pointer to its source."""
        if self._exchange is None or record.survey is None or LAYERS in record.survey:
            return
        digest = self._sources.digest(path)
        if digest is not None and digest.xxh == record.content:
            self._exchange.keep(self._code_key(path, dotted), digest.sha, record.survey)

    def _broken_link(self, path: str) -> EncodeError:
        problem, leads_to = problem_of_link(f"{self._snapshot.root}/{path}")
        facts = {"link": path, "leads to": leads_to}
        return BrokenLinkError(problem, facts, "Mend the link, or put the file in its place.")

    def _survey_new(self, missing: Mapping[str, Job]) -> dict[str, Survey | EncodeError]:
        jobs = list(missing.values())
        if jobs:
            # As workers do; the build that follows gives the warnings.
            prepare_encoders(self._snapshot.root)
        results = _survey_here(jobs)
        if len(results) < len(jobs):
            results += self._in_parallel(survey_file, jobs[len(results) :])
        found: dict[str, Survey | EncodeError] = {}
        for path, record in zip(missing, results, strict=True):
            # An error names its file, and another file of the same content is another file.
            if record.error is None:
                self._offer(path, missing[path][2], record)
                self._new[self._key(path, missing[path][2], _content_of(record))] = record
            self._content[path] = record.content
            found[path] = record.result()
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
        return f"{self._code_key(path, dotted)}:{digest}"

    def _code_key(self, path: str, dotted: str) -> str:
        """Return a digest of all code that surveys a file."""
        code = dotted, (suffix_of(path),)
        if code not in self._keys:
            table = canonical(self._code.table(*code))
            self._keys[code] = xxhash.xxh3_64_hexdigest(table)
        return self._keys[code]

    @property
    def unread(self) -> set[str]:
        """The files that could not be read; what is known of them is an error of the disk."""
        return {path for path, content in self._content.items() if not content}

    def surveyed_content(self, path: str) -> str:
        """Return the digest of the surveyed content; the file may have been saved since."""
        return self._content.get(path, self._digest(path))

    def _layers_for(self, path: str, dotted: str) -> tuple[str, ...] | EncodeError | None:
        """Return the layers that a file is surveyed with; None where it is surveyed alone."""
        if not is_composed(path) or dotted in layer_functions().values():
            return None
        layers = self._layers[path]
        return layers if isinstance(layers, EncodeError) else tuple(layers)

    def _digest(self, path: str) -> str:
        digest = self._sources.digest(path)
        return digest.xxh if digest else ""

    def _remembered(
        self, path: str, dotted: str, layers: tuple[str, ...] | None
    ) -> SurveyRecord | None:
        content = self._digest(path)
        if layers is not None:
            digests = {relative_reference(path, one): self._digest(one) for one in layers}
            content = _composed_content(content, digests)
        key = self._key(path, dotted, content)
        self._used.add(key)
        if key in self._new:
            return self._new[key]
        fact = self._state.fact("survey", key)
        return SurveyRecord(*fact) if fact else None

    def save(self) -> None:
        """Keep new surveys, in the caller's transaction, and drop old ones where they are many."""
        self._state.set_facts("survey", {key: tuple(one) for key, one in self._new.items()})
        self._new = {}
        # Surveys are keyed by content, so those of old content are never asked for again.
        if self._state.count_facts("survey") > UNUSED_KEPT + 4 * len(self._used):
            self._state.drop_facts("survey", self._state.facts("survey").keys() - self._used)
