"""The page over HTTP: its parts by address, and events when a build begins and ends.

Only requests of the page itself are answered: the name that was asked for has to be ours, and a
page of another site is refused. What is not of this machine needs the token. Nothing is served but
the page, its media and outputs of the last build.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.disk.file import leads_out, read_if_there
from pipeline.report.page.document import POLICY, fill_page, page_details, page_index
from pipeline.report.page.media import PageMedia, media_bytes
from pipeline.report.page.page_data import PageData
from pipeline.report.page.viewer import viewer_page

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PING_SECONDS = 15.0  # so that a browser notices a server that is gone
WAITING_EVENTS = 100  # of a browser that does not read; older ones are dropped


@dataclass(frozen=True)
class Access:
    """Who may ask: names that the server is called by, and the token where one is needed."""

    hosts: tuple[str, ...]
    token: str = ""

    def refusal(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Return why a request is refused; nothing where it is not."""
        host, origin = headers.get("host", ""), headers.get("origin")
        # Another name that leads here is how a page of another site would get past its origin.
        if self.hosts and host not in self.hosts:
            return "unknown host"
        if origin is not None and origin != f"http://{host}":
            return "request of another site"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "request of another site"
        given = query.get("token", "")
        if self.token and not secrets.compare_digest(given.encode(), self.token.encode()):
            return "the token is missing or wrong"
        return ""


class Guard:
    """Refuses requests before any of the page's own functions sees them."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        problem = self.access.refusal(request.headers, request.query_params)
        if problem:
            await PlainTextResponse(f"{problem}\n", 403, HEADERS)(scope, receive, send)
            return
        await self.app(scope, receive, send)


# A page that is opened before the first build was read.
EMPTY = PageData(
    {"started": "", "seconds": 0, "exit_code": 0, "cartwright": "", "nodes": []}, [], []
)


@dataclass
class LivePage:
    """What is served at the moment, and the browsers that follow; filled by another thread."""

    root: str
    index: bytes = json.dumps(page_index(EMPTY, "Cartwright")).encode()
    data: PageData = field(default_factory=lambda: EMPTY)
    media: PageMedia = field(default_factory=lambda: PageMedia({}))
    outputs: frozenset[str] = frozenset()
    loop: asyncio.AbstractEventLoop | None = None
    last_event: str = ""
    followers: set[asyncio.Queue[str]] = field(default_factory=set)
    is_over: bool = False
    _details: tuple[PageData, dict[str, Any]] = field(default_factory=lambda: (EMPTY, {}))

    def fill(self, data: PageData, media: PageMedia, name: str) -> None:
        """Serve another build from here on."""
        self.data = data
        self.outputs = frozenset(
            file["path"] for node in data.result["nodes"] for file in node["outputs"]
        )
        self.media = media
        self.index = json.dumps(page_index(data, name)).encode()

    def detail(self, task: str) -> dict[str, Any] | None:
        """Return the details of a node; they are made when the first one is asked for."""
        data = self.data  # another thread may replace it meanwhile
        if self._details[0] is not data:
            tasks = [node.task for node in data.nodes]
            self._details = data, dict(zip(tasks, page_details(data), strict=True))
        return self._details[1].get(task)

    def list_first(self, data: PageData, name: str) -> None:
        """Serve a build without its pictures while the first ones are drawn: they may be many."""
        # Later the page keeps what it shows until all of the new build can be seen.
        if self.data is EMPTY:
            self.fill(data, PageMedia({}), name)
            self.tell("listed")

    def tell(self, event: str, **facts: str) -> None:
        """Tell all browsers that follow; may be called in any thread."""
        text = f"event: {event}\ndata: {json.dumps(facts)}\n\n"
        self.last_event = text
        if self.loop is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._send, text)

    def _send(self, text: str) -> None:
        for queue in self.followers:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(text)

    def end(self) -> None:
        """End all streams of events, which are open as long as browsers are."""
        self.is_over = True
        self._send("")

    async def events(self) -> AsyncIterator[str]:
        """Yield events, the last one first: it may have come while the page was loading."""
        queue: asyncio.Queue[str] = asyncio.Queue(WAITING_EVENTS)
        self.followers.add(queue)
        try:
            yield self.last_event or ": hello\n\n"
            while not self.is_over:
                try:
                    yield await asyncio.wait_for(queue.get(), PING_SECONDS)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self.followers.discard(queue)


def make_app(page: LivePage, access: Access) -> ASGIApp:
    """Return the server's application."""
    answers = _Answers(page)
    routes = [
        Route("/", answers.page),
        Route("/viewer.html", answers.viewer),
        Route("/data/index.json", answers.index),
        Route("/data/node/{task:path}", answers.node),
        Route("/media/{kind}/{key}", answers.media),
        Route("/output/{path:path}", answers.output),
        Route("/events", answers.events),
    ]
    return Guard(Starlette(routes=routes), access)


class _Answers:
    """The answer to each address."""

    def __init__(self, page: LivePage) -> None:
        self._page = page

    async def page(self, request: Request) -> Response:
        del request
        return _answer(fill_page(), "text/html; charset=utf-8")

    async def viewer(self, request: Request) -> Response:
        del request
        found = viewer_page()
        # As text: it is no page of its own, and only runs in the frame that the page makes.
        return _missing() if found is None else _answer(found, "text/plain; charset=utf-8")

    async def index(self, request: Request) -> Response:
        del request
        return _answer(self._page.index, "application/json")

    async def node(self, request: Request) -> Response:
        found = self._page.detail(request.path_params["task"])
        return _missing() if found is None else _answer(json.dumps(found).encode())

    async def media(self, request: Request) -> Response:
        media = self._page.media.find(request.path_params["key"])
        found = media_bytes(media, request.path_params["kind"]) if media else None
        return _missing() if found is None else _answer(*found)

    async def output(self, request: Request) -> Response:
        path = request.path_params["path"]
        place = f"{self._page.root}/{path}"
        if path not in self._page.outputs or leads_out(place, self._page.root):
            return _missing()
        data = await asyncio.to_thread(read_if_there, place)
        if data is None:
            return _missing()
        answer = _answer(data, "application/octet-stream")
        answer.headers["Content-Disposition"] = "attachment"
        return answer

    async def events(self, request: Request) -> Response:
        del request
        stream = self._page.events()
        return StreamingResponse(stream, media_type="text/event-stream", headers=HEADERS)


def _answer(data: bytes, form: str = "application/json") -> Response:
    return Response(data, media_type=form, headers=HEADERS)


def _missing() -> Response:
    return PlainTextResponse("not found\n", 404, HEADERS)


def run_server(
    page: LivePage, access: Access, sockets: list[Any], on_start: Callable[[], None]
) -> None:
    """Serve until Ctrl-C; `on_start` is called when requests are answered."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[Any] | None = None) -> None:
            await super().startup(sockets)
            page.loop = asyncio.get_running_loop()
            on_start()

        async def shutdown(self, sockets: list[Any] | None = None) -> None:
            page.end()  # else it would wait for them, and call it an error that they have no end
            await super().shutdown(sockets)

    config = uvicorn.Config(
        make_app(page, access),
        log_level="warning",
        timeout_graceful_shutdown=1,
        server_header=False,
        lifespan="off",
        ws="none",
    )
    Server(config).run(sockets)
