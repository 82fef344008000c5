"""Write answers made from the demo collection as reports of TREC AutoJudge, with topics and a truth.

Usage: python scripts/autojudge_demo.py FOLDER

FOLDER gets ``reports/`` with one file per run, ``topics.jsonl``, ``bank.jsonl`` (a nugget bank of AutoJudge
with the demo's questions and nuggets) and ``truth.txt``, a leaderboard. The answers are those of the two
generative systems of the demo, and for each of its ten runs the first two passages, one sentence of the
report each. The truth is nDCG@10 of the ten runs by the demo's judgments.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import exam_pp
from exam_pp.formats.autojudge import write_autojudge
from exam_pp.store.trec.answers import read_answers
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.store.trec.texts import read_texts

DEMO = Path(__file__).resolve().parents[1] / "data" / "demo"
TOP = 2
"""Passages of a run that are its answer."""


def answers_of_systems() -> Iterator[tuple[str, str, list[tuple[str, list[str]]]]]:
    """Run, topic, and the parts of the answer with their citations, for the generative systems."""
    for path in sorted((DEMO / "answers").glob("*.jsonl")):
        for answer in read_answers(path):
            parts = [(part.text, list(part.citations)) for part in answer.parts]
            yield answer.system, answer.query_id, parts


def answers_of_runs() -> Iterator[tuple[str, str, list[tuple[str, list[str]]]]]:
    """The same for the runs, whose first passages are the parts."""
    passages: dict[tuple[str, str], list[str]] = {}
    for path in sorted((DEMO / "runs").glob("*.run")):
        for line in exam_pp.read_run(path):
            passages.setdefault((line.system, line.query_id), []).append(line.passage_id)
    texts = read_texts(DEMO / "passages.tsv", None)
    for (run, topic), ids in passages.items():
        yield run, topic, [(texts[docid], [docid]) for docid in ids[:TOP]]


def report(run: str, topic: str, parts: list[tuple[str, list[str]]]) -> dict[str, Any]:
    return {
        "metadata": {"team_id": "demo", "run_id": run, "topic_id": topic},
        "references": list(dict.fromkeys(docid for _, cited in parts for docid in cited)),
        "responses": [{"text": text, "citations": cited} for text, cited in parts],
    }


def write_demo(folder: Path) -> None:
    """Write all files."""
    (folder / "reports").mkdir(parents=True, exist_ok=True)
    by_run: dict[str, list[str]] = {}
    for run, topic, parts in (*answers_of_systems(), *answers_of_runs()):
        by_run.setdefault(run, []).append(json.dumps(report(run, topic, parts), ensure_ascii=False))
    for run, lines in by_run.items():
        (folder / "reports" / f"{run}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    topics = read_query_texts(DEMO / "queries.jsonl")
    (folder / "topics.jsonl").write_text(
        "".join(json.dumps({"request_id": key, "title": text}) + "\n" for key, text in topics.items()),
        encoding="utf-8",
    )
    banks = (exam_pp.read_bank(DEMO / name) for name in ("questions.jsonl", "nuggets.jsonl"))
    write_autojudge((line for bank in banks for line in bank.lines), folder / "bank.jsonl")
    scores = exam_pp.score_runs(DEMO / "qrels.txt", DEMO / "runs", ["nDCG@10"])
    rows = [(score.system, score.query_id, score.value) for score in scores.scores]
    rows += [(run, "all", mean) for run, mean in exam_pp.leaderboard(scores, intervals=None).means().items()]
    (folder / "truth.txt").write_text(
        "".join(f"{run}\t{topic}\tnDCG@10\t{value}\n" for run, topic, value in rows), encoding="utf-8"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    write_demo(parser.parse_args().folder)
