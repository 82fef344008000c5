"""The reply journal: nothing lost, first reply wins, one writer."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import OutputError
from exam_pp.messages import Completion
from exam_pp.store.journal import Journal, journal_path

COMPLETIONS = st.builds(
    Completion,
    text=st.text(),
    error=st.none() | st.text(),
    label_logprobs=st.lists(st.floats(max_value=0, allow_nan=False)).map(tuple),
    tokens_cut=st.integers(0, 10**6),
)


@given(replies=st.dictionaries(st.text(min_size=1), COMPLETIONS))
def test_replies_come_back_as_they_were(replies: dict[str, Completion]) -> None:
    with Journal(None) as journal:
        journal.add(replies)
        assert journal.get(replies) == replies
        assert len(journal) == len(replies)


def test_the_first_reply_stays(tmp_path: Path) -> None:
    path = journal_path(tmp_path / "graded.jsonl.gz")
    assert path == tmp_path / "graded.jsonl.gz.journal"
    with Journal(path) as journal:
        journal.add({"a": Completion("first")})
    with Journal(path) as journal:
        journal.add({"a": Completion("second"), "b": Completion(label_logprobs=(-math.inf, -1.0))})
        assert journal.get(["a", "b", "c"]) == {
            "a": Completion("first"),
            "b": Completion(label_logprobs=(-math.inf, -1.0)),
        }


def test_failures_are_forgotten_on_request() -> None:
    with Journal(None) as journal:
        journal.add({"good": Completion("4"), "bad": Completion(error="out of memory")})
        assert journal.forget_failures() == 1
        assert set(journal.get(["good", "bad"])) == {"good"}


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "j"), pytest.raises(OutputError, match="in use by another grading"):
        Journal(tmp_path / "j")


def test_a_file_that_is_no_journal_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(b"my notes, not a journal " * 100)
    with pytest.raises(OutputError, match="is not a journal"):
        Journal(path)
    assert path.read_bytes().startswith(b"my notes")


def test_removing_leaves_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.add({"a": Completion("1")})
    journal.remove()
    assert not list(tmp_path.iterdir())


def test_somebody_else_s_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "mine.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE notes (words TEXT)")
    with pytest.raises(OutputError, match="is not a journal"):
        Journal(path)
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT * FROM notes").fetchall() == []
