"""read_rankings gives the same result or error as read_run."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError
from exam_pp.store.trec.runs import MethodName, Run, read_rankings, read_run

odd = st.sampled_from(
    ["1e3", "-1e-400", "+1", ".5", "5.", "-", ".", "1_0", "inf", "nan", "0x1", "1.2.3", "--1"]
)
scores = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.integers(-(10**17), 10**17).map(str),
    st.decimals(-(10**6), 10**6, places=6).map(str),
)
names = st.sampled_from(
    ["d", "d#1", 'a"b', "#", "msmarco_passage_00000001", "x" * 257, "é", "007", "\x00", "a'"]
)
LONG = "1" * 4301
"""More digits than Python converts to an int."""
ranks = st.sampled_from(["0", "1", "12", "1000000000", "-1", "1.0", "1e3", "1_0", "\u0663", "\u00b2", LONG])


def line(separator: str, tag: str, fields: tuple[str, str, str, str]) -> str:
    query, passage, rank, score = fields
    return separator.join([query, "Q0", passage, rank, score, tag])


plain_lines = st.tuples(st.sampled_from(["1", "01", "query-of-ten"]), names, ranks, scores)
lines = st.builds(
    line,
    st.sampled_from([" ", " ", " ", "\t", "  ", "\x0b", "\x1c", "\xa0"]),
    st.sampled_from(["t", "t", "t", "u"]),
    st.tuples(st.sampled_from(["1", "01", "q"]), names, ranks, st.one_of(scores, odd)),
)
plain = st.lists(st.builds(line, st.sampled_from([" ", "\t"]), st.just("t"), plain_lines), min_size=1)
files = st.builds(
    lambda body, end, last, mark: mark + end.join(body) + last,
    st.one_of(plain, st.lists(lines)),
    st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\r"]),
    st.sampled_from(["", "\n", "\n\n", "\r\n", "\n\u3000\n"]),
    st.sampled_from(["", "", "\ufeff"]),
)


def by_lines(path: Path, method: MethodName) -> dict[str, Run]:
    systems: dict[str, Run] = {}
    for line in read_run(path, method=method):
        systems.setdefault(line.system, {}).setdefault(line.query_id, {})[line.passage_id] = line.score
    return systems


def outcome(read: Callable[[], dict[str, Run]]) -> str:
    """The rankings in order, or the error."""
    try:
        return repr(read())
    except DataError as error:
        return f"error: {error}"


def assert_same(path: Path, method: MethodName = "stem") -> None:
    assert outcome(lambda: read_rankings(path, method=method)) == outcome(lambda: by_lines(path, method))


@given(files, st.booleans(), st.sampled_from(["stem", "tag"]))
def test_the_fast_reader_equals_the_reader_of_lines(
    tmp_path_factory: pytest.TempPathFactory, text: str, zipped: bool, method: MethodName
) -> None:
    path = tmp_path_factory.getbasetemp() / "s.run"
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    assert_same(path, method)


@pytest.mark.parametrize(
    "text", [b"", b"\n", b"q Q0 d 1 2\n", b"1 0 2 3 4\n1 0 2 3 4 t 5\n", b"q Q0 d 1 2 t\nq Q0 \xe9 1 2 t\n"]
)
def test_files_without_a_run(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "s.run"
    path.write_bytes(text)
    assert_same(path)
