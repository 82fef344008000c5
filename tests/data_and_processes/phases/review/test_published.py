"""Verification reports on published grades."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from exam_pp.reports.review.verification.spurious import spurious
from exam_pp.reports.review.verification.uncovered import uncovered
from exam_pp.store.passages.graded_file import read_passages
from tests.phases.review.test_verification import EVERYTHING, flat


def test_real_grades_of_gpt_4_with_their_bank(shared_data: Path) -> None:
    """92,592 ratings; eight pairs of five passages were never asked."""
    folder = shared_data / "dl19-gpt4"
    rows = flat(folder / "dl19-graded.jsonl.gz", EVERYTHING, bank=folder / "dl19-gpt4-questions.jsonl.gz")
    assert sum(row["rating"] is not None for row in rows) == 92_592
    missing = [row for row in rows if row["rating"] is None]
    assert len(missing) == 8
    assert len({(row["query_id"], row["passage_id"]) for row in missing}) == 5
    assert {row["reason"] for row in missing} == {"not asked"}
    assert sum(row["rating"] == 4 for row in rows) == 19
    assert json.dumps(rows[0])


def test_spurious_entries_and_uncovered_passages_of_gpt_4(shared_data: Path) -> None:
    """The counts equal a direct count over the file: relevant from 1, covered from 4."""
    folder = shared_data / "dl19-gpt4"
    graded, bank = folder / "dl19-graded.jsonl.gz", folder / "dl19-gpt4-questions.jsonl.gz"
    covering: Counter[str] = Counter()
    gaps = 0
    for query in read_passages(graded):
        for view in query.passages:
            ratings = {key: grade for of in view.grade_sets() for key, grade in of.entry_ratings().items()}
            judgments = [judgment.relevance for judgment in view.judgments]
            if max(judgments) < 1:
                covering.update(key for key, grade in ratings.items() if grade >= 4)
            else:
                gaps += max(ratings.values()) < 4
    rows = flat(graded, report=spurious, bank=bank)
    assert {row["entry_id"]: row["covered_by_non_relevant"] for row in rows} == {
        key: count for key, count in covering.items() if count >= 3
    }
    assert len(flat(graded, report=uncovered, bank=bank)) == gaps
