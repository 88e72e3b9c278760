"""A manifest on its way to nodes: read, found, surveyed, planned. Nothing is noted anywhere yet.

Every mistake that can be found is collected before the report is made.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import Kind, Source, Target
from encoders.kit.source.registry import survey_functions
from pipeline.content.code import target_module, target_names
from pipeline.content.target_error import place_of_error, words_of
from pipeline.disk.file import leads_out
from pipeline.disk.listing import Listing, is_link, is_text, shown_name
from pipeline.manifest.asset import Finding, find_assets
from pipeline.manifest.glob import suffix_of
from pipeline.manifest.mistake import Check, ManifestError
from pipeline.manifest.schema import Manifest, parse_toml, read_manifest, target_of
from pipeline.plan.graph import claims_of, collisions, graph_problems
from pipeline.plan.planned_node import BROKEN, PlanError, Planned, plan_nodes
from pipeline.plan.survey import Mapper, SurveyBook, Surveyor
from pipeline.project import Project


class Draft:
    """What a manifest comes to, as things are now."""

    def __init__(self, project: Project, stem: str, in_parallel: Mapper) -> None:
        self.project, self.stem = project, stem
        self.text = project.read_manifest(stem)
        self.check = Check(project.manifest_file(stem))
        self.surveyor = Surveyor(
            project.tree, project.sources, project.state, project.code, in_parallel
        )
        self.finding = Finding([])
        self.surveys = SurveyBook({})
        self.planned: dict[str, Planned] = {}
        self._listed: set[str] = set()
        self._outputs = sorted({"cache", *output_folders(project)})
        self.manifest, self.target = self._read()

    def _read(self) -> tuple[Manifest, Target]:
        document = parse_toml(self.text, self.check)
        if set(self.stem) & set(":=*"):
            self.check.add("file name", "it names tasks, so it can't hold any of : = *")
        name = None if self.check.mistakes else target_of(document, target_names(), self.check)
        if name is None:
            raise ManifestError(self.check.mistakes)
        try:
            target = load_target(name)
        except TargetError as error:
            self.check.add("target", str(error))
            raise ManifestError(self.check.mistakes) from None
        return read_manifest(self.stem, document, name, target, self.check), target

    def work_out(self) -> None:
        """Find the assets, survey them and plan their nodes."""
        self._refuse_linked_output()
        given = self.manifest, self.target, self._list, self.check, self._outputs
        self.finding = find_assets(*given)
        self._refuse_links(source for asset in self.finding.assets for source in asset.sources)
        self._stop_at_mistakes()
        self.project.sources.load_all()
        paths = [source for asset in self.finding.assets for source in asset.sources]
        self.surveys = self.surveyor.survey(paths, self.target.surveys)
        self._plan()
        self._refuse_links(self._planned_sources() - set(self.surveys))
        self._stop_at_mistakes()
        if not (self.manifest.entries or self.planned):
            tables = sorted({f"[[{kind.table}]]" for kind in self.target.kinds.values()})
            said = f"there is no {' or '.join(tables)}, so nothing is built"
            self.finding.warnings.append(f"{self.check.file}: {said}")

    def _plan(self) -> None:
        settings, output = self.manifest.settings, self.manifest.output
        try:
            assets = self.finding.assets
            self.planned = plan_nodes(self.target, assets, self.surveys, settings, output)
        except (PlanError, EncodeError) as error:
            self.check.add("plan", str(error))
            return
        nodes = {name: one.node for name, one in self.planned.items()}
        claims = claims_of(self.stem, nodes)
        for problem in (*graph_problems(self.stem, nodes), *collisions(claims)):
            self.check.add("plan", problem)

    def _stop_at_mistakes(self) -> None:
        if self.check.mistakes:
            raise ManifestError(self.check.mistakes)

    def _list(self, folder: str) -> Listing | None:
        """List a folder for a pattern: outputs are no sources, and links stay inside."""
        if any(f"{folder}/".startswith(f"{out}/") for out in self._outputs):
            return None
        if not self._is_text(folder):
            return None
        error = self.project.tree.error(folder)
        if error is not None and folder not in self._listed:
            self.check.add("source", f'"{folder or "."}" can\'t be listed: {error.strerror}')
        self._listed.add(folder)
        if folder and leads_out(f"{self.project.root}/{folder}", self.project.root):
            self.check.add("source", f'"{folder}" is a link that leads out of the project')
            return None
        return self._without_outputs(folder, self.project.tree.listing(folder))

    def _without_outputs(self, folder: str, listing: Listing | None) -> Listing | None:
        """Leave out what is known as an output: a folder that was one is not empty yet."""
        made = self.project.state.products_beside(folder)
        sha_of = self.project.sources.sha
        stale = {name for name, sha in made.items() if sha_of(f"{folder}/{name}") == sha}
        if listing is None or not stale:
            return listing
        return {name: stamp for name, stamp in listing.items() if name not in stale}

    def _is_text(self, path: str) -> bool:
        """Tell whether a path can be written down, and note a mistake where it can't."""
        if not is_text(path):
            self.check.add("source", f'"{shown_name(path)}" is not named in UTF-8; rename it')
        return is_text(path)

    def _refuse_links(self, sources: Iterable[str]) -> None:
        for source in filter(self._is_text, sorted(set(sources))):
            stamp = self.project.tree.stamp(source)
            path = f"{self.project.root}/{source}"
            if stamp and is_link(stamp) and leads_out(path, self.project.root):
                self.check.add("source", f'"{source}" is a link that leads out of the project')

    def _refuse_linked_output(self) -> None:
        """Refuse to write, and to take away, where a link leads and the manifest does not say."""
        link = self.project.tree.link_to(self.manifest.output)
        if link:
            self.check.add("output", f'"{link}" is a link; outputs go into real folders only')

    def _planned_sources(self) -> set[str]:
        return {
            one.path
            for planned in self.planned.values()
            for one in planned.node.inputs.values()
            if isinstance(one, Source)
        }

    @cached_property
    def input_folders(self) -> set[str]:
        """The folders on which the plan depends: by their files, or by what is not there."""
        sources = self._planned_sources() | set(self.surveys)
        return self._listed | {path.rpartition("/")[0] for path in sources}

    def code(self) -> dict[str, str]:
        """Give all code and libraries that decide the plan or its nodes."""
        table: dict[str, str] = {}
        for dotted, suffixes in sorted(self._functions()):
            table |= self.project.code.table(dotted, suffixes)
        return table

    def code_files(self) -> set[str]:
        """Name the files that decide all this, with those that would if they were there."""
        return {path for one in self._functions() for path in self.project.code.files(*one)}

    def _functions(self) -> set[tuple[str, tuple[str, ...]]]:
        """Name all functions called, each with the suffixes of the sources it is called with."""
        nodes = (one.node for one in self.planned.values() if one.node.encoder != BROKEN)
        encoders = {(node.encoder, self.project.code.suffixes_read(node)) for node in nodes}
        surveys = {**survey_functions(), **self.target.surveys}
        suffixes = sorted({suffix_of(path) for path in self.surveys})
        used = {(surveys[suffix], (suffix,)) for suffix in suffixes if suffix in surveys}
        target = f"{target_module(self.manifest.target)}:TARGET"
        return {(target, tuple(suffixes)), *encoders, *used}


class TargetError(Exception):
    """A target's module can't be loaded, or declares no target."""


def load_target(name: str) -> Target:
    """Load the declaration of a target."""
    dotted = target_module(name)
    try:
        target: Any = vars(import_module(dotted)).get("TARGET")
    except (Exception, SystemExit) as error:
        raise TargetError(f"{dotted} can't be loaded; {_told(error)}") from None
    if target is None:
        raise TargetError(f"{dotted} declares no TARGET")
    if not isinstance(target, Target):
        raise TargetError(f"{dotted}.TARGET is no Target")
    if not all(isinstance(kind, Kind) for kind in dict(target.kinds).values()):
        raise TargetError(f"{dotted}.TARGET is no Target: its kinds are not all of Kind")
    return target


def _told(error: BaseException) -> str:
    at = place_of_error(error)
    return f"{at}: {words_of(error)}" if at else words_of(error)


def output_folders(project: Project) -> set[str]:
    """Name the output folders of all manifests; one that can't be read has none."""
    folders = set()
    for stem in project.stems():
        with suppress(ManifestError):
            document = parse_toml(project.read_manifest(stem), Check(stem))
            found = document.get("output", f"build/{stem}")
            if isinstance(found, str):
                folders.add(posixpath.normpath(found))
    return folders
