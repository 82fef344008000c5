"""A scorer for ``mlflow.genai.evaluate``, which grades each answer with a test bank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from exam_pp.api.study import Study, study
from exam_pp.banks import TestBank
from exam_pp.errors import MissingExtraError, SelectionError
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.evaluation.inputs import Bank, bank_of
from exam_pp.text.keys import id_of_text, ids_by_text


def mlflow_scorer(bank: Bank, model: str | ModelOptions | None = None, *, name: str = "rubric") -> Any:
    """A scorer of MLflow: the Rubric-Cover or the nugget score of an answer.

    Args:
        bank: Test bank. The query of a row is the one whose id or text is a value of its ``inputs``.
        model: The judge, as for :meth:`exam_pp.Study.grade`. A local checkpoint is loaded for every answer.
        name: Name of the scorer.

    Returns:
        A scorer for ``mlflow.genai.evaluate``. Its feedback is the measure that :func:`exam_pp.study` has for
        the bank; the rationale has the grade of each entry. A row of another query is an error of its
        feedback.

    Raises:
        MissingExtraError: MLflow is not installed.
        DataError: The bank cannot be read.
    """
    try:
        from mlflow.entities import Feedback
        from mlflow.genai import scorer
    except ImportError:
        raise MissingExtraError("A scorer of MLflow", "mlflow") from None
    known = bank_of(bank)
    ids = ids_by_text({query_id: line.query_text or "" for query_id, line in known.queries.items()})

    def graded(inputs: Mapping[str, Any], outputs: Any) -> Any:
        texts = [value for value in inputs.values() if isinstance(value, str)]
        found = [text if text in known.queries else ids.get(id_of_text(text)) for text in texts]
        query_id = next((each for each in found if each is not None), None)
        if query_id is None:
            raise SelectionError(
                f"The bank has no query with the id or text of an input ({', '.join(inputs)})."
            )
        answers = [outputs] if isinstance(outputs, str) else [*filter(_is_text, dict(outputs or {}).values())]
        if len(answers) != 1:
            raise SelectionError("outputs must be the text of an answer, or have one text.")
        of_one = TestBank.from_lines(line for line in known.lines if line.query_id == query_id)
        done = study(bank=of_one, answers={name: {query_id: answers[0]}}).grade(model)
        score = next(score for score in done.scores().scores if score.system == name)
        rationale = f"{score.metric} by {done.judge}. " + " ".join(_entries(done))
        return Feedback(name=name, value=score.value, rationale=rationale)

    return scorer(graded, name=name)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _entries(done: Study) -> Iterator[str]:
    """The grade of each entry, with its text."""
    for query in done.passages:
        entries = done.bank.entries(query.query_id)
        for passage in query.passages:
            for grades in passage.grade_sets():
                for entry_id, grade in dict(grades.nugget_labels() or grades.entry_ratings()).items():
                    yield f"{entries[entry_id].text}: {grade}."
