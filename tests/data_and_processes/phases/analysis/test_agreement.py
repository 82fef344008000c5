"""Agreement with judgments and of graders: published layouts, labels, tables, real data."""

from __future__ import annotations

from pathlib import Path

from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.analysis.agreement import agreement, rated_passages
from exam_pp.reports.analysis.agreement import agreement_report
from tests.tables import tables_of


def test_real_judgments(shared_data: Path) -> None:
    """FLAN-T5-large on the LLMJudge development set: better than chance for questions."""
    passages = rated_passages(
        shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz",
        grade_filter=GradeFilter(prompt_class="QuestionSelfRatedUnanswerablePromptWithChoices"),
    )
    table = tables_of(agreement_report(agreement(passages, min_relevant=2)))["STRICT, best rating"]

    assert sum(row[3] for row in table.rows if isinstance(row[3], int)) == len(passages) == 7263
    kappa = table.rows[0][4]
    assert isinstance(kappa, float)
    assert 0.1 < kappa < 0.6


def test_published_tables_of_labels_on_the_scale_of_judgments(shared_data: Path) -> None:
    """GRADED pairs every label with the equal judgment; κ as published for these labels."""
    file = shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"
    labels = rated_passages(file, grade_filter=GradeFilter(prompt_class="exampp-llmjudge-labelling"))
    result = agreement(labels, like_judgments=labels.like_judgments)
    kappas = {row.label: round(row.kappa or 0, 2) for row in result.tables[0].rows}
    assert result.tables[0].name == "GRADED"
    assert kappas == {"5": 0, "4": 0, "3": 0.32, "2": 0.28, "1": 0.2, "0": 0.42}
