"""``exam-pp serve``: the page of a study on which people change ratings and bank, and see what that does."""

from __future__ import annotations

import json
import logging
import os
import shlex
import socket
import sys
import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import FILE, FILES
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import MissingExtraError, OutputError, SelectionError
from exam_pp.text.wording import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exam_pp.plugins.serve.live import Live

log = logging.getLogger(__name__)

_HOST = "127.0.0.1"
_TOKEN_BYTES = 24


@click.command("serve", cls=Command)
@click.argument("study", type=FILES)
@click.option("--bank", type=FILE, help="The bank to refine, of several.  [default: the first one]")
@click.option("--blind", is_flag=True, help="Hide systems, grades and what others did until a pair is rated.")
@click.option("--reviewer", default="", metavar="NAME", help="Name of the only reviewer.  [default: ask]")
@click.option(
    "--port", type=IntRange(1024, 65535), help="Port.  [default: that of the last time, or a free one]"
)
@click.option("--new-address", is_flag=True, help="Make a new address; the last one is no longer valid.")
@click.option("--no-open", is_flag=True, help="Do not open the page in a browser.")
@click.option("--base-url", metavar="URL", help="URL of the endpoint that the study names, to permit it.")
@click.option("--outside", is_flag=True, help="Permit a study file that names files outside its folder.")
def command(
    study: Path,
    bank: Path | None,
    blind: bool,
    reviewer: str,
    port: int | None,
    new_address: bool,
    no_open: bool,
    base_url: str | None,
    outside: bool,
) -> None:
    """Serve the page of STUDY, on which people correct grades and refine the bank.

    STUDY is a folder of `exam-pp run`, or its study.toml; what is missing or changed in it is done first.
    Each change is saved at once in STUDY/live/log.jsonl, and the leaderboard moves with it. Before a new
    question, nugget or criterion counts, the page shows what it would change. `exam-pp run STUDY` takes the
    changes up. Only browsers on this machine reach the page. Ctrl-C ends.

    \b
    Example:
      exam-pp serve study
    """
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError("exam-pp serve", "serve")
    from exam_pp.plugins.serve.live import Live, log_of
    from exam_pp.plugins.serve.server import app_of, run_server
    from exam_pp.plugins.serve.workbench import Workbench
    from exam_pp.studies.engine import Engine
    from exam_pp.studies.inputs import STUDY_FILE, read_study

    path = study / STUDY_FILE if study.is_dir() else study
    folder = path.parent
    chosen = read_study(path, {"base_url": base_url} if base_url else {}, outside=outside)
    engine = Engine(
        chosen, folder, reports=False, refine=False, progress=lambda title: progress(title, "pairs")
    )
    lock = engine.lock()
    try:
        results = engine.run_locked()
        boards = [board for board in (*results.boards, *results.further) if board.bank is not None]
        banks = [Path(str(board.bank)) for board in boards]
        number = 0 if bank is None else next((n for n, each in enumerate(banks) if each.samefile(bank)), -1)
        if number < 0 or not boards:
            raise SelectionError(f"--bank: the study has leaderboards of {listed(list(map(str, banks)))}.")
        board = boards[number]
        assert board.bank is not None
        bench = Workbench(board, results.gradings.get(board.bank))
        live = Live(
            bench, log_of(folder, bench, banks, chosen.edits), blind, reviewer, folder.absolute().name
        )
        try:
            listening, token = _address(folder / "live/address.json", port, new=new_address)
            with listening:
                port = int(listening.getsockname()[1])
                address = f"http://{_HOST}:{port}/{token}/"

                def ready() -> None:
                    live.start()
                    _say(live, banks, banks[number], address)
                    # The page shows what is worth a note.
                    logging.getLogger("exam_pp").setLevel(logging.ERROR)
                    if not no_open and sys.stdout.isatty():
                        webbrowser.open(address)

                run_server(app_of(live, token, port), listening, ready)
        finally:
            live.close()
    finally:
        lock.release()


def _say(live: Live, banks: Sequence[Path], bank: Path, address: str) -> None:
    bench, events = live.bench, live.log.events
    last = f", the last by {events[-1].by} at {events[-1].at}" if events else ""
    model = bench.judge if bench.grading is None or not bench.grading.model.base_url else (
        f"{bench.judge} behind {bench.grading.model.base_url}"
    )  # fmt: skip
    click.echo(
        f"Study {live.name}: {len(bench.queries)} queries, {len(bench.systems)} systems, judge {model}. "
        f"{len(events)} changes so far{last}."
    )
    if others := [str(each) for each in banks if each != bank]:
        click.echo(f"Leaderboard of {bank}; others are of {listed(others)} (--bank).")
    click.echo(f"Open {address}   (only on this machine; Ctrl-C ends; everything is saved at once)")


def _address(path: Path, port: int | None, *, new: bool) -> tuple[socket.socket, str]:
    """A socket and a token, those of the last time if they can be used again."""
    known: dict[str, Any] = {}
    if path.exists() and not new:
        with suppress(ValueError):
            known = json.loads(path.read_text(encoding="utf-8"))
    token = str(known.get("token") or token_urlsafe(_TOKEN_BYTES))
    try:
        listening = socket.create_server((_HOST, port or int(known.get("port") or 0)))
    except OSError as error:
        if port is not None:
            raise OutputError(f"--port: {port} cannot be used ({error.strerror}).") from error
        log.warning("The port of the last time is in use, so the address is a new one.")
        listening = socket.create_server((_HOST, 0))
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    os.fchmod(handle, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump({"port": listening.getsockname()[1], "token": token}, file)
    return listening, token


def next_step(words: Sequence[str]) -> str:
    """The line of ``exam-pp run`` that names this command; ``words`` are those after ``exam-pp run``."""
    again = shlex.join(map(str, ("exam-pp", "serve", *words)))
    return f"  Correct grades, refine the bank, watch the leaderboard: {again}"
