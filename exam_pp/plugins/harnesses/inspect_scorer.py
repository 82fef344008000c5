"""A scorer for tasks of inspect_ai, with the scores of answers that are graded already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exam_pp.errors import MissingExtraError, SelectionError
from exam_pp.phases.evaluation.contents import graded_contents
from exam_pp.phases.evaluation.inputs import loaded
from exam_pp.roles import answers_in, joined_text
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.studies.boards import Board
from exam_pp.text.keys import id_by_text, id_of_text, ids_by_text


def inspect_scorer(graded: str | Path, bank: str | Path) -> Any:
    """A scorer of inspect_ai: the Rubric-Cover or the nugget score of an answer of a graded file.

    Args:
        graded: Graded file with the answers, such as ``graded.jsonl.gz`` of a study. An answer is found by
            the id or input of its sample and by its text.
        bank: Test bank that the answers were graded with. A sample is of the query whose id is that of the
            sample, or whose text is its input.

    Returns:
        A scorer for ``Task(scorer=...)``, with the mean and its standard error as metrics. An answer that is
        not in the file is an error of its sample.

    Raises:
        MissingExtraError: inspect_ai is not installed.
        SelectionError: The file has grades of several judges.
        DataError: A file cannot be read.
    """
    try:
        from inspect_ai.scorer import Score, mean, scorer, stderr
    except ImportError:
        raise MissingExtraError("A scorer of inspect_ai", "inspect") from None
    known = read_bank(bank).queries
    ids = ids_by_text({query_id: line.query_text or "" for query_id, line in known.items()})
    passages = loaded(graded)
    assigns = any(grader.kind == "assignment" for grader in graded_contents(passages).graders.values())
    evaluation = Board(Path(graded), Path(bank), assigns=assigns).evaluation()
    metric = evaluation.scores[0].metric
    scores = {
        (score.system, score.query_id): score.value for score in evaluation.scores if score.metric == metric
    }
    systems: dict[tuple[str, str], str] = {}
    for query in passages:
        for system, positions in answers_in(query).items():
            text = joined_text(query.passages[position] for position in positions)
            systems[query.query_id, id_of_text(text)] = str(system)

    @scorer(  # type: ignore[untyped-decorator]
        metrics=[mean(), stderr()], name="rubric"
    )
    def rubric() -> Any:
        async def score(state: Any, _target: Any) -> Any:
            answer = state.output.completion
            query_id = id_by_text(str(state.sample_id), state.input_text, known, ids)
            system = systems.get((query_id, id_of_text(answer)))
            if system is None:
                raise SelectionError(
                    f"The answer to {query_id} is not in {graded}: grade it with `exam-pp run`."
                )
            return Score(value=scores[system, query_id], answer=answer, explanation=f"{metric} of {system}")

        return score

    return rubric()
