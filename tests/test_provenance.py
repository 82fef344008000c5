"""The provenance of reports: fields, sentence, and the reports that show it in each format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp import provenance
from exam_pp.cli.main import main
from exam_pp.provenance import Provenance, combined
from exam_pp.rendering.document import Paragraph, Report, Table
from exam_pp.rendering.render import render
from scripts.command_tree import is_here
from tests.conftest import passage, rubric

SENTENCE = "Made by exam_pp 1.2: model m; prompt class P; bank b.jsonl; cutoff 5; threshold 4; 1 query."


@pytest.fixture(autouse=True)
def version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "VERSION", "1.2")


FULL = Provenance(("m",), ("P",), ("b.jsonl",), cutoff=5, min_grades=(4,), queries=1)


def test_the_sentence_names_what_applies() -> None:
    assert FULL.sentence == SENTENCE
    assert Provenance().sentence == "Made by exam_pp 1.2."
    several = Provenance(("m", "n"), ("P", "Q"), ("b", "c"), ("q",), ("l",), ("o",), min_grades=(1, 2))
    assert several.sentence == (
        "Made by exam_pp 1.2: models m, n; prompt classes P, Q; banks b, c; judgments q; leaderboard l; "
        "official ranks o; thresholds 1, 2."
    )


def test_a_name_cannot_end_the_line() -> None:
    assert "\n" not in Provenance(models=("a\nb",)).sentence


def test_several_sources_together() -> None:
    """A number that differs between the sources is of none of them."""
    other = Provenance(("n",), ("P",), ("b.jsonl",), cutoff=5, queries=2)

    assert combined([None, FULL, other]) == Provenance(
        ("m", "n"), ("P",), ("b.jsonl",), cutoff=5, min_grades=(4,)
    )
    assert combined([None]) is None


REPORT = Report("T", [Table(["a"], [[1]]), Paragraph("A note.")], FULL)


@pytest.mark.parametrize("form", ["text", "md", "html", "latex"])
def test_the_line_is_below_the_table_and_the_notes(form: str) -> None:
    text = render(REPORT, form)
    line = SENTENCE.replace("_", r"\_") if form == "latex" else SENTENCE

    assert text.count(line) == 1
    assert text.index("A note.") < text.index(line)
    assert "Made by" not in render(Report("T", REPORT.blocks), form)


def test_json_has_a_key_and_tsv_is_unchanged() -> None:
    document = json.loads(render(REPORT, "json"))
    plain = Report("T", REPORT.blocks)

    assert document.pop("provenance") == {
        "exam_pp": "1.2", "models": ["m"], "prompt_classes": ["P"], "banks": ["b.jsonl"], "cutoff": 5,
        "min_grades": [4], "queries": 1,
    }  # fmt: skip
    assert document == json.loads(render(plain, "json"))
    assert document["notes"] == ["A note."]
    assert render(REPORT, "tsv") == render(plain, "tsv")


@pytest.fixture
def files(write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path) -> Path:
    """A folder with a graded file of two graders, a bank, a run, qrels, a leaderboard and official ranks."""

    def graded(query_id: str, number: int, grade: int) -> dict[str, Any]:
        rankings = [
            {"method": s, "paragraphId": f"p{number}", "queryId": query_id, "rank": r, "score": 1 / r}
            for s, r in (("up", number), ("down", 4 - number))
        ]
        judgment = {
            "paragraphId": f"p{number}",
            "query": query_id,
            "relevance": number % 2,
            "titleQuery": "t",
        }
        return passage(
            f"p{number}",
            paragraph_data={"judgments": [judgment], "rankings": rankings},
            exam_grades=[
                rubric({f"{query_id}/a": rating}, llm=name, prompt_info={"prompt_class": "P"})
                for name, rating in (("m", grade), ("n", 5 - grade))
            ],
        )

    grades = (5, 4, 0)
    write_jsonl("graded.jsonl", [[q, [graded(q, n, grades[n - 1]) for n in (1, 2, 3)]] for q in ("q1", "q2")])
    write_jsonl(
        "bank.jsonl",
        [
            {
                "query_id": q,
                "test_collection": "t",
                "query_text": q,
                "items": [{"query_id": q, "question_id": f"{q}/a", "question_text": "a?"}],
            }
            for q in ("q1", "q2")
        ],
    )
    (tmp_path / "runs").mkdir()
    for name, order in (("up", (1, 2, 3)), ("down", (3, 2, 1))):
        lines = [f"{q} Q0 p{n} {r} {4 - r} t\n" for q in ("q1", "q2") for r, n in enumerate(order, 1)]
        (tmp_path / "runs" / f"{name}.run").write_text("".join(lines))
    (tmp_path / "qrels.txt").write_text("q1 0 p1 1\nq2 0 p1 1\n")
    (tmp_path / "official.json").write_text('{"up": 1, "down": 2}')
    for name in ("a.jsonl", "a2.jsonl"):
        rows = [
            {"system": system, "query_id": q, "metric": "V_strict", "value": value}
            for system, value in (("up", 1.0), ("down", 0.5))
            for q in ("q1", "q2")
        ]
        write_jsonl(name, rows)
    (tmp_path / "scores.tsv").write_text("system\tnDCG\nup\t1.0\ndown\t0.5\n")
    return tmp_path


COVER = "bank bank.jsonl; cutoff 3; threshold 4; 2 queries"
REPORTS = {
    "evaluate cover G --bank B -M --cutoff 3": f"model m; prompt P; {COVER}",
    "evaluate cover G --bank B -M --cutoff 3 --per-query": f"model m; prompt P; {COVER}",
    "evaluate qrels G -M --runs R -m nDCG": "model m; prompt P; 2 queries",
    "evaluate qrels G -M --runs R -m RR --min-grade 3": "model m; prompt P; threshold 3; 2 queries",
    "evaluate qrels G -M --runs R -m RR -m P(rel=2)@1": "model m; prompt P; thresholds 2, 4; 2 queries",
    "evaluate qrels G -M --runs R -m RR --fill-holes Q": (
        "model m; prompt P; judgments qrels.txt; threshold 1; 2 queries"
    ),
    "evaluate qrels G -M -m nDCG@10 --label binary": "model m; prompt P; threshold 4; 2 queries",
    "evaluate qrels G -M --runs R --fill-holes Q": (
        "model m; prompt P; judgments qrels.txt; 2 queries"
    ),
    "evaluate judgments Q --runs R -m RR --min-judgment 1": "judgments qrels.txt; threshold 1; 2 queries",
    "evaluate judgments G --runs R": "judgments graded.jsonl; 2 queries",
    "evaluate judgments G --runs R -m RR": "judgments graded.jsonl; threshold 1; 2 queries",
    "analyze correlation S --by system --official O": "leaderboard scores.tsv; official ranks official.json",
    "analyze correlation A A2 --by condition": "leaderboards a.jsonl, a2.jsonl",
    "diff G G -M --grader n --bank B": (
        "models m, n; prompt P; bank bank.jsonl; cutoff 3; threshold 4; 2 queries"
    ),
    "diff G G -M --grader n --only labels": "models m, n; prompt P; 2 queries",
    "analyze correlation S --official O": "leaderboard scores.tsv; official ranks official.json",
    "analyze sweep G --official O --cutoff 3 --min-grade 1 --bank B": (
        "models m, n; prompt P; bank bank.jsonl; official ranks official.json; cutoff 3; threshold 1; "
        "2 queries"
    ),
    "analyze agreement G -M": "model m; prompt P; judgments graded.jsonl; 2 queries",
    "analyze agreement G -M --qrels Q": "model m; prompt P; judgments qrels.txt; 2 queries",
    "analyze agreement Q --qrels Q": "judgments qrels.txt; 2 queries",
    "bank clinic G --bank B -M": "model m; prompt P; bank bank.jsonl; threshold 4; 2 queries",
    "verify grading G --bank B -M": "model m; prompt P; bank bank.jsonl; threshold 4; 2 queries",
    "verify grid G -M --query q1 --min-grade 2": "model m; prompt P; threshold 2; 1 query",
}  # fmt: skip


def run(line: str, files: Path) -> None:
    """Run a command whose inputs have one letter."""
    names = {
        "G": "graded.jsonl", "B": "bank.jsonl", "R": "runs", "Q": "qrels.txt", "O": "official.json",
        "S": "scores.tsv", "A": "a.jsonl", "A2": "a2.jsonl",
    }  # fmt: skip
    words = [str(files / names[word]) if word in names else word for word in line.split()]
    main(["--quiet", *(part for word in words for part in (("--grader", "m") if word == "-M" else (word,)))])


@pytest.mark.parametrize("line", [*filter(is_here, REPORTS)])
def test_reports_name_their_inputs(line: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(line, files)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.endswith(f"Made by exam_pp 1.2: {REPORTS[line]}.")
    assert shown.count("Made by") == 1


def test_evaluations_in_python_have_a_provenance(files: Path) -> None:
    chosen = exam_pp.GradeFilter(model="m")
    labels = exam_pp.rubric_qrels(files / "graded.jsonl", files / "bank.jsonl", grade_filter=chosen)
    scored = exam_pp.score_runs(labels, files / "runs", ["RR"], min_grade=4)
    judged = exam_pp.score_runs(files / "qrels.txt", files / "runs", ["RR"])

    assert scored.provenance == Provenance(("m",), ("P",), ("bank.jsonl",), min_grades=(4,), queries=2)
    assert judged.provenance == Provenance(judgments=("qrels.txt",), min_grades=(1,), queries=2)
