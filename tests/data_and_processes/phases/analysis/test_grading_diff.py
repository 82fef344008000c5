"""Comparison of two gradings: ratings, labels and systems."""

from __future__ import annotations

from pathlib import Path

from exam_pp.cli.analysis.diff import Grading, diff
from exam_pp.grade_filter import GradeFilter


def test_two_prompts_in_one_file(shared_data: Path) -> None:
    """FLAN-T5-large rated questions and nuggets of the same passages: other entries, so labels compare."""
    file = shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"
    questions = Grading(file, GradeFilter(prompt_class="QuestionSelfRatedUnanswerablePromptWithChoices"))
    nuggets = Grading(file, GradeFilter(prompt_class="NuggetSelfRatedPrompt"))
    difference = diff(questions, nuggets)

    assert difference.passages == 7263
    assert not difference.entries
    assert 0 < len(difference.labels) <= 7263
