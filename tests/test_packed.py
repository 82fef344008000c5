"""Mappings that keep values as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from exam_pp import packed
from exam_pp.errors import OutputError
from exam_pp.packed import PackedMapping


def text_mapping() -> PackedMapping[str]:
    return PackedMapping(str.encode, bytes.decode)


@pytest.mark.parametrize("limit", [10, 2**20])
def test_a_mapping_in_memory_and_on_disk(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_IN_MEMORY", limit)
    values = text_mapping()
    for number in range(20):
        values[str(number % 15)] = f"value {number} " * number
    assert list(values) == [str(number) for number in range(15)]
    assert values["0"] == "value 15 " * 15
    assert values["14"] == "value 14 " * 14
    assert (len(values), "3" in values, "20" in values) == (15, True, False)
    del values["0"]
    with pytest.raises(KeyError):
        values["0"]


def test_a_full_folder_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    values = text_mapping()
    write: Callable[..., Any] = full
    monkeypatch.setattr(values._file, "write", write)
    with pytest.raises(OutputError, match=r"temporary file .*: No space left on device"):
        values["a"] = "b"
