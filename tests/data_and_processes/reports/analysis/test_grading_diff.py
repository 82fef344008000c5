"""Comparison of two gradings: ratings, labels and systems."""

from __future__ import annotations

from pathlib import Path

from exam_pp.grade_filter import GradeFilter
from exam_pp.reports.analysis.diff import Grading, diff_report, labels_report
from tests.tables import notes_of, tables_of


def test_two_prompts_in_one_file(shared_data: Path) -> None:
    """FLAN-T5-large rated questions and nuggets of the same passages: other entries, so labels compare."""
    file = shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"
    questions = Grading(file, GradeFilter(prompt_class="QuestionSelfRatedUnanswerablePromptWithChoices"))
    nuggets = Grading(file, GradeFilter(prompt_class="NuggetSelfRatedPrompt"))
    report = diff_report(questions, nuggets)

    assert "7263 passages are graded in both files." in notes_of(report)
    assert not tables_of(report)["Entries that change most (of 0 that change)"].rows
    assert 0 < len(tables_of(labels_report(questions, nuggets))[""].rows) <= 7263
