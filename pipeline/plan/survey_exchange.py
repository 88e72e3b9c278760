"""Surveys in the caches, by the SHA-256 of their sources.

The state remembers surveys by content, and a Git LFS pointer has none. What it has is the SHA-256
of the content: with that, a machine plans what it has no sources for. A survey is kept like the
result of a node, so it is verified, signed and sent in the same ways.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from encoders.kit.plan import Survey
from pipeline.cache.local import Cache
from pipeline.cache.receipt import Receipt, is_small
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.output import Output
from pipeline.state.serial import canonical

ROLE = "survey"


class SurveyExchange:
    """Finds surveys that other machines made, and keeps those that this one makes."""

    def __init__(self, cache: Cache, shared: SharedCache | None) -> None:
        self._cache, self._shared = cache, shared

    def find(self, code: str, sha: str) -> Survey | None:
        """Return the survey of a content by this code; None where no cache has it."""
        key = _key(code, sha)
        is_here = self._cache.has_receipt(key)
        if not is_here and (
            self._shared is None or not self._shared.fetch(key, {ROLE: None}, self._cache)
        ):
            return None
        receipt = self._cache.load_receipt_of_other(key)
        data = self._cache.load_output(receipt, receipt.made[0]) if receipt else None
        try:
            found: Any = json.loads(data) if data is not None else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def keep(self, code: str, sha: str, survey: Survey) -> None:
        """Keep a survey in the local cache, and send it where results are sent."""
        if self._shared is None or not self._shared.takes_uploads:
            return
        key, data = _key(code, sha), canonical(survey)
        one = Output(ROLE, len(data), hashlib.sha256(data).hexdigest())
        inline = {ROLE: data} if is_small(len(data)) else {}
        if not self._cache.has_receipt(key):
            self._cache.store_result(key, Receipt((one,), (), (), inline), {ROLE: data})
        self._shared.offer(key, self._cache)


def _key(code: str, sha: str) -> str:
    return hashlib.sha256(f"cartwright survey 1\0{code}\0{sha}".encode()).hexdigest()
