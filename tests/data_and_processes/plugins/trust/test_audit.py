"""Audits of graders: numbers by hand on small files, verdicts, missing inputs, the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.audit import audit
from exam_pp.store.families import Families, Family
from tests.plugins.trust.test_audit import paragraphs, row_of, rows_of_length
from tests.tables import tables_of


def test_numbers_of_published_grades(shared_data: Path) -> None:
    """TREC DL 2019: the grader gpt-4 also wrote the bank; ADA2 is first by it and third by judgments."""
    folder = shared_data / "dl19-gpt4"
    families = Families({"openai": Family(models=["gpt-*"], systems=["OPEN_AI*"])})
    result = audit(
        folder / "dl19-graded.jsonl.gz", bank=folder / "dl19-gpt4-questions.jsonl.gz", families=families,
        statistics=Statistics(samples=200),
    )  # fmt: skip
    table = tables_of(result)["Advantage of the systems of the family openai"]
    assert [row_of(table, of)["mean rank of own"] for of in ("gpt-4", "judgments")] == [1, 3]
    warning = paragraphs(result, "Circularity")[0]
    assert warning.startswith(
        "Warning: Of one model or family (openai): grader gpt-4, bank writer gpt-4, system "
    )
    assert rows_of_length(result)["passages", "grade", "query, same judgment"] == pytest.approx(
        -0.017, abs=0.001
    )
