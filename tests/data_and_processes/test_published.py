"""Files that were published with the workbench."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from exam_pp.banks import entry_id
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import passages_writer, read_passages


def test_published_files_round_trip(shared_data: Path, tmp_path: Path) -> None:
    """FLAN-T5-large and GPT-4 grades made by the published implementation."""
    for name in ("llmjudge-dev/flan-t5-large-graded.jsonl.gz", "dl19-gpt4/dl19-graded.jsonl.gz"):
        source, copy = shared_data / name, tmp_path / "copy.jsonl.gz"
        with passages_writer(copy, inputs=[source]) as writer:
            for query in read_passages(source):
                writer.write(query)
        with gzip.open(source) as before, gzip.open(copy) as after:
            for old, new in zip(before, after, strict=True):
                assert json.loads(new) == json.loads(old)


def test_ids_of_published_banks(shared_data: Path) -> None:
    for name, text_key in (("dl20-questions", "question_text"), ("dl20-nuggets", "nugget_text")):
        bank = read_bank(shared_data / "dl20" / f"{name}.jsonl.gz")
        assert sum(len(each.items) for each in bank.lines) == 540
        for each in bank.lines:
            for item in each.items:
                assert item.entry_id == entry_id(item.query_id, getattr(item, text_key))
