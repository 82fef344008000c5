"""Rows on a terminal: no markup, no control characters, a maximum number of rows."""

from __future__ import annotations

import re

import pytest

from exam_pp.rendering.rows import draw_rows


def test_rows_are_drawn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    rows = [("[bold]p1[/bold]", 0.25, None), ("[/]", 12, [1, "x"])]
    assert not draw_rows(["passage", "value", "value"], rows)
    out = capsys.readouterr().out
    shown = ("passage", "value", "value_2", "[bold]p1[/bold]", "[/]", "0.250", '[1, "x"]')
    assert [text for text in shown if text not in out] == []
    assert max(map(len, out.splitlines())) <= 60


def test_rows_beyond_the_maximum_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert draw_rows(["n"], ((number,) for number in range(1000)), max_rows=3)
    assert re.findall(r" (\d+) ", capsys.readouterr().out) == ["0", "1", "2"]


def test_control_characters_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    draw_rows(["text\x1b[2J"], [("red \x1b[31m words",)])
    out = capsys.readouterr().out
    assert not re.search(r"\x1b\[(31m|2J)", out)
    assert "red \N{REPLACEMENT CHARACTER}[31m words" in out
