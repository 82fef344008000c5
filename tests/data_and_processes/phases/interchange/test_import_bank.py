"""`bank import`: TQA lessons and SQuAD2-style files."""

from __future__ import annotations

from pathlib import Path

from exam_pp.phases.banks.import_bank import import_questions
from exam_pp.store.banks.bank_json import read_bank


def test_samples_of_the_collections(shared_data: Path, tmp_path: Path) -> None:
    """The counts are those of the files: 532 questions in 48 paragraphs, 289 of them unanswerable."""
    folder = shared_data / "importers"
    squad = import_questions("squad2", [folder / "dev-sample.json"], tmp_path / "b.gz", tmp_path / "p.gz")
    assert (squad.queries, squad.entries, squad.unanswerable, squad.passages) == (48, 532, 289, 48)
    tqa = import_questions("tqa", [folder / "tqa_L_0002_sample.json"], tmp_path / "t")
    assert (tqa.queries, tqa.entries, tqa.not_checkable) == (1, 11, 2)
    (query,) = read_bank(tmp_path / "t")
    assert query.entries["NDQ_000053"].gold_answers == ["meteorology"]
