"""HTTP server of a live workbench, for browsers on this machine.

All addresses are below ``/TOKEN/``; all bodies are JSON objects.

* ``GET`` (nothing): the page; its head has ``live``: ``log``, ``judge``, ``remote``, ``grades``,
  ``importance``, ``weights``
* ``GET query/N?by=NAME``: ``graders``, ``query`` as in the head, ``chunk`` as in an offline page,
  ``spans`` (selected texts: ``entry`` text, ``by``, place), ``changes`` (reworded and removed entries:
  ``id``, the new one in ``to``, whether ``mine``), ``at`` (a number that grows with each change and each
  grading); with ``reads=1`` the judge reads it, too
* ``GET state?by=NAME``: ``seq``, own ``ratings``, ``undo`` (the last own changes: ``seq``, ``op``), ``last``
  changes, ``problem``, ``seconds`` of the judge for a pair; unless blind, the ``board`` and ``disputes``
* ``GET stream``: server-sent events, see below
* ``GET since/SEQ``: the ``rows`` of the board after that change; ``GET solo?query=ID&entry=ID``: with that
  entry alone; both not if blind
* ``GET export/bank``, ``export/table``, ``export/log``, ``export/edits?by=NAME``: a file
* ``POST events`` ``{log, by, client, events: [{n, op, ...}]}``: ``{seq}``; all or none are written, and once
* ``POST preview`` ``{log, by, client, request, change: {op, ...}}``: 202; the impact comes on the stream
* ``POST cancel`` ``{log, client, request}``: 202

Events are those of :data:`exam_pp.plugins.serve.log.MODELS`, except ``preview``. An error is ``{message,
field}``: 403 for strangers, 404, 405, 409 for another log, 413 from 1 MB on, 415, 422 for what does not fit
the study, 503 while the server ends, 507 for a log that cannot be written. Messages of the stream have a
``kind``:

* ``changed``: ``seq``, ``queries`` (their places) whose table changed, and the ``client`` that changed it
* ``board``: ``at`` (as of a query), ``seq``, ``headline``, ``verdict``, ``metric``, ``pending``, ``basis``
  (what places rest on: ``people``, estimates from a ``sample``, or the ``judge`` alone), ``rows`` of
  ``system``, ``mean``, ``places`` and ``start`` (its row then)
* ``progress``: ``done`` of ``total`` pairs, of a ``request`` of a ``client`` or of new entries
* ``impact`` of a ``request`` of a ``client``: ``rows`` of ``system``, ``before``, ``after`` and ``covers``
  (its first passage that does); ``separates`` (whether they differ by the entry
  alone), ``moved`` systems, ``covers`` of ``systems``, ``passages`` (``id``,
  ``rating``, and the ``old`` one of a reworded entry), ``covered`` of ``asked`` passages, ``avoid``,
  ``seconds``
* ``error`` of a ``request`` of a ``client``: ``message``

The server listens on 127.0.0.1 alone. The token keeps others on this machine out, and the checks of Host,
Origin and Sec-Fetch-Site the pages of other sites. The name of a reviewer is a claim and no identity.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Annotated, Any, TypeVar

import uvicorn
from pydantic import AfterValidator, Field
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from exam_pp.data_model import HUMAN, Integer
from exam_pp.errors import DataError, ExamError, OutputError
from exam_pp.formats.bank_csv import bank_table
from exam_pp.models import Record
from exam_pp.plugins.serve.live import Live, StoppingError
from exam_pp.rendering.page_parts import asset
from exam_pp.reports.review.page import SCRIPTS, block, page_of, review_asset
from exam_pp.store.edits import human_model
from exam_pp.store.parsing import parse_json, valid

_MOST_BYTES = 1_000_000
_MOST_EVENTS = 1000
_MOST_MESSAGES = 1000
"""Messages that wait for a page at most."""
_HEARTBEAT = 15.0
"""Seconds between two signs of life of a stream."""
_STRANGER = "Open the address that exam-pp serve printed."
_POLICY = "Content-Security-Policy"
_HEADERS = {
    _POLICY: "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_FILES = {"bank": "bank.jsonl", "table": "bank.csv", "edits": "edits.json", "log": "log.jsonl"}
"""What can be exported, and the names of the files."""
_STATUS = ((OutputError, 507), (StoppingError, 503), (ExamError, 422))


class _Body(Record):
    """What a browser sends: its study, its name of itself, and that of the reviewer."""

    log: str
    client: Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[ -~]+$")]


def _name(by: str) -> str:
    """The name of a reviewer in one form."""
    return (human_model(by[:100]) or "").removeprefix(HUMAN)


class _Named(_Body):
    by: Annotated[str, AfterValidator(_name), Field(min_length=1)]


class _Change(Record):
    n: Integer


class _Events(_Named):
    events: list[_Change] = Field(min_length=1, max_length=_MOST_EVENTS)


class _Cancel(_Body):
    request: Integer


class _Preview(_Named, _Cancel):
    change: dict[str, Any]


B = TypeVar("B", bound=_Body)


class Guard:
    """Refuses requests of strangers, and adds headers to all answers."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app, self.token, self.host = app, token, f"127.0.0.1:{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        sent = Request(scope).headers
        token = scope["path"].split("/")[1]
        is_known = (
            secrets.compare_digest(token.encode(), self.token.encode())
            and sent.get("host") == self.host
            and sent.get("origin", f"http://{self.host}") == f"http://{self.host}"
            and sent.get("sec-fetch-site", "none") in ("none", "same-origin")
        )

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower().encode(): value.encode() for name, value in _HEADERS.items()}
                message["headers"] = [*(own | dict(message["headers"])).items()]
            await send(message)

        app = self.app if is_known else _problem(403, _STRANGER)
        await app(scope, receive, with_headers)


def _problem(status: int, message: str, field: str | None = None) -> JSONResponse:
    return JSONResponse({"message": message, "field": field}, status)


class Pages:
    """The streams of open pages, which messages of other threads go to."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to all pages, from any thread."""
        data = f"data: {json.dumps(message, ensure_ascii=False)}\n\n"
        if self._loop is not None and not self._loop.is_closed():
            for queue in list(self._queues):
                self._loop.call_soon_threadsafe(self._put, queue, data)

    def _put(self, queue: asyncio.Queue[str], data: str) -> None:
        """Keep a message for a page; a page that takes none any more has to connect again."""
        if queue.qsize() < _MOST_MESSAGES:
            queue.put_nowait(data)
        elif queue in self._queues:
            self._queues.discard(queue)
            queue.put_nowait("")

    async def stream(self) -> AsyncIterator[str]:
        """The messages for a page."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._queues.add(queue)
        try:
            data = ": open\n\n"
            while data:
                yield data
                try:
                    data = await asyncio.wait_for(queue.get(), _HEARTBEAT)
                except TimeoutError:
                    data = ": alive\n\n"
        finally:
            self._queues.discard(queue)


def app_of(live: Live, token: str, port: int) -> Guard:
    """The application that serves a study."""
    pages = Pages()
    live.send = pages.send

    def page(_request: Request) -> Response:
        scripts = [*map(review_asset, SCRIPTS[:-1]), asset("live.js", __package__), review_asset(SCRIPTS[-1])]
        styles = [review_asset("style.css"), asset("live.css", __package__)]
        blocks = [block("head", live.head()), block("texts", [])]
        html = page_of("Review", scripts, styles, blocks, {"connect-src": "'self'"})
        policy = html.partition('Policy" content="')[2].partition('"')[0]  # and what only headers may have
        return HTMLResponse(html, headers={_POLICY: f"{policy}; {_HEADERS[_POLICY]}"})

    async def stream(_request: Request) -> Response:
        return StreamingResponse(pages.stream(), media_type="text/event-stream")

    def export(request: Request) -> Response:
        what, by = request.path_params["what"], _name(request.query_params.get("by", ""))
        if live.blind or what not in _FILES:
            raise HTTPException(404)
        kind = "text/csv" if what == "table" else "application/json"
        headers = {"Content-Disposition": f"attachment; filename={_FILES[what]}"}
        return Response(_exported(live, what, by), media_type=kind, headers=headers)

    async def events(request: Request) -> Response:
        body = await _body(request, live, _Events)
        changes = [change.model_dump() for change in body.events]
        return JSONResponse({"seq": await run_in_threadpool(live.add, body.by, body.client, changes)})

    async def preview(request: Request) -> Response:
        body = await _body(request, live, _Preview)
        await run_in_threadpool(live.preview, body.by, body.client, body.request, body.change)
        return JSONResponse({}, 202)

    async def cancel(request: Request) -> Response:
        body = await _body(request, live, _Cancel)
        live.cancel(body.client, body.request)
        return JSONResponse({}, 202)

    def asks(path: str, answer: Callable[[Mapping[str, Any]], Any]) -> Route:
        """The address of a question, whose words are in the path and behind it."""

        def answered(request: Request) -> Response:
            the = {**request.query_params, **request.path_params}
            return JSONResponse(answer({**the, "by": _name(the.get("by", ""))}))

        return Route(path, answered)

    routes = [
        Route("/", page),
        asks("/query/{index:int}", lambda the: live.query(the["index"], the["by"], reads="reads" in the)),
        asks("/state", lambda the: live.shown(the["by"])),
        Route("/stream", stream),
        Route("/export/{what}", export),
        Route("/events", events, methods=["POST"]),
        Route("/preview", preview, methods=["POST"]),
        Route("/cancel", cancel, methods=["POST"]),
    ]
    if not live.blind:
        routes += [
            asks("/since/{seq:int}", lambda the: live.since(the["seq"])),
            asks("/solo", lambda the: live.solo(the.get("query", ""), the.get("entry", ""))),
        ]
    handlers: dict[Any, Callable[[Request, Any], Awaitable[Response]]] = {
        ExamError: _refused,
        HTTPException: _http_problem,
    }
    inner = Starlette(routes=[Mount(f"/{token}", routes=routes)], exception_handlers=handlers)
    return Guard(inner, token, port)


def _exported(live: Live, what: str, by: str) -> str:
    """The text of a file that is exported; ``by`` is the reviewer whose edits it has."""
    edits = live.edits()
    if what == "log":
        return live.log.path.read_text(encoding="utf-8")
    if what == "edits":
        ratings = [rating for rating in edits.ratings if rating.by == by]
        own = edits.model_copy(update={"ratings": ratings, "bank": [], "reviewer": by})
        return own.model_dump_json(by_alias=True, exclude_none=True)
    lines = live.bench.changed(edits).lines
    if what == "table":
        return bank_table(lines)
    return "".join(line.model_dump_json(exclude_unset=True) + "\n" for line in lines)


async def _refused(_request: Request, error: ExamError) -> Response:
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    if isinstance(error, DataError):
        return _problem(status, error.problem, error.field)
    return _problem(status, str(error))


async def _http_problem(_request: Request, error: HTTPException) -> Response:
    return _problem(error.status_code, error.detail)


async def _body(request: Request, live: Live, model: type[B]) -> B:
    """What a browser sent; raises an error of HTTP, or DataError."""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "Send JSON.")
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > _MOST_BYTES:
            raise HTTPException(413, "Send less than 1 MB at once.")
    body = valid(model.model_validate, parse_json(data, "the request"), "the request")
    if body.log != live.log.header["id"]:
        raise HTTPException(409, "This page is of another study or log: open it again.")
    return body


def run_server(app: Guard, address: Any, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C; ``address`` is a bound socket, ``ready`` is called as soon as Ctrl-C is heard."""
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, lifespan="off", ws="none",
        timeout_graceful_shutdown=1, timeout_keep_alive=5,
    )  # fmt: skip
    server = uvicorn.Server(config)

    def end(_signal: int, _frame: object) -> None:
        server.should_exit = True

    # uvicorn takes Ctrl-C later, and until then Python can lose its exception, such as in a weak reference.
    before = signal.signal(signal.SIGINT, end)
    try:
        ready()
        server.run(sockets=[address])
    finally:
        signal.signal(signal.SIGINT, before)
