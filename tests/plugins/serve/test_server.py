"""The server of the live workbench: who may ask, what is refused, and what pages get."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from exam_pp.cli.main import main
from exam_pp.plugins.serve.judge import Judge
from exam_pp.plugins.serve.live import Live
from exam_pp.plugins.serve.server import Pages, app_of
from exam_pp.plugins.serve.workbench import Workbench
from exam_pp.store.banks.bank_json import read_bank
from tests.llm.endpoint_server import prompt_of, rating
from tests.llm.endpoint_server import serve as endpoint
from tests.plugins.serve.studies import TEXTS
from tests.plugins.serve.test_workbench import Bench, first

TOKEN, PORT = "token-of-the-test", 8123
ROOT = f"/{TOKEN}"


class Server:
    """An application with its two threads, and a browser."""

    def __init__(self, kind: str = "questions", made: Bench | None = None, **options: Any) -> None:
        self.made = made or Bench(kind)
        self.made.judge.close()
        self.live = Live(self.made.bench, self.made.log, **options)
        self.browser = TestClient(app_of(self.live, TOKEN, PORT), base_url=f"http://127.0.0.1:{PORT}")
        self.told: list[dict[str, Any]] = []
        self.live.send = self.told.append
        self.live.start()
        self.n = 0

    def get(self, path: str, **headers: str) -> Any:
        return self.browser.get(f"{ROOT}/{path}", headers=headers)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        known = {"log": self.live.log.header["id"], "by": "ann", "client": "tab"}
        return self.browser.post(f"{ROOT}/{path}", json={**known, **body})

    def send(self, *changes: dict[str, Any], **body: Any) -> Any:
        numbered = [{"n": self.n + n, **change} for n, change in enumerate(changes, 1)]
        self.n += len(changes)
        return self.post("events", {"events": numbered, **body})

    def rating(self, rating: int, **more: Any) -> dict[str, Any]:
        passage = first(self.made, "q1", "alpha")
        return {"op": "rate", "query_id": "q1", "passage_id": passage, "id": "q1/1", "rating": rating, **more}

    def wait(self, is_it: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        """The last message of this kind."""
        for _ in range(600):
            if found := [message for message in list(self.told) if is_it(message)]:
                return found[-1]
            time.sleep(0.02)
        raise AssertionError(self.told)

    def board(self, seq: int) -> dict[str, Any]:
        return self.wait(lambda m: m["kind"] == "board" and m["seq"] >= seq and not m["pending"])


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def make(kind: str = "questions", **options: Any) -> Server:
        servers.append(Server(kind, **options))
        return servers[-1]

    yield make
    for server in servers:
        server.live.close()


def test_strangers_are_refused(serve: Callable[..., Server]) -> None:
    server = serve()
    assert server.get("state").status_code == 200
    for headers in (
        {"host": f"localhost:{PORT}"},
        {"host": "evil.example"},
        {"host": f"127.0.0.1:{PORT + 1}"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        refused = server.get("state", **headers)
        assert refused.status_code == 403, headers
        assert refused.json()["message"] == "Open the address that exam-pp serve printed."
    for path in ("/", "/state", f"/{TOKEN}x/state", f"/{TOKEN[:-1]}/state", "//state"):
        assert server.browser.get(path).status_code == 403, path
    assert server.get("state", origin=f"http://127.0.0.1:{PORT}").status_code == 200


def test_answers_have_the_headers_of_a_closed_page(serve: Callable[..., Server]) -> None:
    server = serve()
    for answer in (server.get(""), server.get("state"), server.get("nothing")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
    policy = server.get("").headers["content-security-policy"]
    assert "connect-src 'self'" in policy
    assert "script-src 'sha256-" in policy
    assert "require-trusted-types-for 'script'" in policy


def test_bodies_that_are_refused(serve: Callable[..., Server]) -> None:
    server = serve()
    at = f"{ROOT}/events"
    assert server.browser.post(at, content="x", headers={"content-type": "text/plain"}).status_code == 415
    json_type = {"content-type": "application/json"}
    assert server.browser.post(at, content="x" * 2_000_000, headers=json_type).status_code == 413
    chunked = (b"x" * 100_000 for _ in range(20))
    assert server.browser.post(at, content=chunked, headers=json_type).status_code == 413
    for content in ("{", "[1]", "[" * 100_000, '"text"', ""):
        assert server.browser.post(at, content=content, headers=json_type).status_code == 422, content[:9]
    assert server.browser.post(at, content=os.urandom(99), headers=json_type).status_code == 422
    assert server.send(server.rating(5), log="another").status_code == 409
    surrogate = b'{"log":"x","by":"ann","client":"tab","events":[{"n":1,"comment":"\xed\xa0\x80"}]}'
    assert server.browser.post(at, content=surrogate, headers=json_type).status_code == 422
    for path, body in (
        ("events", {"events": [{"n": 1, "op": []}]}),
        ("events", {"events": [{"n": "1", **server.rating(5)}]}),
        ("events", {"events": 5}),
        ("events", {"events": [server.rating(5, spans=5) | {"n": 1, "op": "add"}]}),
        ("events", {"events": [{"n": 1, **server.rating(5)}], "client": "\u00e4"}),
        ("events", {"events": [{"n": 1, **server.rating(5)}], "client": ""}),
        ("preview", {"request": "1", "change": {}}),
        ("preview", {"request": 1, "change": []}),
        ("cancel", {"request": "x"}),
    ):
        assert server.post(path, body).status_code == 422, body
    assert server.browser.put(at, json={}).status_code == 405
    assert server.get("../../../etc/passwd").status_code in (403, 404)
    assert server.get("export/..%2f..%2fetc%2fpasswd").status_code == 404
    assert server.get("query/999").status_code == 422
    assert server.live.log.seq == 0


def test_changes_that_are_refused(serve: Callable[..., Server]) -> None:
    server = serve()
    for change, field in (
        (server.rating(9), "rating"),
        (server.rating(3, passage_id="../../etc/passwd"), "passage_id"),
        ({"op": "format"}, "op"),
        ({"op": "preview", "change": {"op": "add", "query_id": "q1", "text": "x"}}, "op"),
        ({"op": "add", "query_id": "q1"}, None),
        ({"op": "weight", "query_id": "q1", "id": "q1/1", "value": 1e308}, None),
        ({"op": "add", "query_id": "q1", "text": "x", "weight": 1e308}, "weight"),
    ):
        refused = server.send(change)
        assert refused.status_code == 422, change
        assert refused.json()["field"] == field, refused.json()
    assert server.send(server.rating(3), by=" ").json()["field"] == "by"
    assert server.post("events", {"events": [{"op": "note"}]}).status_code == 422
    assert server.send(*[server.rating(3)] * 1001).status_code == 422
    assert server.send(server.rating(3), server.rating(9)).status_code == 422, "all or none"
    assert server.live.log.seq == 0


def test_the_same_event_twice_is_one_line(serve: Callable[..., Server]) -> None:
    server = serve()
    event = {"n": 7, **server.rating(5)}
    for _ in range(2):
        assert server.post("events", {"events": [event]}).json() == {"seq": 1}
    assert len(server.live.log.path.read_text().splitlines()) == 2


def test_there_is_no_board_before_the_first_one() -> None:
    made = Bench("questions")
    try:
        assert Live(made.bench, made.log).shown("ann")["board"] is None
    finally:
        made.judge.close()
        made.log.close()


def test_a_rating_moves_the_board_and_undo_restores_it(serve: Callable[..., Server]) -> None:
    server = serve()
    start = server.board(0)
    assert server.send(server.rating(5)).json() == {"seq": 1}
    moved = server.board(1)
    assert moved["rows"] != start["rows"]
    before = {row["system"]: (row["mean"], row["places"]) for row in start["rows"]}
    then = {row["system"]: (row["start"]["mean"], row["start"]["places"]) for row in moved["rows"]}
    assert then == before
    mine = server.get("state?by=ann").json()
    assert (mine["ratings"][0]["rating"], mine["undo"]) == (5, [{"seq": 1, "op": "rate"}])
    assert server.get("state?by=ben").json()["ratings"] == []
    server.send({"op": "undo", "of": 1})
    assert [row["mean"] for row in server.board(2)["rows"]] == [row["mean"] for row in start["rows"]]
    assert server.get("state?by=ann").json()["undo"] == []


@pytest.mark.parametrize("kind", ["questions", "nuggets"])
def test_impact_then_commit(serve: Callable[..., Server], kind: str) -> None:
    server = serve(kind)
    importance = {"importance": "vital"} if kind == "nuggets" else {}
    change = {
        "op": "add",
        "query_id": "q1",
        "text": "A gas boiler burns fuel and is cheap to buy",
        **importance,
    }
    before = server.board(0)
    assert server.post("preview", {"request": 1, "change": change}).status_code == 202
    impact = server.wait(lambda m: m["kind"] == "impact")
    assert (impact["client"], impact["request"], impact["covers"]) == ("tab", 1, 2)
    looked = server.board(1)
    assert [row["mean"] for row in looked["rows"]] == [row["mean"] for row in before["rows"]]
    assert "1 only looked at" in looked["verdict"]
    seq = server.send(change).json()["seq"]
    board = server.board(seq)
    assert {row["system"]: row["mean"] for row in board["rows"]} == {
        row["system"]: row["after"]["mean"] for row in impact["rows"]
    }
    assert "1 made (1 × add)" in board["verdict"]
    query = server.get("query/0?by=ann").json()
    assert query["query"]["entries"][-1]["text"] == change["text"]
    width = len(query["query"]["entries"])
    assert None not in query["chunk"]["grades"][0]["rating"][width - 1 :: width]
    server.post("preview", {"request": 2, "change": {**change, "text": "A boiler is loud"}})
    server.wait(lambda m: m["kind"] == "impact" and m["request"] == 2)
    assert {**server.get("query/0?by=ann").json(), "at": query["at"]} == query, "drafts are in no table"


def test_the_impact_of_a_new_wording_shows_what_the_old_one_covered(serve: Callable[..., Server]) -> None:
    server = serve()
    change = {"op": "reword", "query_id": "q1", "id": "q1/1", "text": "Is it loud?"}
    server.post("preview", {"request": 1, "change": change})
    impact = server.wait(lambda m: m["kind"] == "impact")
    assert (impact["covers"], impact["covered"], impact["asked"]) == (0, 0, 3)
    assert impact["passages"]
    assert all(row["old"] >= 4 > row["rating"] for row in impact["passages"])


def test_a_preview_that_does_not_fit_is_refused(serve: Callable[..., Server]) -> None:
    server = serve()
    twice = {"op": "add", "query_id": "q1", "text": "What does a boiler burn?"}
    server.post("preview", {"request": 1, "change": twice})
    refused = server.wait(lambda m: m["kind"] == "error")
    assert refused["request"] == 1
    assert "already has the text" in refused["message"]
    assert server.post("preview", {"request": 2, "change": {"op": "add"}}).status_code == 422


def test_two_reviewers_disagree_and_one_resolves(serve: Callable[..., Server]) -> None:
    server = serve()
    server.send(server.rating(5))
    server.send(server.rating(1), by="ben", client="other")
    seen = server.get("query/0?by=ann").json()
    assert seen["graders"] == ["lexical", "human:ben"], "own ratings are in the state"
    (row,) = server.get("state?by=cid").json()["disputes"]
    assert [each["by"] for each in row["ratings"]] == ["ann", "ben"]
    resolve = server.rating(5) | {"op": "resolve"}
    server.send(resolve, by="cid", client="third")
    assert "but cid resolved 1" in server.board(3)["verdict"]


def test_a_resolution_by_a_party_keeps_the_comment_and_is_said(serve: Callable[..., Server]) -> None:
    server = serve()
    server.send(server.rating(1, comment="no fuel is named"))
    server.send(server.rating(5), by="ben", client="other")
    server.send(server.rating(5) | {"op": "resolve"})
    (row,) = server.get("state?by=cid").json()["disputes"]
    assert row["resolved"]
    assert {each["by"]: each.get("comment") for each in row["ratings"]} == {
        "ann": "no fuel is named",
        "ben": None,
    }
    assert "who checked 1; ann resolved 1." in server.board(3)["verdict"]


def test_a_rating_of_a_text_that_somebody_changed_is_refused(serve: Callable[..., Server]) -> None:
    server = serve()
    shown = server.get("query/0?by=ann").json()["chunk"]
    passage = shown["ids"].index(first(server.made, "q1", "alpha"))
    key = f"{shown['keys']['entries']['q1/1']}:{shown['keys']['passages'][passage]}"
    assert server.send(server.rating(5, key=key)).json() == {"seq": 1}
    refused = server.send(server.rating(5, key="of:another"))
    assert (refused.status_code, refused.json()["field"]) == (422, "key")


def test_progress_counts_what_is_graded_for_the_draft(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_pp.plugins.serve.live._BETWEEN", -1.0)
    server = serve()
    server.board(server.send({"op": "add", "query_id": "q1", "text": "Is it loud?"}).json()["seq"])
    change = {"op": "add", "query_id": "q1", "text": "Is it cheap?"}
    server.post("preview", {"request": 1, "change": change})
    server.wait(lambda m: m["kind"] == "impact")
    told = [m for m in server.told if m["kind"] == "progress" and m.get("request") == 1]
    assert {m["total"] for m in told} == {3}
    assert [m["done"] for m in told] == sorted(m["done"] for m in told)
    assert told[-1]["done"] == 3


def test_exports_are_what_other_commands_read(serve: Callable[..., Server]) -> None:
    server = serve()
    server.send(server.rating(5), {"op": "remove", "query_id": "q1", "id": "q1/0"})
    bank = [json.loads(line) for line in server.get("export/bank").text.splitlines()]
    assert len(bank[0]["items"]) == 1
    edits = server.get("export/edits?by=ann").json()
    assert (edits["reviewer"], edits["ratings"][0]["rating"]) == ("ann", 5)
    assert server.get("export/log").text == server.live.log.path.read_text()
    assert server.get("export/nothing").status_code == 404


def test_the_bank_as_a_table_is_a_bank(serve: Callable[..., Server]) -> None:
    server = serve("nuggets")
    add = {"op": "add", "query_id": "q1", "text": '=SUM(1), "a boiler"', "importance": "vital", "weight": 2}
    server.board(server.send(add, {"op": "remove", "query_id": "q3", "id": "q3/0"}).json()["seq"])
    answer = server.get("export/table")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == "attachment; filename=bank.csv"
    Path("table.csv").write_bytes(answer.content)
    main(["validate", "table.csv"])
    main(["bank", "import", "table.csv", "-o", "read.jsonl"])
    known, read = server.live.state.bank, read_bank("read.jsonl")
    for query_id in known.queries:
        of_bank, of_table = ({e.text: (e.kind, e.importance, e.weight) for e in b.entries(query_id).values()}
                             for b in (known, read))  # fmt: skip
        assert of_table == of_bank


def test_the_leaderboard_after_any_change(serve: Callable[..., Server]) -> None:
    server = serve()
    boards = [server.board(0)]
    for change in (
        server.rating(5),
        {"op": "add", "query_id": "q1", "text": "A gas boiler burns fuel and is cheap to buy"},
        {"op": "weight", "query_id": "q2", "id": "q2/1", "value": 4},
        {"op": "undo", "of": 1},
    ):
        boards.append(server.board(server.send(change).json()["seq"]))
    for text in ("Tea grows in China", "Elephants dance quietly"):  # what was graded once still is
        added = server.get("query/0?by=ann").json()["query"]["entries"][-1]["id"]
        change = {"op": "reword", "query_id": "q1", "id": added, "text": text}
        boards.append(server.board(server.send(change).json()["seq"]))
    assert len({row["mean"] for board in boards for row in board["rows"]}) > 3
    for seq, board in enumerate(boards):
        rows = [{k: v for k, v in row.items() if k != "start"} for row in board["rows"]]
        assert server.get(f"since/{seq}").json() == {"rows": rows}
    assert server.get("since/99").json()["rows"] == server.get("since/6").json()["rows"]
    for wrong in ("²", "-1", "x", ""):
        assert server.get(f"since/{wrong}").status_code == 404


def test_a_leaderboard_of_entries_that_are_no_longer_graded_is_refused(serve: Callable[..., Server]) -> None:
    server = serve()
    change = {"op": "add", "query_id": "q1", "text": "A gas boiler burns fuel"}
    server.board(server.send(change).json()["seq"])
    added = server.get("query/0?by=ann").json()["query"]["entries"][-1]["id"]
    server.board(server.send({"op": "reword", "query_id": "q1", "id": added, "text": "Tea"}).json()["seq"])
    server.live.bench._graded["q1"][1:] = []  # as after a restart
    answer = server.get("since/1")
    assert (answer.status_code, answer.json()["message"]) == (
        422, "An entry of that time is no longer graded: choose a later change.",
    )  # fmt: skip
    assert server.get("since/2").status_code == 200


@pytest.mark.parametrize("kind", ["questions", "nuggets"])
def test_the_leaderboard_of_one_entry_equals_its_coverage(serve: Callable[..., Server], kind: str) -> None:
    server = serve(kind)
    importance = {"importance": "okay"} if kind == "nuggets" else {}
    change = {"op": "add", "query_id": "q1", "text": "A gas boiler burns fuel", **importance}
    server.post("preview", {"request": 1, "change": change})
    impact = server.wait(lambda m: m["kind"] == "impact")
    server.board(server.send(change).json()["seq"])
    entry = server.get("query/0?by=ann").json()["query"]["entries"][-1]["id"]
    rows = server.get(f"solo?query=q1&entry={entry}").json()["rows"]
    alone = {row["system"]: row["mean"] for row in rows}
    assert alone == {row["system"]: float(bool(row["covers"])) for row in impact["rows"]}
    assert set(alone.values()) == {0, 1} or kind == "nuggets"
    for words in ("query=q2&entry=q1/0", "query=q1&entry=nothing", "entry=q1/0", ""):
        assert server.get(f"solo?{words}").json()["field"] == "entry"


def test_selected_texts_of_others_are_told(serve: Callable[..., Server]) -> None:
    span = {"start": 2, "end": 10, "text": TEXTS["q1"][1][2:10], "passage_id": "q1-p1"}
    add = {"op": "add", "query_id": "q1", "text": "Why?", "spans": [span]}
    server = serve()
    assert server.send(add, {"op": "discard", "change": {**add, "text": "How?"}}).status_code == 200
    for by in ("ann", "ben"):
        spans = server.get(f"query/0?by={by}").json()["spans"]
        assert spans == [{"entry": "Why?", "by": "ann", **span}]
    assert server.get("query/1?by=ann").json()["spans"] == []
    server.live.close()
    blind = serve(blind=True)
    (mine,) = blind.get("query/0?by=ann").json()["spans"]
    assert mine["passage_id"] in blind.get("query/0?by=ann").json()["chunk"]["ids"]
    assert blind.get("query/0?by=ben").json()["spans"] == []
    for each in (server, blind):
        each.live.bench.texts["q1", "q1-p1"] = "The passage has changed since."
        assert each.get("query/0?by=ann").json()["spans"] == []
    assert [blind.get(f"{path}").status_code for path in ("since/0", "solo?query=q1&entry=q1/0")] == [
        404,
        404,
    ]


@pytest.mark.parametrize("kind", ["questions", "nuggets"])
def test_blind_reviewers_get_nothing_of_others(serve: Callable[..., Server], kind: str) -> None:
    server = serve(kind, blind=True)
    server.send(server.rating(5), by="ben", client="other")  # with the id: the name of a passage is needed
    page, state = server.get("").text, server.get("state?by=ann").text
    query = server.get("query/0?by=ann").json()
    passage = query["chunk"]["ids"][0]
    assert server.send(server.rating(1, passage_id=passage)).status_code == 200
    server.wait(lambda m: m["kind"] == "changed")
    for served in (page, state, json.dumps(query), json.dumps(server.told)):
        for secret in ("alpha", "beta", "gamma", "q1-p", "ben", "rerank"):
            assert secret not in served.replace("Embedding", ""), secret
    assert all(grades == {} for grades in query["chunk"]["grades"])
    after = server.get("query/0?by=ann").json()
    ratings = after["chunk"]["grades"][0]["rating"]
    assert sum(rating is not None for rating in ratings) == 1, "the judge's grade of the pair that is rated"
    assert "board" not in server.get("state?by=ann").json()
    assert server.get("export/log").status_code == 404
    add = {"op": "add", "query_id": "q1", "text": "x"}
    assert server.post("preview", {"request": 1, "change": add}).status_code == 422


def test_a_named_reviewer_is_the_only_one(serve: Callable[..., Server]) -> None:
    server = serve(reviewer="ann")
    server.send(server.rating(5), by="ben")
    assert server.live.log.events[0].by == "ann"


def test_a_judge_that_fails_says_so(serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("out of memory")

    server = serve()
    monkeypatch.setattr("exam_pp.plugins.serve.judge.Judge.graded", fails)
    change = {"op": "add", "query_id": "q1", "text": "Is it loud?"}
    server.post("preview", {"request": 1, "change": change})
    assert server.wait(lambda m: m["kind"] == "error")["message"] == "The judge has failed (out of memory)."
    server.send(change)
    server.wait(lambda m: m["kind"] == "board" and m["pending"] == 1)
    for _ in range(100):
        if problem := server.get("state?by=ann").json()["problem"]:
            break
        time.sleep(0.02)
    assert problem == "The judge has failed (out of memory)."
    monkeypatch.undo()
    server.send({"op": "weight", "query_id": "q1", "id": "q1/1", "value": 2})
    assert server.board(2)["pending"] == 0


def test_ratings_do_not_wait_for_the_judge_and_of_drafts_the_last_counts(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, busy, graded = threading.Event(), threading.Event(), Judge.graded

    def slowly(*words: Any) -> Any:
        busy.set()
        hold.wait(20)
        return graded(*words)

    server = serve()
    monkeypatch.setattr(Judge, "graded", slowly)
    texts = ["Is it loud?", "Is it quiet?", "Is it cheap?"]
    for request, text in enumerate(texts, 1):
        change = {"op": "add", "query_id": "q1", "text": text}
        assert server.post("preview", {"request": request, "change": change}).status_code == 202
        assert busy.wait(20)
    server.send(server.rating(5))
    assert server.board(1)["rows"], "the judge is still at the first draft"
    hold.set()
    server.wait(lambda m: m["kind"] == "impact" and m["request"] == 3)
    assert [m["request"] for m in server.told if m["kind"] == "impact"] == [3]
    assert [event.item.change.text for event in server.live.log.events[1:]] == [texts[2]]


def test_a_leaderboard_that_fails_says_so_and_the_next_one_is_shown(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    server.board(0)
    monkeypatch.setattr(Workbench, "shown", lambda *_: 1 / 0)
    server.send(server.rating(5))
    assert server.board(1)["verdict"] == "The leaderboard has failed (division by zero)."
    monkeypatch.undo()
    server.send(server.rating(4))
    assert server.board(2)["rows"]


def test_what_the_judge_failed_on_is_asked_again_after_a_while(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exam_pp.plugins.serve.live._RETRY", 0.2)
    server = serve()
    with monkeypatch.context() as patch:
        patch.setattr(Judge, "graded", lambda *_: 1 / 0)
        server.send({"op": "add", "query_id": "q2", "text": "Tyres are black"})
        server.wait(lambda m: m["kind"] == "board" and m["pending"] == 1)
        server.wait(lambda m: server.live.problem)
    assert server.board(1)["rows"], "without another change"
    server.send({"op": "undo", "of": 1})
    server.board(2)
    server.told.clear()
    with monkeypatch.context() as patch:
        patch.setattr(Judge, "graded", lambda *_: 1 / 0)
        text = "A gas boiler burns fuel and is cheap to buy"
        server.send({"op": "add", "query_id": "q1", "text": text})
        server.wait(lambda m: m["kind"] == "board" and m["pending"] == 1)
        server.wait(lambda m: server.live.problem)
        assert server.get("query/0?by=ann").json()["query"]["entries"][-1]["text"] == text
        server.send(server.rating(5, id=server.get("query/0?by=ann").json()["query"]["entries"][-1]["id"]))
        server.send(server.rating(0, id=server.live.log.events[3].item.entry_id), by="ben", client="ben")
        assert len(server.get("state?by=ann").json()["disputes"]) == 1, "of an entry that is not graded yet"
    assert server.board(5)["rows"]
    assert server.live.problem == ""


def test_an_impact_is_of_its_draft_alone(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another entry of the query is not graded when the draft is."""
    server = serve()
    draft = {"op": "add", "query_id": "q1", "text": "What is the moon?"}
    with monkeypatch.context() as patch:
        patch.setattr(Judge, "graded", lambda *_: 1 / 0)
        server.send({"op": "add", "query_id": "q1", "text": "A gas boiler burns fuel and is cheap to buy"})
        server.wait(lambda m: m["kind"] == "board" and m["pending"] == 1)
        server.wait(lambda m: server.live.problem)
    server.post("preview", {"request": 1, "change": draft})
    impact = server.wait(lambda m: m["kind"] == "impact")
    board = server.board(server.send(draft).json()["seq"])
    assert {row["system"]: row["after"]["mean"] for row in impact["rows"]} == {
        row["system"]: row["mean"] for row in board["rows"]
    }
    assert impact["covers"] == 0
    assert all(row["after"]["mean"] <= row["before"]["mean"] for row in impact["rows"])


def test_what_the_judge_failed_on_is_asked_again_with_the_next_change(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setattr(Judge, "graded", lambda *_: 1 / 0)
    server.send({"op": "add", "query_id": "q1", "text": "Is it loud?"})
    server.wait(lambda m: m["kind"] == "board" and m["pending"] == 1)
    server.wait(lambda m: server.live.problem)
    assert server.get("state").json()["problem"] == "The judge has failed (division by zero)."
    monkeypatch.undo()
    server.send(server.rating(5))
    server.board(2)
    assert server.get("state").json()["problem"] == ""


def test_drafts_that_are_committed_before_their_impact_are_not_counted_as_looked_at(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, busy, impact = threading.Event(), threading.Event(), Workbench.impact

    def slowly(*words: Any) -> Any:
        busy.set()
        hold.wait(20)
        return impact(*words)

    server = serve()
    monkeypatch.setattr(Workbench, "impact", slowly)
    change = {"op": "add", "query_id": "q1", "text": "Is it loud?"}
    server.post("preview", {"request": 1, "change": change})
    assert busy.wait(20)
    server.post("cancel", {"request": 1})
    server.send(change)
    hold.set()
    server.wait(lambda m: m["kind"] == "error" and m["request"] == 1)
    assert "1 made (1 × add);" in server.board(1)["verdict"]


@pytest.mark.parametrize("change", [{"op": "remove"}, {"op": "reword", "text": "What does a boiler cost?"}])
def test_pairs_that_the_bank_lost_are_in_no_dispute(
    serve: Callable[..., Server], change: dict[str, Any]
) -> None:
    server = serve()
    server.send(server.rating(5))
    server.send(server.rating(1), by="ben", client="other")
    assert len(server.get("state?by=ann").json()["disputes"]) == 1
    server.send({"query_id": "q1", "id": "q1/1", **change})
    assert server.get("state?by=ann").json()["disputes"] == []


def test_changes_that_rest_on_others_are_undone_after_them(serve: Callable[..., Server]) -> None:
    server = serve()
    server.send(server.rating(5), {"op": "add", "query_id": "q1", "text": "Is it loud?"})
    server.board(2)
    (added,) = [e for e in server.get("query/0?by=ann").json()["query"]["entries"] if "loud" in e["text"]]
    weight = {"op": "weight", "query_id": "q1", "id": added["id"], "value": 2}
    server.send(weight, by="ben", client="other")
    assert [each["seq"] for each in server.get("state?by=ann").json()["undo"]] == [1, 2]
    assert server.send({"op": "undo", "of": 2}).status_code == 422, "ben's weight rests on it"
    assert server.send({"op": "undo", "of": 1}).json() == {"seq": 4}


def test_names_have_one_form(serve: Callable[..., Server]) -> None:
    server = serve()
    server.send(server.rating(5), by=" Zoe\u0308  B ")
    assert len(server.get("state?by=Zo%C3%AB B").json()["ratings"]) == 1
    assert len(server.get("state?by= Zoe%CC%88 B").json()["ratings"]) == 1


def test_a_page_that_takes_no_messages_has_to_connect_again() -> None:
    async def stalled() -> list[str]:
        pages = Pages()
        stream = pages.stream()
        first = await anext(stream)
        for number in range(1100):
            pages.send({"number": number})
        await asyncio.sleep(0)
        return [first, *[data async for data in stream]]

    first, *rest = asyncio.run(stalled())
    assert (first, len(rest)) == (": open\n\n", 1000)


def test_the_query_that_was_opened_last_is_read_first_and_drafts_before(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, busy, read = threading.Event(), threading.Event(), list[str]()

    def slowly(_judge: Judge, query: Any) -> None:
        busy.set()
        hold.wait(20)
        read.append(query.query_id)

    server = serve()
    monkeypatch.setattr(Judge, "read_ahead", slowly)
    server.get("query/0?by=ann&reads=1")
    assert busy.wait(20)
    for index in (1, 2, 1):
        server.get(f"query/{index}?by=ann&reads=1")
    change = {"op": "add", "query_id": "q1", "text": "Is it loud?"}
    server.post("preview", {"request": 1, "change": change})
    monkeypatch.setattr(Live, "_look", lambda *_: read.append("draft"))
    hold.set()
    server.wait(lambda _: len(read) == 4)
    assert read == ["q1", "draft", "q2", "q3"], "each once"


def test_a_server_that_ends_takes_no_changes(serve: Callable[..., Server]) -> None:
    server = serve()
    server.live.close()
    refused = server.send(server.rating(5))
    assert (refused.status_code, refused.json()["message"]) == (503, "The server is stopping.")


def test_a_grading_can_be_cancelled(serve: Callable[..., Server]) -> None:
    server = serve()
    server.post("cancel", {"request": 1})
    change = {"op": "add", "query_id": "q1", "text": "Is it loud?"}
    server.post("preview", {"request": 1, "change": change})
    refused = server.wait(lambda m: m["kind"] == "error")
    assert refused["message"] == "Cancelled; the replies that came are kept."
    assert server.live.log.seq == 0, "nobody looked at it"


def test_an_endpoint_is_asked_for_drafts_and_its_key_stays(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    hold = threading.Event()

    def slowly(body: dict[str, Any], count: int) -> Any:
        if "Is it loud?" in prompt_of(body):
            hold.wait(20)
        return rating(body, count)

    with endpoint(slowly) as judge:
        words = ("--model", "m", "--model-pipeline", "openai", "--base-url", judge.url)
        server = serve(made=Bench("questions", words, base_url=judge.url))
        asked = len(judge.bodies)
        assert server.live.head()["live"]["remote"]
        server.get("query/0?by=ann&reads=1")
        change = {"op": "add", "query_id": "q1", "text": "Is it cheap?"}
        server.post("preview", {"request": 1, "change": change})
        server.wait(lambda m: m["kind"] == "impact")
        assert len(judge.bodies) == asked + 3, "nothing is read ahead, and each passage asked once"
        assert server.wait(lambda m: m["kind"] == "progress")["total"] == 3
        server.board(server.send(change).json()["seq"])
        assert len(judge.bodies) == asked + 3, "the commit asks nothing again"
        server.post("preview", {"request": 2, "change": {**change, "text": "Is it loud?"}})
        server.post("cancel", {"request": 2})
        hold.set()
        refused = server.wait(lambda m: m["kind"] == "error")
        assert (refused["request"], refused["message"][:9]) == (2, "Cancelled")
        said = [server.get(path).text for path in ("", "state?by=ann", "query/0?by=ann", "export/log")]
        assert "sk-secret" not in "".join([*said, *map(json.dumps, server.told)])


def test_a_full_disk_is_said(serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    monkeypatch.setattr(os, "write", lambda _handle, _data: 1)
    refused = server.send(server.rating(5))
    assert (refused.status_code, "the disk is full" in refused.json()["message"]) == (507, True)
    monkeypatch.undo()
    assert server.send(server.rating(5)).json() == {"seq": 1}
