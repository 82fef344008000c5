"""Import and export of answers, nugget assignments, labels of UMBRELA and segments of other tools."""

from __future__ import annotations

from pathlib import Path

from exam_pp.phases.interchange.assignments import AssignmentSources, import_assignments
from tests.phases.interchange.test_nugget_exchange import read_json, write_assignments


def test_assignments_both_ways(shared_data: Path, tmp_path: Path) -> None:
    """301 real answers survive, with unknown labels and repeated nuggets."""
    source = shared_data / "rag24" / "assignments.command-r-plus.jsonl"
    graded, bank, out = tmp_path / "g.jsonl.gz", tmp_path / "b.jsonl", tmp_path / "a.jsonl"
    summary = import_assignments(AssignmentSources([source], graded, bank_output=bank))
    write_assignments(graded, bank, out)
    before, after = read_json(source), read_json(out)

    lengths = [(line.pop("response_length"), len(line["answer_text"].split())) for line in after]
    assert all(length == count for length, count in lengths), "the length is computed again"
    old_lengths = [line.pop("response_length") for line in before]
    differing = sum(old != count for old, (_, count) in zip(old_lengths, lengths, strict=True))
    assert summary.dropped.counts == {"response lengths that differ from the word count": differing}
    assert after == before
    assert [list(line) for line in after] == [list(line) for line in before]
