"""The types that a target plans with: assets go in, nodes come out.

A plan is data. It names encoders, inputs and files and runs nothing. The whole plan is known before
the first encoder is called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from encoders.kit.option import Option, Value

Params: TypeAlias = Mapping[str, Value]
Inputs: TypeAlias = Mapping[str, bytes]
Outputs: TypeAlias = dict[str, bytes]
Survey: TypeAlias = Mapping[str, Value]

# An encoder may return these beside the roles that its node promised: one message a line.
# Warnings tell of a lossy choice; the report is what a user may want to know of the result.
WARNINGS = "warnings"
REPORT = "report"


@dataclass(frozen=True, slots=True)
class Asset:
    """A source (or several that belong together) with its kinds and its complete options.

    `place` is the path below the manifest's `source_root`, without suffix: what files are named
    after. `name` is the same as a user types it after the colon, with the suffix where two sources
    differ in nothing else. `id` is what the asset is called inside the output.
    """

    name: str
    id: str
    sources: tuple[str, ...]
    kinds: tuple[str, ...]
    options: Params
    place: str = ""

    @property
    def source(self) -> str:
        """The file itself, for an asset that has just one."""
        return self.sources[0]

    @property
    def kind(self) -> str:
        """The kind, for an asset that has just one."""
        return self.kinds[0]


@dataclass(frozen=True, slots=True)
class Source:
    """An input from the project, by its path; left out if the file is missing."""

    path: str


@dataclass(frozen=True, slots=True)
class Product:
    """An input that another node of the same manifest makes.

    Where the role is a family, the input `x` becomes `x/<member>` for every member made.
    """

    node: str
    role: str


@dataclass(frozen=True, slots=True)
class Family:
    """A role for which a node makes any number of files, known only when it has run.

    The encoder returns `role/<member>`, and the file is called `prefix + member + suffix`. A
    member is a number, or where `hashed` is set a digest in lower-case hexadecimal. Where `alone`
    names a file, the encoder may return plain `role` instead, for the one file that is enough.
    """

    prefix: str
    suffix: str
    alone: str | None = None
    hashed: bool = False

    def can_have(self, member: str) -> bool:
        """Tell whether this is a valid name of a member."""
        # Members become file names: a slash or a dot would let an encoder choose another folder.
        return re.fullmatch("[0-9a-f]+" if self.hashed else "[0-9]+", member) is not None


Place: TypeAlias = "str | Family | None"


@dataclass(frozen=True, slots=True)
class Node:
    """One unit of work: an encoder, its named inputs, its parameters and its outputs.

    `outputs` maps each role to a file below the output folder, to a family of files, or to
    None for what only other nodes read. An encoder is named `package.module:function`.
    `stands_on` names the assets that a linked node needs; None means all.
    """

    name: str
    # A name, not the function: planning must not import encoders and their libraries, and a node
    # is compared with earlier runs and sent to other processes.
    encoder: str
    inputs: Mapping[str, Source | Product]
    params: Params
    outputs: Mapping[str, Place]
    stands_on: tuple[str, ...] | None = None


# The suffix of a kind that reads any file: where an entry asks for it by name, or names a file
# that no other kind reads. A pattern alone never reaches it.
ANY = "*"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of asset: the suffixes of its sources and the options that apply.

    A kind whose entries stand in another table than `[[asset]]` gathers all sources of an entry
    into one asset, called by the entry's `name`. `source_options` are options that name a file
    which planning has to know as well, although it may be no asset.

    Two fields are for a project's first manifest alone. `needs` is a key of the manifest and the
    value without which the kind is refused. `suggest` returns the options that a source needs by
    its survey, None where another kind is the one for it.
    """

    suffixes: tuple[str, ...]
    options: Mapping[str, Option] = field(default_factory=dict)
    # "asset" stands for `[[asset]]`, where each source is an asset by itself.
    table: str = "asset"
    source_options: tuple[str, ...] = ()
    needs: tuple[str, Value] | None = None
    suggest: Callable[[Survey], Params | None] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a manifest that holds settings instead of assets, given once or repeatedly."""

    options: Mapping[str, Option]
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """The parts of a manifest other than assets: top-level options, tables by name, the root."""

    options: Params
    tables: Mapping[str, Sequence[Params]]
    source_root: str = "assets"


Siblings: TypeAlias = Callable[[str], "bytes | None"]


@dataclass(frozen=True, slots=True)
class Reader:
    """How a file that a target writes is recognised and decoded.

    `decode` names a function `(data, name) -> Mapping` that raises EncodeError for a file that
    the platform's loader would refuse; where `needs_siblings` is set it also gets a function that
    gives the bytes of a file beside it. `exports` names functions of the same arguments that give
    files by name, under the option of `doit inspect` that asks for them: `obj` or `extract`.
    `view` names a function `(data, name, siblings)` that gives what can be seen of the file, a
    `View` of encoders/kit/view/scene.py, for pictures and GLBs.
    """

    suffix: str
    # The first bytes of the file; several targets may write files of one suffix.
    magic: bytes
    decode: str
    needs_siblings: bool = False
    exports: Mapping[str, str] = field(default_factory=dict)
    view: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an importer: the text of a manifest, and warnings for what was left out."""

    text: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Importer:
    """A command of `doit` that writes a manifest from a file of the platform's own tools.

    `convert` names a pure function `(data, path) -> Imported` that raises EncodeError for a file
    it can't read; `path` is the file's path from the project's root. `output` is the manifest that
    is written where the user names no other.
    """

    convert: str
    output: str
    purpose: str
    description: str = ""


# What shares one budget: all that a manifest makes, one asset (a scene), or one file (a tile).
MANIFEST, ASSET, FILE = "manifest", "asset", "file"


@dataclass(frozen=True, slots=True)
class Budget:
    """What `budget` in a manifest limits: the memory of the platform that runs out first.

    `what` names it. Files count by their suffix, all where none is given; where `roles` are given,
    outputs of these roles count instead, be they files or not: a platform keeps one copy of what
    is equal within an asset, so nodes whose counted outputs are all equal count as one, and so do
    equal outputs of the roles after the first. `made_of_others` tells that what
    counts is a pack of the manifest's other files, which are its largest contributors then.
    """

    what: str
    suffixes: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    per: str = MANIFEST
    made_of_others: bool = False


Surveys: TypeAlias = Mapping[str, Survey]
# Gives a warning for each key of a manifest, such as `texture[2].match`, that has no effect.
WarnOfPlan: TypeAlias = Callable[[Sequence[Asset], Surveys, Settings], Iterable[tuple[str, str]]]
# Gives what is wrong with a key: of an asset's entry, or where there is none of the manifest. It is
# told with a function that says whether a file is there.
CheckOfPlan: TypeAlias = Callable[
    [Sequence[Asset], Settings, Callable[[str], bool]], Iterable[tuple[Asset | None, str, str]]
]
Link: TypeAlias = Callable[[Sequence[Asset], Sequence[Node], Settings], Iterable[Node]]


@dataclass(frozen=True, slots=True)
class Target:
    """A platform, as the engine sees it.

    `plan` returns the nodes of one asset; `link`, if given, returns the nodes that depend on those
    of several assets. Both are pure. `surveys` adds to what the kit knows to survey, by suffix. An
    EncodeError from `plan` breaks one asset; one from `link` is a mistake in the manifest.
    `commands` are commands of `doit` by name; a manifest, target or task of that name wins.
    `budget` says what counts where a manifest sets one. `charts` names functions
    `(inputs, params, outputs) -> Mapping` by the encoder whose nodes they chart; the kinds of
    charts are those of encoders/kit/chart.py. `name_parts` is how many of the last parts of a
    source's path its output is called by, so that they must differ; 0 is all of them. `warn`, if
    given, is pure too, and returns keys of the manifest that have no effect, with what to say;
    `check` returns wrong ones, before anything is surveyed.
    """

    kinds: Mapping[str, Kind]
    plan: Callable[[Asset, Surveys, Settings], Iterable[Node]]
    link: Link | None = None
    options: Mapping[str, Option] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    # Names of functions, as in Node.encoder, and for the same reason.
    surveys: Mapping[str, str] = field(default_factory=dict)
    readers: Sequence[Reader] = ()
    commands: Mapping[str, Importer] = field(default_factory=dict)
    budget: Budget = Budget("files")
    charts: Mapping[str, str] = field(default_factory=dict)
    name_parts: int = 0
    warn: WarnOfPlan | None = None
    check: CheckOfPlan | None = None
