"""Opening a bucket with the credentials that are usual for its cloud.

`obstore` reads those of the environment, of a machine's role and of workload identities by itself.
The files of the AWS command line are read here. No message quotes what a library says: its texts
may hold parts of requests, and requests hold credentials.
"""

from __future__ import annotations

import os
from configparser import ConfigParser
from configparser import Error as ParserError
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from pipeline.cache.shared.address import PORTS, Address
from pipeline.cache.shared.client import (
    CONNECT_SHARE,
    TOO_LATE,
    AccessError,
    RemoteError,
    UnreachableError,
    WrongAnswerError,
)
from pipeline.setting import SettingError

LONGEST_REQUEST = timedelta(hours=6)  # each wait is bounded by the client, so this one hardly is
# Variables that name another server than the cloud's own; the first that is set counts.
ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "gs": ("GOOGLE_BASE_URL",),
    "az": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
}
# Variables whose values become parts of requests. The library ends a thread of its own, with a
# trace of it, where such a value has a line end; a secret that was pasted often has one.
IN_REQUESTS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"),
    "gs": ("GOOGLE_BEARER_TOKEN",),
    "az": ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_TOKEN"),
}
KEY_ID, SECRET, SESSION = "aws_access_key_id", "aws_secret_access_key", "aws_session_token"
# What is said of a failure, by words that the library's text has; the first row that fits counts.
# Nothing of the text is quoted. Without a kind of error, only the object is missing.
# fmt: off
MISSING = "the object is missing"
FAILURES: tuple[tuple[type[RemoteError] | None, str, tuple[str, ...]], ...] = (
    (AccessError, "there is no such bucket", ("NoSuchBucket", "ContainerNotFound")),
    (None, MISSING, ("FileNotFoundError", "NotFoundError")),
    (WrongAnswerError, "an object is shorter than it should be", ("416 Range", "InvalidRange")),
    (AccessError, "the credentials have expired", ("ExpiredToken", "RequestExpired")),
    (AccessError, "the clock of this machine is wrong", ("RequestTimeTooSkewed",)),
    (AccessError, "access is denied", ("PermissionDenied", "Unauthenticated", "AccessDenied",
        "PermissionError", "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken",
        "401 Unauthorized", "403 Forbidden")),
    (AccessError, "there are no credentials for it", ("169.254.169.254", "metadata.google")),
    (UnreachableError, TOO_LATE, ("kind: Timeout", "TimedOut")),
    (UnreachableError, "it cannot be reached", ("kind: Connect", "dns error")),
    (RemoteError, "it is too busy", ("503 Service", "SlowDown", "429 Too", "ServerBusy")),
)
# fmt: on


def open_store(address: Address, patience_seconds: float) -> Any:
    """Return the object store of a bucket; raise SettingError where it cannot be set up."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ModuleNotFoundError:
        raise SettingError(
            f"a shared cache at {address.scheme}:// needs the module obstore: "
            'pip install "cartwright-build[bucket]"'
        ) from None
    endpoint = _endpoint(address.scheme)
    _check_values(address.scheme)
    client = {
        # Only where the user has written an address without TLS.
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=CONNECT_SHARE * patience_seconds),
        # Not the library's to judge: to it, the time in which we send is a wait for an answer.
        "read_timeout": LONGEST_REQUEST,
        "timeout": LONGEST_REQUEST,
        "user_agent": "cartwright",
    }
    # The client makes requests again by itself: here the time of all attempts would count as one
    # wait, and a bucket that is busy would look like one that does not answer.
    retry = {"max_retries": 0, "retry_timeout": LONGEST_REQUEST}
    make: Any = from_url  # typed for each cloud by itself
    config = _aws_config(endpoint) if address.scheme == "s3" else {}
    try:
        return make(str(address), client_options=client, retry_config=retry, **config)
    except (BaseError, ValueError):
        raise SettingError(f"{address}: its settings in the environment are wrong") from None


def _endpoint(scheme: str) -> str:
    """Return the address of another server than the cloud's own; "" where none is set."""
    name = next((one for one in ENDPOINTS[scheme] if os.environ.get(one)), "")
    text = os.environ[name] if name else ""
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in PORTS and parts.hostname and (parts.port or True)
    except ValueError:
        raise SettingError(f"{name}: this is no address") from None
    if not is_address or not text.isascii() or not text.isprintable() or " " in text:
        raise SettingError(f"{name}: an address begins with http:// or https:// and a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingError(f"{name}: an address has no user, no password, neither ? nor #")
    return text


def _check_values(scheme: str) -> None:
    for name in IN_REQUESTS[scheme]:
        if not os.environ.get(name, "").isprintable():
            raise SettingError(f"{name}: it has a line end or another control character")


def _aws_config(endpoint: str) -> dict[str, str]:
    config = {"endpoint": endpoint} if endpoint else {}
    if os.environ.get(KEY_ID.upper()):
        return config
    profile = os.environ.get("AWS_PROFILE") or "default"
    keys = _profile("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials", profile)
    section = profile if profile == "default" else f"profile {profile}"
    region = _profile("AWS_CONFIG_FILE", "~/.aws/config", section).get("region")
    if region and not (os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")):
        config["region"] = region
    return config | {one: keys[one] for one in (KEY_ID, SECRET, SESSION) if keys.get(one)}


def _profile(variable: str, usual: str, section: str) -> dict[str, str]:
    """Return the values of a section of a file of the AWS command line."""
    path = os.environ.get(variable) or os.path.expanduser(usual)
    # Without interpolation: a secret may have a percent sign.
    parser = ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (ParserError, UnicodeDecodeError, OSError):  # whose texts quote lines of the file
        raise SettingError(f"{usual}: the file cannot be read") from None
    return dict(parser[section]) if parser.has_section(section) else {}


def translate_error(error: Exception) -> RemoteError | None:
    """Return what went wrong in our own words; None where only the object is missing."""
    text = f"{type(error).__name__}: {error}"
    for kind, problem, words in FAILURES:
        if any(word in text for word in words):
            return kind(problem) if kind is not None else None
    return RemoteError("a request failed")
