"""Reading passages files: fields that are decoded later give what a reader of every field gives."""

from __future__ import annotations

from pathlib import Path

from exam_pp.store.passages.graded_file import read_passages
from tests.store.passages.test_graded_file import every_field, view


def test_readers_agree_on_real_files(shared_data: Path) -> None:
    for name in ("llmjudge-dev/flan-t5-large-graded.jsonl.gz", "dl19-gpt4/dl19-graded.jsonl.gz"):
        path = shared_data / name
        for query, checked in zip(read_passages(path), every_field(path), strict=True):
            assert view([query]) == view([checked])
