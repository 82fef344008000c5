"""Output of `exam-pp bank show`, and merging of banks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import entry_id, published_id
from exam_pp.cli.banks.show import importance, lint
from exam_pp.cli.main import main
from exam_pp.phases.banks.compare import differences
from exam_pp.store.banks.bank_json import read_bank

WriteLines = Callable[[str, list[Any]], Path]


def entry(text: str, key: str | None = None, **more: Any) -> dict[str, Any]:
    return {"query_id": "q1", "nugget_id": key or entry_id("q1", text), "nugget_text": text, **more}


def line(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"query_id": "q1", "query_text": "rock n roll", "items": list(items), **more}


def test_lint(write_jsonl: WriteLines) -> None:
    items = [
        entry("Rooted in blues"),
        entry("rooted in  blues."),
        entry("Country music"),
        entry("Elvis", entry_id("q1", "Presley")),
        entry("a " * 13),
        entry("Chuck Berry", importance="high"),
        entry("Bill Haley", "q1/x"),
        entry("Bill Haley", "q1/x"),
        entry(" ", "q1/y"),
    ]
    bank = write_jsonl("bank.jsonl", [line(*items), {"query_id": "q2", "items": []}])
    assert [(p.severity, p.query_id, p.problem) for p in lint(read_bank(bank))] == [
        ("error", "q1", "duplicate of 'Rooted in blues'"),
        ("warning", "q2", "the query has no text"),
        ("error", "q2", "the query has no entries"),
        ("warning", "q1", "the id belongs to another text: grades of the old text count for the new text"),
        ("warning", "q1", "has more than 12 words"),
        ("warning", "q1", "the importance 'high' is neither vital nor okay"),
        ("error", "q1", "the text is empty"),
        ("warning", "q1", "the id occurs 2 times"),
    ]


def test_nuggets_without_importance_are_a_warning(write_jsonl: WriteLines) -> None:
    bank = read_bank(write_jsonl("bank.jsonl", [line(entry("one"), entry("two"))]))
    (problem,) = importance(bank)
    assert problem.problem == "no nugget has the importance vital, so nugget scores are only A and A_strict"
    vital = read_bank(write_jsonl("vital.jsonl", [line(entry("one", importance="vital"), entry("two"))]))
    assert not list(importance(vital))


def test_published_ids_are_not_accused(write_jsonl: WriteLines) -> None:
    """Digests of the text as it stands, stripped, and with its list number; the last is of another text."""
    texts = ["Rooted in blues ", "Country music", "Bill Haley ", "Elvis"]
    digests = ["Rooted in blues ", "Country music ", "12. Bill Haley ", "12. Presley"]
    items = [entry(text, published_id("q1", of)) for text, of in zip(texts, digests, strict=True)]
    items[1]["nugget_text"] = "Country music "
    items[1]["nugget_id"] = entry_id("q1", "Country music")
    (problem,) = lint(read_bank(write_jsonl("bank.jsonl", [line(*items)])))
    assert (problem.text, problem.severity) == ("Elvis", "warning")
    assert problem.problem.startswith("the id belongs to another text")


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (
            [line(entry("Elvis", facet, facet_id=facet), facet_id=facet) for facet in ("a", "b")],
            ("warning", "Elvis", "duplicate of 'Elvis' of the facet 'a'"),
        ),
        (
            [line(entry("Elvis", "q1/x"), entry("Chuck Berry", "q1/x"))],
            ("error", None, "the id occurs 2 times, with different texts"),
        ),
        (
            [line(entry("the age by Hubble"), entry("age by Hubble"))],
            ("warning", "age by Hubble", "shares"),
        ),
    ],
)
def test_a_bank_with_one_problem(
    lines: Any, problem: tuple[str, str | None, str], write_jsonl: WriteLines
) -> None:
    (found,) = lint(read_bank(write_jsonl("bank.jsonl", lines)))
    assert (found.severity, found.text) == problem[:2]
    assert found.problem.startswith(problem[2])


def test_show_and_stats(demo_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank = str(demo_data / "nuggets.jsonl")
    main(["bank", "show", bank, "--query", "d07", "--format", "tsv"])
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split("\t") == ["query_id", "facet", "kind", "entry", "importance", "entry_id"]
    assert {row.split("\t")[1] for row in rows[1:]} == {"colony", "dance", "threats"}
    main(["bank", "show", bank, "--only", "counts", "--format", "tsv"])
    stats = dict(row.split("\t") for row in capsys.readouterr().out.splitlines())
    assert (stats["nuggets"], stats["importance vital"], stats["facets"]) == ("178", "107", "3")


def test_differences(write_jsonl: WriteLines, capsys: pytest.CaptureFixture[str]) -> None:
    old = write_jsonl("old.jsonl", [line(entry("a", "1"), entry("b", "2"), entry("c", "3"))])
    history = [{"op": "reword", "id": "2", "new_id": "2b"}, {"op": "reword", "id": "2b", "new_id": "2c"}]
    new = write_jsonl(
        "new.jsonl",
        [line(entry("a", "1", weight=2.0), entry("B!", "2c"), entry("d", "4"), info={"history": history})],
    )
    result = differences(read_bank(old), read_bank(new))
    assert [(d.entry_id, d.change, d.before, d.after) for d in result] == [
        ("1", "weight", "1.0", "2.0"),
        ("2", "reworded", "b", "B!"),
        ("3", "removed", "c", None),
        ("4", "added", None, "d"),
    ]
    assert differences(read_bank(old), read_bank(old)) == []


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (line(entry("b", "q1/1")), "'q1/1' is the nugget 'b'"),
        (line(entry("c", "q1/2"), query_text="jazz"), "'jazz'"),
    ],
)
def test_merge_conflicts(
    other: Any, message: str, write_jsonl: WriteLines, capsys: pytest.CaptureFixture[str]
) -> None:
    banks = [str(write_jsonl(f"{n}.jsonl", [of])) for n, of in enumerate((line(entry("a", "q1/1")), other))]
    with pytest.raises(SystemExit):
        main(["merge", *banks, "-o", "out"])
    assert message in capsys.readouterr().err


def test_merged_banks(write_jsonl: WriteLines) -> None:
    lines = line(entry("a", "q1/1")), line(entry("a", "q1/1"), entry("c", "q1/2"), info={"by": "x"})
    banks = [str(write_jsonl(f"{n}.jsonl", [of])) for n, of in enumerate(lines)]
    main(["-q", "merge", *banks, "-o", "out"])
    merged = json.loads(Path("out").read_text(encoding="utf-8"))
    assert [item["nugget_text"] for item in merged["items"]] == ["a", "c"]
    assert merged["info"] == {"merged": [{"by": "x"}]}


def test_a_page_has_counts_problems_and_entries(
    write_jsonl: WriteLines, demo_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["bank", "show", str(demo_data / "questions.jsonl")])
    page = capsys.readouterr().out
    assert page.index("queries") < page.index("0 errors, 0 warnings.") < page.index("heat pump or gas")
    bad = str(write_jsonl("bad.jsonl", [line(entry("a", "1"), entry("A.", "2"))]))
    with pytest.raises(SystemExit, match="1"):
        main(["bank", "show", bad, "--only", "problems", "--format", "tsv"])
    assert "duplicate of 'a'" in capsys.readouterr().out
    main(["bank", "show", bad, "--format", "tsv"])  # the entries, without problems
    assert capsys.readouterr().out.splitlines()[0] == "query_id\tkind\tentry\tentry_id"
