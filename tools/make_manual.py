"""Write `docs/manifests.md`: the common part of a manifest, and every key of every target.

Run `python tools/make_manual.py`. The tables come from the declarations that manifests are checked
against, so the page can't say anything else than the checks do. `--into FILE` writes elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Before the imports: the script is run from a checkout, installed or not.
sys.path.insert(0, str(ROOT))

from encoders.kit.option import Option, Value  # noqa: E402
from encoders.kit.plan import ANY, ASSET, FILE, MANIFEST, Budget, Kind, Table, Target  # noqa: E402
from pipeline.content.code import target_names  # noqa: E402
from pipeline.plan.target import load_target  # noqa: E402

PAGE = ROOT / "docs/manifests.md"
INTRODUCTION = (Path(__file__).parent / "manual/introduction.md").read_text(encoding="utf-8")
NONE = "*none*"
HEAD = ("| key | allowed | default | meaning |", "| --- | --- | --- | --- |")


def make_page() -> str:
    """Return the whole page."""
    lines = [INTRODUCTION]
    for name in own_targets():
        lines += describe_target(name, load_target(name))
    return "\n".join(lines)


def own_targets() -> list[str]:
    """Return the targets that come with Cartwright, without those of a game."""
    own = ROOT / "encoders"
    return [
        name
        for name in target_names()
        if (own / name / "__init__.py").is_file() or (own / f"{name}.py").is_file()
    ]


def describe_target(name: str, target: Target) -> Iterator[str]:
    """Yield the lines of one target: top-level keys, tables of assets, tables of settings."""
    yield f"## {name}\n"
    yield f"What comes out: [formats/{name}](formats/{name}.md).\n"
    yield f"`budget` limits {describe_budget(target.budget)}.\n"
    if target.options:
        yield "At the top of the manifest\n"
        yield from describe_options(target.options)
    for kind_name, kind in target.kinds.items():
        yield from describe_kind(kind_name, kind)
    for table_name, table in target.tables.items():
        yield from describe_table(table_name, table)


def describe_budget(budget: Budget) -> str:
    """Describe what counts towards a budget."""
    files = " and ".join(f"`{one}`" for one in budget.suffixes)
    of_files = f"all {files} files" if files else "all files"
    if budget.roles:
        of_files = f"the {' and '.join(budget.roles)} of textures"
    each = {MANIFEST: "together", ASSET: "of each scene", FILE: "each by itself"}[budget.per]
    return f"{budget.what}: {of_files}, {each}"


def describe_kind(name: str, kind: Kind) -> Iterator[str]:
    """Yield the lines of one kind of asset."""
    yield f"### {name}\n"
    if not kind.options:
        yield f"Made from {name_suffixes(kind)}. It has no options.\n"
        return
    where = f"`[[{kind.table}]]` and `[defaults.{name}]`"
    yield f"Made from {name_suffixes(kind)}. In {where}:\n"
    yield from describe_options(kind.options)


def name_suffixes(kind: Kind) -> str:
    """Describe which sources a kind reads."""
    if ANY in kind.suffixes:
        return "any file, where an entry asks for it in `kinds` or no other kind reads a named file"
    return ", ".join(f"`{one}`" for one in kind.suffixes)


def describe_table(name: str, table: Table) -> Iterator[str]:
    """Yield the lines of one table of settings."""
    yield f"### `[[{name}]]`\n" if table.repeated else f"### `[{name}]`\n"
    yield "As many as are needed.\n" if table.repeated else "Once.\n"
    yield from describe_options(table.options)


def describe_options(options: Mapping[str, Option]) -> Iterator[str]:
    """Yield a table with a row for each key."""
    yield from HEAD
    for name, option in options.items():
        cells = (f"`{name}`", option.rule.text, show_default(option), option.doc)
        yield "| " + " | ".join(escape(cell) for cell in cells) + " |"
    yield ""


def show_default(option: Option) -> str:
    """Return the default of a key as Markdown."""
    if option.required:
        return "required"
    return NONE if option.default is None else f"`{show_value(option.default)}`"


def show_value(value: Value) -> str:
    """Write a value as TOML has it; for what defaults hold, JSON is the same."""
    return json.dumps(value, ensure_ascii=False)


def escape(cell: str) -> str:
    """Escape what Markdown would take for the end of a cell, for emphasis or for HTML."""
    cell = cell.replace("|", "\\|")
    # Inside backticks Markdown shows everything as it is but the bar of a table.
    return cell if cell == NONE or "`" in cell else cell.replace("*", "\\*").replace("<", "&lt;")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=PAGE)
    parser.parse_args().into.write_text(make_page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
