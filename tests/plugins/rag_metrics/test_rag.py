"""The evaluation of RAG systems in one command: steps, resuming, left-out metrics, results and page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import ModelError, SelectionError, StoppedError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.plugins.rag_metrics.consistency import consistency, repeated_answers
from exam_pp.plugins.rag_metrics.open_rag_eval import read_result_rows, read_results
from exam_pp.plugins.rag_metrics.rag import Rag, Settings
from exam_pp.results import Score
from exam_pp.store.trec.scores import read_score_rows, write_score_rows
from tests.conftest import written

TIDES = """query_id,query,query_run,passage_id,passage,generated_answer
q1,How often do tides rise?,1,[1],The tides rise twice.,The tides rise twice [1].
q1,How often do tides rise?,1,[2],Salt is white.,
q1,How often do tides rise?,2,[1],The tides rise twice.,The tides come twice [1].
q2,What is salt?,1,[1],Salt is a mineral.,Salt is a mineral [1]. It tastes [3].
"""


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    """Two repeats of one system; the second has no output for q2. Passage [3] of q2 is missing."""
    pytest.importorskip("rouge_score")
    return written(tmp_path / "tides.csv", TIDES)


def evaluate_rag(source: Path, folder: Path, model: str | None = "fake", **settings: Any) -> Rag:
    if model is not None:
        settings |= {"model": ModelOptions(model), "judge": ["--model", model]}
    rag = Rag(source, folder, Settings(**settings))
    rag.evaluate()
    return rag


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Rag, Path]:
    """An evaluation of `tides`, and its folder."""
    pytest.importorskip("rouge_score")
    folder = tmp_path_factory.mktemp("rag")
    (folder / "tides.csv").write_text(TIDES)
    return evaluate_rag(folder / "tides.csv", folder / "out"), folder / "out"


def values(result: Rag) -> dict[tuple[str, str, str], float]:
    return {(s.system, s.query_id, s.metric): s.value for s in result.scores}


def test_all_metrics_with_input_are_computed(evaluated: tuple[Rag, Path]) -> None:
    result, _ = evaluated
    assert [section for section, _, _ in result.left_out] == ["Nugget scores"]
    assert result.texts == {"q1": "How often do tides rise?", "q2": "What is salt?"}
    of = values(result)
    # The fake model rates round(3 × share of the query's words); "is" and "salt" are 2 of 3.
    assert of["tides-run-1", "q2", "P(rel=2)@3"] == pytest.approx(1 / 3)
    assert (of["tides-run-1", "q2", "MeanLabel"], of["tides-run-1", "q2", "RR(rel=2)"]) == (2, 1)
    # q2 has two parts with a citation each; one of the two cited passages is missing.
    assert of["tides-run-1", "q2", "citation_precision"] == 0.5
    assert of["tides-run-1", "q2", "citation_recall"] == 0.5
    # Four of five words are shared.
    assert of["tides", "q1", "ROUGE-1"] == pytest.approx(0.75)


def test_a_repeat_without_output_has_no_score_instead_of_zero(evaluated: tuple[Rag, Path]) -> None:
    result, _ = evaluated
    assert not [key for key in values(result) if key[:2] == ("tides-run-2", "q2")]
    spread = {key for key in values(result) if key[0] == "tides" and key[2].startswith("mean(")}
    assert {query_id for _, query_id, _ in spread} == {"q1"}


class _Stops(FakeLLM):
    """A fake model that is stopped at its n-th request."""

    batch_size = 1
    requests = 0
    last = 10**9

    def reply(self, request: Any) -> Any:
        if _Stops.requests >= _Stops.last:
            raise StoppedError("stopped")
        _Stops.requests += 1
        return super().reply(request)


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Load a fake model that is stopped after a number of requests, counted from now."""
    for module in ("phases.grading.grading_run", "plugins.rag_metrics.grading"):
        monkeypatch.setattr(f"exam_pp.{module}.load_llm", lambda _model: _Stops())

    def after(number: int) -> None:
        _Stops.requests, _Stops.last = 0, number

    return after


def test_an_interrupted_run_continues_and_finished_steps_are_kept(
    tides: Path, tmp_path: Path, stopping: Callable[[int], None]
) -> None:
    stopping(10**9)
    whole = evaluate_rag(tides, tmp_path / "whole")
    total = _Stops.requests
    for number in (2, 4, 7):  # in the labels, in the citations, and in the factual consistency
        out = tmp_path / f"out-{number}"
        stopping(number)
        with pytest.raises(StoppedError):
            evaluate_rag(tides, out)
        stopping(10**9)
        continued = evaluate_rag(tides, out)
        assert values(continued) == values(whole)
        assert _Stops.requests == total - number
        stopping(0)  # any request would stop it
        assert values(evaluate_rag(tides, out)) == values(whole)


def test_steps_with_the_same_input_and_options_are_complete(
    tides: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def commands(model: str) -> list[str]:
        main(["evaluate", "rag", str(tides), "--model", model, "-o", "out"])
        made = re.findall(r"\$ exam-pp (\w+)", capfd.readouterr().err)
        return [command for command in made if command != "evaluate"]

    made = ["import", "filter", "grade", "grade", "grade", "convert", "import", "grade"]
    assert commands("fake") == made
    Path("out/steps/labelled.jsonl.gz").write_bytes(b"damaged")
    assert commands("fake") == ["grade"]
    assert commands("lexical") == ["grade"] * 4


def test_a_failed_step_is_left_out_and_never_a_number(
    tides: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise ModelError("The endpoint does not reply.")

    with monkeypatch.context() as patch:
        patch.setattr("exam_pp.plugins.rag_metrics.grading.SupportGrader.units", fail)
        result = evaluate_rag(tides, tmp_path / "out")
    assert ("Citations", "The endpoint does not reply.", "--model") in result.left_out
    assert not any("citation" in metric for _, _, metric in values(result))
    result.write(tmp_path / "out")
    rows = read_result_rows(tmp_path / "out" / "tides.csv")
    assert not any("citation" in column for row in rows for column in row.cells)
    assert [name for name, _, _ in evaluate_rag(tides, tmp_path / "out").left_out] == ["Nugget scores"]


def test_nuggets_are_made_and_assigned(tides: Path, tmp_path: Path) -> None:
    result = evaluate_rag(tides, tmp_path / "out", nuggets=True)
    assert not result.left_out
    made = (tmp_path / "out" / "steps" / "nuggets.jsonl").read_text().splitlines()
    assert json.loads(made[0])["items"]
    assert {metric for _, _, metric in values(result)} >= {"V", "V_strict", "A", "W"}


def test_grades_in_the_file_count_in_place_of_those_of_a_model(
    evaluated: tuple[Rag, Path], tmp_path: Path
) -> None:
    """Models with code of their own, such as HHEM, run in `grade` alone."""
    result, folder = evaluated
    scored = folder / "steps" / "scored.jsonl.gz"
    again = evaluate_rag(scored, tmp_path / "out", "lexical")
    assert not (tmp_path / "out" / "steps" / "scored.jsonl.gz").exists()
    assert (tmp_path / "out" / "steps" / "citations.jsonl.gz").exists()
    key = ("tides-run-1", "q2", "FactualConsistency_parts")
    assert values(again)[key] == values(result)[key]
    alone = evaluate_rag(scored, tmp_path / "alone", None)
    assert {name for name, _, _ in alone.left_out} == {
        "Retrieval", "Nugget scores", "Citations", "Questions answered",
    }  # fmt: skip


def test_a_file_without_results(tiny_passages: Path, tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match=r"^No metric has a result\. .+"):
        evaluate_rag(tiny_passages, tmp_path / "out", None)


def test_results_are_read_back_from_the_files(evaluated: tuple[Rag, Path], tmp_path: Path) -> None:
    result, _ = evaluated
    result.write(tmp_path / "out")
    assert list(read_score_rows(tmp_path / "out" / "scores.jsonl")) == result.scores
    rows = list(read_result_rows(tmp_path / "out" / "tides.csv"))
    assert (rows[2].query_id, rows[2].repeat) == ("q2", 1)
    assert rows[2].cells["generation_score_citation_scores"]["weighted_precision"] == 0.5
    assert rows[2].cells["retrieval_score_umbrela_scores"] == {"tides/q2[1]": 2}
    verdicts = [row.cells["generation_score_no_answer_score"] for row in rows]
    assert {"query_answered": "yes"} in verdicts, "the key that its plots read"
    scores, _ = read_results(tmp_path / "out" / "tides.csv", "tides")
    of = values(result)
    for score in scores:
        if score.metric == "retrieval_score_precision_metrics.precision@.1":
            assert score.value == of[score.system, score.query_id, "P(rel=2)@1"]
        if score.metric == "Answered":
            assert score.value == of[score.system, score.query_id, "Answered"]
    assert sum(score.metric.endswith("precision@.1") for score in scores) == 3
    page = (tmp_path / "out" / "index.html").read_text()
    assert "Left out" in page
    assert "No bank of nuggets is named" in page
    assert "Citations: Not in the file, or without text, and so no support" in page


def test_the_command_writes_the_folder(
    tides: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("yaml")
    config = written(
        tmp_path / "eval.yaml", "evaluator: {name: trecrag, model: {name: m}, options: {k_values: [2]}}"
    )
    arguments = ["evaluate", "rag", str(tides), "--config", str(config), "--model", "fake", "-o", "out"]
    main(arguments)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"index.html", "scores.jsonl", "tides.csv", "steps"}
    metrics = {score.metric for score in read_score_rows(tmp_path / "out" / "scores.jsonl")}
    assert {"P(rel=2)@2", "V"} <= metrics
    assert "P(rel=2)@1" not in metrics
    capfd.readouterr()
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", "rag", str(tides), "--device", "cpu", "-o", "out"])
    assert stopped.value.code == 2
    assert "--device needs --model" in capfd.readouterr().err


def test_consistency_of_a_file_and_of_scores(evaluated: tuple[Rag, Path]) -> None:
    _, folder = evaluated
    repeats = repeated_answers(folder / "steps" / "passages.jsonl.gz")
    assert repeats.answers["tides"]["q2"] == ["Salt is a mineral. It tastes.", None]
    scores = [
        Score("tides-run-1", "q1", "V", 0.5),
        Score("tides-run-2", "q1", "V", 1.0),
        Score("x", "q1", "V", 0),
    ]
    result = consistency(repeats, scores=scores)
    of = {score.metric: score.value for score in result.evaluation.scores if score.query_id == "q1"}
    assert (of["mean(V)"], of["variance(V)"]) == (0.75, 0.0625)
    assert of["adjusted(V)"] == pytest.approx(0.75 / 1.25)
    assert "Ignored, because they are no repeats: the scores of 1 system (x)." in result.evaluation.notes
    sampled = consistency(repeats, scores=scores, sample=True).evaluation.scores
    assert {s.metric: s.value for s in sampled}["variance(V)"] == 0.125


def test_the_command_evaluate_consistency(
    tides: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    main(["-q", "import", "--answers", str(tides), "--unit", "sentence", "-o", "tides.jsonl"])
    capfd.readouterr()
    main(["-q", "evaluate", "consistency", "tides.jsonl", "--format", "tsv", "--also", "pairs=pairs.jsonl"])
    header, row = capfd.readouterr().out.splitlines()[:2]
    values = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert (values["system"], values["ROUGE-1"]) == ("tides", "0.750000")
    pairs = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    assert [(pair["query_id"], pair["first"], pair["second"]) for pair in pairs] == [("q1", 1, 2)] * 3
    of_query = {"q1": (0.5, 1.0), "q2": (0.0, 0.0)}
    write_score_rows(
        [Score(f"tides-run-{n}", q, "V", v) for q, both in of_query.items() for n, v in enumerate(both, 1)],
        Path("scores.jsonl"),
    )
    Path("queries.json").write_text('{"q1": "tides"}')
    scored = [
        "--metric",
        "spread",
        "--scores",
        "scores.jsonl",
        "--queries",
        "queries.json",
        "--format",
        "json",
    ]
    main(["-q", "evaluate", "consistency", "tides.jsonl", *scored])
    report = json.loads(capfd.readouterr().out)
    assert report["notes"][0].startswith("Means over 1 query")
    assert report["tables"][0]["rows"][0]["mean(V)"] == 0.75


def test_failed_labels_are_no_zeros(tides: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A passage without a readable label has no label."""

    def reply(request: Any) -> str:
        return "no label" if "Salt is white." in request.text else "2"

    monkeypatch.setattr(
        "exam_pp.phases.grading.grading_run.load_llm", lambda _model: FakeLLM(reply, name="fake")
    )
    judge = ["--model", "fake", "--model-pipeline", "text-generation"]
    rag = Rag(tides, tmp_path / "out", Settings(model=ModelOptions("fake"), judge=judge))
    rag.evaluate()
    assert ("q1", "tides/q1[2]") not in rag.labels
    rag.write(tmp_path / "out")
    row = next(read_result_rows(tmp_path / "out" / "tides.csv"))
    assert row.cells["retrieval_score_umbrela_scores"] == {"tides/q1[1]": 2}
