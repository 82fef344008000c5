"""The scorer of inspect_ai, in a task of inspect_ai."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="the harness is not installed")

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

import exam_pp

QUERIES = {"q1": "Who wrote the notes?", "q2": "When does water boil?"}
FACTS = {
    "q1": ["Ada Lovelace wrote the notes", "The notes appeared in 1843"],
    "q2": ["Water boils at 100 degrees"],
}
ANSWERS = {
    "a": {"q1": "Ada Lovelace wrote the notes.", "q2": "Water boils at 100 degrees."},
    "b": {"q1": "I do not know.", "q2": "It depends on the pressure."},
}


@solver  # type: ignore[untyped-decorator]
def with_answers(answers: Mapping[str, str]) -> Solver:
    """Answers without a model, by the id or the place of a sample."""

    async def solve(state: TaskState, _generate: Generate) -> TaskState:
        text = answers.get(str(state.sample_id)) or answers[f"q{state.sample_id}"]
        state.output = ModelOutput.from_content("no model", text)
        return state

    return solve


@pytest.fixture
def study(tmp_path: Path) -> tuple[exam_pp.Study, Path, Path]:
    """A graded study with its graded file and bank."""
    done = exam_pp.study(bank=FACTS, nuggets=True, queries=QUERIES, answers=ANSWERS).grade("lexical")
    graded, bank = tmp_path / "graded.jsonl", tmp_path / "bank.jsonl"
    exam_pp.write_passages(done.passages, graded)
    lines = [
        exam_pp.BankLine(
            query_id=query_id, query_text=QUERIES[query_id], items=[*done.bank.entries(query_id).values()]
        )
        for query_id in QUERIES
    ]
    exam_pp.write_bank(lines, bank)
    return done, graded, bank


def test_a_task_has_the_scores_of_the_study(study: tuple[exam_pp.Study, Path, Path], tmp_path: Path) -> None:
    done, graded, bank = study
    scores = list(done.scores().scores)
    for system, answers in ANSWERS.items():
        expected = {
            score.query_id: score.value
            for score in scores
            if score.system == system and score.metric == scores[0].metric
        }
        samples = [Sample(id="q1", input="Anything"), Sample(id=2, input=QUERIES["q2"].upper())]
        task = Task(
            dataset=samples, solver=with_answers(answers), scorer=exam_pp.inspect_scorer(graded, bank)
        )
        (log,) = evaluate(task, model="mockllm/model", log_dir=str(tmp_path / "logs"), display="none")
        assert log.status == "success", log.error
        values = {str(sample.id): sample.scores["rubric"].value for sample in log.samples or ()}
        assert values == {"q1": expected["q1"], "2": expected["q2"]}
        assert log.results.scores[0].metrics["mean"].value == pytest.approx(sum(expected.values()) / 2)


def test_an_answer_that_is_not_graded_is_an_error(
    study: tuple[exam_pp.Study, Path, Path], tmp_path: Path
) -> None:
    _, graded, bank = study
    task = Task(
        dataset=[Sample(id="q1", input="?")], solver=with_answers({"q1": "Someone else."}),
        scorer=exam_pp.inspect_scorer(graded, bank),
    )  # fmt: skip
    (log,) = evaluate(task, model="mockllm/model", log_dir=str(tmp_path / "logs"), display="none")
    assert log.status == "error"
    assert "grade it with `exam-pp run`" in str(log.error)
