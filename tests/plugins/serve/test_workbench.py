"""The leaderboard of the live workbench equals that of the command line, for every kind of change."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.plugins.serve.judge import Judge
from exam_pp.plugins.serve.log import Log, folded
from exam_pp.plugins.serve.workbench import State, Workbench
from exam_pp.store.edits import BankEdit
from exam_pp.studies.engine import Engine
from exam_pp.studies.inputs import read_study
from tests.llm.endpoint_server import always, by_text, completion, serve
from tests.plugins.serve.studies import TEXTS, criteria_study, nuggets_study, questions_study

STUDIES: dict[str, Callable[..., Path]] = {"questions": questions_study, "nuggets": nuggets_study}
CRITERIA = {"criteria": criteria_study}


class Bench:
    """A workbench with its log and judge, as the server has them."""

    log: Log
    judge: Judge

    def __init__(self, kind: str, judge: Sequence[str] = (), **given: str) -> None:
        self.folder = (STUDIES | CRITERIA)[kind](*judge)
        study = read_study(self.folder / "study.toml", given, outside=True)
        results = Engine(study, self.folder, reports=False, refine=False).run()
        (made,) = results.boards
        assert made.bank is not None
        self.bench = Workbench(made, results.gradings.get(made.bank))
        assert self.bench.grading is not None
        self.judge = Judge(self.bench.grading)
        header = {"judge": self.bench.judge, "bank_sha256": self.bench.bank_sha256}
        self.log = Log.open(self.folder / "live/log.jsonl", header)

    def change(self, *changes: dict[str, Any], by: str = "ann") -> State:
        numbered = [{"n": self.log.seq + n, **change} for n, change in enumerate(changes, 1)]
        self.log.append(self.bench.check(self.log.events, self.log.new(by, by, numbered)))
        state = self.state
        for query_id, new in state.pending.items():
            bank = self.bench.changed(state.edits)
            every = self.bench.new_entries(bank, query_id)
            assert every.issuperset(new)
            self.bench.take(every, self.judge.graded(self.bench.queries[query_id], bank, every))
        return self.state

    @property
    def state(self) -> State:
        return self.bench.state(folded(self.log.events, self.bench.bank_sha256))

    def close(self) -> None:
        self.log.close()
        self.judge.close()


@pytest.fixture
def make() -> Iterator[Callable[[str], Bench]]:
    made: list[Bench] = []

    def make(kind: str) -> Bench:
        made.append(Bench(kind))
        return made[-1]

    yield make
    for each in made:
        each.close()


Pair = namedtuple("Pair", "query_id passage_id entry_id")
KINDS = pytest.mark.parametrize("kind", sorted(STUDIES))
Make = Callable[[str], Bench]


def rate(query: str, passage: int, rating: int, entry: str = "1", op: str = "rate") -> dict[str, Any]:
    return {"op": op, "query_id": query, "passage_id": passage, "id": f"{query}/{entry}", "rating": rating}


def served(state: State) -> dict[str, float]:
    return {system: row["mean"] for system, row in state.rows.items()}


def by_command_line(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[dict[str, float], str]:
    """System to mean, and the verdict, after `exam-pp run` and the command that it prints."""
    capsys.readouterr()
    main(["run", "study", *words])
    out = capsys.readouterr().out
    shows = ("$ exam-pp evaluate cover", "$ exam-pp evaluate nuggets")
    (command,) = (line for line in out.splitlines() if line.startswith(shows))
    main([*command.split()[2:], "--format", "json"])
    table = json.loads(capsys.readouterr().out)
    rows = [list(row.values()) for row in table["tables"][0]["rows"]]
    means = {row[0]: row[1] for row in rows if row[0] not in ("_overall_", "Min", "Median", "Max")}
    return means, " ".join(out.split())


def adds(bench: Bench, text: str, **more: Any) -> dict[str, Any]:
    importance = {"importance": "vital"} if bench.bench.needs_importance else {}
    return {"op": "add", "query_id": "q1", "text": text, **importance, **more}


def first(bench: Bench, query: str, system: str) -> str:
    """The id of a passage that a system returned."""
    passages = bench.bench.queries[query].passages
    return next(p.passage_id for p in passages if any(r.method == system for r in p.rankings))


def changes(bench: Bench) -> dict[str, Callable[[], State]]:
    passage = first(bench, "q1", "alpha")
    high = bench.bench.scale[-1].rating

    def rating(value: int, by: str = "ann", op: str = "rate") -> State:
        return bench.change(rate("q1", 0, value, op=op) | {"passage_id": passage}, by=by)

    return {
        "nothing": lambda: bench.state,
        "rate": lambda: rating(high),
        "add": lambda: bench.change(adds(bench, "A gas boiler is cheap to buy.")),
        "reword": lambda: bench.change(
            {"op": "reword", "query_id": "q2", "id": "q2/0", "text": "Are tyres black in winter?"}
        ),
        "remove": lambda: bench.change({"op": "remove", "query_id": "q3", "id": "q3/0"}),
        "weight": lambda: bench.change({"op": "weight", "query_id": "q1", "id": "q1/1", "value": 3}),
        "importance": lambda: bench.change(
            {"op": "importance", "query_id": "q1", "id": "q1/0", "value": "vital"}
        ),
        "median": lambda: [rating(0, "ben"), rating(0, "cid"), rating(high, "dan")][-1],
        "resolve": lambda: rating(high, "eve", "resolve"),
        "unrate": lambda: bench.change(rate("q1", 0, 0, op="unrate") | {"passage_id": passage}, by="ben"),
        "undo": lambda: bench.change({"op": "undo", "of": 2}),
    }


@KINDS
def test_every_change_equals_the_command_line(
    kind: str, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = make(kind)
    for name, change in changes(bench).items():
        state = change()
        shown = bench.bench.shown(state)
        assert not shown["pending"]
        bench.judge.close()
        means, out = by_command_line(capsys)
        assert served(state) == pytest.approx(means, abs=1e-12), name
        assert " ".join(shown["verdict"].split()) in out, name
        bench.judge = Judge(bench.bench.grading)  # type: ignore[arg-type]


def test_a_leaderboard_after_thousands_of_changes(make: Make) -> None:
    """Ten times as many changes take ten times as long at most, with a margin for a busy machine."""
    bench = make("questions")
    passages = [(query_id, passage_id) for query_id, passage_id in bench.bench.texts]
    random = Random(7)

    def change(n: int) -> dict[str, Any]:
        query_id, passage_id = random.choice(passages)
        entry = {"query_id": query_id, "id": f"{query_id}/{n % 2}"}
        if n % 10 == 0:
            return {"op": "weight", **entry, "value": 1 + n % 4}
        if n % 10 == 1:
            draft = {"op": "add", "query_id": query_id, "text": f"What is {n}?"}
            return {"op": "preview", "change": draft}
        key = bench.bench.key(bench.bench.bank, Pair(query_id, passage_id, entry["id"]))
        op = "resolve" if n % 10 == 2 else "rate"
        return {"op": op, **entry, "passage_id": passage_id, "rating": n % 6, "key": key}

    def seconds(most: int) -> tuple[float, float]:
        """Of opening the log and of a leaderboard with one more rating, the least of three."""
        while bench.log.seq < most:
            numbered = [{"n": n, **change(n)} for n in range(bench.log.seq + 1, bench.log.seq + 501)]
            bench.log.append(bench.log.new(f"person {bench.log.seq % 7}", "c", numbered))
        took = []
        for _ in range(3):
            bench.log.close()
            started = perf_counter()
            bench.log = Log.open(bench.log.path, bench.log.header)
            opened = perf_counter()
            state = bench.change({"n": 1, **change(3)}, by="ann")
            bench.bench.shown(state)
            took.append((opened - started, perf_counter() - opened))
        return min(opening for opening, _ in took), min(board for _, board in took)

    few, many = seconds(1000), seconds(10_000)
    assert many[0] < 30 * few[0], "opening"
    assert many[1] < 30 * few[1], "leaderboard"


@KINDS
def test_undoing_everything_restores_the_leaderboard(kind: str, make: Make) -> None:
    bench = make(kind)
    before = bench.state.rows
    for change in list(changes(bench).values())[1:7]:
        change()
    assert bench.state.rows != before
    for event in reversed(bench.log.events):
        bench.change({"op": "undo", "of": event.seq})
    assert bench.state.rows == before


@KINDS
def test_an_entry_counts_from_the_moment_it_is_graded(kind: str, make: Make) -> None:
    bench = make(kind)
    before = bench.state.rows
    change = {"n": 1, **adds(bench, "A boiler burns fuel.")}
    bench.log.append(bench.bench.check([], bench.log.new("ann", "c", [change])))
    assert bench.bench.shown(bench.state)["pending"] == 1
    assert bench.state.rows == before
    (new,) = bench.state.pending["q1"]
    rating = {"n": 2, "op": "rate", "query_id": "q1", "passage_id": next(iter(bench.bench.texts))[1]}
    events = [{**rating, "id": new, "rating": bench.bench.scale[0].rating}]
    bench.log.append(bench.bench.check(bench.log.events, bench.log.new("ann", "c", events)))
    assert bench.state.rows == before, "nor does a rating of it"


@KINDS
def test_an_impact_is_what_the_change_then_does(kind: str, make: Make) -> None:
    bench = make(kind)
    (event,) = bench.log.new(
        "ann", "c", [{"n": 1, **adds(bench, "A gas boiler burns fuel and is cheap to buy")}]
    )
    edits = folded([event], bench.bench.bank_sha256)
    bank = bench.bench.changed(edits)
    new = bench.bench.new_entries(bank, "q1")
    graded = bench.judge.graded(bench.bench.queries["q1"], bank, new)
    after = bench.bench.state(edits, (new, graded))
    impact = bench.bench.impact(event.item, bench.state, after)
    assert bench.state.rows == bench.bench.start.rows, "a draft changes nothing"
    covering = {row["system"] for row in impact["rows"] if row["covers"]}
    assert covering == {"alpha", "beta"}
    assert (impact["covers"], impact["systems"]) == (2, len(impact["rows"]))
    assert impact["passages"][0]["rating"] >= bench.bench.min_grade
    state = bench.change(adds(bench, "A gas boiler burns fuel and is cheap to buy"))
    assert served(state) == {row["system"]: row["after"]["mean"] for row in impact["rows"]}


@KINDS
def test_changes_that_do_not_fit_are_refused(kind: str, make: Make) -> None:
    bench = make(kind)
    passage = first(bench, "q1", "alpha")
    for change, field in (
        (rate("q1", 0, 9) | {"passage_id": passage}, "rating"),
        (rate("q1", 0, 1) | {"passage_id": "../../etc/passwd"}, "passage_id"),
        (rate("q1", 0, 1, "nine") | {"passage_id": passage}, "id"),
        ({"op": "undo", "of": 1}, "of"),
        ({"op": "remove", "query_id": "q1", "id": "gone"}, "bank.1"),
        (adds(bench, "too bad", weight=-1), "weight"),
        ({"op": "weight", "query_id": "q1", "id": "q1/0", "value": -1}, "weight"),
        (adds(bench, "x", spans=[{"passage_id": passage, "start": 0, "end": 3, "text": "not"}]), "spans"),
    ):
        with pytest.raises(DataError) as refused:
            bench.change(change)
        assert refused.value.field == field
    assert bench.log.seq == 0
    if bench.bench.needs_importance:
        with pytest.raises(DataError, match="scores need it"):
            bench.change(adds(bench, "silent") | {"importance": None})


@KINDS
def test_others_cannot_undo(kind: str, make: Make) -> None:
    bench = make(kind)
    bench.change({"op": "remove", "query_id": "q1", "id": "q1/0"})
    with pytest.raises(DataError, match="a change of yours"):
        bench.change({"op": "undo", "of": 1}, by="ben")


@KINDS
def test_spans_count_code_points(kind: str, make: Make) -> None:
    bench = make(kind)
    passage = first(bench, "q1", "beta")
    text = bench.bench.texts["q1", passage]
    start = text.index("😀")
    span = {"passage_id": passage, "start": start, "end": start + 8, "text": text[start : start + 8]}
    bench.change(adds(bench, "Owners like boilers", spans=[span]))
    bench.close()
    main(["-q", "run", "study"])
    (refined,) = bench.folder.glob("refined*.jsonl")
    (record,) = json.loads(refined.read_text().splitlines()[0])["info"]["history"]
    assert record["spans"] == [span]
    assert TEXTS["q1"][1][TEXTS["q1"][1].index("😀") :].startswith(str(span["text"]))
    assert Path(refined).exists()


@KINDS
def test_disagreements_and_what_resolves_them(kind: str, make: Make) -> None:
    bench = make(kind)
    passage = first(bench, "q1", "alpha")
    for by, value in (("ann", 0), ("ben", bench.bench.scale[-1].rating)):
        bench.change(rate("q1", 0, value) | {"passage_id": passage}, by=by)
    (row,) = bench.bench.disputes(bench.state)
    assert [each["by"] for each in row["ratings"]] == ["ann", "ben"]
    assert not row["resolved"]
    state = bench.change(
        rate("q1", 0, 1, op="resolve") | {"passage_id": passage, "comment": "partly"}, by="cid"
    )
    assert bench.bench.disputes(state)[0]["resolved"]
    assert (
        "they disagree on 1, where the median counts, but cid resolved 1"
        in bench.bench.shown(state)["verdict"]
    )


@KINDS
def test_drafts_that_were_looked_at_are_counted(
    kind: str, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = make(kind)
    draft = {"op": "preview", "change": {**adds(bench, "Is it loud?")}, "moved": 1}
    state = bench.change(draft, adds(bench, "Is it cheap?"))
    said = bench.bench.shown(state)["verdict"]
    assert (
        "Changes of the bank beside the leaderboard: 1 made (1 × add), 1 only looked at; the intervals "
        "do not cover this choice."
    ) in said
    bench.close()
    assert " ".join(said.split()) in by_command_line(capsys)[1]


def test_every_change_of_criteria_equals_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge is an endpoint, which is asked nothing again by the command line."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    labels = {"says that A gas": "partly_met", "says that Green": "not_met", "Are tyres black": "not_met"}
    script = by_text({key: completion(label) for key, label in labels.items()}, always(completion("met")))
    with serve(script) as endpoint:
        words = ("--model", "m", "--model-pipeline", "openai", "--base-url", endpoint.url)
        bench = Bench("criteria", words, base_url=endpoint.url)
        start = served(bench.state)
        moved = set()
        for name, change in changes(bench).items():
            if name == "importance":  # criteria have weights
                continue
            before, state = served(bench.state), change()
            moved |= {name} if served(state) != before else set()
            bench.judge.close()
            asked = len(endpoint.bodies)
            means, out = by_command_line(capsys, "--base-url", endpoint.url)
            assert served(state) == pytest.approx(means, abs=1e-12), name
            assert bench.bench.shown(state)["headline"] in out, name
            assert len(endpoint.bodies) == asked, name
            bench.judge = Judge(bench.bench.grading)  # type: ignore[arg-type]
        bench.close()
        assert moved >= {"rate", "reword", "remove", "weight"}
        assert served(bench.state) != start


def test_a_mistake_to_avoid_alone_has_those_who_make_it_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with ratings of people; a bank without positive weights has no measure of its own."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with serve(always(completion("not_met"))) as judge:
        words = ("--model", "m", "--model-pipeline", "openai", "--base-url", judge.url)
        bench = Bench("criteria", words, base_url=judge.url)
    (mistake,) = [key for key, entry in bench.bench.bank.entries("q1").items() if entry.to_avoid]
    pair = {"query_id": "q1", "passage_id": first(bench, "q1", "alpha"), "id": mistake}
    state = bench.change({"op": "rate", **pair, "rating": 2})
    rows = state.alone("q1", mistake).rows
    assert {system: row["mean"] for system, row in rows.items()} == {"alpha": 1.0, "beta": 0.0}
    weight = BankEdit(op="weight", query_id="q1", id=mistake, value=-3.0)
    impact = bench.bench.impact(weight, state, bench.change(weight.model_dump(by_alias=True)))
    assert (impact["covers"], impact["separates"], impact["avoid"]) == (1, True, True)


def test_mistakes_to_avoid_with_a_judge_that_reads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Criteria, and a new mistake with a negative weight; the command line says the same and asks nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    script = by_text({"boiler burns": completion("met")}, lambda *_: completion("partly_met"))
    with serve(script) as endpoint:
        words = ("--model", "m", "--model-pipeline", "openai", "--base-url", endpoint.url)
        bench = Bench("criteria", words, base_url=endpoint.url)
        start = served(bench.state)
        add = {"op": "add", "query_id": "q1", "text": "says that a boiler is cheap", "weight": -2}
        state = bench.change(add, {"op": "weight", "query_id": "q2", "id": "q2/0", "value": -1})
        assert served(state) != start
        bench.close()
        asked = len(endpoint.bodies)
        means, out = by_command_line(capsys, "--base-url", endpoint.url)
        assert served(state) == pytest.approx(means, abs=1e-12)
        assert bench.bench.shown(state)["headline"] in out
        assert len(endpoint.bodies) == asked
