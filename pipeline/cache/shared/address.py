"""Where the shared cache is, what may be done there, and with which credentials.

Secrets come from the environment, from netrc or from the file that the environment names as the
key's, never from a file of the project. They live in fields that no `repr` shows, and no message
here ever quotes a value that could hold one.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pipeline.disk.file import read_file
from pipeline.setting import NO, SettingError, find_setting, find_switch, variable_of

USER, PASSWORD, TOKEN = (variable_of(f"remote_{one}") for one in ("user", "password", "token"))
KEY, KEY_FILE = variable_of("remote_key"), variable_of("remote_key_file")
WAIT_SECONDS = 10.0
LONGEST_SECONDS = 86_400.0
LEAST_PATIENCE_SECONDS = 0.1
PORTS = {"http": 80, "https": 443}
BUCKETS = ("s3", "gs", "az")
NEEDED = (
    "an address begins with http:// or https:// and a host, "
    "or with s3://, gs:// or az:// and a bucket"
)


@dataclass(frozen=True, slots=True)
class Address:
    """A shared cache: its server or bucket, whether results are sent there, and how long to wait.

    Of a bucket, `host` is its name and `path` the prefix of its objects.

    `wait_seconds` is for uploads at the end of a run, `patience_seconds` for an answer to begin;
    None stands for the default. Results are signed and verified where there is a `key`.
    """

    scheme: str
    host: str
    port: int
    path: str
    writes: bool = False
    wait_seconds: float = WAIT_SECONDS
    authorization: str = field(default="", repr=False)
    patience_seconds: float | None = None
    key: bytes = field(default=b"", repr=False)
    least_seconds: float | None = None  # of nodes that are shared; None for a round trip

    @property
    def is_bucket(self) -> bool:
        """Tell whether this is a bucket of an object store."""
        return self.scheme in BUCKETS

    def __str__(self) -> str:
        if self.is_bucket:
            return f"{self.scheme}://{self.host}{self.path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    def __reduce__(self) -> Any:
        raise TypeError("an address holds secrets, and is never serialised")


def find_address(root: str) -> Address | None:
    """Find out which shared cache a project uses; None where it has none."""
    name, text = find_setting(root, "remote_cache")
    if text is None or text in NO:
        return None
    if not isinstance(text, str):
        raise SettingError(f"{name}: an address is needed, such as http://cache.example:8080")
    parts, port = _split(name, text)
    wait = _seconds(*find_setting(root, "remote_wait"), 0.0)
    return Address(
        parts.scheme,
        parts.hostname or "",
        port,
        parts.path.rstrip("/"),
        find_switch(root, "remote_write", default=False),
        WAIT_SECONDS if wait is None else wait,
        "" if parts.scheme in BUCKETS else _authorization(parts.hostname or ""),
        _seconds(*find_setting(root, "remote_patience"), LEAST_PATIENCE_SECONDS),
        _signing_key(),
        _seconds(*find_setting(root, "remote_least_seconds"), 0.0),
    )


def _split(name: str, text: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(text)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        raise SettingError(f"{name}: this is no address") from None
    if parts.scheme not in (*PORTS, *BUCKETS) or not parts.hostname:
        raise SettingError(f"{name}: {NEEDED}")
    if parts.scheme in BUCKETS and port:
        raise SettingError(f"{name}: a bucket has no port; AWS_ENDPOINT_URL names another server")
    if "@" in parts.netloc:
        raise SettingError(
            f"{name}: the address holds a user's name or password; "
            f"take it out, and set {USER} and {PASSWORD}, or use netrc"
        )
    if parts.query or parts.fragment:
        raise SettingError(f"{name}: an address has neither ? nor #")
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise SettingError(f"{name}: an address is plain ASCII without blanks")
    return parts, port


def _seconds(name: str, value: object, least: float) -> float | None:
    if value is None or value == "":
        return None
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = -1.0
    if isinstance(value, bool) or not least <= seconds <= LONGEST_SECONDS:
        raise SettingError(
            f"{name}: a number of seconds is needed, {least:g} to {LONGEST_SECONDS:.0f}"
        )
    return seconds


def _signing_key() -> bytes:
    """Find the key that results are signed with; b"" where none is set.

    A key that is set and empty is an error: a secret that is missing in CI must not turn the
    verification off.
    """
    text, path = os.environ.get(KEY), os.environ.get(KEY_FILE)
    if text is not None and path is not None:
        raise SettingError(f"{KEY}, {KEY_FILE}: set only one of them")
    if text is None and path is None:
        return b""
    try:
        # As bytes, like the file: a key need not be text. Editors and `echo` add line ends.
        key = os.fsencode(text) if text is not None else read_file(path or "")
    except OSError as error:
        raise SettingError(f"{KEY_FILE}: {error.strerror or 'it cannot be read'}") from None
    if not key.strip():
        raise SettingError(f"{KEY if path is None else KEY_FILE}: the key is empty")
    return key.strip()


def _authorization(host: str) -> str:
    user, password, token = (os.environ.get(one, "") for one in (USER, PASSWORD, TOKEN))
    if token and (user or password):
        raise SettingError(f"{TOKEN}: set either this or {USER} and {PASSWORD}")
    if bool(user) != bool(password):
        raise SettingError(f"{USER}, {PASSWORD}: one of them is missing")
    if token:
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise SettingError(f"{TOKEN}: a token is plain ASCII without blanks")
        return f"Bearer {token}"
    return _basic(user, password) if user else _from_netrc(host)


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _from_netrc(host: str) -> str:
    from netrc import NetrcParseError, netrc

    path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    try:
        entry = netrc(path).authenticators(host)
    except FileNotFoundError:
        return ""
    except NetrcParseError as error:  # its text may quote what stands where a password should
        raise SettingError(f"netrc: line {error.lineno} cannot be read") from None
    except (OSError, UnicodeDecodeError):
        raise SettingError("netrc: the file cannot be read") from None
    return _basic(entry[0], entry[2] or "") if entry else ""
