"""``exam-pp validate``: every check reports a broken file with its line, and valid files have no findings."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.errors import StoppedError
from exam_pp.formats.base import FORMATS
from exam_pp.phases.validation.validate import validate
from tests.conftest import PASSAGES, passage, rubric, written

Write = Callable[[str, list[Any]], Path]
MD5 = "0cc175b9c0f1b6a831c399e269772661"


def checks_and_lines(path: Path, **options: Any) -> list[tuple[str, int | None]]:
    """Checks and lines of all findings."""
    return [(f.check, f.line) for f in validate([path], **options).kept]


def message_of(path: Path, check: str, **options: Any) -> str:
    (finding,) = (f for f in validate([path], **options).kept if f.check == check)
    return f"{finding.where}: {finding.message}"


def ranked(passage_id: str, rank: int, score: float, **keys: Any) -> dict[str, Any]:
    entry = {"method": "s", "paragraphId": passage_id, "queryId": "q", "rank": rank, "score": score, **keys}
    return passage(passage_id, paragraph_data={"judgments": [], "rankings": [entry]})


def judged(*relevance: int, query: str = "q", passage_id: str = "p") -> dict[str, Any]:
    judgments = [
        {"paragraphId": passage_id, "query": query, "relevance": grade, "titleQuery": query}
        for grade in relevance
    ]
    return passage("p", paragraph_data={"judgments": judgments, "rankings": []})


def judged_for_facets(*judgments: tuple[str, int]) -> dict[str, Any]:
    values = [
        {"paragraphId": "p", "query": query, "relevance": level, "titleQuery": "q"}
        for query, level in judgments
    ]
    return passage("p", paragraph_data={"judgments": values, "rankings": []})


def graded(**keys: Any) -> dict[str, Any]:
    return passage("p", exam_grades=[rubric({"q/a": 5, "q/b": 0}) | keys])


def soft(**keys: Any) -> dict[str, Any]:
    ratings = [{"question_id": "q/a", "self_rating": 1, **keys}]
    return graded(self_ratings=ratings, correctAnswered=["q/a"], wrongAnswered=[], answers=[], exam_ratio=1.0)


def direct(rating: int, **keys: Any) -> dict[str, Any]:
    grade = {
        "correctAnswered": rating > 0,
        "llm": "m",
        "self_ratings": rating,
        "prompt_type": "direct_grading",
    }
    return passage("p", grades=[grade | keys])


def cited(*citations: str, of: str = "d") -> list[dict[str, Any]]:
    """A part of an answer that cites a passage, and grades of these citations."""
    supports = [{"citation": citation, "support": "full_support"} for citation in citations]
    part = ranked("p", 1, 1.0, role="answer", citations=[of])
    return [part | {"support_grades": [{"llm": "m", "supports": supports}]}]


def rated(*ratings: tuple[str, Any], system: str = "s") -> list[Any]:
    """The first part of an answer of the system s, with ratings by criteria of the scale 0 to 2."""
    items = [{"criterion": criterion, "rating": rating} for criterion, rating in ratings]
    grades = {"method": system, "ratings": items, "prompt_info": {"criteria": {"depth": 2}}}
    return [ranked("p", 1, 1.0, role="answer") | {"criteria_grades": [grades]}]


CASES: list[tuple[str, list[Any]]] = [
    ("repeated-entry", rated(("depth", 1), ("depth", 2))),
    ("other-system", rated(("depth", 1), system="other")),
    ("rating-scale", rated(("depth", 3))),
    ("rating-scale", rated(("own", -1))),
    ("format", rated(("depth", "high"))),
    ("format", rated(("depth", 1.5))),
    ("format", [passage("p", support_grades=[{"supports": [{"citation": "d", "support": "some"}]}])]),
    ("repeated-entry", cited("d", "d")),
    ("duplicate-passage", [passage("p"), passage("p")]),
    ("format", [passage("p"), passage("p") | {"text": "other words"}]),
    ("wrong-id", [judged(1, query="other")]),
    ("wrong-id", [judged(1, passage_id="other")]),
    ("wrong-id", [ranked("p", 1, 1.0, paragraphId="other")]),
    ("wrong-id", [ranked("p", 1, 1.0, queryId="other")]),
    ("judgment-conflict", [judged(1, 2)]),
    ("shared-rank", [ranked("a", 1, 1.0), ranked("b", 1, 2.0)]),
    ("shared-rank", [ranked("a", 1, 1.0), ranked("b", 1, 1.0)]),
    ("score-order", [ranked("a", 1, 1.0), ranked("b", 2, 2.0)]),
    ("rating-scale", [passage("p", exam_grades=[rubric({"q/a": 6})])]),
    ("rating-scale", [passage("p", exam_grades=[rubric({"q/a": -1}, prompt_info={"prompt_class": "Own"})])]),
    ("rating-conflict", [graded(correctAnswered=["q/a", "q/b"], wrongAnswered=[], exam_ratio=None)]),
    ("rating-conflict", [graded(wrongAnswered=[], exam_ratio=None, answers=[])]),
    ("rating-conflict", [graded(self_ratings=[{"question_id": "q/a", "self_rating": 5}])]),
    ("repeated-entry", [graded(answers=[["q/a", "5"], ["q/a", "5"]])]),
    ("rated-again", [passage("p", exam_grades=[rubric({"q/a": 5}), rubric({"q/a": 4})])]),
    ("rating-conflict", [direct(0, correctAnswered=True)]),
    ("no-ratings", [graded(self_ratings=None, relevance_label=1)]),
    ("assignment", [graded(assignments=[{"nugget_id": "q/b", "assignment": "vital"}])]),
    ("assignment", [graded(assignments=[{"nugget_id": "q/b", "assignment": "support"}])]),
    ("assignment", [graded(assignments=[{"nugget_id": "q/c", "assignment": "not_support"}])]),
    ("soft-grade", [soft(probabilities=[0.5, 0.1, 0, 0, 0, 0])]),
    ("soft-grade", [soft(probabilities=[0.5, 0.5])]),
]


@pytest.mark.parametrize(("check", "passages"), CASES)
def test_checks_of_a_line(check: str, passages: list[Any], write_jsonl: Write) -> None:
    path = write_jsonl("g.jsonl", [["first", [passage("p0")]], ["q", passages]])
    assert [finding for finding in checks_and_lines(path) if finding[1] is not None] == [(check, 2)]


_OF_A_TITLE = {"paragraphId": "p", "query": "other", "relevance": 1, "titleQuery": "q"}
GOOD_LINES = [
    [passage("p", exam_grades=[rubric({f"q/facet/{MD5}": 5})])],
    [judged_for_facets(("q/f", 1), ("q/g", 2))],
    [passage("p", paragraph_data={"judgments": [_OF_A_TITLE], "rankings": []})],
    [soft(probabilities=[0.25, 0.75, 0, 0, 0, 0], expected=0.75, margin=0.5)],
    [direct(2, relevance_label=2), direct(0) | {"paragraph_id": "other"}],
    [graded(assignments=[{"nugget_id": "q/b", "assignment": "not_support"}])],
    [graded(self_ratings=None, relevance_label=1, prompt_info={"prompt_class": "Own"})],
    [ranked("a", 1, 1.0), ranked("b", 2, 1.0)],
    cited("d"),
]


@pytest.mark.parametrize("passages", GOOD_LINES)
def test_good_lines_have_no_findings(passages: list[Any], write_jsonl: Write) -> None:
    assert not checks_and_lines(write_jsonl("g.jsonl", [["q", passages]]))


def test_rankings_for_facets_are_separate_rankings(write_jsonl: Write) -> None:
    one, two = ranked("a", 1, 2.0, queryId="q/f"), ranked("b", 1, 2.0, queryId="q/g")
    one["paragraph_data"]["rankings"].append(
        {**one["paragraph_data"]["rankings"][0], "queryId": "q/g", "rank": 2}
    )
    one["paragraph_data"]["rankings"][1]["score"] = 1.0
    assert not checks_and_lines(write_jsonl("g.jsonl", [["q", [one, two]]]))


def test_a_file_of_blank_lines_is_empty(tmp_path: Path) -> None:
    (path := tmp_path / "g.jsonl.gz").write_bytes(gzip.compress(b"\n"))
    assert checks_and_lines(path) == [("empty", None)]
    assert validate([path]).files == [(str(path), "?", "")]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('["q", [{"paragraph_id": "p", "text": "t", "exam_grades": [], "exam_grades": null}]]\n', 1),
        ('{"q1": "one", "q1": "two"}', 1),
        ('{"bm25": 1,\n "bm25": 2}', None),
        ('{"query_id": "q", "query_id": "r", "query_text": "x"}\n', 1),
        ('{"query_id": "q", "items": [], "items": []}\n', 1),
        ('{"format": "exam_pp.edits.v1", "ratings": [], "bank": [], "bank": []}', 1),
    ],
)
def test_a_duplicate_key(content: str, line: int | None, tmp_path: Path) -> None:
    assert ("duplicate-key", line) in checks_and_lines(written(tmp_path / "file", content))


def test_a_query_on_two_lines(write_jsonl: Write) -> None:
    path = write_jsonl("g.jsonl", [["q", [passage("p")]], ["q", [passage("p2")]]])
    assert checks_and_lines(path) == [("duplicate-query", 2)]
    assert message_of(path, "duplicate-query") == "query q: is also on line 1"


def test_good_files_have_no_findings(write_jsonl: Write, tiny_bank: Path) -> None:
    path = write_jsonl("graded.jsonl", PASSAGES)
    assert checks_and_lines(path) == []
    findings = validate([path, tiny_bank], limit=1)
    assert [(kind, contents) for _, kind, contents in findings.files] == [
        ("graded", "2 queries, 3 passages, 3 sets of grades"),
        ("bank", "3 entries"),
    ]


def test_lines_after_a_bad_line_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    good = json.dumps(["q", [passage("p")]])
    bad = json.dumps(["r", [{"paragraph_id": "p"}, {"text": 3}]])
    path.write_text(f'{good}\n{bad}\nno JSON\n\n["s"]\n{good.replace("q", "s", 1)}\n')
    findings = validate([path]).kept
    assert [(f.check, f.line, f.where) for f in findings] == [
        ("format", 2, "passage 1 text"),
        ("format", 3, ""),
        ("format", 5, "passages"),
    ]
    assert "missing" in findings[0].message


def test_runs(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "good.run").write_text("q Q0 p1 1 2.0 s\nq Q0 p2 2 1.0 s\n")
    (runs / "bad.run").write_text(
        "q Q0 p1 1 2.0 s\nq Q0 p2 2\nq Q0 p3 first 1.0 s\n\nq Q0 p1 4 0.5 t\nq Q0 p5 5 9 t\n"
    )
    findings = [(Path(f.file).name, f.check, f.line) for f in validate([runs]).kept]
    assert findings == [
        ("bad.run", "format", 2), ("bad.run", "format", 3), ("bad.run", "format", 5),
        ("bad.run", "wrong-id", None), ("bad.run", "score-order", None),
    ]  # fmt: skip


ENTRY = '{"query_id": "q", "question_id": "a", "question_text": "What?"}'
BANK = f'{{"query_id": "q", "query_text": "t", "items": [{ENTRY}]}}'
OTHER = BANK.replace('"q"', '"r"', 1)
GAME = '{"system_a": "x", "system_b": "y", "winner": "B"}'
GAMES = f'{{"query_id": "q", "game_sets": [{{"llm": "m", "games": [{GAME}]}}]}}'


@pytest.mark.parametrize(
    ("content", "kind", "lines"),
    [
        ("1\tone\nno tab\n1\ttwice\n2\ttwo\n", "queries-tsv", [2, 3]),
        ("a\t1\nb\tlast\na\t2\n", "official-tsv", [2, 3]),
        ("system\tm\na\t0.5\na\t0.6\nb\t0.7\t8\n", "leaderboard", [4, 3]),
        ('{"query_id": "q", "system": "s", "text": "t"}\n{}\n{"query_id": 1}\n', "plain-answers", [2, 3]),
        ("r t m 0.5\nr t\nr u m x\n", "autojudge-eval", [2, 3]),
        ("q 0 p1 1\nq 0 p1\nq 0 p1 1\nq 0 p2 x\nq 0 p1 2\n", "qrels", [2, 4, 5]),
        (
            f"{BANK}\n{BANK.replace('question_id', 'id')}\n3\n{OTHER}",
            "bank",
            [2, 3, 4],
        ),
        (f"{GAMES}\n{GAMES}\n{GAMES.replace('B', 'D')}\n{GAMES.replace('y', 'x')}\n", "games", [2, 3, 4]),
        ('{"format": "exam_pp.edits.v1", "ratings": [{"query_id": "q"}]}', "edits", [None]),
    ],
)
def test_other_files(content: str, kind: Any, lines: list[int | None], tmp_path: Path) -> None:
    path = written(tmp_path / "file", content)
    assert checks_and_lines(path, kind=kind) == [("format", line) for line in lines]


def test_unreadable_and_empty_files(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl.gz"
    lines = "".join(json.dumps([f"q{n}", [passage(f"p{n}")]]) + "\n" for n in range(2000))
    path.write_bytes(gzip.compress(lines.encode())[:-900])
    (finding,) = validate([path], kind="graded").kept
    assert finding.check == "unreadable"
    assert "truncated" in finding.message
    path = tmp_path / "scores.jsonl.gz"
    rows = [{"system": "s", "query_id": f"q{n}", "metric": "m", "value": n} for n in range(2000)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(f"no JSON\n{lines}".encode())[:-900])
    assert checks_and_lines(path, kind="scores-jsonl") == [("format", 1), ("unreadable", None)]
    (tmp_path / "odd").write_text("just words\n")
    assert [f.check for f in validate([tmp_path / "odd", tmp_path / "missing"]).kept] == ["unreadable"] * 2
    (tmp_path / "empty").write_text("")
    assert [f.check for f in validate([tmp_path / "empty"], kind="graded").kept] == ["empty"]


def test_limits_and_counts(write_jsonl: Write) -> None:
    path = write_jsonl("g.jsonl", [[f"q{n}", [passage("p"), passage("p")]] for n in range(30)])
    findings = validate([path], limit=3)
    assert len(findings.kept) == 3
    assert findings.number("warning") == 30
    assert len(validate([path]).kept) == 30


def test_the_command(write_jsonl: Write) -> None:
    def run(*arguments: str) -> Any:
        return CliRunner().invoke(cli, ["validate", *arguments])

    good = str(write_jsonl("good.jsonl", PASSAGES))
    warned = str(write_jsonl("warned.jsonl", [["q", [passage("p"), passage("p")]]]))
    bad = str(write_jsonl("bad.jsonl", [["q", [{"text": ""}]], ["r", [passage("p")]]]))
    assert (run(good).exit_code, run(warned).exit_code, run(warned, "--strict").exit_code) == (0, 0, 1)
    assert run(bad).exit_code == 1
    assert "is missing" in run(bad).stdout
    assert "1 error, 1 warning." in run(bad, warned).stdout
    header, first = run(bad, "--format", "tsv").stdout.splitlines()
    assert header.split("\t") == ["level", "check", "file", "line", "where", "finding"]
    assert first.startswith("error\tformat")


@pytest.mark.parametrize(
    ("qrels", "run", "expected"),
    [
        (
            "q1 0 D1 1",
            "q1 Q0 d1",
            "None of the 1 passage of s for q1 (at most 10 each) is judged; ids differ in case",
        ),
        ("q1 0 d007 1", "q1 Q0 d7", "ids differ in zeros at the front: d7 in the run, d007 in the judgments"),
        ("q1 0 d1 1", "q1 Q0 d1.txt", "ids differ in the file extension"),
        ("q1 0 12 1", "q1 Q0 msmarco_passage_12", "ids differ in a prefix"),
        (
            "q1 0 D012 1",
            "q1 Q0 c/d12.html",
            "ids differ in case and zeros at the front and the file extension and a prefix",
        ),
        ("q1 0 d12 1", "q1 Q0 12", "ids differ in letters at the front"),
        ("q1 0 x12 1", "q1 Q0 y12", "; ids are y12 in the run, x12 in the judgments"),
        ("q1 0 x 1", "q1 Q0 y", "; ids are y in the run, x in the judgments"),
        (
            "01 0 d1 1",
            "1 Q0 d1",
            "s has results for no judged query; ids differ in zeros at the front: 1 in the run, 01",
        ),
    ],
)
def test_a_run_without_judged_passages(tmp_path: Path, qrels: str, run: str, expected: str) -> None:
    (tmp_path / "qrels").write_text(f"{qrels}\n")
    (tmp_path / "s.run").write_text(f"{run} 1 1 s\n")
    findings = validate([tmp_path / "qrels", tmp_path / "s.run"]).kept
    assert findings[0].check == "unjudged"
    assert expected in findings[0].message


QUESTION = "query_id,question,kind\n{},What is it?,question\n"


@pytest.mark.parametrize(
    ("bank", "answers", "expected"),
    [
        ("01", ["1,A,x"], [("error", "query-ids", "ids differ in zeros at the front: 1 in the")]),
        ("Q", ["q,A,x"], [("error", "query-ids", "ids differ in case")]),
        ("trec_1", ["1,A,x"], [("error", "query-ids", "ids differ in a prefix")]),
        ("q 1", ["q_1,A,x"], [("error", "query-ids", "ids differ in blanks")]),
        ("\u00e9", ["e\u0301,A,x"], [("error", "query-ids", "ids differ in their Unicode form")]),
        ("q", ["r,A,x"], [("error", "query-ids", "ids are r in the systems, q in the bank")]),
        ("q", ["q,A,x", "r,A,x"], []),
        ("01", ["01,A,x", "1,A,x"], [("warning", "query-ids", "ids differ in zeros at the front")]),
        ("q", ["q,A,x", "q,B,x", "r,A,x"], []),
        ("q", ["q,A,x", "q,_overall_,x"], [("error", "name", "'_overall_' is reserved for the upper bound")]),
        ("q", ["q,a b,x", "q,a_b,x"], [("error", "name", "'a b' and 'a_b' are the same in TREC files")]),
        ("q", [f"q,A,{'Das ist nicht einfach. ' * 20}"], [("warning", "language", "do not look like")]),
        ("q", ["q,A,\u901f\u5ea6\u4f20\u611f\u5668"], [("warning", "language", "do not look like")]),
        ("q", [f"q,A,{'It is not as simple as that. ' * 20}"], []),
    ],
)  # fmt: skip
def test_all_files_together(
    tmp_path: Path, bank: str, answers: list[str], expected: list[tuple[str, str, str]]
) -> None:
    (tmp_path / "bank.csv").write_text(QUESTION.format(bank), "utf-8")
    (tmp_path / "answers.csv").write_text("query_id,system,answer\n" + "\n".join(answers), "utf-8")
    findings = validate([tmp_path / "bank.csv", tmp_path / "answers.csv"]).kept
    assert [(f.level, f.check) for f in findings] == [(level, check) for level, check, _ in expected]
    assert all(message in f.message for f, (_, _, message) in zip(findings, expected, strict=True))
    judged = validate([tmp_path / "bank.csv", tmp_path / "answers.csv"], judge="e5").kept
    assert judged == [finding for finding in findings if finding.check != "language"]


def test_a_stop_is_no_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_path: Path) -> list[Any]:
        raise StoppedError("stopped by SIGTERM.")

    stopped = replace(FORMATS.get("qrels"), records=stop)
    monkeypatch.setattr("exam_pp.phases.validation.validate.format_of", lambda _: stopped)
    (tmp_path / "qrels").write_text("q 0 d 1\n")
    with pytest.raises(StoppedError):
        validate([tmp_path / "qrels"])


def test_a_system_that_lacks_queries(tmp_path: Path, demo_data: Path) -> None:
    run = (demo_data / "runs" / "bm25.run").read_text().splitlines()
    few = [line for line in run if line.split()[0] in {line.split()[0] for line in run[:1]}]
    (tmp_path / "all.run").write_text("\n".join(run))
    (tmp_path / "few.run").write_text("\n".join(few))
    (finding,) = validate([tmp_path / "all.run", tmp_path / "few.run"]).kept
    number = len({line.split()[0] for line in run})
    assert finding.check == "missing-queries"
    assert finding.message.startswith(f"few lacks {number - 1} of {number} queries (9")


def test_a_bank_with_a_question_on_each_line(write_jsonl: Write) -> None:
    line = {"query_id": "q", "query_text": "what", "facet_id": "f"}
    path = write_jsonl(
        "bank.jsonl", [{**line, "qid": f"q/{name}", "question": f"What is {name}?"} for name in "ab"]
    )
    assert checks_and_lines(path) == []
