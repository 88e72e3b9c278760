"""Where the shared cache is, what may be done there, and who we are to it.

Secrets come from the environment or from netrc alone. They live in one field that no `repr`
shows, and no message here ever quotes a value that could hold one.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pipeline.setting import SettingError, find_setting, variable_of

USER, PASSWORD, TOKEN = (variable_of(f"remote_{one}") for one in ("user", "password", "token"))
YES, NO = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")
WAIT_SECONDS = 10.0
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """A shared cache: its server, whether results are sent there, and how long to wait for that."""

    scheme: str
    host: str
    port: int
    path: str
    writes: bool = False
    wait_seconds: float = WAIT_SECONDS
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    def __reduce__(self) -> Any:
        raise TypeError("an address holds secrets, and is never written down")


def find_address(root: str) -> Address | None:
    """Find out which shared cache a project uses; None where it has none."""
    name, text = find_setting(root, "remote_cache")
    if text is None or text in NO:
        return None
    if not isinstance(text, str):
        raise SettingError(f"{name}: an address is needed, such as http://cache.example:8080")
    parts, port = _split(name, text)
    return Address(
        parts.scheme,
        parts.hostname or "",
        port,
        parts.path.rstrip("/"),
        _is_yes(*find_setting(root, "remote_write")),
        _seconds(*find_setting(root, "remote_wait")),
        _authorization(parts.hostname or ""),
    )


def _split(name: str, text: str) -> tuple[SplitResult, int]:
    try:
        parts = urlsplit(text)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        raise SettingError(f"{name}: this is no address") from None
    if parts.scheme not in PORTS or not parts.hostname:
        raise SettingError(f"{name}: an address begins with http:// or https:// and a host")
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


def _is_yes(name: str, value: object) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    word = str(value).lower()
    if word not in (*YES, *NO):
        raise SettingError(f"{name}: true or false is needed")
    return word in YES


def _seconds(name: str, value: object) -> float:
    if value is None or value == "":
        return WAIT_SECONDS
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = -1.0
    if isinstance(value, bool) or not 0 <= seconds <= 86_400:
        raise SettingError(f"{name}: a number of seconds is needed, 0 to 86400")
    return seconds


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
