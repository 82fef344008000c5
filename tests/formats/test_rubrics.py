"""Rubrics of other tools as banks, weights of words, groups, and banks of RAGTIME 2026."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import BankLine, entry_id
from exam_pp.cli.main import main
from exam_pp.errors import SelectionError
from exam_pp.formats.base import known_format
from exam_pp.formats.rubrics import read_rubrics, weigh
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.phases.validation.validate import validate
from exam_pp.store.banks.bank_json import read_bank
from tests.conftest import data_error, without_times, written

Write = Callable[[str, list[Any]], Path]
RESEARCH = {
    "prompt": "Write about geometry.", "sample_id": "s1", "domain": "STEM",
    "rubrics": [
        {"criterion": "Names a theorem.", "weight": 4.0, "axis": "Explicit"},
        {"criterion": "Invents a theorem.", "weight": -5, "axis": "Implicit"},
        {"criterion": "Is short.", "weight": 0.0, "axis": "Style"},
        {"criterion": "Names a theorem.", "weight": 4.0, "axis": "Style"},
    ],
}  # fmt: skip
HEALTH: dict[str, Any] = {
    "prompt_id": "h1",
    "prompt": [
        {"role": "user", "content": "Hello."},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "Is aspirin safe?"},
    ],
    "rubrics": [{"criterion": "Asks for the age.", "points": 7, "tags": ["level:example", "axis:context"]}],
    "example_tags": ["theme:x"],
}
RAGDOLL = {
    "qid": 7, "query": "why do leaves fall",
    "criteria": [
        {"text": "Names frost.", "type": "content", "tier": "mandatory", "weight": 3, "source_nugget": "n1"},
        {"text": "Names light.", "type": "depth", "tier": "optional"},
    ],
}  # fmt: skip
DRAGUN = {
    "topic_id": "t1",
    "rubrics": [
        {
            "question_id": "t1-q-1", "question_text": "Who wrote it?", "importance": "A: Have to Know",
            "short_answers": [
                {"answer_id": "na-1", "short_answer_text": "Ann", "references": ["d1"]},
                {"answer_id": "na-2", "short_answer_text": "Bob"},
            ],
        },
        {
            "question_id": "t1-q-2", "question_text": "When?", "importance": "C: Nice to Know",
            "short_answers": [{"answer_id": "na-3", "short_answer_text": "In May"}],
        },
    ],
}  # fmt: skip
RAGTIME = {
    "metadata": {"team_id": "t", "topic_id": "2000", "run_id": "r", "run_desc": "by hand"},
    "nugget_bank": [
        {
            "question": "What makes iron rust?", "aggregator_type": "OR", "importance": "vital",
            "answers": [{"answer": "water", "references": ["d1"]}, {"answer": "salt", "references": []}],
        },
        {
            "question": "Name its colours.", "aggregator_type": "AND",
            "answers": [{"answer": "red", "references": ["d1"]}, {"answer": "black", "references": []}],
        },
    ],
}  # fmt: skip
YAML = """
sections:
  - name: Facts
    criteria:
      - {weight: 10.0, requirement: "Names the capital."}
      - weight: -15
        requirement: Invents a source.
"""


def run(*words: object) -> None:
    main([str(word) for word in words])


def read(path: Path) -> list[dict[str, Any]]:
    return [line.model_dump(exclude_unset=True) for line in read_rubrics(path)]


@pytest.mark.parametrize(
    ("value", "query", "entries"),
    [
        (
            RESEARCH,
            ("s1", "Write about geometry.", {"domain": "STEM", "prompt_target": "criteria"}),
            [
                {"nugget_text": "Names a theorem.", "weight": 4.0, "category": "Explicit"},
                {"nugget_text": "Invents a theorem.", "weight": -5, "category": "Implicit"},
                {"nugget_text": "Is short.", "weight": 0.0, "category": "Style"},
                {"nugget_text": "Names a theorem.", "weight": 4.0, "category": "Style"},
            ],
        ),
        (
            HEALTH,
            ("h1", "Is aspirin safe?",
             {"example_tags": ["theme:x"], "prompt_target": "criteria", "prompt": HEALTH["prompt"]}),
            [{"nugget_text": "Asks for the age.", "weight": 7, "category": "context"}],
        ),
        (
            RAGDOLL,
            ("7", "why do leaves fall", {"prompt_target": "criteria"}),
            [
                {"nugget_text": "Names frost.", "importance": "mandatory", "weight": 3,
                 "category": "content", "info": {"source_nugget": "n1"}},
                {"nugget_text": "Names light.", "importance": "optional", "weight": 2, "category": "depth"},
            ],
        ),
        (
            DRAGUN,
            ("t1", "", {"prompt_target": "nuggets"}),
            [
                {"nugget_text": "Ann", "group": "t1-q-1", "group_text": "Who wrote it?", "combine": "mean",
                 "importance": "A: Have to Know", "weight": 4, "info": {"references": ["d1"]}},
                {"nugget_text": "Bob", "group": "t1-q-1", "group_text": "Who wrote it?", "combine": "mean",
                 "importance": "A: Have to Know", "weight": 4},
                {"nugget_text": "In May", "group": "t1-q-2", "group_text": "When?", "combine": "mean",
                 "importance": "C: Nice to Know", "weight": 1},
            ],
        ),
    ],
)  # fmt: skip
def test_rubrics_as_banks(
    value: dict[str, Any],
    query: tuple[str, str, dict[str, Any]],
    entries: list[dict[str, Any]],
    write_jsonl: Write,
) -> None:
    """Detected from the content; whatever has no name here is kept."""
    path = write_jsonl("rubric.jsonl", [value])
    form = known_format(path)
    assert form is not None
    assert form.name == "rubrics"
    assert not validate([path]).kept
    (line,) = read(path)
    assert (line["query_id"], line["query_text"], line["info"]) == query
    bare = [{k: v for k, v in item.items() if k not in ("query_id", "nugget_id")} for item in line["items"]]
    assert bare == entries


def test_ids_are_digests_or_those_of_answers(write_jsonl: Write) -> None:
    (research, dragun) = read(write_jsonl("rubrics.jsonl", [RESEARCH, DRAGUN]))
    digest = entry_id("s1", "Names a theorem.")
    assert [item["nugget_id"] for item in research["items"]].count(digest) == 2, "a copy has the same id"
    assert [item["nugget_id"] for item in dragun["items"]] == ["t1/na-1", "t1/na-2", "t1/na-3"]


@pytest.mark.parametrize(
    "content",
    [
        YAML,
        json.dumps([{"weight": 10.0, "requirement": "Names the capital."},
                    {"weight": -15, "requirement": "Invents a source."}]),
        json.dumps({"rubric": [{"criteria": [{"weight": 10.0, "requirement": "Names the capital."}]},
                               {"criteria": [{"weight": -15, "requirement": "Invents a source."}]}]}),
    ],
)  # fmt: skip
def test_files_of_the_package_rubric(content: str, tmp_path: Path) -> None:
    """They have no query: it is named like the file."""
    pytest.importorskip("yaml")
    path = written(tmp_path / "capitals.v2.yaml", content)
    form = known_format(path)
    assert form is not None
    assert form.name == "rubrics"
    (line,) = read(path)
    assert line["query_id"] == "capitals.v2"
    assert [(item["nugget_text"], item["weight"]) for item in line["items"]] == [
        ("Names the capital.", 10.0),
        ("Invents a source.", -15),
    ]


def test_weights_are_spelled_as_in_the_file(write_jsonl: Write, tmp_path: Path) -> None:
    run("bank", "import", write_jsonl("r.jsonl", [RESEARCH]), "-o", tmp_path / "b.jsonl")
    text = (tmp_path / "b.jsonl").read_text("utf-8")
    assert '"weight":4.0' in text
    assert '"weight":-5' in text


@pytest.mark.parametrize(
    ("content", "line", "field", "about"),
    [
        ('{"qid":"q","rubrics":[{"criterion":"a"},{"weight":1}]}', None, "rubrics.2 nugget_text", "missing"),
        ('{"qid":"q","rubrics":[{"criterion":"a","weight":"x"}]}', None, "rubrics.1 weight", "for what an"),
        ('{"qid":"q","rubrics":[]}\n{"qid":"q","rubrics":[{"criterion":"a","weight":NaN}]}', 2,
         "rubrics.1 weight", "must be a number"),
        ("- requirement: &a b\n- requirement: *a", None, None, "alias"),
        ("- requirement: [", None, None, "is not valid YAML"),
    ],
)  # fmt: skip
def test_broken_rubrics(
    content: str, line: int | None, field: str | None, about: str, tmp_path: Path
) -> None:
    pytest.importorskip("yaml")
    path = written(tmp_path / "rubric", content)
    with data_error(path, line, field, about=about):
        list(read_rubrics(path))


def test_the_summary_counts_weights_and_copies(
    write_jsonl: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, bank = write_jsonl("r.jsonl", [RESEARCH, HEALTH]), tmp_path / "bank.jsonl"
    run("bank", "import", source, "-o", bank)
    assert without_times(capsys.readouterr().err) == (
        "Imported 2 queries, 5 entries: 1 negative weight, 1 of weight 0 (does not count), 1 copy (counts).\n"
    )
    assert len(read_bank(bank).copies["s1"]) == 4
    capsys.readouterr()
    run("bank", "import", source, "--drop-negative", "-o", bank)
    assert without_times(capsys.readouterr().err) == (
        "Imported 2 queries, 3 entries: 1 copy (counts).\n"
        "2 entries with weight 0 or below were left out, as RAGDoll reads rubrics.\n"
    )
    run("bank", "import", write_jsonl("d.jsonl", [DRAGUN]), "-o", bank)
    assert without_times(capsys.readouterr().err) == "Imported 1 query, 3 answers to 2 questions.\n"


def test_query_texts_of_any_format(
    write_jsonl: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text in the file of the bank stays."""
    source = write_jsonl("r.jsonl", [RESEARCH, DRAGUN, {**HEALTH, "prompt": "", "prompt_id": "h2"}])
    topics = written(tmp_path / "topics.tsv", "s1\tanother text\nt1\tThe article.\n")
    run("bank", "import", source, "--queries", topics, "-o", tmp_path / "bank.jsonl")
    texts = [line.query_text for line in read_bank(tmp_path / "bank.jsonl").lines]
    assert texts == ["Write about geometry.", "The article.", ""]
    assert "1 query of the bank is not in" in capsys.readouterr().err


def nuggets(*importances: str | None) -> list[BankLine]:
    items = [
        {"query_id": "q", "nugget_id": f"q/{n}", "nugget_text": f"{n}"}
        | ({} if word is None else {"importance": word})
        for n, word in enumerate(importances)
    ]
    return [BankLine.model_validate({"query_id": "q", "items": items})]


def test_weights_of_words() -> None:
    lines = nuggets("must_have", "Should-Have", "avoid", "vital", None)
    weigh(lines, {})
    assert [item.weight for item in lines[0].items] == [1, 1, -1, 1, 1]
    weigh(lines, {"must": 5, "vital": 2})
    assert [item.weight for item in lines[0].items] == [5, 1, -1, 2, 1]
    with pytest.raises(SelectionError, match="No entry has the importance 'nice'; the bank has: 'must_have'"):
        weigh(lines, {"nice": 1})


def test_weights_of_words_are_options(
    write_jsonl: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word that the user names counts more than the weight of the file."""
    options = ("--importance", "mandatory=6", "--importance", "optional=-.5")
    run("bank", "import", write_jsonl("r.jsonl", [RAGDOLL]), *options, "-o", tmp_path / "b.jsonl")
    assert [item.weight for item in read_bank(tmp_path / "b.jsonl").lines[0].items] == [6, -0.5]
    claim = {"claim": "a", "importance": "avoid"}
    claims = write_jsonl("n.jsonl", [{"query_id": "q", "format_version": "v3", "claim_bank": {"c": claim}}])
    run("bank", "import", claims, "-o", tmp_path / "b.jsonl")
    assert read_bank(tmp_path / "b.jsonl").lines[0].items[0].weight == -1
    with pytest.raises(SystemExit):
        run("bank", "import", claims, "--importance", "avoid", "-o", tmp_path / "b.jsonl")
    assert "is not WORD=WEIGHT, such as must=5" in capsys.readouterr().err


def test_ragtime_banks_both_ways(write_jsonl: Write, tmp_path: Path) -> None:
    source, bank = write_jsonl("rt.jsonl", [RAGTIME]), tmp_path / "bank.jsonl"
    assert not validate([source]).kept
    run("bank", "import", source, "-o", bank)
    (line,) = read_bank(bank).lines
    assert line.query_id == "2000"
    assert [(item.text, item.group_text, item.combine, item.importance) for item in line.items] == [
        ("water", "What makes iron rust?", "any", "vital"),
        ("salt", "What makes iron rust?", "any", "vital"),
        ("red", "Name its colours.", "all", None),
        ("black", "Name its colours.", "all", None),
    ]
    for path in (source, bank):
        assert not convert(Conversion(path, tmp_path / "back.jsonl", "ragtime26"))
        assert json.loads((tmp_path / "back.jsonl").read_text("utf-8")) == RAGTIME


def test_questions_or_answers(write_jsonl: Write, tmp_path: Path) -> None:
    """The answers of a bank are entries, or gold answers of its questions; both lead to the same groups."""
    source = write_jsonl("rt.jsonl", [RAGTIME])
    questions, answers, direct = (tmp_path / name for name in ("questions", "answers", "direct"))
    run("bank", "import", source, "--kind", "question", "-o", questions)
    (line,) = read_bank(questions).lines
    assert [(item.kind, item.text, item.gold_answers, item.combine) for item in line.items] == [
        ("question", "What makes iron rust?", ["water", "salt"], "any"),
        ("question", "Name its colours.", ["red", "black"], "all"),
    ]
    run("bank", "import", questions, "--kind", "nugget", "-o", answers)
    run("bank", "import", source, "-o", direct)
    assert read_bank(answers).lines[0].items == read_bank(direct).lines[0].items


def test_a_question_without_answers_is_a_nugget(write_jsonl: Write, tmp_path: Path) -> None:
    bare = {**RAGTIME, "nugget_bank": [{"question": "Why?", "aggregator_type": "OR", "answers": []}]}
    run("bank", "import", write_jsonl("rt.jsonl", [bare]), "-o", tmp_path / "bank.jsonl")
    (item,) = read_bank(tmp_path / "bank.jsonl").lines[0].items
    assert (item.kind, item.text, item.group) == ("nugget", "Why?", None)


def test_autojudge_banks_with_groups(write_jsonl: Write, tmp_path: Path) -> None:
    """Answers to a question become one, and its word for them is written and read."""
    bank, out, back = tmp_path / "bank.jsonl", tmp_path / "out.jsonl", tmp_path / "back.jsonl"
    run("bank", "import", write_jsonl("rt.jsonl", [RAGTIME]), "-o", bank)
    assert not convert(Conversion(bank, out, "autojudge-bank"))
    written_bank = json.loads(out.read_text("utf-8"))["nugget_bank"]
    assert [question["aggregator_type"] for question in written_bank.values()] == ["OR", "AND"]
    run("bank", "import", out, "--kind", "nugget", "-o", back)
    assert [item.model_dump(exclude={"info"}) for item in read_bank(back).lines[0].items] == [
        item.model_dump(exclude={"info"}) for item in read_bank(bank).lines[0].items
    ]
    run("bank", "import", out, "-o", back)
    assert [(item.kind, item.combine) for item in read_bank(back).lines[0].items] == [
        ("question", "any"), ("question", "all"),
    ]  # fmt: skip


def test_shares_of_answers_are_dropped(write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("d.jsonl", [DRAGUN])
    dropped = convert(Conversion(source, tmp_path / "out.jsonl", "ragtime26")).counts
    assert dropped == {"shares of answers": 3, "entry ids": 5, "weights": 1, "info of entries": 1}
    (line,) = read_bank(_imported(tmp_path / "out.jsonl", tmp_path / "b.jsonl")).lines
    assert [item.combine for item in line.items] == ["any"] * 3


def _imported(source: Path, bank: Path) -> Path:
    run("bank", "import", source, "-o", bank)
    return bank


def test_broken_ragtime_banks(write_jsonl: Write, tmp_path: Path) -> None:
    path = write_jsonl("rt.jsonl", [{"metadata": {}, "nugget_bank": []}])
    with data_error(path, None, "metadata.topic_id", about="is missing"):
        convert(Conversion(path, tmp_path / "out", "bank"))
    path = write_jsonl("rt.jsonl", [{**RAGTIME, "nugget_bank": [{"answers": []}]}])
    with data_error(path, None, "nugget_bank.1.question", about="is missing"):
        convert(Conversion(path, tmp_path / "out", "bank"))


def test_groups_and_categories_in_spreadsheets(write_jsonl: Write, tmp_path: Path) -> None:
    source, sheet, back = write_jsonl("r.jsonl", [RESEARCH, DRAGUN]), tmp_path / "s.csv", tmp_path / "back"
    convert(Conversion(source, sheet, "bank-csv"))
    run("bank", "import", sheet, "--bank", _imported(source, tmp_path / "bank.jsonl"), "-o", back)
    assert read_bank(back).lines == read_bank(tmp_path / "bank.jsonl").lines
    run("bank", "import", sheet, "-o", back)
    assert [item.model_dump(exclude={"info"}) for line in read_bank(back).lines for item in line.items] == [
        item.model_dump(exclude={"info"})
        for line in read_bank(tmp_path / "bank.jsonl").lines
        for item in line.items
    ]
    sheet.write_text(sheet.read_text("utf-8").replace(",Explicit", ",Other"), "utf-8")
    run("bank", "import", sheet, "--bank", tmp_path / "bank.jsonl", "-o", back)
    assert read_bank(back).lines[0].items[0].category == "Other"


def test_negative_weights_in_spreadsheets(tmp_path: Path) -> None:
    sheet = "query_id,query_text,criterion,weight\nb,how far,says 60 km,4\nb,how far,names a wrong range,-3\n"
    (line,) = read_bank(_imported(written(tmp_path / "bank.csv", sheet), tmp_path / "bank.jsonl")).lines
    assert [(item.kind, item.weight) for item in line.items] == [("nugget", 4), ("nugget", -3)]


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("query_id,nugget,weight,group\nq,a,1,g\nq,b,2,g\n", "have different weights"),
        ("query_id,nugget,group,combine\nq,a,g,sum\n", "must be any, all, mean or empty, but is 'sum'"),
    ],
)
def test_broken_groups_in_spreadsheets(
    content: str, about: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        _imported(written(tmp_path / "bank.csv", content), tmp_path / "bank.jsonl")
    assert about in capsys.readouterr().err
    assert not (tmp_path / "bank.jsonl").exists()
