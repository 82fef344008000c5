"""``exam-pp serve`` as a process: who else may run, how it ends, what a kill leaves."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from scripts.serving import REPOSITORY, Served
from tests.plugins.serve.studies import questions_study


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served(questions_study())
    yield served
    if served.process.poll() is None:
        served.kill()


def ask(served: Served, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    address = urlsplit(served.address)
    data = None if body is None else json.dumps(body)
    headers = {"Content-Type": "application/json"} if body else {}
    with closing(HTTPConnection("127.0.0.1", address.port or 0, timeout=20)) as connection:
        connection.request("GET" if body is None else "POST", address.path + path, data, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def rate(served: Served, n: int, client: str = "c") -> tuple[int, Any]:
    header = json.loads((served.study / "live/log.jsonl").read_text().splitlines()[0])
    event = {"n": n, "op": "rate", "query_id": "q1", "passage_id": "q1-p0", "id": "q1/0", "rating": n % 6}
    return ask(served, "events", {"log": header["id"], "by": "ann", "client": client, "events": [event]})


def exam_pp(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "exam_pp", *words], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip


def test_it_says_what_it_serves_and_ends_with_ctrl_c(served: Served) -> None:
    assert "Study study: 3 queries, 3 systems, judge lexical. 0 changes so far." in served.said
    assert "(only on this machine; Ctrl-C ends; everything is saved at once)" in served.said
    assert served.stop() == 0


def test_nobody_else_may_run(served: Served) -> None:
    for words in (("serve", "study"), ("run", "study")):
        refused = exam_pp(*words)
        assert refused.returncode == 1
        assert "study is in use by another run or by `exam-pp serve`" in refused.stderr
    served.stop()
    assert exam_pp("-q", "run", "study").returncode == 0


def test_the_address_is_the_same_again_and_nobody_else_can_read_it(served: Served) -> None:
    for name in ("address.json", "log.jsonl"):
        assert stat.S_IMODE((served.study / "live" / name).stat().st_mode) == 0o600
    first = served.address
    served.stop()
    served.start()
    assert served.address == first
    served.stop()
    served.words = (*served.words, "--new-address")
    served.start()
    assert served.address.rsplit("/", 2)[1] != first.rsplit("/", 2)[1]


def test_other_addresses_of_the_machine_are_closed(served: Served) -> None:
    port = urlsplit(served.address).port
    for host in ("127.0.0.2", "::1"):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as other:
            assert other.connect_ex((host, port or 0)) != 0


def test_half_open_connections_stop_nobody(served: Served) -> None:
    port = urlsplit(served.address).port or 0
    waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    for connection in waiting:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
    started = time.monotonic()
    assert ask(served, "state?by=ann")[0] == 200
    assert time.monotonic() - started < 5
    for connection in waiting:
        connection.close()


def test_fifty_kills_lose_no_acknowledged_event() -> None:
    """Three servers in turn are killed at any moment, while three clients send."""
    served = Served(questions_study())
    acknowledged: list[tuple[str, int]] = []
    clients = {f"c{number}": 0 for number in range(3)}
    ended = threading.Event()

    def send(client: str) -> None:
        n = 1
        while not ended.is_set():
            try:
                status, _ = rate(served, n, client)
            except (OSError, HTTPException, ValueError):  # killed before or within its answer
                time.sleep(0.02)
                continue
            if status == 200:
                acknowledged.append((client, n))
                n += 1

    threads = [threading.Thread(target=send, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for kill in range(int(os.environ.get("EXAM_PP_KILLS", "4"))):
        before = len(acknowledged)
        while len(acknowledged) < before + 3 + kill % 5:
            time.sleep(0.005)
        served.kill()
        served.start()
    ended.set()
    for thread in threads:
        thread.join()
    written = [(event["client"], event["n"]) for event in map(json.loads, served.log)]
    assert len(written) == len(set(written)), "nothing twice"
    assert set(acknowledged) <= set(written)
    assert len(set(written) - set(acknowledged)) <= len(clients)
    served.kill()


def test_ctrl_c_while_the_judge_grades(served: Served) -> None:
    header = json.loads((served.study / "live/log.jsonl").read_text().splitlines()[0])
    entry = {"n": 1, "op": "add", "query_id": "q1", "text": "Is it loud?"}
    ask(served, "events", {"log": header["id"], "by": "ann", "client": "c", "events": [entry]})
    assert served.stop() == 0
    assert len(served.log) == 1
    served.start()
    for _ in range(200):
        _, state = ask(served, "state?by=ann")
        if state["board"] and state["board"]["pending"] == 0 and state["board"]["seq"] == 1:
            break
        time.sleep(0.05)
    assert state["board"]["pending"] == 0, "graded after the restart"


def test_graded_file_and_bank_stay(served: Served) -> None:
    files = [Path("bank.jsonl"), *served.study.glob("[!.]*.*")]
    files = [file for file in files if ".journal" not in file.name]
    before = {file: file.read_bytes() for file in files}
    header = json.loads((served.study / "live/log.jsonl").read_text().splitlines()[0])
    entry = {"n": 7, "op": "add", "query_id": "q1", "text": "Is it loud?"}
    rate(served, 1)
    ask(served, "events", {"log": header["id"], "by": "ann", "client": "c", "events": [entry]})
    while ask(served, "state?by=ann")[1]["board"]["seq"] < 2:
        time.sleep(0.05)
    served.stop()
    assert {file: file.read_bytes() for file in files} == before
    assert exam_pp("bank", "apply", "bank.jsonl", "study/live/log.jsonl", "-o", "new.jsonl").returncode == 0
    graded = next(iter(served.study.glob("graded*")))
    words = (str(graded), "study/live/log.jsonl", "--bank", "new.jsonl", "-o", "new.jsonl.gz")
    applied = exam_pp("apply", *words)
    assert applied.returncode == 0, applied.stderr
    assert len(Path("new.jsonl").read_text()) > len(Path("bank.jsonl").read_text())


def test_edits_of_the_study_are_the_first_changes() -> None:
    study = questions_study()
    key = ("id", "q1/0")
    rating = {"query_id": "q1", "passage_id": "q1-p0", "id": key[1], "rating": 2}
    edits = {"format": "exam_pp.edits.v1", "reviewer": "old", "ratings": [rating]}
    (study / "edits.json").write_text(json.dumps(edits))
    with (study / "study.toml").open("a") as file:
        file.write('edits = ["edits.json"]\n')
    served = Served(study)
    (event,) = map(json.loads, served.log)
    assert (event["by"], event["rating"], bool(event["key"])) == ("old", 2, True)
    served.stop()
    served.start()
    assert len(served.log) == 1, "once"
    served.stop()
