"""Small studies for the live workbench: questions on passages, and nuggets or criteria on answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exam_pp.cli.main import main

QUERIES = {"q1": "heat pumps or boilers", "q2": "winter tyres", "q3": "green tea"}
COFFEE = "Coffee is not tea: القهوة 😀 ليست شايًا، يقول البائع."
TEXTS = {
    "q1": [
        "A heat pump moves heat from the air; one unit of electricity gives three units of heat.",
        "A gas boiler burns fuel and is cheap to buy. Naïve 😀 owners like 𝒃oilers.",
        "Heat pumps are louder than boilers, says a boiler maker.",
    ],
    "q2": [
        "Winter tyres grip on snow and ice.",
        "Summer tyres last long on dry roads.",
        "Tyres are black.",
    ],
    "q3": ["Green tea has less caffeine than coffee.", "Tea grows in China and Japan.", COFFEE],
}
SYSTEMS = {"alpha": [0, 1], "beta": [1, 2], "gamma": [2, 0]}


def questions_study(*judge: str) -> Path:
    """A study of three systems, with questions, graded by lexical or another judge."""
    Path("runs").mkdir(exist_ok=True)
    for system, order in SYSTEMS.items():
        rows = [f"{q} Q0 {q}-p{p} {r} {9 - r} {system}\n" for q in QUERIES for r, p in enumerate(order, 1)]
        Path(f"runs/{system}.run").write_text("".join(rows))
    texts = [f"{q}-p{p}\t{text}\n" for q, of_query in TEXTS.items() for p, text in enumerate(of_query)]
    Path("passages.tsv").write_text("".join(texts))
    _write_queries()
    bank = {
        "q1": ["How much heat does a heat pump give for electricity?", "What does a boiler burn?"],
        "q2": ["Which tyres grip on snow?", "Which tyres last longer on dry roads?"],
        "q3": ["Does green tea have less caffeine than coffee?", "Where does tea grow?"],
    }
    lines = [
        {"query_id": q, "query_text": QUERIES[q],
         "items": [{"query_id": q, "question_id": f"{q}/{n}", "question_text": t} for n, t in enumerate(of)]}
        for q, of in bank.items()
    ]  # fmt: skip
    Path("bank.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["--runs", "runs", "--texts", "passages.tsv", "--top", "5"]
    return _run([*words, *(judge or ("--model", "lexical"))])


def criteria_study(*judge: str) -> Path:
    """A study of two systems with answers, and criteria with weights, of which one is a mistake."""
    return _of_answers(
        lambda n, text: {"weight": -1.0 if n == 2 else n + 1.0, "nugget_text": f"says that {text}"}, judge
    )


def nuggets_study() -> Path:
    """A study of two systems with answers, and nuggets with importance."""
    return _of_answers(
        lambda n, text: {"importance": "vital" if n else "okay", "nugget_text": text.rstrip(".")},
        ("--model", "lexical"),
    )


def _of_answers(entry: Callable[[int, str], dict[str, Any]], judge: Sequence[str]) -> Path:
    _write_queries()
    for number, system in enumerate(("alpha", "beta")):
        rows = [
            {"query_id": q, "system": system, "text": " ".join(of[number : number + 2])}
            for q, of in TEXTS.items()
        ]
        Path(f"{system}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [
        {
            "query_id": q,
            "query_text": QUERIES[q],
            "items": [
                {"query_id": q, "nugget_id": f"{q}/{n}", **entry(n, text)} for n, text in enumerate(of)
            ],
        }
        for q, of in TEXTS.items()
    ]
    Path("bank.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return _run(["--answers", "alpha.jsonl", "beta.jsonl", *judge])


def _write_queries() -> None:
    rows = [json.dumps({"query_id": q, "query_text": text}) + "\n" for q, text in QUERIES.items()]
    Path("queries.jsonl").write_text("".join(rows))


def _run(words: list[str]) -> Path:
    main(["-q", "run", *words, "--queries", "queries.jsonl", "--bank", "bank.jsonl", "-o", "study"])
    return Path("study")
