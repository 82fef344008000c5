"""Answers as passages: whole, by sentence, by paragraph."""

from __future__ import annotations

import json
from pathlib import Path

from exam_pp.phases.interchange.answer_units import answer_units
from exam_pp.store.trec.answers import read_answers


def test_a_whole_rag24_answer_is_the_text_that_was_assigned_nuggets(shared_data: Path) -> None:
    """Source: `answer_text` of the assignments that the organisers' tool made from the same answers."""
    folder = shared_data / "rag24"
    lines = (folder / "assignments.command-r-plus.jsonl").read_text().splitlines()
    texts = {row["qid"]: row["answer_text"].strip() for row in map(json.loads, lines)}
    answers = list(read_answers(folder / "answers.command-r-plus.jsonl"))
    assert {a.query_id: u.text for a in answers for u in answer_units(a, "whole")} == texts
    for answer in answers:
        for part in answer_units(answer, "paragraph"):
            assert len(part.text.split()) <= 400
