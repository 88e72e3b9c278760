"""The server of `doit serve`: who gets an answer, and to what."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys

import pytest

pytest.importorskip("starlette", reason="starlette is not installed")

from pipeline.doit_plugin.command import serve
from pipeline.doit_plugin.command.serve import LiveBuild, grant_access, listen
from pipeline.report.page import make_page
from pipeline.report.page.media import PageMedia
from pipeline.report.page.server import Access, LivePage, make_app
from tests.pipeline.game import Game
from tests.report.conftest import make_game, paint

HOST = "127.0.0.1:8000"


def ask(app, path, method="GET", query="", **headers):
    """Send a request to an application and return its status, headers and body."""
    names = {"host": HOST, **{key.replace("_", "-"): value for key, value in headers.items()}}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(key.encode(), value.encode()) for key, value in names.items()],
        "server": ("127.0.0.1", 8000),
        "scheme": "http",
    }
    sent = []

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    found = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:])


@pytest.fixture(scope="module")
def live(built: Game) -> LivePage:
    build = LiveBuild(LivePage(str(built.root)), [])
    assert build._fill() == ""
    return build.page


@pytest.fixture(scope="module")
def app(live):
    return make_app(live, grant_access("127.0.0.1", 8000)[0])


def test_the_page_its_data_and_its_media_are_served(app):
    status, headers, body = ask(app, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"data-index" not in body.split(b"<script>")[0]  # data comes by address
    index = json.loads(ask(app, "/data/index.json")[2])
    node = next(one for one in index["nodes"] if one["task"] == "kac:box")
    status, headers, body = ask(app, f"/media/thumbnail/{node['picture']}")
    assert (status, headers["content-type"], body[8:12]) == (200, "image/webp", b"WEBP")
    more = json.loads(ask(app, "/data/node/kac:box")[2])
    assert ask(app, f"/media/glb/{more['glb']}")[2].startswith(b"glTF")


def test_outputs_of_the_build_are_served_and_no_other_file(app, built):
    status, headers, body = ask(app, "/output/build/kac/box.kac")
    assert (status, body) == (200, built.read("build/kac/box.kac"))
    assert headers["content-disposition"] == "attachment"
    for path in ("dodo.py", "assets/wood.png", "build/kac/../../dodo.py", "/etc/passwd", ""):
        assert ask(app, f"/output/{path}")[0] == 404, path


@pytest.mark.parametrize("name", ["dodo.py", "data/node/kac:no", "media/glb/no", "static/page.js"])
def test_other_addresses_are_not_found(app, name):
    assert ask(app, f"/{name}")[0] == 404


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1:8000", "[::1]:8000"])
def test_the_names_of_this_machine_are_answered(app, host):
    assert ask(app, "/data/index.json", host=host)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example:8000"},
        {"host": "127.0.0.1:9000"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8000"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_request_of_another_site_is_refused(app, headers):
    assert ask(app, "/data/index.json", **headers)[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_sent_to_the_server(app, method):
    assert ask(app, "/", method)[0] == 405


def test_another_address_needs_the_token(live):
    access, address = grant_access("0.0.0.0", 8000)
    app = make_app(live, access)
    token = address.partition("?token=")[2]
    assert len(token) >= 32
    assert ask(app, "/data/index.json")[0] == 403
    assert ask(app, "/data/index.json", query="token=wrong")[0] == 403
    assert ask(app, "/data/index.json", query=f"token={token}")[0] == 200
    assert (
        ask(app, "/data/index.json", query=f"token={token}", origin="http://evil.example")[0] == 403
    )


def test_this_machine_needs_no_token():
    access, address = grant_access("127.0.0.1", 8000)
    assert (access.token, address) == ("", "http://127.0.0.1:8000/")
    assert access == Access((HOST, "localhost:8000", "[::1]:8000"))


def test_every_answer_says_that_the_page_loads_nothing_from_elsewhere(app):
    for path in ("/", "/data/index.json", "/nothing"):
        headers = ask(app, path)[1]
        if path != "/nothing":
            assert "default-src 'none'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"


def test_the_server_listens_on_this_machine_alone():
    with listen("127.0.0.1", 0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_named_in_one_sentence(game):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = game.doit("serve", "--port", str(taken.getsockname()[1]))
    assert (ran.code, "try --port 0" in ran.err) == (3, True)
    assert ran.err.count("127.0.0.1") == 1


def test_ctrl_c_ends_in_silence_though_a_browser_is_open(game):
    command = [sys.executable, "-m", "doit", "serve", "--port", "0"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(
        command, cwd=game.root, env=game.environment(), start_new_session=True, **options
    ) as process:
        host = process.stdout.readline().split("//")[1].split("/")[0]
        name, port = host.split(":")
        with socket.create_connection((name, int(port))) as browser:
            browser.sendall(f"GET /events HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert browser.recv(12) == b"HTTP/1.1 200"
            while "Watching" not in process.stdout.readline():  # the first build has ended
                assert process.poll() is None
            os.killpg(process.pid, signal.SIGINT)
            rest = process.stdout.read()
    assert (process.returncode, rest) == (0, "")


def test_a_build_of_one_manifest_keeps_the_failures_of_others(tmp_path):
    game = make_game(tmp_path / "village")
    for name in ("splashpack", "untold", "emberware"):
        game.remove(f"manifests/{name}.toml")
    game.remove("assets/wood.png")
    assert game.doit().code == 1
    build = LiveBuild(LivePage(str(game.root)), [])
    assert build._fill() == ""
    paint(game, "assets/leaf.png", (200, 0, 0))
    assert game.doit("rp2350").code == 0
    assert build._fill() == ""
    nodes = {one["task"]: one for one in json.loads(build.page.index)["nodes"]}
    assert nodes["rp2350:leaf"]["outcome"] == "built"
    assert nodes["kac:box"]["error"]["problem"] == "texture not found"


def test_the_first_page_lists_what_was_built_before_its_pictures_are_drawn(built, monkeypatch):
    page = LivePage(str(built.root))
    shown = []

    def draw(project, data, *_):
        shown.append((page.last_event, json.loads(page.index)["nodes"]))
        return PageMedia({})

    monkeypatch.setattr(make_page, "draw_page", draw)
    build = LiveBuild(page, [])
    assert build._fill() == ""
    event, nodes = shown[0]
    assert event.startswith("event: listed\n")
    assert "kac:box" in {one["task"] for one in nodes}
    page.tell("built", problem="")
    assert build._fill() == ""
    assert shown[1][0].startswith("event: built\n")  # the page keeps its pictures


def test_a_build_leaves_the_other_pictures_to_one_that_began_before_it_was_shown(monkeypatch):
    build = LiveBuild(LivePage("."), [])
    build.page.media = PageMedia({}, late=1)
    ends, fills = [], []

    def fill(*_, only_changed=False):
        fills.append(only_changed)
        build.page.media = PageMedia({}, late=only_changed)
        return ""

    monkeypatch.setattr(serve, "BuildProcess", lambda _, on_end: ends.append(on_end))
    monkeypatch.setattr(build, "_starter", lambda _: None)
    monkeypatch.setattr(build, "_fill", fill)
    for names in (["kac"], ["untold"]):
        build._start_build(names)
    for end, filled, is_shown in zip(ends, ([True], [True, True, False]), (0, 1), strict=True):
        end(0, "")
        assert (fills, build._is_shown.is_set()) == (filled, is_shown)


def test_a_browser_that_comes_late_is_told_the_last_event():
    page = LivePage(".")
    page.tell("built", problem="")

    async def first():
        stream = page.events()
        found = await anext(stream)
        await stream.aclose()
        return found

    assert asyncio.run(first()).startswith("event: built\n")
    assert page.followers == set()


def test_a_browser_that_does_not_read_keeps_nobody_waiting():
    page = LivePage(".")

    async def flood():
        page.loop = asyncio.get_running_loop()
        stream = page.events()
        await anext(stream)
        for number in range(500):
            page._send(f"{number}")
        found = await anext(stream)
        await stream.aclose()
        return int(found)

    assert asyncio.run(flood()) == 400
