"""The reference builder: no cache, no state, no doit. It encodes everything, every time.

It also keeps, as `seen`, what was ever encoded from what, which tells what a build with a cache
need not encode again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from encoders.kit.error import EncodeError
from encoders.kit.plan import Asset, Family, Settings, Source
from tests.pipeline.game import Game


class Naive:
    """Builds the toy target by the letter of its plan."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.seen: set[str] = set()

    def build(self, case: str) -> tuple[dict[str, bytes], set[str], set[str]]:
        """Give the files that there must be, the nodes that need encoding, and those that fail."""
        code = self.game.read("encoders/toy.py").decode()
        toy: dict[str, Any] = {}
        exec(compile(code, "toy", "exec"), toy)
        nodes, broken = self._plan(toy, case)
        failed = set(broken)
        made: dict[str, Mapping[str, bytes]] = {}
        files: dict[str, bytes] = {}
        fresh = set()
        for node in nodes:
            inputs = self._inputs(node, made)
            if inputs is None or (node.name in ("pack", "parts") and broken):
                failed.add(node.name)
                continue
            try:
                outputs = toy[node.encoder.partition(":")[2]](inputs, node.params)
            except (EncodeError, ValueError):
                failed.add(node.name)
                continue
            outputs.pop("warnings", None)
            outputs.pop("report", None)
            made[node.name] = outputs
            files |= self._files(node, outputs)
            key = self._key(code, node, inputs)
            if key not in self.seen:
                fresh.add(node.name)
            self.seen.add(key)
        return files, fresh, failed

    def _plan(self, toy: dict[str, Any], case: str) -> tuple[list[Any], set[str]]:
        sources = sorted(
            str(path.relative_to(self.game.root))
            for path in self.game.path("assets").rglob("*")
            if path.suffix in (".txt", ".lst", ".bst")
        )
        kinds = {".txt": "text", ".lst": "list", ".bst": "burst"}
        nodes, failed = [], set()
        for source in sources:
            name, _, suffix = source.removeprefix("assets/").rpartition(".")
            options = {"case": case, "times": 1, "beside": ""}
            asset = Asset(name, name, (source,), (kinds["." + suffix],), options, name)
            try:
                data = self.game.read(source)
                surveys = {source: toy["survey_lines"](data, source) if suffix != "bst" else {}}
                nodes += toy["plan"](asset, surveys, Settings({}, {}))
            except EncodeError:
                failed.add(name)
        return [*nodes, *toy["link"]([], nodes, None)], failed

    def _inputs(self, node: Any, made: Mapping[str, Any]) -> dict[str, bytes] | None:
        inputs: dict[str, bytes] = {}
        for name, one in node.inputs.items():
            if isinstance(one, Source):
                if self.game.path(one.path).exists():
                    inputs[name] = self.game.read(one.path)
            elif one.node not in made:
                return None
            elif one.role in made[one.node]:
                inputs[name] = made[one.node][one.role]
            else:
                for role, data in made[one.node].items():
                    if role.startswith(one.role + "/"):
                        inputs[name + role[len(one.role) :]] = data
        return dict(sorted(inputs.items()))

    @staticmethod
    def _files(node: Any, outputs: Mapping[str, bytes]) -> dict[str, bytes]:
        files = {}
        for role, data in outputs.items():
            place = node.outputs.get(role, node.outputs.get(role.rpartition("/")[0]))
            if isinstance(place, Family) and role in node.outputs:
                place = place.alone
            elif isinstance(place, Family):
                place = f"{place.prefix}{role.rpartition('/')[2]}{place.suffix}"
            if place is not None:
                files[f"build/toy/{place}"] = data
        return files

    @staticmethod
    def _key(code: str, node: Any, inputs: Mapping[str, bytes]) -> str:
        parts = [code, node.encoder, repr(sorted(node.params.items())), repr(inputs)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
