"""Cells that a spreadsheet would run: escaped, and read back as they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.text.spreadsheet_cells import is_decimal, unescaped, with_apostrophe


@given(st.text(alphabet="'=+-@\t\rx1", max_size=6))
def test_escaped_cells_come_back_and_do_not_run(cell: str) -> None:
    assert unescaped(with_apostrophe(cell)) == cell
    assert with_apostrophe(cell)[:1] not in set("=+-@\t\r")


@pytest.mark.parametrize("cell", ["0", "-1", "+1.5", "-.5", "2.", "1e-07", "-1E+5", "-inf"])
def test_numbers(cell: str) -> None:
    assert is_decimal(cell)


@pytest.mark.parametrize(
    "cell", ["", "-", "=1", "1_0", "-1+2", "--1", "\N{FULLWIDTH DIGIT ONE}", "-1\n", "1 "]
)
def test_other_cells_are_not_numbers(cell: str) -> None:
    assert not is_decimal(cell)
