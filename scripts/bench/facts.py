"""Benchmark of judges of facts (nuggets): which evidence agrees with labels, by set, length and language.

Usage: OMP_NUM_THREADS=1 nice python scripts/bench/facts.py [--shared FOLDER] [--every N] [--vectors FILE]

Prints Markdown tables. Sets that are not there are skipped; those of the shared folder are not part of the
project.

* REALSumm: 5,280 pairs of a summary and a fact, with people's labels; a group is a document.
* The demo: its facts and its judgments of passages, both our own. There are no labels of pairs, so the mean
  evidence for the facts of the query is compared with relevance >= 2, as mean of the areas of queries.
* TREC RAG 2024: labels of a large model for whole answers (agreement, not truth), `support` against the rest;
  every third topic (`--every`), about 2,000 pairs.
* `data/facts`: 75 facts in five languages, each in five answers. The labels are those with which they were
  written; the languages are translations of 15 facts, which the intervals take as independent. Answers that
  deny the fact or change its number look like support, so the area is also given without these two.

The evidence is compared by the area under the curve, and by kappa: as graded (`support` from the thresholds
of the judge), else with the cut point that is best for the other half of the groups. Intervals are 95 % by a
bootstrap over groups. `--vectors` keeps the vectors of texts between runs.
"""

from __future__ import annotations

import argparse
import json
import logging
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from exam_pp.errors import ExamError
from exam_pp.llm.lexical import ASSIGNMENT_THRESHOLDS, coverage
from exam_pp.llm.packaged_e5 import CUT_POINTS, UNRELATED, PackagedE5
from exam_pp.llm.similarity import SentenceVector, SimilarityLLM, Text
from exam_pp.metrics.agreement import area_under_curve, weighted_kappa
from exam_pp.rendering.document import Cell, Report, Table
from exam_pp.rendering.render import render
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.text.sentences import plain_sentences
from exam_pp.text.stemming import tokens

ROOT = Path(__file__).resolve().parents[2]
DEMO, FACTS = ROOT / "data" / "demo", ROOT / "data" / "facts" / "facts.jsonl"
SHARED = ROOT.parent / "shared" / "data"
SEED, SAMPLES = 19, 500
RELEVANT = 2
KINDS = ("supported", "paraphrased", "omitted", "negated", "wrong")
FOOLING = KINDS[3:]
LENGTHS = {"1 to 4 words": range(5), "5 to 8": range(5, 9), "9 and more": range(9, 1000)}

log = logging.getLogger("facts")


@dataclass(frozen=True)
class Pair:
    """A fact and a text. ``kind`` is how the text treats the fact, or the passage of the demo."""

    group: str
    query: str
    fact: str
    text: str
    holds: bool
    language: str = "en"
    kind: str = ""


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def realsumm(folder: Path) -> list[Pair]:
    facts = [line.split("\t") for line in lines(folder / "SCUs.txt")]
    return [
        Pair(str(number), "", fact, summary, label == "1")
        for path in sorted((folder / "summaries").iterdir())
        for number, (summary, of_text, row) in enumerate(
            zip(lines(path), facts, lines(folder / "labels" / f"{path.stem}.label"), strict=True)
        )
        for fact, label in zip(of_text, row.split(), strict=True)
    ]


def demo() -> list[Pair]:
    texts = dict(line.split("\t", 1) for line in lines(DEMO / "passages.tsv"))
    bank = read_bank(DEMO / "nuggets.jsonl")
    queries = {
        line["query_id"]: line["query_text"] for line in map(json.loads, lines(DEMO / "queries.jsonl"))
    }
    judged = [line.split() for line in lines(DEMO / "qrels.txt")]
    return [
        Pair(query, queries[query], entry.text, texts[passage], int(grade) >= RELEVANT, kind=passage)
        for query, _, passage, grade in judged
        for entry in bank.entries(query).values()
    ]


def rag24(path: Path, every: int) -> list[Pair]:
    topics = [json.loads(line) for line in lines(path)][::every]
    return [
        Pair(topic["qid"], topic["query"], nugget["text"], topic["answer_text"], label == "support")
        for topic in topics
        for nugget in topic["nuggets"]
        if (label := nugget["assignment"]) in ("support", "partial_support", "not_support")
    ]


def languages() -> list[Pair]:
    """Five answers of each topic and language; each fact is in one answer in each of the five ways."""
    pairs = []
    for topic in map(json.loads, lines(FACTS)):
        language, facts = topic["language"], topic["facts"]
        for number in range(len(KINDS)):
            kinds = [KINDS[(number + 2 * place) % len(KINDS)] for place in range(len(facts))]
            said = [fact[kind] for fact, kind in zip(facts, kinds, strict=True) if kind != "omitted"]
            first, last = topic["frame"]
            text = ("" if language == "ja" else " ").join([first, *said, last])
            pairs += [
                Pair(f"{language} {topic['topic']}", topic["query"], fact["fact"], text, kind in KINDS[:2],
                     language, kind)
                for fact, kind in zip(facts, kinds, strict=True)
            ]  # fmt: skip
    return pairs


# --- evidence ---------------------------------------------------------------------------------------


class Remembered:
    """The packaged encoder, whose vectors are kept in a file."""

    name = "e5"

    def __init__(self, path: Path | None) -> None:
        self._encoder, self._path = PackagedE5(1), path
        self._known: dict[Text, SentenceVector] = {}
        if path is not None and path.exists():
            self._known = pickle.loads(path.read_bytes())

    def provenance(self) -> dict[str, Any]:
        return self._encoder.provenance()

    def embed(self, texts: Iterable[Text]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for number, (text, vector) in enumerate(zip(new, self._encoder.vectors(new), strict=True), 1):
            self._known[text] = vector
            if not number % 500:
                log.info("%d of %d texts", number, len(new))
        if new and self._path is not None:
            self._path.write_bytes(pickle.dumps(self._known))

    def vectors(self, texts: Sequence[Text]) -> Generator[SentenceVector]:
        self.embed(texts)
        yield from (self._known[text] for text in texts)

    def cosine(self, query: str, passage: str) -> float:
        first, second = self._known[query, "query"].vector, self._known[passage, "passage"].vector
        return float(first.astype(float) @ second.astype(float))


LEXICAL, WHOLE, BEST, OF_QUERY, BOTH = (
    "lexical",
    "e5, whole text",
    "e5, best sentence",
    "e5, best sentence, query + fact",
    "e5 as graded: half words, half meaning",
)


def parts(text: str) -> list[str]:
    return plain_sentences(text) or [text]


def evidence(pairs: Sequence[Pair], encoder: Remembered) -> dict[str, list[float]]:
    """Name of a form of evidence to that of each pair."""
    with_queries = any(pair.query for pair in pairs)
    asked: list[Text] = []
    for pair in pairs:
        asked += [(pair.fact, "query"), (pair.fact, "passage"), (pair.text, "passage")]
        asked += [(part, "passage") for part in parts(pair.text)]
        asked += [(f"{pair.query} {pair.fact}", "query")] if with_queries else []
    encoder.embed(asked)
    judge = SimilarityLLM(encoder, CUT_POINTS, UNRELATED)

    def best(query: str, text: str) -> float:
        return max(encoder.cosine(query, part) for part in parts(text))

    forms: dict[str, Callable[[Pair], float]] = {
        LEXICAL: lambda pair: coverage(pair.fact, pair.text),
        WHOLE: lambda pair: encoder.cosine(pair.fact, pair.text),
        BEST: lambda pair: best(pair.fact, pair.text),
        OF_QUERY: lambda pair: best(f"{pair.query} {pair.fact}", pair.text),
        BOTH: lambda pair: judge._evidence(pair.fact, pair.text),
    }
    if not with_queries:
        del forms[OF_QUERY]
    return {name: [form(pair) for pair in pairs] for name, form in forms.items()}


# --- figures ----------------------------------------------------------------------------------------


@dataclass
class OfGroup:
    """The evidence of a group, whether the facts hold, and whether the judge says so."""

    values: list[float] = field(default_factory=list)
    holds: list[bool] = field(default_factory=list)
    said: list[bool] = field(default_factory=list)


def area(groups: Sequence[OfGroup]) -> float | None:
    values = [value for group in groups for value in group.values]
    return area_under_curve(values, [holds for group in groups for holds in group.holds])


def mean_area(groups: Sequence[OfGroup]) -> float | None:
    areas = [area_of for group in groups if (area_of := area([group])) is not None]
    return fmean(areas) if areas else None


def kappa(groups: Sequence[OfGroup]) -> float | None:
    said = [int(said) for group in groups for said in group.said]
    return weighted_kappa(said, [int(holds) for group in groups for holds in group.holds])


def with_interval(groups: Sequence[OfGroup], figure: Callable[[Sequence[OfGroup]], float | None]) -> Cell:
    value, draw = figure(groups), Random(SEED)
    if value is None:
        return "–"
    drawn = [figure(draw.choices(groups, k=len(groups))) for _ in range(SAMPLES)]
    low, high = np.quantile([each for each in drawn if each is not None], [0.025, 0.975])
    return f"{value:.3f} [{low:.2f}, {high:.2f}]"


def more_than_lexical(
    groups: Sequence[OfGroup],
    lexical: Sequence[OfGroup],
    figure: Callable[[Sequence[OfGroup]], float | None] = area,
) -> Cell:
    """The difference of areas, with an interval of the same resampled groups."""

    def difference(numbers: Sequence[int]) -> float:
        ours, theirs = (figure([side[number] for number in numbers]) or 0.0 for side in (groups, lexical))
        return ours - theirs

    draw, everything = Random(SEED), range(len(groups))
    drawn = [difference(draw.choices(everything, k=len(groups))) for _ in range(SAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{difference(everything):+.3f} [{low:+.2f}, {high:+.2f}]"


def best_cut(groups: Sequence[OfGroup]) -> float:
    values = [value for group in groups for value in group.values]
    holds = [int(holds) for group in groups for holds in group.holds]
    cuts = sorted(set(np.quantile(values, np.linspace(0.02, 0.98, 60)).round(6)))
    return float(max(cuts, key=lambda cut: weighted_kappa([int(v >= cut) for v in values], holds) or -1.0))


def grouped(pairs: Sequence[Pair], values: Sequence[float], form: str) -> list[OfGroup]:
    """The groups of pairs, with what the judge says of each pair."""
    groups: defaultdict[str, OfGroup] = defaultdict(OfGroup)
    for pair, value in zip(pairs, values, strict=True):
        groups[pair.group].values.append(value)
        groups[pair.group].holds.append(pair.holds)
    found = list(groups.values())
    halves = found[::2], found[1::2]
    for half, other in (halves, halves[::-1]):
        cut = ASSIGNMENT_THRESHOLDS[1] if form in (LEXICAL, BOTH) else best_cut(other)
        for group in half:
            group.said = [value >= cut for value in group.values]
    return found


def figures(pairs: Sequence[Pair], values: Sequence[float], form: str) -> list[Cell]:
    groups = grouped(pairs, values, form)
    return [with_interval(groups, area), with_interval(groups, kappa)]


def passages_of_demo(pairs: Sequence[Pair], values: Sequence[float]) -> list[OfGroup]:
    """The mean evidence of each passage."""
    means: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    holds = {}
    for pair, value in zip(pairs, values, strict=True):
        means[pair.group, pair.kind].append(value)
        holds[pair.group, pair.kind] = pair.holds
    groups: defaultdict[str, OfGroup] = defaultdict(OfGroup)
    for (query, passage), found in means.items():
        groups[query].values.append(fmean(found))
        groups[query].holds.append(holds[query, passage])
    return list(groups.values())


def some(
    pairs: Sequence[Pair], values: Sequence[float], chosen: Callable[[Pair], bool]
) -> tuple[list[Pair], list[float]]:
    both = [(pair, value) for pair, value in zip(pairs, values, strict=True) if chosen(pair)]
    return [pair for pair, _ in both], [value for _, value in both]


# --- tables -----------------------------------------------------------------------------------------


def tables(sets: dict[str, list[Pair]], encoder: Remembered) -> list[Table]:
    by_set: list[list[Cell]] = []
    by_length: list[list[Cell]] = []
    by_language: list[list[Cell]] = []
    ways: list[list[Cell]] = []
    for name, pairs in sets.items():
        log.info("%s: %d pairs", name, len(pairs))
        found = evidence(pairs, encoder)
        words = found[LEXICAL]
        for form, values in found.items():
            if name == "demo":
                groups = passages_of_demo(pairs, values)
                more = more_than_lexical(groups, passages_of_demo(pairs, words), mean_area)
                by_set.append([name, len(pairs), form, with_interval(groups, mean_area), "–", more])
                continue
            more = more_than_lexical(grouped(pairs, values, form), grouped(pairs, words, form))
            by_set.append([name, len(pairs), form, *figures(pairs, values, form), more])
            if name == "languages":
                plain, their = (some(pairs, each, lambda pair: pair.kind not in FOOLING)
                                for each in (values, words))  # fmt: skip
                label = "languages, without denied and changed facts"
                more = more_than_lexical(grouped(*plain, form), grouped(*their, form))
                by_set.append([label, len(plain[0]), form, *figures(*plain, form), more])
                codes = dict.fromkeys(pair.language for pair in pairs)
                for code in codes:
                    own = some(*plain, lambda pair, code=code: pair.language == code)  # type: ignore[misc]
                    by_language.append([code, len(own[0]), form, *figures(*own, form)])
                groups = grouped(pairs, values, form)
                said = [each for group in groups for each in group.said]  # pairs come topic by topic
                shares = [
                    fmean(s for s, pair in zip(said, pairs, strict=True) if pair.kind == kind)
                    for kind in KINDS
                ]
                ways.append([form, *(f"{100 * share:.0f} %" for share in shares)])
                continue
            for label, lengths in LENGTHS.items():
                short = some(pairs, values, lambda pair, k=lengths: len(tokens(pair.fact)) in k)  # type: ignore[misc]
                by_length.append([name, label, len(short[0]), form, *figures(*short, form)])
        log.info("%s", by_set[-1])
    measures = ["evidence", "AUC", "κ"]
    return [
        Table(["set", "pairs", *measures, "AUC − lexical"], by_set),
        Table(["set", "fact", "pairs", *measures], by_length),
        Table(["language", "pairs", *measures], by_language),
        Table(["called supported", *KINDS], ways),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of the data sets")
    parser.add_argument("--every", type=int, default=3, help="every N-th topic of TREC RAG (default: 3)")
    parser.add_argument("--vectors", type=Path, help="file that keeps vectors of texts between runs")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    assignments = options.shared / "rag24" / "assignments.command-r-plus.jsonl"
    sets = {"languages": languages(), "demo": demo()}
    if (options.shared / "realsumm").exists():
        sets["REALSumm"] = realsumm(options.shared / "realsumm")
    if assignments.exists():
        sets["RAG24"] = rag24(assignments, options.every)
    try:
        print(render(Report("", tables(sets, Remembered(options.vectors))), "md"), end="")
    except (ExamError, OSError) as error:
        sys.exit(f"facts.py: {error}")


if __name__ == "__main__":
    main()
