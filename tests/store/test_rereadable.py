"""Pipes and standard input are read once, and can be opened again."""

from __future__ import annotations

import gc
import gzip
import hashlib
import io
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from exam_pp.store.files import read_lines, size_and_sha256
from tests.conftest import data_error

TEXT = b"a\nb\n"
LINES = [(1, b"a"), (2, b"b")]


@contextmanager
def pipe_with(data: bytes) -> Iterator[str]:
    """The path that a shell passes for ``<(zcat graded.jsonl.gz)``."""
    read, write = os.pipe()
    with os.fdopen(read), os.fdopen(write, "wb") as stream:
        stream.write(data)
        stream.close()
        yield f"/dev/fd/{read}"


@contextmanager
def standard_input(
    data: bytes, buffered: Callable[[io.BytesIO], object] = io.BufferedReader
) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=buffered(io.BytesIO(data))))
        yield "-"


@pytest.mark.parametrize("data", [TEXT, gzip.compress(TEXT), b""], ids=["text", "gzip", "empty"])
@pytest.mark.parametrize("open_stream", [pipe_with, standard_input])
def test_a_stream_is_read_again(
    data: bytes,
    open_stream: Callable[[bytes], AbstractContextManager[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    lines = LINES if data else []
    for _ in range(2):  # the system could give the number of a closed pipe to the next one
        with open_stream(data) as path:
            first, second = read_lines(path), read_lines(path)
            assert [*zip(first, second, strict=True)] == [*zip(lines, lines, strict=True)]
            assert list(read_lines(path)) == lines
            assert size_and_sha256(path) == (len(data), hashlib.sha256(data).hexdigest())
        data += data
        lines = [(number, line) for number, (_, line) in enumerate(lines * 2, 1)]
    assert list(tmp_path.iterdir()) == [], "the copy has no name, so a killed process leaves no file"


def test_lines_come_before_the_end_of_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    go_on = threading.Event()

    def write() -> None:
        with (tmp_path / "pipe").open("wb", buffering=0) as stream:
            stream.write(b"a\nb")
            go_on.wait(60)
            stream.write(b"\n")

    writer = threading.Thread(target=write)
    writer.start()
    first = read_lines(tmp_path / "pipe")
    assert next(first) == LINES[0]
    second = read_lines(tmp_path / "pipe")
    assert next(second) == LINES[0]
    go_on.set()
    assert list(second) == list(first) == LINES[1:]
    writer.join()


@pytest.mark.parametrize("folder", ["/tmp", "/nowhere"])
def test_only_the_second_reader_needs_the_copy(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without space for the copy, or without a folder for it."""
    monkeypatch.setattr("tempfile.tempdir", folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        with pipe_with(TEXT) as path:
            assert list(read_lines(path)) == LINES
            with data_error(path, about="TMPDIR"):
                list(read_lines(path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_copy_is_closed_with_its_standard_input() -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        with standard_input(TEXT, buffered=lambda raw: raw) as path:
            assert list(read_lines(path)) == LINES
    gc.collect()
    assert len(list(Path("/dev/fd").iterdir())) <= before + 1
