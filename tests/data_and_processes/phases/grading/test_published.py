"""The plan of grading a published file."""

from __future__ import annotations

from pathlib import Path

from exam_pp.cli.grading.plan import plan_grading
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles
from exam_pp.prompts import PROMPTS
from exam_pp.rendering.document import Table
from tests.phases.grading.test_plan import RATING


def test_the_whole_of_dl19_is_counted(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "dl19-gpt4"
    files = GradeFiles(
        folder / "dl19-graded.jsonl.gz", tmp_path / "out.jsonl", folder / "dl19-gpt4-questions.jsonl.gz"
    )
    options = GradeOptions(prompts=[PROMPTS.get(RATING)])
    plan = plan_grading(files, ModelOptions("fake"), options, seconds=0.1)
    work = plan.report.blocks[0]
    assert isinstance(work, Table)
    assert [row[1] for row in work.rows][:3] == [43, 9260, 92600]
    assert {row[0]: row[1] for row in work.rows}["requests to send"] == plan.requests
