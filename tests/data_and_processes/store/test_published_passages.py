"""Published passages files: every reader gives the same values, and a copy has the same bytes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from exam_pp.store.passages.graded_file import passages_writer, read_passages
from exam_pp.store.passages.raw_passages import read_raw_passages
from tests.store.passages.test_graded_file import every_field, view


@pytest.mark.parametrize(
    "name", ["llmjudge-dev/flan-t5-large-graded.jsonl.gz", "dl19-gpt4/dl19-graded.jsonl.gz"]
)
def test_published_passages(name: str, shared_data: Path, tmp_path: Path) -> None:
    path, copy = shared_data / name, tmp_path / "copy.jsonl"
    raw = read_raw_passages(path)
    with passages_writer(copy) as writer:
        for query, checked, kept in zip(read_passages(path), every_field(path), raw, strict=True):
            assert view([query]) == view([checked]) == view([kept])
            writer.write(kept)
    assert copy.read_bytes() == gzip.decompress(path.read_bytes())
