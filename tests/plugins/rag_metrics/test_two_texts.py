"""Roles and repeats of ranking entries: reading, choosing, importing and exporting."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.roles import System, outputs_of
from exam_pp.store.passages.graded_file import read_passages


def test_two_texts_of_one_passage_are_kept_with_a_sentence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Repeats that retrieve other passages under the same number; a citation of a missing passage."""
    file = tmp_path / "rag.csv"
    file.write_text(
        "query_id,query,query_run,passage_id,passage,generated_answer\n"
        'q,Q?,1,[1],Same.,"Yes [1]."\nq,Q?,1,[2],Old.,\n'
        'q,Q?,2,[1],Same.,"No [2][7]."\nq,Q?,2,[2],New.,\nq,Q?,3,,,\n'
    )
    import_passages(ImportSources(answers=[file], unit="sentence"), tmp_path / "out.jsonl")
    (query,) = read_passages(tmp_path / "out.jsonl")
    outputs = outputs_of(query)
    assert [(o.name, [p.text for p in o.retrieved], o.text) for o in outputs.values()] == [
        ("rag-run-1", ["Same.", "Old."], "Yes."),
        ("rag-run-2", ["Same.", "New."], "No."),
        ("rag-run-3", [], ""),
    ]
    assert outputs[System("rag", 3)].answered
    assert outputs[System("rag", 2)].parts[0][1] == ("rag-run-2/q[2]", "rag/q[7]")
    different, missing = (m for m in caplog.messages if "another text" in m or "not in the texts" in m)
    assert different == (
        f"{file}, line 5, passage: run 2 of the query 'q' has another text of [2] than an earlier run; both "
        "are kept, with different ids."
    )
    assert "(first: 'rag/q[7]', " in missing
    assert f"{file}, line 4, query q" in missing
    assert any("1 answer has no text" in m and "line 6" in m for m in caplog.messages)
