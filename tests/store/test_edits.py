"""Digests of reviewed files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.store.edits import file_sha256

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def written(value: Any) -> str:
    """The SHA-256 of a value as the json module writes it with sorted keys, as in edits files."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") + b"\n").hexdigest()


@given(VALUES)
def test_the_digest_is_that_of_sorted_json(value: Any) -> None:
    Path("file.jsonl").write_text(json.dumps(value, indent=None) + "\n", encoding="utf-8")
    assert file_sha256("file.jsonl") == written(value)


@pytest.mark.parametrize(
    "line", ["1e999", "1E5", "-1E-05", "0.00001", "-0.0", "1" * 30, "1.50", '{"b": 1, "a": 2, "b": 3}', "NaN"]
)
def test_spellings_of_numbers_do_not_matter(line: str) -> None:
    Path("file.jsonl").write_text(f" {line}\r\n", encoding="utf-8")
    assert file_sha256("file.jsonl") == written(json.loads(line))
