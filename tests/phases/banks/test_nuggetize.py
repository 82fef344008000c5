"""AutoNuggetizer: windows, limits, importance, order, records, and killed runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import BankLine
from exam_pp.cli.main import main
from exam_pp.graders.nuggetize import Nuggetizer, Segments
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.banks.nuggetize import (
    NuggetizeOptions,
    NuggetizeSummary,
    nuggetize,
)
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.journal import Journal

Reply = Callable[[Request], Completion | str]


def segments(count: int, name: str = "q1") -> Segments:
    return Segments(name, f"query {name}", [(f"{name}-p{i}", f"Text {i}\nof {name}.") for i in range(count)])


def run(
    queries: Sequence[Segments], reply: Reply, **options: Any
) -> tuple[list[BankLine], NuggetizeSummary, FakeLLM]:
    llm, summary = FakeLLM(reply), NuggetizeSummary()
    lines = nuggetize(
        queries,
        Answerer(llm, Journal(None)),
        model=llm.name,
        provenance=llm.provenance(),
        options=NuggetizeOptions(nuggetizer=Nuggetizer(**options)),
        summary=summary,
    )
    return lines, summary, llm


def is_creation(request: Request) -> bool:
    return request.slot("length") is not None


def listed(request: Request) -> list[str]:
    nuggets: list[str] = json.loads(request.slot("nuggets") or "")
    return nuggets


def adds(*texts: str, labels: Callable[[str], str] = lambda text: "vital") -> Reply:
    """A reply that adds the texts in every window; ``labels`` gives the importance of a nugget."""

    def reply(request: Request) -> str:
        if is_creation(request):
            return json.dumps([*listed(request), *texts])
        return json.dumps([labels(text) for text in listed(request)])

    return reply


def texts(line: BankLine) -> list[str]:
    return [item.text for item in line.items]


def test_windows_of_ten_in_order_with_the_list_so_far() -> None:
    asked: list[Request] = []

    def reply(request: Request) -> str:
        if is_creation(request):
            asked.append(request)
            return json.dumps([f"nugget {i}" for i in range(len(asked))])
        return json.dumps(["vital"] * len(listed(request)))

    (line,), summary, _ = run([segments(23)], reply)
    assert [request.slot("length") for request in asked] == ["0", "1", "2"]
    assert [listed(request) for request in asked] == [[], ["nugget 0"], ["nugget 0", "nugget 1"]]
    contexts = [request.slot("context") or "" for request in asked]
    assert contexts[0].startswith("[1] Text 0 of q1.\n\n[2] Text 1 of q1.\n\n")
    assert contexts[0].endswith("[10] Text 9 of q1.")
    assert contexts[2] == "[1] Text 20 of q1.\n\n[2] Text 21 of q1.\n\n[3] Text 22 of q1."
    assert [part.role for part in asked[0].parts][:2] == ["system", "user"]
    assert "at most 30 nuggets" in asked[0].text
    assert texts(line) == ["nugget 0", "nugget 1", "nugget 2"]
    assert (summary.windows, summary.passages) == ({"list": 3}, 23)


def test_the_list_has_at_most_max_nuggets() -> None:
    many = [f"nugget {i}" for i in range(40)]
    (line,), summary, _ = run([segments(1)], adds(*many), keep=99)
    assert texts(line) == many[:30]
    assert summary.left_out == {"beyond the cap": 10}
    (line,), _, _ = run([segments(1)], adds(*many), max_nuggets=5)
    assert texts(line) == many[:5]


def test_long_nuggets_are_dropped() -> None:
    long = " ".join(["word"] * 13)
    nuggets = ["A fact.", long, " ".join(["word"] * 12)]
    (line,), summary, _ = run([segments(1)], adds(*nuggets), max_words=12)
    assert texts(line) == ["A fact.", " ".join(["word"] * 12)]
    assert summary.left_out == {"too long": 1}
    (window,) = line.info["windows"]
    assert window["left_out"] == {"too long": [long]}
    assert "Dropped: 1 listed nugget (too long)." in list(summary.lines())


def test_long_and_repeated_nuggets_are_kept_by_default() -> None:
    """As in the paper, whose prompt only asks for 1 to 12 words and no redundancy."""
    nuggets = ["A fact.", " ".join(["word"] * 13), "A fact."]

    def reply(request: Request) -> str:
        return json.dumps(nuggets if is_creation(request) else ["okay", "okay", "vital"])

    (line,), summary, _ = run([segments(1)], reply)
    assert [(item.text, item.importance) for item in line.items] == [
        ("A fact.", "vital"), ("A fact.", "okay"), (nuggets[1], "okay"),
    ]  # fmt: skip
    assert not summary.left_out
    assert line.info["nuggetizer"].keys().isdisjoint({"max_words"})


def test_window_size_and_iterations() -> None:
    """Open RAG Eval updates the list five times with one context; the paper once with each ten segments."""
    (line,), summary, _ = run([segments(23)], adds("a fact"), window_size=23, iterations=5)
    assert [len(window["passages"]) for window in line.info["windows"]] == [23] * 5
    assert summary.windows.total() == Nuggetizer(window_size=23, iterations=5).count_windows(23) == 5
    assert (line.info["nuggetizer"]["window"], line.info["nuggetizer"]["iterations"]) == (23, 5)

    (line,), _, _ = run([segments(5)], adds("a fact"), window_size=2, iterations=2)
    assert [window["passages"] for window in line.info["windows"]] == [
        ["q1-p0", "q1-p1"], ["q1-p2", "q1-p3"], ["q1-p4"],
    ] * 2  # fmt: skip


def counting(*lists: Sequence[str], error: int | None = None) -> tuple[Reply, list[Request]]:
    """A reply with these lists in turn, the last one again and again; call ``error`` fails, from 1."""
    asked: list[Request] = []

    def reply(request: Request) -> Completion | str:
        if not is_creation(request):
            return json.dumps(["okay"] * len(listed(request)))
        asked.append(request)
        if len(asked) == error:
            return Completion("", error="timeout")
        return json.dumps(lists[min(len(asked), len(lists)) - 1])

    return reply, asked


def test_all_passages_in_one_context_until_the_list_is_unchanged() -> None:
    """Open RAG Eval: one context, up to five iterations."""
    reply, asked = counting(["a"], ["a", "b"])
    (line,), summary, _ = run([segments(23)], reply, window_size=None, iterations=5)
    assert [listed(request) for request in asked] == [[], ["a"], ["a", "b"]]
    assert all((request.slot("context") or "").count("Text") == 23 for request in asked)
    assert Nuggetizer(window_size=None, iterations=5).count_windows(23) == 5
    assert summary.windows.total() == 3
    assert (line.info["nuggetizer"]["window"], line.info["nuggetizer"]["iterations"]) == ("all", 5)
    assert texts(line) == ["a", "b"]


def test_windows_are_compared_after_an_iteration() -> None:
    """The last window of an iteration changes nothing, but its first does."""
    reply, asked = counting(["a"], ["a"], ["b"], ["b"])
    (line,), summary, _ = run([segments(4)], reply, window_size=2, iterations=9)
    assert summary.windows.total() == 6
    assert len(asked) == 5  # the last request was already answered
    assert texts(line) == ["b"]


def test_no_passages_make_no_nugget() -> None:
    """Open RAG Eval adds the vital nugget "Not enough information, no answer found" instead."""
    reply, asked = counting(["a"])
    lines, summary, _ = run([segments(0)], reply, window_size=None, iterations=5)
    assert not lines
    assert not asked
    assert summary.failed == {"q1": "no passage has a judgment of 1 or more"}


@pytest.mark.parametrize("bad", ["I am sorry.", "", "[]", '["a", "b', " ".join(["word"] * 13).join('[""]')])
def test_a_reply_without_a_list_keeps_the_previous_list(bad: str) -> None:
    def reply(request: Request) -> str:
        if not is_creation(request):
            return json.dumps(["okay"] * len(listed(request)))
        return bad if request.slot("length") == "2" else '["first", "second"]'

    (line,), summary, _ = run([segments(20)], reply)
    assert texts(line) == ["first", "second"]
    assert summary.windows == {"list": 1, "no list": 1}
    assert [window["outcome"] for window in line.info["windows"]] == ["list", "no list"]
    kept = "1 reply without a list of nuggets; the previous list of the query was kept."
    assert kept in list(summary.lines())


def test_a_failed_call_keeps_the_list_and_is_reported() -> None:
    def reply(request: Request) -> Completion | str:
        if is_creation(request) and "Text 0 " in request.text:
            return Completion(error="timed out")
        return adds("a fact")(request)

    lines, summary, _ = run([segments(20, "q1"), segments(3, "q2")], reply)
    assert [line.query_id for line in lines] == ["q1"]
    assert (summary.failed, summary.errors) == ({"q2": "timed out"}, {"timed out": 2})
    assert "No nuggets for 'q2': timed out." in list(summary.lines())


def test_vital_first_in_the_models_order_and_cut() -> None:
    """The sort is stable: nuggets are listed in decreasing order of importance."""
    names = [f"n{i}" for i in range(25)]
    calls: list[int] = []

    def label(text: str) -> str:
        return "okay" if int(text[1:]) % 3 else "vital"

    def reply(request: Request) -> str:
        if not is_creation(request):
            calls.append(len(listed(request)))
        return str(adds(*names, labels=label)(request))

    (line,), summary, _ = run([segments(1)], reply)
    assert calls == [10, 10, 5]
    vital = [name for name in names if label(name) == "vital"]
    okay = [name for name in names if label(name) == "okay"]
    assert texts(line) == [*vital, *okay][:20]
    assert [item.importance for item in line.items] == ["vital"] * 9 + ["okay"] * 11
    assert line.info["nuggetizer"]["cut"] == okay[11:]
    assert (summary.vital, summary.cut) == (9, 5)


def test_importance_that_cannot_be_read_is_requested_again_and_then_unknown() -> None:
    def reply(request: Request) -> str:
        if is_creation(request):
            return '["a", "b", "c"]'
        return '["questionable", "okay", "vital"]' if request.slot("reply") else '["vital"]'

    (line,), summary, llm = run([segments(1)], reply, repairs=1)
    assert llm.calls == 3
    assert [(item.text, item.importance) for item in line.items] == [
        ("c", "vital"),
        ("b", "okay"),
        ("a", None),
    ]
    assert '"importance"' not in line.items[2].model_dump_json(exclude_unset=True)
    assert line.info["unlabelled"] == {"a": "the reply is no known label: questionable"}
    assert summary.unlabelled == 1


# --- from file to file ------------------------------------------------------------------------------


def import_passages(demo_data: Path, folder: Path) -> Path:
    target = folder / "passages.jsonl"
    arguments = ["--runs", demo_data / "runs", "--texts", demo_data / "passages.tsv"]
    arguments += ["--qrels", demo_data / "qrels.txt", "--queries", demo_data / "queries.jsonl"]
    main(["-q", "import", "-o", str(target), *map(str, arguments)])
    return target


@pytest.fixture
def passages(demo_data: Path, tmp_path: Path) -> Path:
    return import_passages(demo_data, tmp_path)


def command(passages: Path, bank: Path, demo_data: Path, *more: str) -> None:
    queries = str(demo_data / "queries.jsonl")
    model = () if "--model" in more else ("--model", "fake")
    main(["-q", "nuggetize", str(passages), "-o", str(bank), "--queries", queries, *model, *more])


def test_the_bank_has_a_record_of_every_window(passages: Path, demo_data: Path, tmp_path: Path) -> None:
    bank = tmp_path / "bank.jsonl"
    command(passages, bank, demo_data, "--max-queries", "2")
    windows = {line.query_id: line.info["windows"] for line in read_bank(bank).lines}
    assert {key: [len(window["passages"]) for window in of] for key, of in windows.items()} == {
        "007": [10, 3], "d01": [10, 3]
    }  # fmt: skip


def test_another_model_labels_the_importance(
    passages: Path, demo_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first model only lists nuggets; given this bank, the second one only labels them."""

    def load(options: ModelOptions) -> FakeLLM:
        llm = FakeLLM(lambda request: '["a fact"]' if options.model == "gpt" else '["vital"]')
        llm.name = options.model
        return llm

    monkeypatch.setattr("exam_pp.phases.banks.generate.load_llm", load)
    listed, bank = tmp_path / "list.jsonl", tmp_path / "bank.jsonl"
    command(passages, listed, demo_data, "--model", "gpt", "--model-pipeline", "openai", "--only", "nuggets")
    assert {item.importance for line in read_bank(listed).lines for item in line.items} == {None}
    model = ["--model", "llama", "--model-pipeline", "openai"]
    main(["-q", "nuggetize", str(listed), "-o", str(bank), *model, "--keep", "20"])
    made = read_bank(bank)
    assert {line.info["gpt_model"] for line in made.lines} == {"gpt"}
    assert {line.info["importance_model"] for line in made.lines} == {"llama"}
    assert {item.importance for line in made.lines for item in line.items} == {"vital"}
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["bank.jsonl", "list.jsonl", "passages.jsonl"], "no journal is left"
