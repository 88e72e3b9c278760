"""JUnit's XML from the result of a run: a suite for each manifest, a case for each node.

A node that failed is a failure with its facts and its hint; one that was not built for want of
another is skipped, so that a dashboard counts a cause once. What fails a run beside its nodes, such
as a mistake in a manifest, is one more case of the manifest's suite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from pipeline.task_name import TaskName, stem_of

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(result: Mapping[str, Any]) -> bytes:
    """Return the XML for a result."""
    root = ET.Element("testsuites", name="cartwright", time=f"{result['seconds']:.3f}")
    errors: dict[str, list[Mapping[str, Any]]] = {}
    for one in result["errors"]:
        errors.setdefault(one["manifest"], []).append(one)
    for stem in sorted({*result["manifests"], *errors}):
        nodes = [one for one in result["nodes"] if stem_of(one["task"]) == stem]
        cases = [_case(node) for node in nodes]
        cases += [_case_of_manifest(stem, errors[stem])] if stem in errors else []
        root.append(_suite(stem or RUN, cases, result["started"]))
    for count in COUNTS:
        root.set(count, str(sum(int(suite.get(count, 0)) for suite in root)))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def _suite(name: str, cases: Sequence[ET.Element], started: str) -> ET.Element:
    counts = {tag: sum(case.find(tag) is not None for case in cases) for tag in TAGS.values()}
    seconds = sum(float(case.get("time", 0)) for case in cases)
    suite = ET.Element(
        "testsuite",
        name=_text(name),
        tests=str(len(cases)),
        failures=str(counts["failure"]),
        skipped=str(counts["skipped"]),
        errors="0",
        time=f"{seconds:.3f}",
        timestamp=started,
    )
    suite.extend(cases)
    return suite


RUN = "run"  # the suite and the case of what is about no manifest
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
        ending.text = _text("\n".join(_lines(error)))
    if node["warnings"]:
        ET.SubElement(case, "system-out").text = _text("\n".join(node["warnings"]))
    return case


def _case_of_manifest(stem: str, errors: Sequence[Mapping[str, Any]]) -> ET.Element:
    """Return the case of what fails a manifest, or a run, as a whole."""
    name = f"manifests/{stem}.toml" if stem else RUN
    case = ET.Element("testcase", classname=_text(stem or RUN), name=_text(name), time="0.000")
    if stem:
        case.set("file", _text(name))
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    message = f"{errors[0]['problem']}{more}"
    failure = ET.SubElement(case, "failure", message=_text(message), type="failed")
    failure.text = _text("\n\n".join("\n".join([one["problem"], *_lines(one)]) for one in errors))
    return case


def _lines(error: Mapping[str, Any]) -> list[str]:
    """Return the facts of an error, then its hint."""
    lines = [f"{label}: {value}" for label, value in error["facts"].items()]
    return [*lines, error["hint"]] if error["hint"] else lines


def _text(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
