"""The text of the criteria, as RAGElo's paper prints it."""

from __future__ import annotations

from pathlib import Path

from exam_pp.plugins.rag_metrics.prompts import RAGELO
from tests.data_and_processes.prompts.test_texts_of_the_papers import RAGELO_PAPER, letters, papers

__all__ = ["papers"]


def test_text(papers: Path) -> None:
    template = RAGELO.prompt.template.replace("{context}", "{documents}")
    assert letters(template) in letters((papers / RAGELO_PAPER).read_text(encoding="utf-8"))
