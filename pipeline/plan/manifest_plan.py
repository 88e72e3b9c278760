"""The plan of one manifest, step by step: read it, find assets, survey them, plan their nodes.

All mistakes of a step are collected before ManifestError reports them. Nothing is saved here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cached_property, partial

from encoders.kit.error import EncodeError
from encoders.kit.plan import Source, Target
from encoders.kit.source.registry import survey_functions
from encoders.kit.warning import grouped
from pipeline.content.code import Suffixes, target_module, target_names
from pipeline.disk.listing import Listing, is_text, shown_name
from pipeline.manifest.asset import Finding, find_assets
from pipeline.manifest.glob import in_other_case, matches, suffix_of
from pipeline.manifest.mistake import Check, ManifestError
from pipeline.manifest.schema import Manifest, read_manifest, target_of
from pipeline.manifest.schema_file import write_schema
from pipeline.plan.graph import claims_of, collisions, graph_problems
from pipeline.plan.nodes import PlanError, plan_nodes
from pipeline.plan.survey import Mapper, Surveyor, SurveyResults
from pipeline.plan.target import TargetError, load_target, targets_with
from pipeline.project import Project
from pipeline.state.node_record import PlannedNode
from pipeline.timeline import SURVEY

TABLE = re.compile(r"\[\[?(\w+)\]\]?")


class ManifestPlan:
    """The nodes of a manifest as sources and code are now."""

    def __init__(self, project: Project, stem: str, in_parallel: Mapper) -> None:
        self.project, self.stem = project, stem
        line_of = partial(project.manifests.line_of_key, stem)
        self.check = Check(project.manifests.file(stem), targets_with=targets_with, line_of=line_of)
        self.surveyor = Surveyor(
            project.snapshot,
            project.sources,
            project.state,
            project.code,
            in_parallel,
            project.survey_exchange,
        )
        self.finding = Finding([])
        self.surveys = SurveyResults({})
        self.planned: dict[str, PlannedNode] = {}
        self._listed: set[str] = set()
        self._outputs = sorted({"cache", *project.manifests.output_folders()})
        self.manifest, self.target = self._read()

    def _read(self) -> tuple[Manifest, Target]:
        values = self.project.manifests.parse(self.stem)
        if set(self.stem) & set(":=*"):
            self.check.add("file name", "it names tasks, so it can't hold any of : = *")
        if self.stem.startswith("-"):
            self.check.add("file name", "it names tasks, so it can't begin with -, as options do")
        name = None if self.check.mistakes else target_of(values, target_names(), self.check)
        if name is None:
            raise ManifestError(self.check.mistakes)
        try:
            target = load_target(name)
        except TargetError as error:
            self.check.add("target", str(error))
            raise ManifestError(self.check.mistakes) from None
        write_schema(self.project.root, name, target)
        return read_manifest(self.stem, values, name, target, self.check), target

    def make(self) -> None:
        """Find the assets, survey them and plan their nodes."""
        self._refuse_wrong_output()
        given = self.manifest, self.target, self._list, self.check, self._outputs
        self.finding = find_assets(*given)
        self._refuse_missing_root()
        self._check_by_target()
        self._refuse_links(source for asset in self.finding.assets for source in asset.sources)
        self._stop_at_mistakes()
        # Every source is digested below; one query for all beats one for each.
        self.project.sources.load_all()
        paths = self._surveyed_files()
        with self.project.timeline.phase(SURVEY, self._surveyed(len(paths))):
            self.surveys = self.surveyor.survey(paths, self.target.surveys)
        self._plan()
        self._refuse_links(self._planned_sources() - set(self.surveys))
        self._stop_at_mistakes()
        if not (self.manifest.entries or self.planned):
            tables = sorted({f"[[{kind.table}]]" for kind in self.target.kinds.values()})
            said = f"there is no {' or '.join(tables)}, so nothing is built"
            warning = grouped("empty-manifest", f"{self.check.file}: {said}")
            self.finding.warnings.append(warning)
        self._warn_of_useless_keys()
        self.finding.assets = []  # all are planned; those of a large project take much memory

    def _check_by_target(self) -> None:
        """Report what the target finds wrong in the manifest, with all other mistakes."""
        if self.target.check is None:
            return
        found = self.target.check(self.finding.assets, self.manifest.settings, self._is_file)
        told: dict[tuple[str, str], None] = {}
        for asset, name, problem in found:
            entry = f"{self._key_of_asset(asset.name)}." if asset else ""
            told[f"{entry}{name}", problem] = None  # once for all assets of an entry
        for key, problem in told:
            self.check.add(key, problem)

    def _is_file(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        return name in (self._list(folder) or ())

    def _warn_of_useless_keys(self) -> None:
        """Add the target's warnings about keys of the manifest that have no effect."""
        if self.target.warn is None:
            return
        settings = self.manifest.settings
        for key, said in self.target.warn(self.finding.assets, self.surveys, settings):
            line = self.check.line_of(key)
            where = f" (line {line})" if line else ""
            text = f"{self.check.file}: {key} {said}{where}"
            self.finding.warnings.append(grouped("no-effect", text))

    def _refuse_missing_root(self) -> None:
        """Refuse a `source_root` that is written down and not there: names would be others."""
        root = self.manifest.source_root
        # Without assets there are no names, and a task of the project may be about to make both.
        if not self.finding.assets or "source_root" not in self.project.manifests.parse(self.stem):
            return
        # By the system and not by a listing, which would make the plan depend on that folder.
        if root and not os.path.isdir(f"{self.project.root}/{root}"):
            near = in_other_case(root, self._list)
            hint = f'; did you mean "{near}"?' if near else ""
            self.check.add("source_root", f'found "{root}"; there is no such folder{hint}')

    def _surveyed(self, count: int) -> str:
        return f"{count:,} source{'' if count == 1 else 's'} of {self.stem}"

    def _surveyed_files(self) -> set[str]:
        """Return the sources of all assets, and the files that their options name."""
        found: set[str] = set()
        for asset in self.finding.assets:
            found.update(asset.sources)
            for kind in asset.kinds:
                named = (asset.options.get(key) for key in self.target.kinds[kind].source_options)
                found.update(path for path in named if isinstance(path, str))
        return found

    def _plan(self) -> None:
        settings, output = self.manifest.settings, self.manifest.output
        try:
            assets = self.finding.assets
            self.planned = plan_nodes(self.target, assets, self.surveys, settings, output)
        except (PlanError, EncodeError) as error:
            self.check.add(self._key_of_error(error), str(error))
            return
        nodes = {name: one.node for name, one in self.planned.items()}
        clashes = collisions(claims_of(self.stem, nodes))
        if clashes:  # one hint for all of them
            clashes[-1] += "\nRename one of the sources, give it an `id`, or exclude it."
        for problem in (*graph_problems(self.stem, nodes), *clashes):
            self.check.add(self._key_of_node(problem), problem)

    def _key_of_error(self, error: PlanError | EncodeError) -> str:
        """Return the entry of the asset that an error is about: the last one that it names."""
        if isinstance(error, PlanError):
            return self._key_of_asset(error.asset)
        text = str(error)
        named = [asset.name for asset in self.finding.assets if asset.source in text]
        # Targets write tables of a manifest as [game] or [[scene]].
        table = TABLE.search(text)
        return table[1] if table and not named else self._key_of_asset(named[-1] if named else "")

    def _key_of_node(self, problem: str) -> str:
        """Return the entry of the node with which a problem begins."""
        found = [name for name in self.planned if problem.startswith(f"{self.stem}:{name} ")]
        return self._key_of_asset(self.planned[max(found, key=len)].asset if found else "")

    def _key_of_asset(self, name: str) -> str:
        """Return the entry that an asset is from, which is the last that matches its source."""
        sources = (asset.source for asset in self.finding.assets if asset.name == name)
        return self._entry_key(next(sources, "")) or "plan"

    def _entry_key(self, path: str) -> str:
        for entry in reversed(self.manifest.entries):
            if any(matches(pattern, path) for pattern in entry.sources):
                return entry.key
        return ""

    def _source_key(self, path: str) -> str:
        return ".".join(filter(None, (self._entry_key(path), "source")))

    def _stop_at_mistakes(self) -> None:
        if self.check.mistakes:
            raise ManifestError(self.check.mistakes)

    def _list(self, folder: str) -> Listing | None:
        """List a folder for a glob, without outputs and without links that leave the project."""
        if any(f"{folder}/".startswith(f"{out}/") for out in self._outputs):
            return None
        if not self._is_text(folder):
            return None
        error = self.project.snapshot.error(folder)
        if error is not None and folder not in self._listed:
            self.check.add("source", f'"{folder or "."}" can\'t be listed: {error.strerror}')
        self._listed.add(folder)
        leads_to = self.project.snapshot.folder_outside(folder)
        if leads_to:
            self._refuse_link(folder, leads_to)
            return None
        return self._without_outputs(folder, self.project.snapshot.listing(folder))

    def _without_outputs(self, folder: str, listing: Listing | None) -> Listing | None:
        """Leave out known outputs: the folder may have been an output folder until now."""
        made = self.project.state.outputs_in_folder(folder)
        sha_of = self.project.sources.sha
        stale = {name for name, sha in made.items() if sha_of(f"{folder}/{name}") == sha}
        if listing is None or not stale:
            return listing
        return {name: stamp for name, stamp in listing.items() if name not in stale}

    def _is_text(self, path: str) -> bool:
        """Tell whether a path is UTF-8, and report a mistake where it is not."""
        if not is_text(path):
            self.check.add(
                self._source_key(path), f'"{shown_name(path)}" is not named in UTF-8; rename it'
            )
        return is_text(path)

    def _refuse_links(self, sources: Iterable[str]) -> None:
        for source in filter(self._is_text, sorted(set(sources))):
            leads_to = self.project.snapshot.outside(source)
            if leads_to and self.project.snapshot.stamp(source) is not None:
                self._refuse_link(source, leads_to)

    def _refuse_link(self, path: str, leads_to: str) -> None:
        is_one = os.path.islink(f"{self.project.root}/{path}")
        said = "is a link that leads out of the project"
        problem = said if is_one else "leads out of the project through a link"
        self.check.add(self._source_key(path), f'"{path}" {problem}, to {leads_to}')

    def _refuse_wrong_output(self) -> None:
        """Report an output folder that is a file, or behind a link.

        Behind a link, files elsewhere would be written and removed.
        """
        link = self.project.snapshot.link_to(self.manifest.output)
        if link:
            self.check.add("output", f'"{link}" is a link; outputs go into real folders only')
            return
        parts = self.manifest.output.split("/")
        above = ("/".join(parts[: end + 1]) for end in range(len(parts)))
        file = next((one for one in above if os.path.isfile(f"{self.project.root}/{one}")), "")
        if file:
            self.check.add("output", f'"{file}" is a file; outputs need a folder of their own')

    def _planned_sources(self) -> set[str]:
        return {
            one.path
            for planned in self.planned.values()
            for one in planned.node.inputs.values()
            if isinstance(one, Source)
        }

    @cached_property
    def input_folders(self) -> set[str]:
        """The folders that the plan depends on: files in them, or names that are missing there."""
        sources = self._planned_sources() | set(self.surveys)
        return self._listed | {path.rpartition("/")[0] for path in sources}

    def code(self) -> dict[str, str]:
        """Return all code and libraries that decide the plan or its nodes."""
        table: dict[str, str] = {}
        for dotted, suffixes in sorted(self._functions):
            table |= self.project.code.table(dotted, suffixes)
        return table

    def code_files(self) -> set[str]:
        """Return the files of that code, and those that would be taken instead if they appeared."""
        return {path for one in self._functions for path in self.project.code.files(*one)}

    @cached_property
    def _functions(self) -> set[tuple[str, Suffixes]]:
        """All functions that are called, each with the suffixes of the sources it reads."""
        nodes = (one.node for one in self.planned.values() if not one.is_broken)
        encoders = {(node.encoder, self.project.code.suffixes_read(node)) for node in nodes}
        surveys = {**survey_functions(), **self.target.surveys}
        suffixes = sorted({suffix_of(path) for path in self.surveys})
        used = {(surveys[suffix], (suffix,)) for suffix in suffixes if suffix in surveys}
        target = f"{target_module(self.manifest.target)}:TARGET"
        return {(target, tuple(suffixes)), *encoders, *used}
