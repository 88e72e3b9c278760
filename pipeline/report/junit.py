"""JUnit's XML from the result of a run: a suite for each manifest, a case for each node.

A node that failed is a failure with its facts and its hint; one that was not built for want of
another is skipped, so that a dashboard counts a cause once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from pipeline.task_name import TaskName, stem_of

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: Mapping[str, Any]) -> bytes:
    """Return the XML for a result."""
    root = ET.Element("testsuites", name="cartwright", time=f"{result['seconds']:.3f}")
    for stem in result["manifests"]:
        nodes = [one for one in result["nodes"] if stem_of(one["task"]) == stem]
        root.append(_suite(stem, nodes, result["started"]))
    for count in COUNTS:
        root.set(count, str(sum(int(suite.get(count, 0)) for suite in root)))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _suite(stem: str, nodes: Iterable[Mapping[str, Any]], started: str) -> ET.Element:
    cases = [_case(node) for node in nodes]
    counts = {tag: sum(case.find(tag) is not None for case in cases) for tag in TAGS.values()}
    seconds = sum(float(case.get("time", 0)) for case in cases)
    suite = ET.Element(
        "testsuite",
        name=_text(stem),
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        skipped=str(counts["skipped"]),
        errors="0",
        time=f"{seconds:.3f}",
        timestamp=started,
    )
    suite.extend(cases)
    return suite


COUNTS = ("tests", "failures", "skipped", "errors")
TAGS = {"failed": "failure", "not built": "skipped"}


def _case(node: Mapping[str, Any]) -> ET.Element:
    task = TaskName.parse(node["task"])
    seconds = f"{node['seconds']:.3f}"
    case = ET.Element("testcase", classname=_text(task.stem), name=_text(task.node), time=seconds)
    if node["inputs"]:
        case.set("file", _text(node["inputs"][0]["path"]))
    tag = TAGS.get(node["outcome"])
    if tag is not None:
        error = node["error"] or {"problem": node["outcome"], "facts": {}, "hint": ""}
        ending = ET.SubElement(case, tag, message=_text(error["problem"]), type=node["outcome"])
        lines = [f"{label}: {value}" for label, value in error["facts"].items()]
        ending.text = _text("\n".join([*lines, error["hint"]] if error["hint"] else lines))
    if node["warnings"]:
        ET.SubElement(case, "system-out").text = _text("\n".join(node["warnings"]))
    return case


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
