"""The example queries on published grades, which have no bank."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.phases.sql.query import SqlSources
from tests.phases.sql.test_query import (
    sources,
    test_bad_questions,
    test_contents,
    test_disagreement,
    test_judgments,
    test_uncovered_passages,
    test_ungraded_and_odd_replies,
)

__all__ = [
    "sources",
    "test_bad_questions",
    "test_contents",
    "test_disagreement",
    "test_judgments",
    "test_uncovered_passages",
    "test_ungraded_and_odd_replies",
]


@pytest.fixture(scope="module")
def files(shared_data: Path) -> SqlSources:
    return SqlSources([shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"])
