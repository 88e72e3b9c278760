"""Where the shared cache is, and what may never be seen of it."""

from __future__ import annotations

import base64
import copy
import pickle
from pathlib import Path

import pytest

from pipeline.cache.shared.address import Address, find_address
from pipeline.cache.shared.shared_cache import SharedCache
from pipeline.setting import SettingError

SECRET = "s3cret-w0rd"


def address(monkeypatch: pytest.MonkeyPatch, text: str, root: Path = Path("/nowhere")) -> Address:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", text)
    found = find_address(str(root))
    assert found is not None
    return found


def user_of(found: Address) -> str:
    return base64.b64decode(found.authorization.removeprefix("Basic ")).decode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://cache.example:8080", "http://cache.example:8080"),
        ("https://cache.example/", "https://cache.example"),
        ("https://cache.example:443/game/", "https://cache.example/game"),
        ("http://[::1]:9090/a/b", "http://[::1]:9090/a/b"),
    ],
)
def test_an_address_is_told_in_its_plain_form(
    monkeypatch: pytest.MonkeyPatch, text: str, shown: str
) -> None:
    assert str(address(monkeypatch, text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        "cache.example:8080",
        "ftp://cache.example",
        "http://",
        "http://cache.example:port",
        "http://cache.example:99999",
        "http://cache example",
        "http://cache.example/\u00e9",
        f"http://me:{SECRET}@cache.example",
        f"http://{SECRET}@cache.example",
        f"http://cache.example/?token={SECRET}",
        f"http://cache.example/#{SECRET}",
    ],
)
def test_an_address_that_is_none_or_holds_a_secret_is_refused_unquoted(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    with pytest.raises(SettingError, match="CARTWRIGHT_REMOTE_CACHE") as caught:
        address(monkeypatch, text)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("text", ["", "off", "0"])
def test_a_machine_can_turn_off_what_the_project_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.cartwright]\nremote_cache = "http://a:1"\n')
    assert str(find_address(str(tmp_path))) == "http://a:1"
    monkeypatch.setenv("CARTWRIGHT_REMOTE_CACHE", text)
    assert find_address(str(tmp_path)) is None


def test_reading_is_the_default_and_writing_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text('[tool.cartwright]\nremote_cache = "http://a:1"\n')
    found = find_address(str(tmp_path))
    assert found is not None
    assert not found.writes
    project.write_text(project.read_text() + "remote_write = true\nremote_wait = 60\n")
    found = find_address(str(tmp_path))
    assert found is not None
    assert (found.writes, found.wait_seconds) == (True, 60.0)
    monkeypatch.setenv("CARTWRIGHT_REMOTE_WRITE", "no")
    found = find_address(str(tmp_path))
    assert found is not None
    assert not found.writes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('remote_cach = "http://a:1"', 'did you mean "remote_cache"?'),
        ("remote_cache = 8080", "remote_cache: an address is needed"),
        ('remote_cache = "http://a:1"\nremote_write = "maybe"', "true or false"),
        ('remote_cache = "http://a:1"\nremote_wait = -1', "a number of seconds"),
        ('remote_cache = "http://a:1"\nremote_wait = true', "a number of seconds"),
        ("remote_cache = ", "pyproject.toml: "),
    ],
)
def test_a_wrong_table_is_refused_by_file_and_key(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.cartwright]\n{text}\n")
    with pytest.raises(SettingError) as caught:
        find_address(str(tmp_path))
    assert str(caught.value).startswith("pyproject.toml: ")
    assert problem in str(caught.value)


def test_a_password_and_a_token_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_TOKEN", SECRET)
    assert address(monkeypatch, "http://a").authorization == f"Bearer {SECRET}"
    monkeypatch.delenv("CARTWRIGHT_REMOTE_TOKEN")
    monkeypatch.setenv("CARTWRIGHT_REMOTE_USER", "me")
    monkeypatch.setenv("CARTWRIGHT_REMOTE_PASSWORD", SECRET)
    assert user_of(address(monkeypatch, "http://a")) == f"me:{SECRET}"


@pytest.mark.parametrize(
    "environment",
    [
        {"USER": "me"},
        {"PASSWORD": SECRET},
        {"USER": "me", "PASSWORD": SECRET, "TOKEN": SECRET},
        {"TOKEN": f"{SECRET}\r\nX-Other: 1"},
        {"TOKEN": f"{SECRET} and more"},
    ],
)
def test_half_a_key_and_one_that_breaks_the_request_are_refused_unquoted(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"CARTWRIGHT_REMOTE_{name}", value)
    with pytest.raises(SettingError) as caught:
        address(monkeypatch, "http://a")
    assert SECRET not in str(caught.value)


def test_netrc_knows_the_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "netrc"
    file.write_text(f"machine cache.example login me password {SECRET}\n")
    file.chmod(0o600)
    monkeypatch.setenv("NETRC", str(file))
    assert user_of(address(monkeypatch, "http://cache.example:1")) == f"me:{SECRET}"
    assert address(monkeypatch, "http://other.example:1").authorization == ""


def test_a_netrc_that_cannot_be_read_is_not_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "netrc"
    file.write_text(f"machine cache.example login me\n{SECRET} {SECRET}\n")
    monkeypatch.setenv("NETRC", str(file))
    with pytest.raises(SettingError, match="netrc: line 2") as caught:
        address(monkeypatch, "http://cache.example:1")
    assert SECRET not in str(caught.value)


def test_a_secret_is_in_no_representation_and_cannot_be_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CARTWRIGHT_REMOTE_TOKEN", SECRET)
    found = address(monkeypatch, "http://a")
    shared = SharedCache(found)
    shown = f"{found} {found!r} {shared} {shared!r} {shared.client} {shared.client!r}"
    assert SECRET not in shown
    for write in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            write(found)
