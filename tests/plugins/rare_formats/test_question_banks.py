"""Question banks of TQA, SQuAD2 and the first publication of the workbench."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import TestBank, entry_id
from exam_pp.cli.banks.show import lint
from exam_pp.cli.main import main
from exam_pp.formats.bank_csv import bank_of_rows, read_bank_csv, write_bank_csv
from exam_pp.formats.base import format_of
from exam_pp.phases.banks.import_bank import import_bank
from exam_pp.plugins.rare_formats.question_banks import read_genq
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import data_error, written


def choices(*texts: str) -> dict[str, Any]:
    return {chr(97 + n): {"processedText": text} for n, text in enumerate(texts)}


def ask(text: str, key: str, answers: dict[str, Any]) -> dict[str, Any]:
    return {
        "beingAsked": {"processedText": text},
        "correctAnswer": {"processedText": key},
        "answerChoices": answers,
    }


LESSON = {
    "globalID": "L_1",
    "lessonName": "the moon",
    "questions": {
        "diagramQuestions": {"DQ_1": {}},
        "nonDiagramQuestions": {
            "NDQ_1": ask("The moon is", "b", choices("a star.", "a satellite.")),
            "NDQ_2": ask("The moon shines", "a", choices("true", "false")),
            "NDQ_3": ask("It is made of", "d", choices("rock", "dust", "metal", "all of the above")),
            "NDQ_4": ask("It has no key", "e", choices("rock", "dust")),
        },
    },
}


SQUAD = {
    "data": [
        {
            "title": "The_Moon",
            "paragraphs": [
                {
                    "context": "The Moon is a satellite.",
                    "qas": [
                        {"id": "a", "question": " What is it? ", "is_impossible": False,
                         "answers": [{"text": t} for t in ("a satellite", "satellite", "a satellite")]},
                        {"id": "b", "question": "Who is it?", "is_impossible": True, "answers": [],
                         "plausible_answers": [{"text": "The Moon"}]},
                    ],
                },
                {"context": "It shines.", "qas": [{"id": "c", "question": "Does it?"}]},
            ],
        }
    ]
}  # fmt: skip


def write(tmp_path: Path, value: Any) -> Path:
    path = tmp_path / "source.json"
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def test_tqa(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    output = tmp_path / "bank.jsonl"
    empty = {"globalID": "L_2", "lessonName": "empty", "questions": {"nonDiagramQuestions": {}}}
    counts = import_bank([write(tmp_path, [LESSON, empty])], output, "tqa")
    (query,) = read_bank(output)
    assert (query.query_id, query.query_text) == ("tqa2:L_1", "the moon")
    golds = {key: entry.gold_answers for key, entry in query.entries.items()}
    assert golds == {
        "NDQ_1": ["a satellite."], "NDQ_2": ["true"], "NDQ_3": ["all of the above"], "NDQ_4": None,
    }  # fmt: skip
    assert (counts.queries, counts.entries) == (1, 4)
    (message,) = caplog.messages
    assert "1 question " in message
    assert "NDQ_4" in message


def test_squad(tmp_path: Path) -> None:
    output, passages = tmp_path / "bank.jsonl", tmp_path / "passages.jsonl"
    source = write(tmp_path, SQUAD)
    main(["-q", "bank", "import", "--from", "squad2", str(source), "-o", str(output)])
    main(["-q", "convert", "--from", "squad2-paragraphs", str(source), "--to", "graded", "-o", str(passages)])
    first, second = read_bank(output)
    assert (first.query_id, second.query_id, first.query_text) == ("The_Moon:1", "The_Moon:2", "The Moon")
    golds = {key: entry.gold_answers for key, entry in first.entries.items()}
    assert golds == {"a": ["a satellite", "satellite"], "b": []}
    assert first.entries["a"].text == "What is it?"
    texts = {q.query_id: [(p.passage_id, p.text) for p in q.passages] for q in read_passages(passages)}
    assert texts == {
        "The_Moon:1": [("The_Moon:1", "The Moon is a satellite.")],
        "The_Moon:2": [("The_Moon:2", "It shines.")],
    }


def test_squad_is_detected_from_its_key(tmp_path: Path) -> None:
    assert format_of(write(tmp_path, {"data": []})).name == "squad2"


@pytest.mark.parametrize("mark", [".", ")"])
def test_list_numbers_are_no_part_of_texts(mark: str, tmp_path: Path) -> None:
    questions = [f"1{mark} Why red?", f"2{mark} Why yellow?", "Why green?"]
    content = {"leaf": {"f": {"title": "leaf colour", "facet": "colours", "questions": questions}}}
    (tmp_path / "in.json").write_text(json.dumps(content), encoding="utf-8")
    (line,) = read_genq(tmp_path / "in.json")
    assert (line.query_id, line.facet_id, line.query_text, line.facet_text) == (
        "leaf", "f", "leaf colour", "colours",
    )  # fmt: skip
    assert [item.text for item in line.items] == ["Why red?", "Why yellow?", "Why green?"]
    assert line.items[0].entry_id == entry_id("leaf", questions[0], "f"), "the digest of number and text"


def test_blanks_at_the_end_of_questions_are_part_of_published_ids(tmp_path: Path) -> None:
    questions = ["1. Why red? ", "Why yellow? ", " Why green?\n"]
    content = {"leaf": {"f": {"title": "leaf colour", "facet": "colours", "questions": questions}}}
    (tmp_path / "in.json").write_text(json.dumps(content), encoding="utf-8")
    lines = list(read_genq(tmp_path / "in.json"))
    digests = [hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() for text in questions]
    assert [item.entry_id for item in lines[0].items] == [f"leaf/f/{digest}" for digest in digests]
    assert not list(lint(TestBank.from_lines(lines)))
    write_bank_csv(lines, tmp_path / "bank.csv")
    back = bank_of_rows((tmp_path / "bank.csv", row) for row in read_bank_csv(tmp_path / "bank.csv"))
    assert [(item.entry_id, item.text) for item in back[0].items] == [
        (item.entry_id, item.text) for item in lines[0].items
    ]


def test_an_empty_file(tmp_path: Path) -> None:
    source = written(tmp_path / "source.json", "")
    with data_error(source, about="is empty"):
        import_bank([source], tmp_path / "bank.jsonl", "tqa")
