"""The evaluation of RAG systems in one command: steps, resuming, left-out metrics, results and report."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exam_pp.phases.rag import evaluation as rag

from exam_pp.cli.main import main
from exam_pp.errors import ModelError, SelectionError, StoppedError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.plugins.rag_metrics.consistency import consistency, repeated_answers
from exam_pp.plugins.rag_metrics.open_rag_eval import read_result_rows, read_results
from exam_pp.plugins.rag_metrics.rag import (
    ConsistencyStep,
    NuggetStep,
    RagConfig,
    RagEvaluation,
    RetrievalStep,
    evaluate_rag,
    result_rows,
    score_rows,
    write_rag,
)
from exam_pp.results import Score
from exam_pp.store.trec.scores import read_score_rows, write_score_rows
from tests.conftest import written

TIDES = """query_id,query,query_run,passage_id,passage,generated_answer
q1,How often do tides rise?,1,[1],The tides rise twice.,The tides rise twice [1].
q1,How often do tides rise?,1,[2],Salt is white.,
q1,How often do tides rise?,2,[1],The tides rise twice.,The tides come twice [1].
q2,What is salt?,1,[1],Salt is a mineral.,Salt is a mineral [1]. It tastes [3].
"""
FAKE = RagConfig(model=ModelOptions("fake"))


@pytest.fixture
def tides(tmp_path: Path) -> Path:
    """Two repeats of one system; the second has no output for q2. Passage [3] of q2 is missing."""
    pytest.importorskip("rouge_score")
    return written(tmp_path / "tides.csv", TIDES)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[RagEvaluation, Path]:
    """An evaluation of `tides`, and its folder."""
    pytest.importorskip("rouge_score")
    folder = tmp_path_factory.mktemp("rag")
    (folder / "tides.csv").write_text(TIDES)
    return evaluate_rag(folder / "tides.csv", folder / "out", FAKE), folder / "out"


def values(result: RagEvaluation) -> dict[tuple[str, str, str], float]:
    return {(s.system, s.query_id, s.metric): s.value for s in score_rows(result)}


def test_all_metrics_with_input_are_computed(evaluated: tuple[RagEvaluation, Path]) -> None:
    result, _ = evaluated
    assert [section.stem for section in result.sections] == [
        "retrieval", "citations", "hallucination", "no_answer", "consistency",
    ]  # fmt: skip
    assert [left_out.section for left_out in result.left_out] == ["Nugget scores"]
    assert result.query_texts == {"q1": "How often do tides rise?", "q2": "What is salt?"}
    of = values(result)
    # The fake model rates round(3 × share of the query's words); "is" and "salt" are 2 of 3.
    assert of["tides-run-1", "q2", "P(rel=2)@3"] == pytest.approx(1 / 3)
    assert (of["tides-run-1", "q2", "MeanLabel"], of["tides-run-1", "q2", "RR(rel=2)"]) == (2, 1)
    # q2 has two parts with a citation each; one of the two cited passages is missing.
    assert of["tides-run-1", "q2", "citation_precision"] == 0.5
    assert of["tides-run-1", "q2", "citation_recall"] == 0.5
    # Four of five words are shared.
    assert of["tides", "q1", "ROUGE-1"] == pytest.approx(0.75)


def test_a_repeat_without_output_has_no_score_instead_of_zero(
    evaluated: tuple[RagEvaluation, Path],
) -> None:
    result, _ = evaluated
    assert not [key for key in values(result) if key[:2] == ("tides-run-2", "q2")]
    notes = result.sections[0].evaluation.notes
    assert "Left out, because the repeat has no output: the zeros of 1 query of a repeat." in notes
    spread = {key for key in values(result) if key[0] == "tides" and key[2].startswith("mean(")}
    assert {query_id for _, query_id, _ in spread} == {"q1"}


@pytest.mark.parametrize("metrics", [["RR(rel=2)", "V"], ["V"]])
def test_a_metric_without_scores_leaves_the_other_consistency(
    tides: Path, tmp_path: Path, metrics: list[str]
) -> None:
    """Without a bank, V cannot be computed; ROUGE and the spread of other metrics can."""
    config = RagConfig(model=ModelOptions("fake"), consistency=ConsistencyStep(metrics=metrics))
    result = evaluate_rag(tides, tmp_path / "out", config)
    evaluation = next(section.evaluation for section in result.sections if section.stem == "consistency")
    found = {score.metric for score in evaluation.scores}
    assert "ROUGE-1" in found
    assert {name for name in found if name.startswith("mean(")} == {f"mean({m})" for m in metrics if m != "V"}
    assert "Left out, because the repeats have no scores of them: 1 metric (V)." in evaluation.notes


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
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _model: _Stops())

    def after(number: int) -> None:
        _Stops.requests, _Stops.last = 0, number

    return after


def test_an_interrupted_run_continues_and_finished_steps_are_kept(
    tides: Path, tmp_path: Path, stopping: Callable[[int], None]
) -> None:
    stopping(10**9)
    whole = evaluate_rag(tides, tmp_path / "whole", FAKE)
    total = _Stops.requests
    for number in (2, 4, 7):  # in the labels, in the citations, and in the factual consistency
        out = tmp_path / f"out-{number}"
        stopping(number)
        with pytest.raises(StoppedError):
            evaluate_rag(tides, out, FAKE)
        stopping(10**9)
        continued = evaluate_rag(tides, out, FAKE)
        assert values(continued) == values(whole)
        assert _Stops.requests == total - number
        stopping(0)  # any request would stop it
        assert values(evaluate_rag(tides, out, FAKE)) == values(whole)


def test_a_changed_option_repeats_only_the_steps_that_it_changes(
    tides: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    evaluate_rag(tides, tmp_path / "out", FAKE)
    caplog.clear()
    changed = FAKE.model_copy(
        update={"hallucination": FAKE.hallucination.model_copy(update={"claims": "part"})}
    )
    evaluate_rag(tides, tmp_path / "out", changed)
    complete = {m.split(":")[0] for m in caplog.messages if m.endswith("complete, not computed again.")}
    assert complete == {
        "Import", "Query texts", "Retrieved passages", "Relevance labels", "Citations", "Whole answers",
        "Answered questions",
    }  # fmt: skip


def test_a_failed_step_is_left_out_and_never_a_number(
    tides: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise ModelError("The endpoint does not reply.")

    with monkeypatch.context() as patch:
        patch.setattr(rag, "grade_citations", fail)
        result = evaluate_rag(tides, tmp_path / "out", FAKE)
    assert ("Citations", "The endpoint does not reply.", "[model]") in result.left_out
    assert not any("citation" in metric for _, _, metric in values(result))
    rows = result_rows(result)["tides"]
    assert not any("citation" in column for row in rows for column in row.cells)
    assert evaluate_rag(tides, tmp_path / "out", FAKE).left_out[0].section == "Nugget scores"


def test_nuggets_are_made_and_assigned(tides: Path, tmp_path: Path) -> None:
    config = FAKE.model_copy(update={"nuggets": NuggetStep(create=True, window_size="all", iterations=2)})
    result = evaluate_rag(tides, tmp_path / "out", config)
    assert not result.left_out
    made = (tmp_path / "out" / "steps" / "nuggets.jsonl").read_text().splitlines()
    assert json.loads(made[0])["items"]
    assert {metric for _, _, metric in values(result)} >= {"V", "V_strict", "A", "W"}


@pytest.mark.parametrize(
    ("config", "model", "note"),
    [
        ({"model": ModelOptions("lexical")}, "fake", "name it in [hallucination.model]."),
        ({"hallucination": {"model": ModelOptions("lexical")}}, "lexical", ""),
    ],
)
def test_scores_of_consistency_in_the_file_count_beside_a_model(
    config: Any, model: str, note: str, evaluated: tuple[RagEvaluation, Path], tmp_path: Path
) -> None:
    """Models with code of their own, such as HHEM, run in `grade` alone."""
    _, folder = evaluated
    result = evaluate_rag(
        folder / "steps" / "scored.jsonl.gz", tmp_path / "out", RagConfig.model_validate(config)
    )
    evaluation = next(s.evaluation for s in result.sections if s.stem == "hallucination")
    assert evaluation.provenance.models == (model,)  # type: ignore[union-attr]
    assert note in evaluation.notes[-1]


def test_judgments_can_be_the_labels(tmp_path: Path, tiny_passages: Path) -> None:
    config = RagConfig(retrieval=RetrievalStep(labels="judgments", min_label=1, k_values=[1]))
    result = evaluate_rag(tiny_passages, tmp_path / "out", config)
    assert {metric for _, _, metric in values(result)} == {"P@1", "AP_top@1", "RR", "MeanLabel"}


def test_results_are_read_back_from_the_files(evaluated: tuple[RagEvaluation, Path], tmp_path: Path) -> None:
    result, _ = evaluated
    index = write_rag(result, tmp_path / "out", {"model": "fake"}, "exam-pp evaluate rag")
    assert list(read_score_rows(tmp_path / "out" / "scores.jsonl")) == score_rows(result)
    rows = list(read_result_rows(tmp_path / "out" / "tides.csv"))
    assert rows == result_rows(result)["tides"]
    assert (rows[2].query_id, rows[2].repeat) == ("q2", 1)
    assert rows[2].cells["generation_score_citation_scores"]["weighted_precision"] == 0.5
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
    page = index.read_text()
    assert "Left out" in page
    assert "No bank of nuggets is named" in page
    assert "Spread of scores over repeats" in page


def test_the_command_writes_the_folder(
    tides: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = written(tmp_path / "rag.toml", '[model]\nmodel = "random"\n[retrieval]\nk_values = [2]\n')
    arguments = ["evaluate", "rag", str(tides), "--config", "rag.toml", "--model", "fake", "-o", "out"]
    main(arguments)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"index.html", "scores.jsonl", "tides.csv", "provenance.json", "steps"} <= names
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert provenance["settings"]["model.model"] == "fake"
    assert [item["role"] for item in provenance["inputs"]] == ["input", "configuration"]
    metrics = {score.metric for score in read_score_rows(tmp_path / "out" / "scores.jsonl")}
    assert "P(rel=2)@2" in metrics
    assert "P(rel=2)@1" not in metrics
    assert "Left out: Nugget scores. No bank of nuggets is named" in capfd.readouterr().err

    config.write_text('[retrieval]\nk_values = [1]\n[hallucination]\nclaims = "answer"\n')
    (tmp_path / "out" / "steps" / "labelled.jsonl.gz").write_bytes(b"damaged")
    main(arguments)
    messages = capfd.readouterr().err
    assert "Query texts: complete, not computed again." in messages
    assert "Relevance labels: complete" not in messages
    assert "Factual consistency: complete" not in messages
    assert "P(rel=2)@1" in {score.metric for score in read_score_rows(tmp_path / "out" / "scores.jsonl")}


def test_consistency_of_a_file_and_of_scores(evaluated: tuple[RagEvaluation, Path]) -> None:
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
    with pytest.raises(SelectionError, match="lack the metric 'W'"):
        consistency(repeats, scores=scores, metrics=["W"])


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


def test_failed_labels_are_no_zeros_but_bounds(
    tides: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A passage without a readable label has no label; the bounds say what it could change."""

    def reply(request: Any) -> str:
        return "no label" if "Salt is white." in request.text else "2"

    monkeypatch.setattr(
        "exam_pp.phases.grading.grading_run.load_llm", lambda _model: FakeLLM(reply, name="fake")
    )
    config = FAKE.model_copy(update={"model": ModelOptions("fake", pipeline="text-generation")})
    result = evaluate_rag(tides, tmp_path / "out", config)
    section = next(section for section in result.sections if section.stem == "retrieval")
    key = ("tides-run-1", "q1", "MeanLabel")
    low, high = (
        {score[:3]: score.value for score in scores}[key]
        for scores in (section.evaluation.worst_case, section.evaluation.best_case)
    )
    assert (low, high) == (1.0, 2.5)
    assert "tides/q1[2]" not in {label.passage_id for label in result.labels}
