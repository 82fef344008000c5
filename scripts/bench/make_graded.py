"""Write a synthetic graded file, and its test bank.

Usage: python scripts/bench/make_graded.py OUT.jsonl.gz [--scale 20] [--bank BANK.jsonl.gz] [--seed 20]

At scale 1 the file has the size of TREC DL 2020: 54 queries, 11,386 passages, 4 sets of grades (questions and
nuggets, each rated and answered), 95 MB of JSON. Larger scales have more queries, not larger queries. Equal
arguments give equal bytes; only one query is in memory at a time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from exam_pp.store.files import atomic_output

QUERIES, PASSAGES, SYSTEMS = 54, 11_386, 60
ENTRIES = {"question": 10, "nugget": 8}
VOCABULARY = 20_000
SEED = 20
MODEL = "google/flan-t5-large"

# Prompt class, kind, whether it has a scale.
SETS = (
    ("QuestionSelfRatedUnanswerablePromptWithChoices", "question", True),
    ("QuestionCompleteConciseUnanswerablePromptWithChoices", "question", False),
    ("NuggetSelfRatedPrompt", "nugget", True),
    ("NuggetExtractionPrompt", "nugget", False),
)


class Words:
    """Invented words with frequencies that follow Zipf's law."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        # Frequent words are short.
        self._words = [
            "".join(rng.choices("etaoinshrdlcumwfgypbvk", k=2 + rank.bit_length() // 2 + rng.randint(0, 3)))
            for rank in range(VOCABULARY)
        ]
        total, self._weights = 0.0, list[float]()
        for rank in range(VOCABULARY):
            total += 1 / (rank + 10)
            self._weights.append(total)

    def text(self, shortest: int, longest: int) -> str:
        """A text with a random number of words in this range."""
        count = self._rng.randint(shortest, longest)
        return " ".join(self._rng.choices(self._words, cum_weights=self._weights, k=count))


class Generator:
    """Generates the queries one by one."""

    def __init__(self, seed: int = SEED) -> None:
        self._rng = Random(seed)
        self._words = Words(self._rng)

    def lines(self, scale: float) -> Iterator[tuple[bytes, bytes]]:
        """A line of graded passages and the query's line of the bank, for every query."""
        queries = max(1, round(QUERIES * scale))
        remaining = max(1, round(PASSAGES * scale))
        for number in range(queries):
            query_id = f"{1_000_000 + number}"
            count = -(-remaining // (queries - number))
            remaining -= count
            bank, ids = self._bank(query_id)
            passages = ", ".join(self._passage(query_id, ids, index) for index in range(count))
            yield f'["{query_id}", [{passages}]]'.encode(), bank

    def _bank(self, query_id: str) -> tuple[bytes, dict[str, list[str]]]:
        items, ids = [], {}
        for kind, count in ENTRIES.items():
            texts = [self._words.text(6, 14) for _ in range(count)]
            ids[kind] = [f"{query_id}/{hashlib.md5(text.encode()).hexdigest()}" for text in texts]
            items += [
                {"query_id": query_id, f"{kind}_id": key, f"{kind}_text": text}
                for key, text in zip(ids[kind], texts, strict=True)
            ]
        line = {
            "query_id": query_id,
            "test_collection": "synthetic",
            "query_text": self._words.text(3, 9),
            "items": items,
        }
        return json.dumps(line).encode(), ids

    # Write JSON directly: making twenty million objects would take longer than the measurements.

    def _passage(self, query_id: str, ids: dict[str, list[str]], index: int) -> str:
        key = f"msmarco_passage_{query_id}_{index:06d}"
        systems = self._rng.sample(range(SYSTEMS), k=self._rng.randint(1, 9))
        rankings = ", ".join(self._ranking(query_id, key, system) for system in systems)
        judgment = (
            f'{{"paragraphId": "{key}", "query": "{query_id}", "relevance": {self._rng.randrange(4)}, '
            f'"titleQuery": "{query_id}"}}'
        )
        grades = ", ".join(self._grades(ids[kind], name, kind, rated) for name, kind, rated in SETS)
        return (
            f'{{"paragraph_id": "{key}", "text": "{self._words.text(30, 80)}.", "paragraph": {{}}, '
            f'"paragraph_data": {{"judgments": [{judgment}], "rankings": [{rankings}]}}, '
            f'"exam_grades": [{grades}]}}'
        )

    def _ranking(self, query_id: str, key: str, system: int) -> str:
        return (
            f'{{"method": "run{system:02d}", "paragraphId": "{key}", "queryId": "{query_id}", '
            f'"rank": {self._rng.randrange(1000)}, "score": {self._rng.random() * 30:.6f}}}'
        )

    def _grades(self, ids: list[str], name: str, kind: str, rated: bool) -> str:
        ratings = self._rng.choices(range(6), weights=(8, 3, 2, 2, 4, 2), k=len(ids))
        rated_ids = list(zip(ids, ratings, strict=True))
        correct = ", ".join(f'"{key}"' for key, rating in rated_ids if rating)
        wrong = ", ".join(f'"{key}"' for key, rating in rated_ids if not rating)
        answers = ", ".join(f'["{key}", "{r if rated else self._reply(r)}"]' for key, r in rated_ids)
        entries = ", ".join(f'{{"{kind}_id": "{key}", "self_rating": {r}}}' for key, r in rated_ids)
        self_ratings = f'"self_ratings": [{entries}], ' if rated else ""
        return (
            f'{{"correctAnswered": [{correct}], "wrongAnswered": [{wrong}], "answers": [{answers}], '
            f'"llm_response_errors": {{}}, "llm": "{MODEL}", "llm_options": {{}}, '
            f'"exam_ratio": {sum(map(bool, ratings)) / len(ids)}, "prompt_info": {{"prompt_class": "{name}", '
            '"prompt_style": "Can the question be answered based on the available context?", '
            '"context_first": false, "check_unanswerable": true, "check_answer_key": false, '
            f'"is_self_rated": {str(rated).lower()}}}, {self_ratings}"prompt_type": "{kind}", '
            f'"relevance_label": {max(ratings)}}}'
        )

    def _reply(self, rating: int) -> str:
        return self._words.text(1, 6) if rating else "unanswerable"


def generate(path: Path, scale: float, *, bank: Path | None = None, seed: int = SEED) -> int:
    """Write the files; returns the number of bytes of uncompressed JSON."""
    size = 0
    with atomic_output(path) as graded, atomic_output(bank or Path("/dev/null")) as entries:
        for line, bank_line in Generator(seed).lines(scale):
            size += len(line) + 1
            graded.write(line + b"\n")
            entries.write(bank_line + b"\n")
    return size


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="multiple of TREC DL 2020")
    parser.add_argument("--bank", type=Path, help="also write the test bank")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    size = generate(options.output, options.scale, bank=options.bank, seed=options.seed)
    print(
        f"{size / 1e6:.1f} MB of JSON, {options.output.stat().st_size / 1e6:.1f} MB written", file=sys.stderr
    )


if __name__ == "__main__":
    main()
