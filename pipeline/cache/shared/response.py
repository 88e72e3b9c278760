"""The head of a response, parsed quickly: a small node costs one response, a build has many.

Only the fields that decide how the body is read are looked at. The standard library reads the
body.
"""

from __future__ import annotations

import re
from http.client import BadStatusLine, HTTPMessage, HTTPResponse, LineTooLong, RemoteDisconnected
from typing import Any

STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?\r?\n")
LINE_BYTES = 1 << 13
LINES = 100  # of a head, as in the standard library
NO_CONTENT, NOT_MODIFIED = 204, 304


class Response(HTTPResponse):
    """A response of HTTP/1.0 or 1.1, and nothing older."""

    def __init__(self, sock: Any, debuglevel: int = 0, method: str | None = None, url: Any = None):
        super().__init__(sock, debuglevel, method, url)
        self._has_body = method != "HEAD"

    def begin(self) -> None:
        """Read everything before the body."""
        minor, status = self._status_line()
        fields = self._fields()
        while status < 200:  # an interim response; the real one follows
            minor, status = self._status_line()
            fields = self._fields()
        # All attributes that `HTTPResponse.begin` would set, because its `read` relies on them.
        self.version, self.code, self.status, self.reason = 10 + minor, status, status, ""
        self.headers = self.msg = HTTPMessage()
        for name in ("Content-Encoding", "Retry-After"):
            value = fields.get(name.lower().encode())
            if value is not None:
                self.headers[name] = value.decode("latin-1")
        self.chunked = fields.get(b"transfer-encoding", b"").lower() == b"chunked"
        self.chunk_left = None
        self.length = None if self.chunked else self._body_length(fields)
        # HTTP/1.0 closes unless it says otherwise; a body without a length ends with a close.
        wish = fields.get(b"connection", b"" if minor else b"close").lower()
        self.will_close = wish == b"close" or (self.length is None and not self.chunked)

    def _body_length(self, fields: dict[bytes, bytes]) -> int | None:
        if not self._has_body or self.status in (NO_CONTENT, NOT_MODIFIED):
            return 0
        length = fields.get(b"content-length")
        if length is None:
            return None
        # int() would take signs and underscores; 18 digits are below 64 bits.
        if not length.isdigit() or len(length) > 18:
            raise BadStatusLine("content-length")
        return int(length)

    def _status_line(self) -> tuple[int, int]:
        line = self.fp.readline(LINE_BYTES)
        if not line:
            raise RemoteDisconnected("no answer")
        found = STATUS_LINE.fullmatch(line)
        if found is None:
            raise BadStatusLine("status")
        return int(found[1]), int(found[2])

    def _fields(self) -> dict[bytes, bytes]:
        fields: dict[bytes, bytes] = {}
        for _ in range(LINES):
            line = self.fp.readline(LINE_BYTES)
            if line in (b"\r\n", b"\n"):
                return fields
            name, colon, value = line.partition(b":")
            if not colon or not line.endswith(b"\n"):
                raise BadStatusLine("header")
            name, value = name.lower(), value.strip()
            # Two different lengths are how one response is smuggled into another.
            if fields.setdefault(name, value) != value and name == b"content-length":
                raise BadStatusLine("content-length")
        raise LineTooLong("header")
