"""From the sample to the labels of a person, which the file then has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.plugins.trust.pair_sample_files import read_pair_sample
from exam_pp.store.passages.graded_file import read_passages
from tests.plugins.trust.test_pairs_to_label import asked, run
from tests.review_pages import blocks


def test_from_the_sample_to_labels_in_the_file(
    tiny_passages: Path, tiny_bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Draw pairs, write the page, rate its pairs as the page does, and add the ratings to the file."""
    monkeypatch.chdir(tiny_passages.parent)
    run("sample-pairs graded.jsonl --bank bank.jsonl --count 3 --cutoff 0 --seed 3 -o pairs.json")
    run("review graded.jsonl --bank bank.jsonl --pairs pairs.json --blind -o review.html")
    page = Path("review.html").read_text(encoding="utf-8")
    sample = read_pair_sample("pairs.json")
    drawn = {(pair.query_id, pair.passage_id, pair.entry_id) for pair in sample.pairs}
    assert asked(page) == drawn
    assert 0 < len(drawn) < sample.size == 5
    head = blocks(page)["head"]
    edits = {
        "format": "exam_pp.edits.v1",
        "graded_sha256": head["graded"]["sha256"],
        "bank_sha256": head["bank"]["sha256"],
        "reviewer": "ann",
        "ratings": [{"query_id": q, "passage_id": p, "id": e, "rating": 3} for q, p, e in sorted(drawn)],
        "bank": [],
    }
    Path("edits.json").write_text(json.dumps(edits), encoding="utf-8")
    run("apply graded.jsonl edits.json -o people.jsonl")
    labelled = {
        (query.query_id, read.passage_id, entry_id): rating
        for query in read_passages("people.jsonl")
        for read in query.passages
        for grades in read.grade_sets()
        if grades.model == "human:ann"
        for entry_id, rating in grades.entry_ratings().items()
    }
    assert labelled == dict.fromkeys(drawn, 3)
    # Drawing again from the file with labels, with a larger budget, keeps the labelled pairs.
    run(
        "sample-pairs people.jsonl --bank bank.jsonl --grader google/flan-t5-large --count 4 --cutoff 0 "
        "--seed 3 -o more.json"
    )
    assert drawn <= {
        (pair.query_id, pair.passage_id, pair.entry_id) for pair in read_pair_sample("more.json").pairs
    }
