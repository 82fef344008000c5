"""The reply journal: durable, the first reply wins, a single writer."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import ExamError, OutputError
from exam_pp.llm_requests import Completion
from exam_pp.store.passages.journal import Journal, journal_path

COMPLETIONS = st.builds(
    Completion,
    text=st.text(),
    error=st.none() | st.text(),
    label_logprobs=st.lists(st.floats(max_value=0, allow_nan=False)).map(tuple),
    tokens_cut=st.integers(0, 10**6),
    claim_tokens_cut=st.integers(0, 10**6),
)


@given(replies=st.dictionaries(st.text(min_size=1), COMPLETIONS))
def test_replies_come_back_as_they_were(replies: dict[str, Completion]) -> None:
    with Journal(None) as journal:
        journal.add(replies)
        assert journal.get(replies) == replies
        assert len(journal) == len(replies)


def test_the_first_reply_is_kept(tmp_path: Path) -> None:
    path = journal_path(tmp_path / "graded.jsonl.gz")
    assert path == tmp_path / ".graded.jsonl.gz.journal"
    with Journal(path) as journal:
        journal.add({"a": Completion("first")})
    with Journal(path) as journal:
        journal.add({"a": Completion("second"), "b": Completion(label_logprobs=(-math.inf, -1.0))})
        assert journal.get(["a", "b", "c"]) == {
            "a": Completion("first"),
            "b": Completion(label_logprobs=(-math.inf, -1.0)),
        }


def test_failures_are_removed_on_request() -> None:
    impossible = Completion("4", label_logprobs=(-math.inf, -1.0))
    with Journal(None) as journal:
        journal.add({"good": Completion("4"), "bad": Completion(error="out of memory"), "sure": impossible})
        assert journal.forget_failures() == 1
        assert journal.all_replies() == {"good": Completion("4"), "sure": impossible}


def test_a_damaged_journal_is_an_error_and_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "j"
    keys = [f"key {number}" for number in range(3000)]
    with Journal(path) as journal:
        journal.add({key: Completion("a reply " * 20) for key in keys})
    whole = path.read_bytes()
    damaged = whole[:4096] + bytes(len(whole) - 4096)
    path.write_bytes(damaged)
    with Journal(path) as journal:
        for read in (lambda: journal.get(keys), journal.all_replies, journal.forget_failures):
            with pytest.raises(OutputError, match=f"{path} is damaged"):
                read()
    with Journal(None) as journal, pytest.raises(OutputError, match=f"{path} is damaged"):
        journal.take_over(path)
    assert path.read_bytes() == damaged


def test_a_damaged_reply_is_removed_and_requested_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "j"
    with Journal(path) as journal:
        journal.add({"a": Completion("0 of 5"), "b": Completion("1")})
    path.write_bytes(path.read_bytes().replace(b"0 of 5", b"4 of 5"))
    with Journal(path) as journal:
        assert journal.get(["a", "b"]) == {"b": Completion("1")}
        assert f"The journal {path}: 1 reply is damaged and was removed" in caplog.text
        journal.add({"a": Completion("0 of 5")})
        assert journal.all_replies() == {"a": Completion("0 of 5"), "b": Completion("1")}


def test_no_flipped_bit_of_a_journal_is_taken_for_a_reply(tmp_path: Path) -> None:
    """The digits of the replies differ, so that a changed bit gives another plausible reply."""
    path, rng = tmp_path / "replies.journal", Random(1)
    replies = {
        f"{7 * number:016x}/{11 * number:032x}": Completion(
            str(number % 6) * (1 + number % 3), None if number % 9 else f"failure {number}", (-0.5, -1.25)
        )
        for number in range(400)
    }
    with Journal(path) as journal:
        journal.add(replies)
    good, missing = path.read_bytes(), 0
    for number in range(150):
        damaged = bytearray(good)
        damaged[rng.randrange(len(good))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with suppress(ExamError), Journal(path) as journal:
            read = journal.all_replies() if number % 2 else journal.get(replies)
            assert read.items() <= replies.items()
            missing += len(read) < len(replies)
    assert missing > 150 / 3


def test_a_truncated_journal_is_an_error_and_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path) as journal:
        journal.add({f"key {number}": Completion("a reply " * 20) for number in range(300)})
    path.write_bytes(path.read_bytes()[: 4096 * 3])
    for _ in range(2):
        with pytest.raises(OutputError, match=f"{path} is damaged"):
            Journal(path)


def test_all_files_of_a_journal_are_hidden_and_removed(tmp_path: Path) -> None:
    with Journal(journal_path(tmp_path / "out.jsonl")) as journal:
        journal.add({"a": Completion("4")})
        assert {path.name for path in tmp_path.iterdir()} == {
            ".out.jsonl.journal", ".out.jsonl.journal-wal", "..out.jsonl.journal.lock",
        }  # fmt: skip
        journal.remove()
    assert not list(tmp_path.iterdir())


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(OutputError, match=r"/j .*in use"):
        Journal(tmp_path / "j")


def test_a_file_that_is_not_a_journal_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(b"my notes, not a journal " * 100)
    with pytest.raises(OutputError, match=f"{path} is not"):
        Journal(path)
    assert path.read_bytes().startswith(b"my notes")


def test_replies_are_on_the_disk_before_the_next_batch(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_another_sqlite_database_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE notes (words TEXT)")
    before = path.read_bytes()
    with pytest.raises(OutputError, match=f"{path} is not"):
        Journal(path)
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT * FROM notes").fetchall() == []


def test_replies_of_other_models_are_counted_and_kept() -> None:
    with Journal(None) as journal:
        journal.model = "ab1"
        journal.add({key: Completion("1") for key in ("ab1/x", "ab1/y", "ab10/x", "ab/x", "ab1", "ab10")})
        assert journal.count_other_replies() == 4
        journal.remove_own_replies()
        assert sorted(journal.all_replies()) == ["ab/x", "ab1", "ab10", "ab10/x"]
