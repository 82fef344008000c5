"""Import and export of answers and of labels of UMBRELA."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.phases.interchange.umbrela_rows import import_judge_rows
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answers import read_answers
from tests.conftest import written

WriteJsonl = Callable[[str, list[Any]], Path]
Lines = list[dict[str, Any]]


def read_json(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


ROW = {
    "model": "gpt-4o", "query": "where is it from", "passage": "Text of  p3.", "prompt": "Judge!",
    "prediction": "##final score: 2", "reasoning": None, "judgment": 2, "result_status": 1,
}  # fmt: skip


Labels = Callable[..., tuple[Any, dict[str, list[tuple[str | None, dict[str, int]]]]]]


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    return written(tmp_path / "queries.tsv", "q1\twho wrote it\n007\twhere is it from\n")


@pytest.fixture
def labels(tiny_passages: Path, queries: Path, write_jsonl: WriteJsonl, tmp_path: Path) -> Labels:
    """Import rows; returns the summary, and model and ratings of the labels of every passage."""

    def imported(*rows: Any) -> Any:
        source = write_jsonl("rows.jsonl", [*rows])
        summary = import_judge_rows([source], tiny_passages, queries, tmp_path / "o.jsonl")
        passages = [p for query in read_passages(tmp_path / "o.jsonl") for p in query.passages]
        grades = {p.passage_id: p.direct_grades or [] for p in passages}
        return summary, {key: [(g.model, g.entry_ratings()) for g in some] for key, some in grades.items()}

    return imported


def test_labels_of_umbrela_are_joined_by_their_texts(labels: Labels) -> None:
    """Whitespace is ignored; an unparsed label is ungraded, not 0, and keeps its prompt."""
    failed = ROW | {"query": "who wrote it", "passage": "Text of p1.", "judgment": 0, "result_status": 0}
    row = ROW | {"reasoning": "since", "cost": 1}
    summary, of_passages = labels(row, failed, ROW | {"passage": "Another text."})
    assert of_passages == {"p3": [("gpt-4o", {"direct": 2})], "p1": [("gpt-4o", {})], "p2": []}
    assert (summary.graded, summary.ungraded, summary.unknown) == (1, 1, [3])
    assert summary.dropped.counts == {"prompts": 1, "reasonings": 1, "field 'cost'": 1}


def test_several_labels_of_umbrela_for_the_same_texts(labels: Labels) -> None:
    """Duplicates are one grade, contradictions are counted, and a failed row never replaces a label."""
    failed, other = ROW | {"judgment": 0, "result_status": 0}, ROW | {"model": "else", "judgment": 0}
    summary, of_passages = labels(failed, ROW, ROW, ROW | {"judgment": 1}, failed, other)
    assert of_passages["p3"] == [("gpt-4o", {"direct": 1}), ("else", {"direct": 0})]
    assert (summary.rows, summary.graded, summary.ungraded) == (6, 2, 0)
    lines = " ".join(summary.lines())
    assert "3 labels are duplicates and used once." in lines
    assert "1 label contradicts an earlier label of the same model; the last label is used (line 4)." in lines


def test_labels_of_umbrela_both_ways(
    tiny_passages: Path, queries: Path, write_jsonl: WriteJsonl, tmp_path: Path
) -> None:
    row = ROW | {"passage": "Text of p3."}
    rows = write_jsonl("rows.jsonl", [row])
    graded = tmp_path / "labelled.jsonl"
    main(
        ["import", "--from", "umbrela", str(rows), "--passages", str(tiny_passages),
         "--queries", str(queries), "-o", str(graded)]
    )  # fmt: skip
    dropped = convert(Conversion(graded, tmp_path / "again.jsonl", "umbrela", queries=queries))

    assert read_json(tmp_path / "again.jsonl") == [row | {"prompt": ""}], "the prompt is not kept"
    assert dropped.counts["passage ids"] == 1


def test_answers_of_one_system_as_text(demo_data: Path, tmp_path: Path) -> None:
    passages, out = tmp_path / "p.jsonl", tmp_path / "a.jsonl"
    source = demo_data / "answers" / "gen-short.jsonl"
    conversion = Conversion(passages, out, "plain-answers", systems=["gen-short"])
    import_passages(ImportSources(answers=[source], unit="whole"), passages)
    assert "citations" not in convert(conversion).counts

    (first, *_) = read_answers(source)
    assert read_json(out)[0] == {
        "query_id": first.query_id,
        "system": "gen-short",
        "text": " ".join(part.text for part in first.parts),
        "citations": list(dict.fromkeys(docid for part in first.parts for docid in part.citations)),
    }
    import_passages(ImportSources(answers=[source], unit="sentence"), passages)
    assert "boundaries of answer parts" in convert(conversion).counts
