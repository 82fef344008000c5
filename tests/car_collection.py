"""A small collection in the formats of TREC CAR Y3, written for the tests: two titles, five facets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TITLES = {"car:bees": "Bees", "car:tides": "Tides"}
FACETS = {
    "car:bees": {"S_1": "Dance of bees", "S_2": "Honey"},
    "car:tides": {"S_3": "Cause of tides", "S_4": "Spring tides", "S_5": "Tidal power"},
}
PASSAGES = {
    "p-dance": "A worker bee dances a figure of eight; the angle of the dance shows where the flowers are.",
    "p-waggle": "The duration of the waggle dance of a bee gives the distance to the flowers.",
    "p-honey": "Bees make honey from nectar. They fan it with their wings until most of the water is gone.",
    "p-store": "Honey is stored in wax cells, and a colony eats it in winter.",
    "p-moon": "The gravity of the moon and of the sun is the cause of tides.",
    "p-spring": "Spring tides occur at new moon and full moon, when sun and moon pull in one line.",
    "p-power": "A tidal power plant turns the flow of tides into electricity.",
    "p-salt": "Sea water contains about 35 grams of salt per litre.",
}
QUESTIONS = {
    ("car:bees", "S_1"): ["1. What does the angle of the dance show? ", "2. What gives the distance?"],
    ("car:bees", "S_2"): ["1. What is honey made from?"],
    ("car:tides", "S_3"): ["1. What is the cause of tides?"],
    ("car:tides", "S_4"): ["1. When do spring tides occur?"],
    ("car:tides", "S_5"): ["1. What turns the flow of tides into electricity?"],
}
RUNS = {
    "good": {
        "car:bees/S_1": ["p-dance", "p-waggle"],
        "car:bees/S_2": ["p-honey", "p-dance", "p-store"],
        "car:tides/S_3": ["p-moon"],
        "car:tides/S_4": ["p-spring", "p-moon"],
        "car:tides/S_5": ["p-power"],
    },
    "poor": {
        "car:bees/S_1": ["p-salt", "p-honey"],
        "car:bees/S_2": ["p-salt", "p-waggle"],
        "car:tides/S_3": ["p-salt"],
        "car:tides/S_4": ["p-power", "p-salt"],
    },
}
JUDGMENTS = {
    "car:bees/S_1": {"p-dance": 2, "p-waggle": 2, "p-salt": -1},
    "car:bees/S_2": {"p-honey": 2, "p-store": 1, "p-dance": 0},
    "car:tides/S_3": {"p-moon": 2},
    "car:tides/S_4": {"p-spring": 2, "p-moon": 1},
    "car:tides/S_5": {"p-power": 2},
}


def write_collection(folder: Path) -> Path:
    """Write runs/, texts.jsonl, qrels.txt, queries.jsonl, pages.jsonl, and bank.json (first shape)."""
    (folder / "runs").mkdir()
    for system, rankings in RUNS.items():
        (folder / "runs" / f"{system}.run").write_text("".join(_run_lines(rankings, system)))
    rows = [{"para_id": "unused", "id": key, "text": text} for key, text in PASSAGES.items()]
    write_lines(folder / "texts.jsonl", rows)
    qrels = [
        f"{facet} 0 {key} {grade}\n" for facet, by_id in JUDGMENTS.items() for key, grade in by_id.items()
    ]
    (folder / "qrels.txt").write_text("".join(qrels))
    queries = [
        {
            "query_id": query_id,
            "query_text": title,
            "facets": [{"facet_id": key, "facet_text": text} for key, text in FACETS[query_id].items()],
        }
        for query_id, title in TITLES.items()
    ]
    write_lines(folder / "queries.jsonl", queries)
    write_lines(folder / "pages.jsonl", [page(system, query) for system in RUNS for query in TITLES])
    bank = {
        query_id: {
            key: {"title": title, "facet": FACETS[query_id][key], "questions": QUESTIONS[query_id, key]}
            for key in FACETS[query_id]
        }
        for query_id, title in TITLES.items()
    }
    (folder / "bank.json").write_text(json.dumps(bank))
    return folder


def published_bank(folder: Path) -> Path:
    """Write bank.jsonl as published: a line per facet, titles and facets joined in ``query_text``."""
    lines = []
    for (query_id, facet), questions in QUESTIONS.items():
        text = FACETS[query_id][facet]
        items = [
            {
                "query_id": query_id,
                "facet_id": facet,
                "question_id": f"{query_id}/{facet}/{_md5(question)}",
                "question_text": question.partition(" ")[2].strip(),
            }
            for question in questions
        ]
        lines.append(
            {
                "query_id": query_id,
                "facet_id": facet,
                "facet_text": text,
                "query_text": f"{TITLES[query_id]} / {text}",
                "items": items,
            }
        )
    return write_lines(folder / "bank.jsonl", lines)


def page(system: str, query_id: str) -> dict[str, Any]:
    """A run page: the best passage of every facet, then the second; the text is in two parts."""
    rankings = {facet: ids for facet, ids in RUNS[system].items() if facet.startswith(f"{query_id}/")}
    depth = max(map(len, rankings.values()))
    order = [ids[place] for place in range(depth) for ids in rankings.values() if place < len(ids)]
    return {
        "run_id": system,
        "squid": query_id,
        "title": TITLES[query_id],
        "query_facets": [
            {"heading_id": f"{query_id}/{key}", "heading": FACETS[query_id][key]} for key in FACETS[query_id]
        ],
        "paragraphs": [
            {
                "para_id": key,
                "para_body": [
                    {"text": PASSAGES[key][:9]},
                    {"text": PASSAGES[key][9:], "entity": "car:entity", "entity_name": "entity"},
                ],
            }
            for key in dict.fromkeys(order)
        ],
        "paragraph_origins": [
            {"para_id": key, "section_path": facet, "rank": rank, "rank_score": 1 / rank}
            for facet, ids in rankings.items()
            for rank, key in enumerate(ids, 1)
        ],
    }


def outline(query_id: str) -> list[Any]:
    """A page of an outlines file, as a CBOR value."""
    sections = [[0, heading, key.encode(), []] for key, heading in FACETS[query_id].items()]
    return [0, TITLES[query_id], query_id.encode(), sections, [0], []]


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _run_lines(rankings: Mapping[str, Sequence[str]], system: str) -> list[str]:
    return [
        f"{facet} Q0 {key} {rank} {10 - rank} {system}\n"
        for facet, ids in rankings.items()
        for rank, key in enumerate(ids, 1)
    ]


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
