"""Lazy editing of passages files: unchanged parts keep their bytes, values equal those of other readers."""

from __future__ import annotations

from pathlib import Path

from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.passages.raw_passages import read_raw_passages


def test_published_files_are_copied_byte_by_byte(shared_data: Path, tmp_path: Path) -> None:
    for name in ("llmjudge-dev/flan-t5-large-graded.jsonl.gz", "dl19-gpt4/dl19-graded.jsonl.gz"):
        copy = tmp_path / "copy.jsonl"
        with passages_writer(copy) as writer:
            for query in read_raw_passages(shared_data / name):
                for one in query.passages:
                    assert one.passage_id
                    list(one.grade_sets())
                writer.write(query)
        import gzip

        with gzip.open(shared_data / name) as before:
            assert copy.read_bytes() == before.read()
