"""Write the golden leaderboards of a small collection in the formats for programs, whose bytes never change.

Usage: python -m scripts.golden_tables
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from exam_pp import provenance
from exam_pp.cli.main import main
from tests.conftest import passage, rubric
from tests.phases.nugget_material import answer, bank_line

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "tables"
VERSION = "VERSION"
"""Stands for the version of exam_pp, so that the files stay the same in the next version."""

_SYSTEMS = ("good", "fair", "poor")
_LABELS = {"good": "SSSPN", "fair": "SPPNN-", "poor": "SPNNN"}
"""The labels that are drawn for the nuggets of a system."""
_COVER = ["cover", "graded.jsonl", "--bank", "questions.jsonl", "--cutoff", "3"]
_BY_QUESTIONS = ["--prompt", "self-rated"]
_BY_BOTH = [*_BY_QUESTIONS, "--prompt", "nugget-self-rated"]
_UNCERTAIN = ["--intervals", "queries", "--significance"]
_OFFICIAL = ["--official", "official.json"]
_QRELS = ["qrels", "graded.jsonl", *_BY_QUESTIONS]
_RUNS = ["--runs", "runs", "-m", "nDCG@10", "-m", "P@2", "-m", "NumRelRet"]
_NUGGETS = ["nuggets", "assigned.jsonl", "--bank", "nuggets.jsonl"]
TABLES: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "cover": ([*_COVER, *_BY_QUESTIONS], ("tsv", "json", "latex", "trec_eval", "published")),
    "cover-uncertain": (
        [*_COVER, *_BY_QUESTIONS, *_UNCERTAIN, *_OFFICIAL, "--min-grade", "3"],
        ("tsv", "json", "latex"),
    ),
    "cover-official": ([*_COVER, *_BY_QUESTIONS, *_OFFICIAL], ("published",)),
    "cover-by-prompt": (["cover", "graded.jsonl", *_BY_BOTH, "--cutoff", "2"], ("tsv", "json", "latex")),
    "cover-by-query": ([*_COVER, *_BY_QUESTIONS, "--per-query"], ("tsv",)),
    "qrels": ([*_QRELS], ("text",)),
    "qrels-runs": ([*_QRELS, *_RUNS], ("tsv", "json", "latex", "trec_eval")),
    "qrels-uncertain": ([*_QRELS, "-m", "RR", *_UNCERTAIN], ("tsv", "json", "latex")),
    "qrels-official": ([*_QRELS, *_RUNS[:4], *_OFFICIAL], ("published", "tsv", "json")),
    "nuggets": ([*_NUGGETS, "--grader", "judge"], ("tsv", "json", "latex", "trec_eval")),
    "nuggets-uncertain": (
        [*_NUGGETS, "--grader", "judge", "--canaries", *_UNCERTAIN],
        ("tsv", "json", "latex"),
    ),
    "nuggets-by-grader": ([*_NUGGETS], ("tsv", "json", "latex")),
    "nuggets-by-query": ([*_NUGGETS, "--grader", "judge", "--per-query"], ("tsv",)),
    "nuggets-run": ([*_NUGGETS, "--grader", "judge", "--system", "good"], ("nuggetizer", "jsonl")),
    "judgments": (
        ["judgments", "qrels.txt", "--runs", "runs", "-m", "nDCG@10", "-m", "RR"],
        ("tsv", "json", "latex", "trec_eval"),
    ),
    "judgments-official": (["judgments", "qrels.txt", "--runs", "runs"], ("official",)),
    "judgments-uncertain": (
        ["judgments", "qrels.txt", "--runs", "runs", *_UNCERTAIN],
        ("tsv", "json", "latex"),
    ),
}
"""Name to the command line after ``exam-pp evaluate``, and formats."""


def command(name: str, form: str, output: Path) -> list[str]:
    """The command line of a golden leaderboard."""
    return ["--quiet", "evaluate", *TABLES[name][0], "--format", form, "-o", str(output)]


def make_inputs(folder: Path) -> None:
    """Write a collection of eight queries, four passages each, and three systems, graded at random."""
    draw = random.Random(3)
    lines: dict[str, list[Any]] = {name: [] for name in ("graded", "assigned", "questions", "nuggets")}
    qrels: list[str] = []
    runs: dict[str, list[str]] = {system: [] for system in _SYSTEMS}
    for query in (f"q{number}" for number in range(8)):
        relevance = {f"{query}-p{number}": draw.randrange(4) for number in range(4)}
        ranks: dict[str, list[dict[str, Any]]] = {name: [] for name in relevance}
        for system, noise in zip(_SYSTEMS, (2, 6, 12), strict=True):
            order = sorted(relevance, key=lambda name: draw.randrange(noise) - 2 * relevance[name])
            for rank, name in enumerate(order[:3], 1):
                place = {"method": system, "paragraphId": name, "queryId": query, "rank": rank}
                ranks[name].append({**place, "score": 4.0 - rank})
                runs[system].append(f"{query} Q0 {name} {rank} {4 - rank} {system}\n")
        passages = []
        for name, label in relevance.items():
            ratings = {f"{query}/{key}": min(5, draw.randrange(5) + label // 2) for key in "abc"}
            of_nuggets = {f"{entry}n": rating for entry, rating in ratings.items()}
            info = {"prompt_class": "NuggetSelfRatedPrompt"}
            grades = [rubric(ratings), rubric(of_nuggets, prompt_info=info, prompt_type="nugget")]
            data = {"judgments": [], "rankings": ranks[name]}
            passages.append(passage(name, paragraph_data=data, exam_grades=grades))
        lines["graded"].append([query, passages])
        labels = {
            system: ["".join(draw.choices(kinds, k=3)) for _ in "12"] for system, kinds in _LABELS.items()
        }
        answers = [
            answer(system, query, one, "A few words. " * len(system), two=two)
            for system, (one, two) in labels.items()
        ]
        lines["assigned"].append([query, answers])
        lines["nuggets"].append(bank_line(query, "vov"))
        questions = [
            {"query_id": query, "question_id": f"{query}/{key}", "question_text": f"What is {key}?"}
            for key in "abc"
        ]
        lines["questions"].append({**bank_line(query, ""), "items": questions})
        qrels += [f"{query} 0 {name} {label}\n" for name, label in relevance.items()]
    for file, values in lines.items():
        text = "".join(json.dumps(value) + "\n" for value in values)
        (folder / f"{file}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels.txt").write_text("".join(qrels), encoding="utf-8")
    (folder / "runs").mkdir()
    for system, of_run in runs.items():
        (folder / "runs" / f"{system}.run").write_text("".join(of_run), encoding="utf-8")
    ranked = {system: rank for rank, system in enumerate(_SYSTEMS, 1)}
    (folder / "official.json").write_text(json.dumps(ranked), encoding="utf-8")


if __name__ == "__main__":
    provenance.VERSION = VERSION
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as inputs, contextlib.chdir(inputs):
        make_inputs(Path())
        for name, (_, forms) in TABLES.items():
            for form in forms:
                main(command(name, form, GOLDEN / f"{name}.{form}"))
