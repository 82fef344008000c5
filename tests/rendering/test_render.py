"""Renderers of reports: text, TSV, Markdown, JSON, HTML and LaTeX."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.rendering.document import Block, Heading, Link, Paragraph, Quote, Report, Table
from exam_pp.rendering.render import RENDERERS, render

BOARD = Table(["system", "score", "queries"], [["a|b", 0.12345, 3], ["_c", None, 10]], title="Board")
REPORT = Report("Title", [Heading("Part"), Paragraph("Some words."), BOARD, Quote("A <b>passage</b>.", "p1")])


def test_columns_of_text_are_aligned_on_the_terminal() -> None:
    """Wide characters take two columns, combining accents none."""
    table = Table(["system", "RR"], [["\u7cfb\u7edf", 0.5], ["nai\u0308ve", 0.25], ["plain", 1.0]])
    lines = render(Report("", [table]), "text").splitlines()

    assert lines[2:] == ["\u7cfb\u7edf    0.500", "nai\u0308ve   0.250", "plain   1.000"]


@pytest.mark.parametrize(
    ("report", "form", "shown"),
    [
        (
            REPORT, "text",
            "Title\n\nPart\n====\n\nSome words.\n\nBoard\n"
            "system  score  queries\n------  -----  -------\na|b     0.123        3\n_c                  10\n"
            "\np1\n    A <b>passage</b>.\n",
        ),
        (REPORT, "tsv", "system\tscore\tqueries\na|b\t0.123\t3\n_c\t\t10\n"),
        (
            Report("", [BOARD, Table(["x"], [[1]])]), "tsv",
            "# Board\nsystem\tscore\tqueries\na|b\t0.123\t3\n_c\t\t10\n\nx\n1\n",
        ),
        (
            Report("", [Heading("Part"), BOARD]), "md",
            "## Part\n\n**Board**\n\n| system | score | queries |\n| --- | ---: | ---: |\n"
            "| a\\|b | 0.123 | 3 |\n| _c |  | 10 |\n",
        ),
    ],
    ids=["text", "tsv has only the tables", "tsv of two tables", "Markdown"],
)  # fmt: skip
def test_a_small_report(report: Report, form: str, shown: str) -> None:
    assert render(report, form) == shown


def test_markdown_has_no_html_elements() -> None:
    """Wikis execute HTML elements in Markdown."""
    bad = "<script>x</script>"
    table = Table([bad], [[bad]], title=bad)
    blocks: list[Block] = [Heading(bad + "\n# more"), Paragraph(bad), Quote(bad, bad), Link(bad, "a.html")]
    shown = render(Report(bad, [*blocks, table]), "md")
    assert "<script" not in shown
    assert shown.count("&lt;script>") == 9
    assert "\n# more" not in shown


def test_markdown_of_a_passage_loads_nothing() -> None:
    bad = "![seen](https://example.org/x.png) [a](javascript:x) [b][c]\n\n[c]: https://example.org"
    report = Report(bad, [Heading(bad), Paragraph(bad), Quote(bad, bad), Table([bad], [[bad]], title=bad)])
    shown = render(report, "md")
    assert not re.search(r"\](\(|\[|:)", shown)
    assert shown.count("![seen]\\(https://example.org/x.png)") == 8


@pytest.mark.parametrize("form", ["text", "md"])
def test_control_characters_do_not_reach_a_terminal(form: str) -> None:
    hostile = "\x1b[2J\x9b31m\x07\u202e\x7fred"
    report = Report(
        hostile, [Heading(hostile), Paragraph(hostile), Table(["x"], [[hostile]]), Quote(hostile)]
    )
    shown = render(report, form)
    assert shown.count("\ufffd[2J\ufffd31m\ufffd\ufffd\ufffdred") == 5
    assert not [c for c in shown if not c.isprintable() and c != "\n"]


def test_json_is_not_rounded() -> None:
    document = json.loads(render(REPORT, "json"))
    assert document["notes"] == ["Some words."]
    assert document["tables"][0]["rows"][0] == {"system": "a|b", "score": 0.12345, "queries": 3}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=15)


@given(st.lists(st.tuples(texts, st.none() | st.floats(-10, 10) | st.integers(-10, 10), texts), max_size=4))
def test_any_table_keeps_its_shape(rows: list[tuple[str, float | int | None, str]]) -> None:
    report = Report("", [Table(["name", "value", "note"], rows)])
    lines = render(report, "tsv").removesuffix("\n").split("\n")
    read = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(read) == 1 + len(rows)
    assert all(len(row) == 3 for row in read)
    for name in RENDERERS:
        assert render(report, name).endswith("\n")
    assert [row["name"] for row in json.loads(render(report, "json"))["tables"][0]["rows"]] if rows else True


def test_latex_commands_are_escaped() -> None:
    bad = "\\input{x}\n\n\\input{y}\x00"
    table = Table(["[a]", "b"], [["[2em]", "x"], ["*best", bad]], title=bad)
    shown = render(Report(bad, [Heading(bad, 5), table]), "latex")
    assert "\\input" not in "\n".join(line for line in shown.splitlines() if not line.startswith("% "))
    assert "\x00" not in shown
    assert "\\subsubsection*{\\textbackslash{}input\\{x\\} \\textbackslash{}input" in shown
    # LaTeX would read a bracket or a star after the end of a row as its option.
    assert not re.search(r"\\\\\s*(\\hline)?\s*[\[*]", shown)


_INJECTED = "INJECTED 0.9"
_BREAKS = ("\n", "\r", "\r\n", "\n\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\t\n")


@pytest.mark.parametrize("line_end", _BREAKS, ids=ascii)
@pytest.mark.parametrize("form", ["text", "md", "tsv", "latex"])
def test_no_text_of_a_report_starts_a_line(form: str, line_end: str) -> None:
    """Whatever a text names, such as a model or a query: its second line is not a line of the report."""
    name = f"name{line_end}{_INJECTED}"
    table = Table([name, "b"], [[name, 1.0], ["x", 2.0]], name)
    blocks: list[Block] = [
        Heading(name), Paragraph(name), Quote("text", name), Link(name, name), table,
        replace(table, title=f"{name} again"),
    ]  # fmt: skip
    lines = render(Report(name, blocks), form).splitlines()
    assert not [line for line in lines if line.lstrip("#%*> ").startswith(_INJECTED)]
