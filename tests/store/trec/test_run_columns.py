"""Runs as columns say what the lines say, or nothing."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError
from exam_pp.store.trec.run_columns import read_run_columns
from exam_pp.store.trec.runs import MethodName, read_run

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
ranks = st.sampled_from(["0", "1", "12", "1000000000", "-1", "1.0", "1e3"])


def line(separator: str, tag: str, fields: tuple[str, str, str, str]) -> str:
    query, passage, rank, score = fields
    return separator.join([query, "Q0", passage, rank, score, tag])


plain_lines = st.tuples(st.sampled_from(["1", "01", "query-of-ten"]), names, ranks, scores)
lines = st.builds(
    line,
    st.sampled_from([" ", " ", " ", "\t", "  ", "\x0b"]),
    st.sampled_from(["t", "t", "t", "u"]),
    st.tuples(st.sampled_from(["1", "01", "q"]), names, ranks, st.one_of(scores, odd)),
)
plain = st.lists(st.builds(line, st.sampled_from([" ", "\t"]), st.just("t"), plain_lines), min_size=1)
files = st.builds(
    lambda body, end, last, mark: mark + end.join(body) + last,
    st.one_of(plain, st.lists(lines)),
    st.sampled_from(["\n", "\n", "\r\n", "\n\n", "\r"]),
    st.sampled_from(["", "\n", "\n\n", "\r\n"]),
    st.sampled_from(["", "", "\ufeff"]),
)


@pytest.mark.parametrize(
    "score", ["-", ".", "-.", "1.2.3", "--1", "1-", "+1", "1_0", "0x1", "", "1e3", "-.5", "5."]
)
def test_scores_that_look_odd(score: str, tmp_path: Path) -> None:
    """Read as Python reads numbers, or left to the reading line by line."""
    path = tmp_path / "s.run"
    path.write_text(f"q Q0 d 1 {score} t\nq Q0 e 2 -1.5 t\n")
    try:
        expected = float(score)
    except ValueError:
        assert read_run_columns(path) is None
    else:
        columns = read_run_columns(path)
        assert columns is None or columns.scores.tolist() == [expected, -1.5]


@pytest.mark.parametrize(("width", "read"), [(256, True), (257, False)])
def test_wide_fields_are_read_line_by_line(width: int, read: bool, tmp_path: Path) -> None:
    """Every field of a column would take as much memory as the widest."""
    path = tmp_path / "s.run"
    path.write_text(f"q Q0 {'d' * width} 1 2 t\n")

    assert (read_run_columns(path) is not None) is read


def by_lines(path: Path, method: MethodName) -> list[tuple[str, str, str, float]]:
    return [
        (line.system, line.query_id, line.passage_id, line.score) for line in read_run(path, method=method)
    ]


@given(files, st.booleans(), st.sampled_from(["stem", "tag"]))
def test_columns_say_what_the_lines_say(
    tmp_path_factory: pytest.TempPathFactory, text: str, zipped: bool, method: MethodName
) -> None:
    path = tmp_path_factory.getbasetemp() / "s.run"
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    columns = read_run_columns(path, method=method)
    if columns is None:
        return
    queries = np.repeat(columns.query_ids, np.diff(columns.starts, append=len(columns.scores))).tolist()
    ids = [passage_id.decode() for passage_id in columns.passage_ids.tolist()]
    found = [(columns.system, *row) for row in zip(queries, ids, columns.scores.tolist(), strict=True)]
    try:
        assert found == by_lines(path, method)
    except DataError as error:
        if "occurs twice" not in str(error):  # which columns leave to others
            raise


@pytest.mark.parametrize(
    "text",
    [
        "q Q0 d 1 3.25 t\nq Q0 e 2 3.25 t\nr Q0 d 1 -0.5 t\nq Q0 f 3 1e-3 t",
        "\ufeffq\tQ0\td\t1\t7\tt\r\nq\tQ0\te\t2\t.5\tt\r\n",
    ],
)
def test_plain_files_are_taken(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.run.gz"
    path.write_bytes(gzip.compress(text.encode()))
    columns = read_run_columns(path)
    assert columns is not None
    assert columns.scores.tolist() == [row[3] for row in by_lines(path, "stem")]


@pytest.mark.parametrize("text", ["", "\n", "q Q0 d 1 2\n", "1 0 2 3 4\n1 0 2 3 4 t 5\n", "q Q0 é 1 2 t\n"])
def test_others_are_left_to_the_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.run"
    path.write_text(text)
    assert read_run_columns(path) is None
