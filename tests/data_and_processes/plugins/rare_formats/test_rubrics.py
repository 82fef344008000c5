"""Published rubrics and real verdicts, whose scores are those of the original code (shared/data/rubrics)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.metrics.agreement import macro_f1
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.store.banks.bank_json import read_bank
from tests.conftest import without_times


@pytest.fixture(scope="session")
def rubrics(shared_data: Path) -> Path:
    return shared_data / "rubrics"


@pytest.fixture(scope="session")
def golden(rubrics: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((rubrics / "golden.json").read_text("utf-8"))
    return expected


def run(*words: object) -> None:
    main([str(word) for word in words])


def evaluated(bank: Path, verdicts: Path, folder: Path, *measures: str) -> Evaluation:
    graded = folder / "graded.jsonl.gz"
    run("import", "--from", "rubric-verdicts", verdicts, "--bank", bank, "-o", graded)
    (evaluation,) = nugget_scores(graded, bank, measures=measures).values()
    return evaluation


def values(evaluation: Evaluation) -> dict[tuple[str, str, str], float]:
    return {(score.system, score.query_id, score.metric): score.value for score in evaluation.scores}


def means(evaluation: Evaluation) -> dict[tuple[str, str], float]:
    return {(row.system, row.metric): row.mean for row in standings(evaluation.scores)}


NAMES = {
    "researchrubrics_ternary": "Rubric",
    "ragdoll_ternary": "Rubric",
    "researchrubrics_binary": "Rubric_strict",
    "ragdoll_binary": "Rubric_strict",
    "rubric_normalized": "Rubric_clipped",
    "healthbench": "HealthBench",
}


def test_scores_of_researchrubrics(
    rubrics: Path, golden: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = tmp_path / "bank.jsonl"
    topics = rubrics / "trec-rag26-topics.tsv"
    run("bank", "import", rubrics / "trec-rag26-dev-rubrics.jsonl", "--queries", topics, "-o", bank)
    assert without_times(capsys.readouterr().err) == (
        "Imported 15 queries, 361 entries: 56 negative weights, 1 of weight 0 (does not count).\n"
    )
    run("bank", "import", rubrics / "researchrubrics.jsonl", "-o", tmp_path / "same.jsonl")
    assert read_bank(tmp_path / "same.jsonl").lines == read_bank(bank).lines, "the texts come from topics"

    evaluation = evaluated(bank, rubrics / "researchrubrics-verdicts.jsonl", tmp_path, *set(NAMES.values()))
    expected = golden["researchrubrics"]
    found, of_systems = values(evaluation), means(evaluation)
    for rule, name in NAMES.items():
        for system, of_query in expected["scores"][rule].items():
            ours = {query_id: found[system, query_id, name] for query_id in of_query}
            assert ours == pytest.approx(of_query, abs=1e-12)
            mean = expected["healthbench_clipped_mean"] if rule == "healthbench" else expected["means"][rule]
            assert of_systems[system, name] == pytest.approx(mean[system], abs=1e-12)

    results = rubrics / "researchrubrics-results-alpha.jsonl"
    one = evaluated(bank, results, tmp_path, "Rubric_strict")
    alpha = {query_id: score for (_, query_id, name), score in values(one).items() if name != "L"}
    assert alpha == pytest.approx(expected["scores"]["researchrubrics_binary"]["alpha"], abs=1e-12)


def test_macro_f1_of_judges_and_people(rubrics: Path, golden: dict[str, Any]) -> None:
    rating = {"not_satisfied": 0, "partially_satisfied": 1, "satisfied": 2}
    text = (rubrics / "researchrubrics-verdicts.jsonl").read_text(encoding="utf-8")
    lines = map(json.loads, text.splitlines())
    of = {(line["system"], line["sample_id"]): [rating[word] for word in line["verdicts"]] for line in lines}
    people = {query_id: ratings for (system, query_id), ratings in of.items() if system == "human"}
    for system in golden["researchrubrics"]["macro_f1_ternary"]:
        found = macro_f1([list(zip(people[q], of[system, q], strict=True)) for q in people])
        expected = [golden["researchrubrics"][f"macro_f1_{kind}"][system] for kind in ("ternary", "binary")]
        assert found == pytest.approx(expected, abs=1e-12)


def test_scores_of_dragun(rubrics: Path, golden: dict[str, Any], tmp_path: Path) -> None:
    bank = tmp_path / "bank.jsonl"
    run("bank", "import", rubrics / "dragun-rubrics-synthetic.jsonl", "-o", bank)
    verdicts = rubrics / "dragun-verdicts.csv.gz"
    evaluation = evaluated(bank, verdicts, tmp_path, "Supported", "Contradicted")
    found, of_runs = values(evaluation), means(evaluation)
    for key, name in (("supportive_score", "Supported"), ("contradictory_score", "Contradicted")):
        for row in golden["dragun"]["per_topic"]:
            assert found[row["run_tag"], row["topic_id"], name] == pytest.approx(row[key], abs=1e-12)
        for system, of_run in golden["dragun"]["per_run"].items():
            assert of_runs[system, name] == pytest.approx(of_run[key], abs=1e-12)


def test_scores_of_ragtime(rubrics: Path, golden: dict[str, Any], tmp_path: Path) -> None:
    source, bank = rubrics / "ragtime26-nugget-banks-synthetic.jsonl", tmp_path / "bank.jsonl"
    run("bank", "import", source, "-o", bank)
    run("convert", bank, "--to", "ragtime26", "-o", tmp_path / "back.jsonl")
    assert [json.loads(line) for line in (tmp_path / "back.jsonl").read_text("utf-8").splitlines()] == [
        json.loads(line) for line in source.read_text("utf-8").splitlines()
    ]
    rows = [
        {
            "system": "r",
            "query_id": case["topic"],
            "answer_id": item.entry_id,
            "verdict": "yes" if item.text in case["matched"].get(item.group_text, ()) else "no",
        }
        for case in golden["argue"]
        for item in read_bank(bank).entries(case["topic"]).values()
    ]
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    found = values(evaluated(bank, verdicts, tmp_path, "Coverage", "Coverage_weighted"))
    for case in golden["argue"]:
        for name in ("Coverage", "Coverage_weighted"):
            key = "nugget_" + name.lower()
            assert found["r", case["topic"], name] == pytest.approx(case["expected"][key], abs=1e-12)
