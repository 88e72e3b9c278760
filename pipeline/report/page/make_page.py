"""Make the page of a project: gather, draw what is new, put together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pipeline.project import Project
from pipeline.report.page.chart import draw_charts
from pipeline.report.page.document import whole_page
from pipeline.report.page.media import STORE, Hurry, Mapper, PageMedia, code_digest, draw_all
from pipeline.report.page.media_store import MediaStore
from pipeline.report.page.page_data import PageData, gather
from pipeline.report.page.whole_result import complete_result


def draw_page(
    project: Project,
    data: PageData,
    in_parallel: Mapper,
    code: str = "",
    hurry: Hurry | None = None,
) -> PageMedia:
    """Draw what the page of a run shows; `code` is the digest of what draws it."""
    code = code or code_digest(project)
    os.makedirs(f"{project.private}/report", exist_ok=True)
    with MediaStore(f"{project.private}/{STORE}") as store:
        keys = draw_charts(project, data, store, code)
        media = draw_all(project, data, store, code, in_parallel, hurry)
        store.note_use(keys)
    return media


def make_report(
    project: Project,
    result: Mapping[str, Any],
    built: Mapping[str, Any] | None,
    in_parallel: Mapper,
) -> bytes:
    """Return the page of a run as one file."""
    result = complete_result(project, result)
    data = gather(project, result, built)
    return whole_page(data, draw_page(project, data, in_parallel), project_name(project))


def project_name(project: Project) -> str:
    """Return what the page calls the project."""
    return os.path.basename(project.root) or "project"
