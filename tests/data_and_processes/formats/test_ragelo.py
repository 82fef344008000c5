"""The CSV files of RAGElo; expected numbers of the real files are counted with Python's csv module."""

from __future__ import annotations

from pathlib import Path

from exam_pp.formats.base import format_of
from exam_pp.store.trec.answers import read_answer_table
from exam_pp.store.trec.queries import read_query_table


def test_the_notebook_of_ragelo(shared_data: Path) -> None:
    """Ten queries, six agents."""
    folder = shared_data / "ragelo" / "notebook"
    kinds = {name: format_of(folder / f"{name}.csv").name for name in ("queries", "documents", "answers")}
    assert kinds == {name: f"ragelo-{name}" for name in kinds}
    answers = list(read_answer_table(folder / "answers.csv"))
    assert len(answers) == 60
    assert len({answer.system for answer in answers}) == 6
    assert len(read_query_table(folder / "queries.csv")) == 10
