"""Commands with ``--prompt-file``: every prompt can be replaced, and built-in prompts printed as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.store.passages.graded_file import read_passages
from tests.cli.grading.test_prompt_files import ASK, own, run

WriteLines = Callable[[str, list[Any]], Path]


@pytest.fixture
def folder(write_jsonl: WriteLines, tmp_path: Path) -> Path:
    """Queries with and without facets, passages with judgments, and banks of both kinds."""
    facets = [{"facet_id": "moon", "facet_text": "the moon"}]
    write_jsonl("queries.jsonl", [{"query_id": "q", "query_text": "ocean tides"}])
    write_jsonl("faceted.jsonl", [{"query_id": "q", "query_text": "ocean tides", "facets": facets}])
    ranking = {"method": "s", "paragraphId": "p", "queryId": "q", "rank": 1, "score": 1.0}
    data = {
        "judgments": [{"paragraphId": "p", "query": "q", "titleQuery": "q", "relevance": 1}],
        "rankings": [ranking],
    }
    passage = {"paragraph_id": "p", "text": "The ocean has tides.", "paragraph_data": data}
    write_jsonl("passages.jsonl", [["q", [passage]]])
    question = {"query_id": "q", "question_id": "q/1", "question_text": "What has the ocean?"}
    items = [question | {"gold_answers": ["tides of the ocean"]}]
    write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "ocean tides", "items": items}])
    nugget = {"query_id": "q", "nugget_id": "q/n", "nugget_text": "ocean tides"}
    write_jsonl("nuggets.jsonl", [{"query_id": "q", "query_text": "ocean tides", "items": [nugget]}])
    return tmp_path


def test_answer_verification(folder: Path) -> None:
    run(
        "grade passages.jsonl --bank bank.jsonl --model fake -o answers.jsonl "
        "--prompt QuestionCompleteConcisePromptWithAnswerKey2"
    )
    name = own("QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2")
    run(f"verify-answers answers.jsonl --bank bank.jsonl {ASK} --prompt-file own.toml")
    (query,) = read_passages(folder / "out.jsonl")
    *_, grades = query.passages[0].grade_sets()
    assert (grades.prompt_class, grades.entry_ratings()) == (name, {"q/1": 1})
    run("verify-answers out.jsonl --bank bank.jsonl --model fake -o twice.jsonl")
    (query,) = read_passages(folder / "twice.jsonl")
    assert len(list(query.passages[0].grade_sets())) == 3, "verified answers are not extracted answers"


def test_labels_of_umbrela_are_not_those_of_our_prompt(folder: Path) -> None:
    """Grades by the old name count as graded; labels that another tool made with UMBRELA do not."""
    grade = f"grade passages.jsonl --queries queries.jsonl {ASK} --prompt GradedRelevance"
    run(grade)
    text = Path("out.jsonl").read_text()
    Path("passages.jsonl").write_text(text.replace('"GradedRelevance"', '"Umbrela"'))
    run(grade)
    assert Path("out.jsonl").read_text() == Path("passages.jsonl").read_text()

    row = {"model": "judge", "query": "ocean tides", "passage": "The ocean has tides.", "judgment": 2}
    Path("rows.jsonl").write_text(
        json.dumps(row | {"prediction": "2", "prompt": "", "result_status": 1}) + "\n"
    )
    imported = "--passages passages.jsonl --queries queries.jsonl -o labels.jsonl"
    run(f"import --from umbrela rows.jsonl {imported}")
    (query,) = read_passages(Path("labels.jsonl"))
    classes = [
        (grades.model, grades.prompt_class, grades.max_rating) for grades in query.passages[0].grade_sets()
    ]
    assert classes == [("fake", "Umbrela", None), ("judge", "UMBRELA", 3)]
