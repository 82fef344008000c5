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
        entry("Evolved from rhythm and blues"),
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
        ("warning", "q1", "has more than 4 words"),
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


def test_equal_words_in_two_facets_are_a_warning(write_jsonl: WriteLines) -> None:
    lines = [line(entry("Elvis", facet, facet_id=facet), facet_id=facet) for facet in ("a", "b")]
    (problem,) = lint(read_bank(write_jsonl("bank.jsonl", lines)))
    assert (problem.severity, problem.problem) == ("warning", "duplicate of 'Elvis' of the facet 'a'")


def test_an_id_with_two_texts_is_an_error(write_jsonl: WriteLines) -> None:
    items = [entry("Elvis", "q1/x"), entry("Chuck Berry", "q1/x")]
    (problem,) = lint(read_bank(write_jsonl("bank.jsonl", [line(*items)])))
    assert (problem.severity, problem.problem) == ("error", "the id occurs 2 times, with different texts")


@pytest.mark.parametrize(("info", "importance"), [({"nuggetizer": {}}, {}), (None, {"importance": "vital"})])
def test_nuggets_of_autonuggetizer_are_longer(
    info: Any, importance: dict[str, str], write_jsonl: WriteLines
) -> None:
    items = [entry("Evolved from rhythm and blues", **importance), entry("a " * 13, **importance)]
    bank = write_jsonl("bank.jsonl", [line(*items, info=info)])
    assert [p.problem for p in lint(read_bank(bank))] == ["has more than 12 words"]


def test_a_near_duplicate_is_a_warning(write_jsonl: WriteLines) -> None:
    items = [entry("the age of the universe by Hubble"), entry("the universe's age by Hubble")]
    (problem,) = (p for p in lint(read_bank(write_jsonl("b.jsonl", [line(*items)]))) if "shares" in p.problem)
    assert (problem.severity, problem.text) == ("warning", "the universe's age by Hubble")


def test_lint_has_exit_code_1_for_errors(
    write_jsonl: WriteLines, demo_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["bank", "show", str(demo_data / "questions.jsonl"), "--only", "problems"])
    assert capsys.readouterr().out == "Problems\n========\n\n0 errors, 0 warnings.\n"
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "bank",
                "show",
                str(write_jsonl("bad.jsonl", [line(entry("a", "1"), entry("A.", "2"))])),
                "--only",
                "problems",
            ]
        )
    assert stop.value.code == 1
    assert "duplicate of 'a'" in capsys.readouterr().out


def test_show_and_stats(demo_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bank = str(demo_data / "nuggets.jsonl")
    main(["bank", "show", bank, "--query", "d07", "--format", "tsv"])
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split("\t") == ["query_id", "facet", "kind", "entry", "importance", "entry_id"]
    assert {row.split("\t")[1] for row in rows[1:]} == {"colony", "dance", "threats"}
    main(["bank", "show", bank, "--only", "counts", "--format", "tsv"])
    stats = dict(row.split("\t") for row in capsys.readouterr().out.splitlines())
    assert (stats["nuggets"], stats["importance vital"], stats["facets"]) == ("178", "107", "3")
    with pytest.raises(SystemExit):
        main(["bank", "show", bank, "--query", "d99"])
    assert "'d99'" in capsys.readouterr().err


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
    main(["bank", "show", str(new), "--since", str(old), "--format", "tsv"])
    assert [row.split("\t") for row in capsys.readouterr().out.splitlines()] == [
        ["query_id", "change", "before", "after", "entry_id"],
        *(["q1", d.change, d.before or "", d.after or "", d.entry_id] for d in result),
    ]


def test_merge_conflicts(write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = write_jsonl("first.jsonl", [line(entry("a", "q1/1"))])
    for name, conflict, message in (
        (
            "text",
            line(entry("b", "q1/1")),
            "'q1/1' is the nugget 'b'",
        ),
        ("query", line(entry("c", "q1/2"), query_text="jazz"), "'jazz'"),
    ):
        second = write_jsonl(name, [conflict])
        with pytest.raises(SystemExit):
            main(["merge", str(first), str(second), "-o", str(tmp_path / "out")])
        assert message in capsys.readouterr().err
    second = write_jsonl("second.jsonl", [line(entry("a", "q1/1"), entry("c", "q1/2"), info={"by": "x"})])
    main(["-q", "merge", str(first), str(second), "-o", str(tmp_path / "out")])
    (merged,) = [json.loads(text) for text in (tmp_path / "out").read_text(encoding="utf-8").splitlines()]
    assert [item["nugget_text"] for item in merged["items"]] == ["a", "c"]
    assert merged["info"] == {"merged": [{"by": "x"}]}


def test_a_page_has_counts_problems_and_entries(
    write_jsonl: WriteLines, demo_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["bank", "show", str(demo_data / "questions.jsonl")])
    page = capsys.readouterr().out
    assert page.index("queries") < page.index("0 errors, 0 warnings.") < page.index("heat pump or gas")
    bad = str(write_jsonl("bad.jsonl", [line(entry("a", "1"), entry("A.", "2"))]))
    for more in ([], ["--only", "counts", "--only", "problems"], ["--only", "problems", "--format", "tsv"]):
        with pytest.raises(SystemExit) as stop:
            main(["bank", "show", bad, *more])
        assert stop.value.code == 1
        assert "duplicate of 'a'" in capsys.readouterr().out
    main(["bank", "show", bad, "--format", "tsv"])  # the entries, without problems
    assert capsys.readouterr().out.splitlines()[0] == "query_id\tkind\tentry\tentry_id"
    with pytest.raises(SystemExit) as stop:
        main(["bank", "show", bad, "--format", "json", "--only", "counts", "--only", "problems"])
    assert stop.value.code == 2


def test_entries_in_tsv_are_one_table(demo_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["bank", "show", str(demo_data / "nuggets.jsonl"), "--format", "tsv"])
    rows = [row.split("\t") for row in capsys.readouterr().out.splitlines()]
    assert len(rows) == 179
    assert {len(row) for row in rows} == {6}


def test_merged_banks_may_be_strict(
    write_jsonl: WriteLines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    banks = [str(write_jsonl(f"{n}.jsonl", [line(entry("a", "q1/1", weight=float(n)))])) for n in (1, 2)]
    with pytest.raises(SystemExit):
        main(["merge", *banks, "--strict", "-o", str(tmp_path / "out")])
    assert "Fields that differ between duplicates: weight (1)." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    with pytest.raises(SystemExit) as stop:
        main(["merge", *banks, "--passages", banks[0], "-o", str(tmp_path / "out")])
    assert stop.value.code == 2
