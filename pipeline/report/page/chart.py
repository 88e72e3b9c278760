"""Charts of nodes, from what the cache keeps of their inputs and outputs.

A chart that was drawn once is kept with the pictures, so that it outlives the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from encoders.kit.plan import Product
from pipeline.content.code import load_function
from pipeline.plan.target import all_targets
from pipeline.project import Project
from pipeline.report.page.media_store import MediaStore
from pipeline.report.page.page_data import PageData, PageNode
from pipeline.state.node_table import NodeTable
from pipeline.task_name import TaskName

# A result that other code made may lack what the chart needs: then there is no chart.
NO_CHART = (KeyError, ValueError, TypeError)


def draw_charts(project: Project, data: PageData, store: MediaStore, code: str) -> list[str]:
    """Give each node that has one its chart; return the keys of charts in the store.

    `code` is a digest of the code that draws.
    """
    charts = {encoder: draw for _, one in all_targets() for encoder, draw in one.charts.items()}
    nodes = NodeTable(project.state)
    keys: list[str] = []
    for node in data.nodes:
        draw = charts.get(node.encoder)
        if draw is None or node.build is None or node.result["error"] is not None:
            continue
        key = hashlib.sha256(f"{node.build.fingerprint} {draw} {code}".encode()).hexdigest()
        keys.append(key)
        node.chart = store.find_chart(key)
        if node.chart is None:
            node.chart = _draw(project, nodes, node, draw)
            if node.chart is not None:
                store.keep_chart(key, node.chart)
    return keys


def _draw(
    project: Project, nodes: NodeTable, node: PageNode, draw: str
) -> Mapping[str, Any] | None:
    loaded = _load(project, nodes, node)
    if loaded is None:
        node.problem = f"its chart needs results that the cache lacks; `doit -a {node.task}`"
        return None
    with suppress(*NO_CHART):
        chart: Mapping[str, Any] = load_function(draw)(loaded[0], node.params, loaded[1])
        return chart
    return None


def _load(
    project: Project, nodes: NodeTable, node: PageNode
) -> tuple[dict[str, bytes], dict[str, bytes]] | None:
    """Return the products that a node read and its outputs; None where the cache lost some."""
    build, planned = node.build, nodes.planned(node.task)
    if build is None or planned is None:
        return None
    inputs: dict[str, bytes | None] = {}
    for name, sha in build.inputs.items():
        base = name if name in planned.node.inputs else name.rpartition("/")[0]
        product = planned.node.inputs.get(base)
        if isinstance(product, Product) and sha is not None:
            maker = nodes.last_build(str(TaskName(node.stem, product.node)))
            inputs[name] = (
                project.cache.load_output_of_other(maker.fingerprint, sha) if maker else None
            )
    outputs = {
        one.role: project.cache.load_output_of_other(build.fingerprint, one.sha)
        for one in build.outputs
    }
    if None in inputs.values() or None in outputs.values():
        return None
    return (
        {name: data for name, data in inputs.items() if data is not None},
        {role: data for role, data in outputs.items() if data is not None},
    )
