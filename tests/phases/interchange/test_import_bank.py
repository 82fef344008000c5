"""`bank import`: TQA lessons and SQuAD2-style files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import entry_id
from exam_pp.cli.main import main
from exam_pp.phases.banks.import_bank import import_bank
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages


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
    main(["-q", "bank", "import", "--from", "squad2", str(source), "-o", str(output),
          "--also", f"passages={passages!s}"])  # fmt: skip
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


def test_facets_as_queries_become_facets_of_their_title_query(tmp_path: Path) -> None:
    """The ids stay the same, so that grades still join; the text of the query is its title."""
    lines = [
        {
            "query_id": f"car:bees/{facet}",
            "query_text": f"Bees / {text}",
            "items": [
                {
                    "query_id": f"car:bees/{facet}",
                    "question_id": entry_id(f"car:bees/{facet}", "What is it?"),
                    "question_text": "What is it?",
                }
            ],
        }
        for facet, text in (("S_1", "Dance"), ("S_2", "Honey"))
    ]
    source = tmp_path / "facets.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    output = tmp_path / "titles.jsonl"
    main(["-q", "bank", "import", str(source), "--from", "bank", "--facets", "title", "-o", str(output)])
    before, after = read_bank(source), read_bank(output)
    assert [(line.query_id, line.facet_id, line.facet_text) for line in after.lines] == [
        ("car:bees", "S_1", "Dance"),
        ("car:bees", "S_2", "Honey"),
    ]
    assert after.queries["car:bees"].query_text == "Bees"
    assert list(after.entries("car:bees")) == [key for query in before for key in query.entries]
    assert list(after.entries("car:bees")) == [entry_id("car:bees", "What is it?", f) for f in ("S_1", "S_2")]
    again = tmp_path / "again.jsonl"
    main(["-q", "bank", "import", str(output), "--from", "bank", "--facets", "title", "-o", str(again)])
    assert again.read_bytes() == output.read_bytes()
