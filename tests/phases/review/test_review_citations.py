"""Citations on the review page, and a reviewer's labels of citations as grades of a graded file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.review.apply_ratings import apply_ratings
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.reports.review.page import render_page
from exam_pp.store.edits import FORMAT, Edits, file_sha256, write_edits
from tests.phases.review.cited import FULL, NO, PARTIAL, answer_lines
from tests.review_pages import blocks

WriteLines = Callable[[str, list[Any]], Path]


def label(citation: str, support: str, **more: Any) -> dict[str, Any]:
    return {"query_id": "q", "passage_id": "rag/q#1", "citation": citation, "support": support, **more}


@pytest.fixture
def graded(write_jsonl: WriteLines) -> Path:
    return write_jsonl("graded.jsonl", answer_lines())


def edits_file(
    graded: Path, *supports: dict[str, Any], name: str = "edits.json", reviewer: str = "ana", **keys: Any
) -> Path:
    values = {
        "format": FORMAT, "graded_sha256": file_sha256(graded), "reviewer": reviewer, "supports": supports,
    }  # fmt: skip
    path = graded.with_name(name)
    write_edits(Edits.model_validate({**values, **keys}), path)
    return path


def human_sets(path: Path, name: str = "human:ana") -> list[dict[str, Any]]:
    (line,) = path.read_text(encoding="utf-8").splitlines()
    sets = [grades for passage in json.loads(line)[1] for grades in passage.get("support_grades") or ()]
    return [grades for grades in sets if grades["llm"] == name]


def page(graded: Path, model: str | None = None, **options: Any) -> dict[str, Any]:
    material = review_material(graded, GradeFilter(model=model), options=ReviewOptions(**options))
    return blocks(render_page(material.head, material.tables))


def test_a_part_has_its_citations_with_texts_and_labels(graded: Path) -> None:
    data = page(graded)
    assert data["head"]["prompt"]["name"] == ""
    chunk = data["query-0"]
    assert [len(items) for items in chunk["citations"]] == [0, 0, 3]
    first, second, missing = chunk["citations"][2]
    assert (first["id"], chunk["texts"][first["text"]]) == ("A", "bees dance")
    assert second["labels"] == [
        {"grader": "judge (CitationSupport)", "support": PARTIAL, "reply": "I say: partial_support",
         "reason": None, "comment": None}
    ]  # fmt: skip
    assert missing == {"id": "gone", "text": None, "labels": []}
    assert page(graded, model="other")["query-0"]["citations"][2][0]["labels"] == []


def test_ungraded_citations_have_a_reason_and_files_without_citations_no_column(
    write_jsonl: WriteLines, tiny_passages: Path
) -> None:
    (line,) = answer_lines()
    line[1][2]["support_grades"][0]["supports"] = [
        {"citation": "A", "llm_response_error": {"failure_reason": "no label"}}
    ]
    chunk = page(write_jsonl("g.jsonl", [line]))["query-0"]
    assert [chunk["citations"][2][0]["labels"][0][key] for key in ("support", "reason")] == [None, "no label"]
    assert "citations" not in page(tiny_passages)["query-0"]


def test_bytes_of_other_data_are_kept(write_jsonl: WriteLines, tmp_path: Path) -> None:
    graded = write_jsonl("g.jsonl", answer_lines())
    odd = graded.read_text(encoding="utf-8").replace('{"b": 1}', '{"b":  1.0e0}')
    assert "1.0e0" in odd
    graded.write_text(odd + '["other",  []]\n', encoding="utf-8")
    output = tmp_path / "out.jsonl"
    apply_ratings(graded, [edits_file(graded, label("A", NO))], output)
    written = output.read_text(encoding="utf-8")
    assert '{"b":  1.0e0}' in written
    assert written.endswith('["other",  []]\n')
    before, after = (json.loads(text.splitlines()[0])[1][2]["support_grades"] for text in (odd, written))
    assert after[:1] == before


def test_later_labels_replace_earlier_ones_of_the_same_reviewer(graded: Path, tmp_path: Path) -> None:
    first = edits_file(graded, label("A", FULL, comment="yes"), label("B", NO), name="1.json")
    later = edits_file(graded, label("A", PARTIAL), name="2.json")
    other = edits_file(graded, label("A", NO), name="3.json", reviewer="bo")
    once, again, steps = (tmp_path / f"{name}.jsonl" for name in ("once", "again", "steps"))
    summary = apply_ratings(graded, [first, later, other], once)
    (said,) = (line for line in summary.lines() if "labelled again" in line)
    assert "1 citation was labelled again with another label, first in " in said
    assert said.endswith("2.json, supports.1: the later label counts.")
    apply_ratings(once, [later], again, force=True)
    assert again.read_bytes() == once.read_bytes()
    apply_ratings(graded, [first], steps)
    apply_ratings(steps, [later], again, force=True)
    for path in (once, again):
        (grades,) = human_sets(path)
        assert grades["supports"] == [{"citation": "A", "support": PARTIAL}, {"citation": "B", "support": NO}]
        assert "comments" not in grades
    assert human_sets(once, "human:bo")[0]["supports"] == [{"citation": "A", "support": NO}]


@pytest.mark.parametrize(
    ("item", "keys", "message"),
    [
        (label("A", FULL, passage_id="rag/q#9"), {}, "supports: names 1 passage (q/rag/q#9) not in"),
        (label("A", FULL, query_id="z"), {}, "supports: names 1 passage (z/rag/q#1) not in"),
        (label("C", FULL), {}, "supports: names 1 citation (C in q/rag/q#1) not in"),
        (label("A", FULL, passage_id="B"), {}, "supports: names 1 citation (A in q/B) not in"),
        (label("A", FULL), {"reviewer": ""}, "reviewer: is empty"),
        (label("A", FULL), {"graded_sha256": "0"}, "graded_sha256: "),
    ],
)  # fmt: skip
def test_labels_that_do_not_fit_are_refused(
    graded: Path, tmp_path: Path, item: dict[str, Any], keys: dict[str, Any], message: str
) -> None:
    edits = edits_file(graded, item, **keys)
    with pytest.raises(DataError) as caught:
        apply_ratings(graded, [edits], tmp_path / "out.jsonl")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out.jsonl").exists()
