"""The smallest whole target: texts come out in capitals, and one file counts them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from encoders.kit.option import Number, Option
from encoders.kit.plan import (
    Asset,
    Kind,
    Node,
    Product,
    Reader,
    Settings,
    Source,
    Surveys,
    Target,
)


def plan(asset: Asset, surveys: Surveys, settings: Settings) -> Iterable[Node]:  # noqa: ARG001 - every plan has these
    """Make one node of each text."""
    yield Node(
        name=asset.name,
        encoder="encoders.shout.text:encode_text",
        inputs={"source": Source(asset.source)},
        params={"marks": asset.options["marks"]},
        outputs={"text": f"{asset.place}.shout", "length": None},
    )


def link(assets: Sequence[Asset], nodes: Sequence[Node], settings: Settings) -> Iterable[Node]:  # noqa: ARG001 - every link has these
    """Make one node of all nodes."""
    lengths = {node.name: Product(node.name, "length") for node in nodes}
    yield Node("index", "encoders.shout.text:encode_index", lengths, {}, {"index": "index.shouts"})


TARGET = Target(
    kinds={
        "text": Kind(
            suffixes=(".txt",),
            options={"marks": Option(Number(0, 9, whole=True), 1, "exclamation marks at the end")},
        )
    },
    plan=plan,
    link=link,
    readers=(Reader(".shouts", b"SHOUTS 1\n", "encoders.shout.text:decode_index"),),
)
