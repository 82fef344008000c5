"""Verdicts on rubrics as labels of nuggets: layouts, words of judges, copies, and scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main
from exam_pp.formats.base import known_format
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.validation.validate import validate
from exam_pp.plugins.rare_formats.rubric_verdicts import import_verdicts
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import data_error, without_times, written
from tests.formats.test_rubrics import DRAGUN, RAGDOLL, RESEARCH

Write = Callable[[str, list[Any]], Path]


def run(*words: object) -> None:
    main([str(word) for word in words])


def _imported(source: Path, bank: Path) -> Path:
    run("bank", "import", source, "-o", bank)
    return bank


def imported(files: list[Path], output: Path, **options: Any) -> list[str]:
    return list(import_verdicts(files, output, **options))


def scores(graded: Path, bank: Path, metric: str) -> dict[tuple[str, str], float]:
    (evaluation,) = nugget_scores(graded, bank, measures=[metric]).values()
    return {
        (score.system, score.query_id): score.value for score in evaluation.scores if score.metric == metric
    }


def test_negative_weights_in_spreadsheets(tmp_path: Path) -> None:
    """Entries with a weight below 0 lower the score when they are met."""
    sheet = "query_id,query_text,criterion,weight\nb,how far,says 60 km,4\nb,how far,names a wrong range,-3\n"
    bank = _imported(written(tmp_path / "bank.csv", sheet), tmp_path / "bank.jsonl")
    verdicts = written(
        tmp_path / "verdicts.csv",
        "system,query_id,criterion,verdict\nA,b,says 60 km,MET\nA,b,names a wrong range,MET\n"
        "B,b,says 60 km,MET\nB,b,names a wrong range,UNMET\n",
    )
    run("import", "--from", "rubric-verdicts", verdicts, "--bank", bank, "-o", tmp_path / "graded.jsonl")
    assert scores(tmp_path / "graded.jsonl", bank, "Rubric") == {("A", "b"): 0.25, ("B", "b"): 1.0}


VERDICTS = [
    ("Names a theorem.", "Satisfied", True),
    ("Invents a theorem.", "Partially Satisfied", True),
    ("Is short.", "Perhaps", True),
    ("Names a theorem.", "Not Satisfied", True),
]


def test_verdicts_of_researchrubrics(
    write_jsonl: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a copy, each entry has its own verdict; an unknown word and a failed call are ungraded."""
    bank = _imported(write_jsonl("r.jsonl", [RESEARCH]), tmp_path / "bank.jsonl")
    rows = [
        {"sample_id": "s1", "rubric_title": title, "verdict": verdict, "success": success, "cost": 0.5}
        for title, verdict, success in VERDICTS
    ]
    source, graded = write_jsonl("results.jsonl", rows), tmp_path / "graded.jsonl.gz"
    run("import", "--from", "rubric-verdicts", source, "--bank", bank, "--name", "alpha", "-o", graded)
    assert without_times(capsys.readouterr().err).splitlines()[-3:] == [
        "Imported 1 answer (systems: 1), 3 assignments.",
        "1 nugget is ungraded, as its label is not one of not_met, partly_met, met: 'Perhaps'",
        "Not used: field 'cost' (1).",
    ]
    assert scores(graded, bank, "Rubric") == {("alpha", "s1"): (4 - 2.5) / 8}
    assert {finding.check for finding in validate([graded, bank]).kept} == {"repeated-entry"}

    rows[0]["success"] = False
    run("import", "--from", "rubric-verdicts", write_jsonl("2.jsonl", rows), "--bank", bank, "-o", graded)
    assert "'failed', 'Perhaps'" in capsys.readouterr().err
    assert scores(graded, bank, "Rubric") == {("2", "s1"): -2.5 / 8}, "the file names the system"


def test_verdicts_in_the_order_of_the_bank(write_jsonl: Write, tmp_path: Path) -> None:
    bank = _imported(write_jsonl("r.jsonl", [RESEARCH]), tmp_path / "bank.jsonl")
    labels = ["satisfied", "not_satisfied", "not_satisfied", "partially_satisfied"]
    source = write_jsonl("v.jsonl", [{"system": "a", "sample_id": "s1", "verdicts": labels}])
    summary = imported([source], tmp_path / "g", grader_name="judge", bank=bank)
    assert summary == ["Imported 1 answer (systems: 1), 4 assignments."]
    assert scores(tmp_path / "g", bank, "Rubric") == {("a", "s1"): 0.75}
    (query,) = read_passages(tmp_path / "g")
    assert (query.passages[0].rubric_grades or [])[0].model == "judge"
    source = write_jsonl("v.jsonl", [{"system": "a", "sample_id": "s1", "verdicts": labels[:3]}])
    with data_error(source, None, about="3 verdicts on 'a' for the query 's1', but the bank has 4 entries"):
        imported([source], tmp_path / "g", bank=bank)


def test_verdicts_on_expected_answers(tmp_path: Path, write_jsonl: Write) -> None:
    """What an answer contradicts earns nothing, and counts on its own."""
    bank = _imported(write_jsonl("d.jsonl", [DRAGUN]), tmp_path / "bank.jsonl")
    rows = "".join(f"t1,r,{answer},{word}\n" for answer, word in (
        ("na-1", "supports"), ("na-2", "partial"), ("na-3", "contradicts")
    ))  # fmt: skip
    source = written(tmp_path / "v.csv", "topic_id,run_tag,answer_id,auto_assessment\n" + rows)
    imported([source], tmp_path / "g", bank=bank)
    assert scores(tmp_path / "g", bank, "Supported") == {("r", "t1"): 0.6}
    assert scores(tmp_path / "g", bank, "Contradicted") == {("r", "t1"): 0.2}
    assert not validate([tmp_path / "g", bank]).kept
    (query,) = read_passages(tmp_path / "g")
    assert (query.passages[0].rubric_grades or [])[0].prompt_class == "ExpectedAnswers"


def test_verdicts_below_an_answer(tmp_path: Path, write_jsonl: Write) -> None:
    """Of RAGDoll, and reports of the package rubric, which name neither query nor system."""
    bank = _imported(write_jsonl("r.jsonl", [RAGDOLL]), tmp_path / "bank.jsonl")
    ragdoll = {
        "qid": 7, "run_id": "a",
        "criteria": [
            {"text": "Names frost.", "label": "satisfied"},
            {"text": "Names light.", "label": "partially_satisfied"},
        ],
    }  # fmt: skip
    report = {
        "score": 0.4,
        "report": [
            {"requirement": "Names frost.", "weight": 3, "verdict": "UNMET", "reason": "no"},
            {"requirement": "Names light.", "weight": 2, "verdict": "MET", "reason": "yes"},
        ],
    }
    files = [write_jsonl("one.jsonl", [ragdoll]), written(tmp_path / "b.json", json.dumps(report, indent=1))]
    assert [form and form.name for form in map(known_format, files)] == ["rubric-verdicts"] * 2
    imported(files, tmp_path / "g", bank=bank)
    assert scores(tmp_path / "g", bank, "Rubric") == {("a", "7"): 0.8, ("b", "7"): 0.4}


def test_verdicts_are_added_to_answers(tmp_path: Path, write_jsonl: Write) -> None:
    """To the first part of an answer; systems and queries must have the names of the passages."""
    bank = _imported(write_jsonl("r.jsonl", [RAGDOLL]), tmp_path / "bank.jsonl")
    answers = written(tmp_path / "answers.csv", "query_id,system,answer\n7,a,It is frost. It is light.\n")
    passages, graded = tmp_path / "passages.jsonl", tmp_path / "graded.jsonl"
    run("import", "--answers", answers, "--unit", "sentence", "-o", passages)
    verdicts = {"qid": 7, "run_id": "a", "verdicts": ["met", "not_met"]}
    source = write_jsonl("v.jsonl", [verdicts])
    run("import", "--from", "rubric-verdicts", source, "--bank", bank, "--passages", passages, "-o", graded)
    (query,) = read_passages(graded)
    assert [bool(passage.rubric_grades) for passage in query.passages] == [True, False]
    assert scores(graded, bank, "Rubric") == {("a", "7"): 0.6}
    source = write_jsonl("v.jsonl", [{**verdicts, "run_id": "A"}])
    with data_error(source, None, "answer_text", about="'A' to the query '7' is not in the passages file"):
        imported([source], graded, passages=passages, bank=bank)


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ('{"system": "a", "verdict": "met", "criterion": "x"}', "is missing"),
        ('{"qid": "s1", "criterion": "Is short."}', "has no verdicts"),
    ],
)
def test_broken_verdicts(content: str, about: str, tmp_path: Path, write_jsonl: Write) -> None:
    bank = _imported(write_jsonl("r.jsonl", [RESEARCH, DRAGUN]), tmp_path / "bank.jsonl")
    source = written(tmp_path / "v.jsonl", content)
    with data_error(source, None, "query_id" if "missing" in about else None, about=about):
        imported([source], tmp_path / "g", bank=bank)


def test_verdicts_need_a_bank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path / "v.jsonl", "{}")
    with pytest.raises(SystemExit):
        run("import", "--from", "rubric-verdicts", source, "-o", tmp_path / "g.jsonl")
    assert "--from rubric-verdicts needs --bank" in capsys.readouterr().err


def test_every_criterion_of_the_demo_has_a_verdict_on_both_answers(demo_data: Path, tmp_path: Path) -> None:
    bank, judged = demo_data / "criteria.jsonl", tmp_path / "judged.jsonl"
    main(["-q", "import", "--from", "rubric-verdicts", str(demo_data / "verdicts.jsonl"), "--bank", str(bank),
          "--name", "person", "-o", str(judged)])  # fmt: skip
    entries = [e for query in exam_pp.read_bank(bank).queries.values() for e in query.entries.values()]
    assert (len(entries), sum(entry.to_avoid for entry in entries)) == (14, 2)
    (evaluation,) = exam_pp.rubric_scores(judged, bank).values()
    assert not evaluation.worst_case, "no verdict is missing"
    scores = {(s.system, s.query_id): s.value for s in evaluation.scores if s.metric == "Rubric"}
    assert scores["gen-short", "d05"] == 0, "the mistake costs what the symptoms earn"
    assert scores["gen-short", "d16"] == pytest.approx((4 / 2 - 3) / 13)
    assert scores["gen-long", "d05"] == pytest.approx(9 / 12)
