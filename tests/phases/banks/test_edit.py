"""Edits files: operations, ids of reworded entries, history, errors; split and merge of banks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import BankLine, entry_id
from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.phases.banks.edit import edit_lines, split_bank
from exam_pp.store.banks.bank_json import read_bank, write_bank
from exam_pp.store.edits import FORMAT, Edits, read_edits, write_edits


def edits(*bank: dict[str, Any], **keys: Any) -> Edits:
    changes = [{"query_id": "q1", **edit} for edit in bank]
    return Edits.model_validate({"format": FORMAT, "reviewer": "ana", "bank": changes, **keys})


def edited(bank: Path, *changes: dict[str, Any]) -> list[BankLine]:
    return edit_lines(read_bank(bank).lines, edits(*changes))


def test_every_operation(tiny_bank: Path) -> None:
    line, other = edited(
        tiny_bank,
        {"op": "add", "text": " When was it written? ", "reason": "missing"},
        {"op": "reword", "id": "q1/a", "text": "Which text is this?", "reason": "unclear"},
        {"op": "weight", "id": "q1/a", "value": 0},
        {"op": "importance", "id": entry_id("q1", "Which text is this?"), "value": "vital"},
        {"op": "add_gold_answer", "id": "q1/a", "value": "a poem"},
        {"op": "add_gold_answer", "id": "q1/a", "value": "a poem"},
        {"op": "remove", "id": "q1/b", "reason": "nobody answers it"},
    )
    reworded, added = line.items
    assert (reworded.text, reworded.entry_id) == (
        "Which text is this?",
        entry_id("q1", "Which text is this?"),
    )
    assert (reworded.weight, reworded.importance, reworded.gold_answers) == (0.0, "vital", ["a poem"])
    assert (added.text, added.entry_id) == ("When was it written?", entry_id("q1", "When was it written?"))
    assert other.items == read_bank(tiny_bank).lines[1].items
    history = line.info["history"]
    assert [record["op"] for record in history] == [
        "add", "reword", "weight", "importance", "add_gold_answer", "add_gold_answer", "remove",
    ]  # fmt: skip
    assert history[1] == {
        "op": "reword", "id": "q1/a", "reason": "unclear", "by": "ana", "text": "What text is this?",
        "new_id": reworded.entry_id,
    }  # fmt: skip
    assert history[6] == {
        "op": "remove", "id": "q1/b", "reason": "nobody answers it", "by": "ana",
        "text": "Who wrote the text?",
    }  # fmt: skip


@pytest.mark.parametrize(("info", "kept"), [(None, {}), ("by hand", {"info": "by hand"})])
def test_the_history_is_kept_beside_what_a_bank_says_of_itself(
    tiny_bank: Path, info: str | None, kept: dict[str, str]
) -> None:
    lines = [line.model_copy(update={"info": info}) for line in read_bank(tiny_bank).lines]
    line, _ = edit_lines(lines, edits({"op": "remove", "id": "q1/a"}))
    assert {key: value for key, value in line.info.items() if key != "history"} == kept
    assert [record["op"] for record in line.info["history"]] == ["remove"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"op": "remove", "id": "q1/zzz"}, ("'q1'", "'q1/zzz'")),
        ({"op": "remove", "id": "a", "query_id": "q9"}, ("'q9'",)),
        ({"op": "add", "text": "who wrote  the text"}, ("'q1'", "'who wrote  the text'", "'q1/b'")),
        (
            {"op": "reword", "id": "q1/a", "text": "Who wrote the text?"},
            ("'q1'", "'Who wrote the text?'", "'q1/b'"),
        ),
        ({"op": "add", "text": "New?", "facet_id": "f"}, ("'q1'", "'f'")),
    ],
)
def test_edits_that_do_not_fit(tiny_bank: Path, change: dict[str, Any], named: tuple[str, ...]) -> None:
    with pytest.raises(DataError) as error:
        edited(tiny_bank, change)
    assert (error.value.file, error.value.field) == ("edits", "bank.1")
    assert all(value in str(error.value) for value in named)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": "drop", "id": "a"}, "bank.1.op"),
        ({"op": "remove"}, '"id"'),
        ({"op": "add", "text": " "}, '"text"'),
        ({"op": "weight", "id": "a", "value": "heavy"}, "a number"),
        ({"op": "importance", "id": "a", "value": "high"}, "'vital' or 'okay'"),
        ({"op": "add_gold_answer", "id": "a", "value": ""}, "a text"),
    ],
)
def test_edits_with_missing_or_wrong_fields(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "edits.json"
    path.write_text(json.dumps({"format": FORMAT, "bank": [{"query_id": "q1", **change}]}), encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_edits(path)
    assert error.value.file == str(path)
    assert (error.value.field or "").startswith("bank.1")
    assert message in str(error.value)


def apply_command(bank: Path, file: Edits, folder: Path, *more: str) -> Path:
    write_edits(file, folder / "edits.json")
    main(
        ["-q", "bank", "apply", str(bank), str(folder / "edits.json"), "-o", str(folder / "new.jsonl"), *more]
    )
    return folder / "new.jsonl"


@pytest.mark.parametrize("known", ["0" * 64, None])
def test_edits_of_another_bank_are_refused(known: str | None, tiny_bank: Path, tmp_path: Path) -> None:
    change = edits({"op": "remove", "id": "q1/b"}, bank_sha256=known)
    with pytest.raises(SystemExit, match="1"):
        apply_command(tiny_bank, change, tmp_path)
    assert not (tmp_path / "new.jsonl").exists()
    forced = apply_command(tiny_bank, change, tmp_path, "--force")
    assert list(read_bank(forced).entries("q1")) == ["q1/a"]


def bank_of(sizes: dict[str, int]) -> list[BankLine]:
    return [
        BankLine.model_validate(
            {
                "query_id": query_id,
                "items": [
                    {"query_id": query_id, "question_id": f"{query_id}/{i}", "question_text": f"text {i}?"}
                    for i in range(size)
                ],
            }
        )
        for query_id, size in sizes.items()
    ]


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 12), min_size=1, max_size=6),
    st.floats(0.05, 0.95),
    st.integers(),
)
def test_split_shares_and_stability(sizes: dict[str, int], share: float, seed: int) -> None:
    lines = bank_of(sizes)
    public, secret = split_bank(lines, share, seed)
    hidden = {line.query_id: [item.entry_id for item in line.items] for line in secret}
    shown = {line.query_id: [item.entry_id for item in line.items] for line in public}
    for line in lines:
        assert len(hidden.get(line.query_id, [])) == round(share * len(line.items))
        ids = {item.entry_id for item in line.items}
        assert {*hidden.get(line.query_id, []), *shown.get(line.query_id, [])} == ids
    alone = split_bank(lines[:1], share, seed)[1]
    expected = hidden.get(lines[0].query_id, [])
    assert [item.entry_id for line in alone for item in line.items] == expected


def test_merging_reports_fields_that_differ_between_duplicates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = bank_of({"q": 3})
    edits: tuple[dict[str, Any], ...] = {"importance": "okay"}, {"importance": "okay", "weight": 2.0}, {}
    changed = [item.model_copy(update=new) for item, new in zip(line.items, edits, strict=True)]
    banks = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    write_bank([line], banks[0])
    write_bank([line.model_copy(update={"items": changed})], banks[1])
    main(["merge", *map(str, banks), "-o", str(tmp_path / "o.jsonl")])
    assert "differ between duplicates: importance (2), weight (1)." in capsys.readouterr().err
    assert read_bank(tmp_path / "o.jsonl").lines == [line]
