"""Make the runs and the official leaderboard of the demo collection (data/demo).

Six systems are real rankers over the passages, three are simulated, and one fuses both kinds. A simulated
system ranks by the official judgments plus noise, so that systems differ in quality without a neural model.
Deterministic; standard library only.

Usage: python scripts/make_demo_runs.py [--data data/demo] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

DEMO = Path(__file__).resolve().parent.parent / "data" / "demo"
SEED = "exam_pp-demo-1"
DEPTH = 20
CUTOFF = 10
NOISE = {"rerank": 1.4, "dense-large": 2.6, "dense-small": 5.0}

STOP_WORDS = frozenset(
    """
    a an and are as at be been but by can do does for from has have how i if in into is it its my of on or
    should so than that the their them then there these they this to was were what when where which while who
    why will with you your
    """.split()  # noqa: SIM905
)

Scores = dict[str, float]
Qrels = dict[str, dict[str, int]]
Ranker = Callable[[str], Scores]


def tokens(text: str) -> list[str]:
    """All lower-case words and numbers of a text."""
    return re.findall(r"[a-z0-9]+", text.lower())


def content_words(text: str) -> list[str]:
    """The tokens of a text without stop words."""
    return [token for token in tokens(text) if token not in STOP_WORDS]


def stem(word: str) -> str:
    """A light suffix stripper: plural, -ing and -ed, and a final e."""
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        if len(word) > len(suffix) + 3 and word.endswith(suffix):
            word = word[: -len(suffix)]
            break
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    return word


def stems(text: str) -> list[str]:
    """The stemmed content words of a text."""
    return [stem(word) for word in content_words(text)]


class Bm25:
    """BM25 over the whole collection."""

    def __init__(self, documents: Mapping[str, Sequence[str]], k1: float = 0.9, b: float = 0.4) -> None:
        self.k1, self.b = k1, b
        self.counts = {pid: Counter(words) for pid, words in documents.items()}
        self.lengths = {pid: len(words) for pid, words in documents.items()}
        self.mean_length = sum(self.lengths.values()) / max(1, len(self.lengths))
        self.df = Counter(word for counts in self.counts.values() for word in counts)

    def scores(self, query: Sequence[str]) -> Scores:
        """Scores of the passages that contain at least one word of the query."""
        result: Scores = {}
        for pid, counts in self.counts.items():
            norm = self.k1 * (1 - self.b + self.b * self.lengths[pid] / self.mean_length)
            total = 0.0
            for word in dict.fromkeys(query):
                if counts[word]:
                    idf = math.log(1 + (len(self.counts) - self.df[word] + 0.5) / (self.df[word] + 0.5))
                    total += idf * counts[word] * (self.k1 + 1) / (counts[word] + norm)
            if total > 0:
                result[pid] = total
        return result


def order(scores: Mapping[str, float]) -> list[str]:
    """Passage ids by descending score, then by id; scores are rounded so that no platform decides ties."""
    return sorted(scores, key=lambda pid: (-round(scores[pid], 4), pid))


def reciprocal_rank_fusion(*rankings: Sequence[str], k: int = 60) -> Scores:
    """Fused scores of several rankings."""
    fused: Scores = defaultdict(float)
    for ranking in rankings:
        for rank, pid in enumerate(ranking, start=1):
            fused[pid] += 1000.0 / (k + rank)
    return dict(fused)


def simulated(name: str, qid: str, grades: Mapping[str, int], noise: float) -> Scores:
    """Scores of a simulated ranker: the grade plus triangular noise."""
    generator = random.Random(f"{SEED}/{name}/{qid}")
    return {
        pid: 1 + 2 * noise + grades[pid] + noise * (generator.random() + generator.random() - 1)
        for pid in sorted(grades)
    }


def make_rankers(queries: Mapping[str, str], passages: Mapping[str, str], qrels: Qrels) -> dict[str, Ranker]:
    """The ten retrieval systems, by name."""
    plain = Bm25({pid: content_words(text) for pid, text in passages.items()})
    stemmed = Bm25({pid: stems(text) for pid, text in passages.items()})
    raw = {pid: Counter(tokens(text)) for pid, text in passages.items()}
    stem_sets = {pid: set(stems(text)) for pid, text in passages.items()}

    def candidates(qid: str) -> list[str]:
        query = set(stems(queries[qid]))
        return sorted(pid for pid, have in stem_sets.items() if query & have)

    def bm25_stem(qid: str) -> Scores:
        return stemmed.scores(stems(queries[qid]))

    def dense_large(qid: str) -> Scores:
        return simulated("dense-large", qid, qrels[qid], NOISE["dense-large"])

    def tf(qid: str) -> Scores:
        query = dict.fromkeys(tokens(queries[qid]))
        return {pid: float(n) for pid, c in raw.items() if (n := sum(c[word] for word in query))}

    def coord(qid: str) -> Scores:
        query = set(tokens(queries[qid]))
        return {pid: float(len(query & set(have))) for pid, have in raw.items() if query & set(have)}

    def shortest(qid: str) -> Scores:
        return {pid: 1000.0 / len(passages[pid].split()) for pid in candidates(qid)}

    def shuffled(qid: str) -> Scores:
        generator = random.Random(f"{SEED}/random/{qid}")
        return {pid: generator.random() for pid in candidates(qid)}

    return {
        "bm25": lambda qid: plain.scores(content_words(queries[qid])),
        "bm25-stem": bm25_stem,
        "coord": coord,
        "dense-large": dense_large,
        "dense-small": lambda qid: simulated("dense-small", qid, qrels[qid], NOISE["dense-small"]),
        "hybrid": lambda qid: reciprocal_rank_fusion(order(bm25_stem(qid))[:DEPTH], order(dense_large(qid))),
        "random": shuffled,
        "rerank": lambda qid: simulated("rerank", qid, qrels[qid], NOISE["rerank"]),
        "shortest": shortest,
        "tf": tf,
    }


def run_lines(name: str, queries: Mapping[str, str], ranker: Ranker) -> list[str]:
    """The run of a system in TREC format; scores descend strictly, so that they agree with the ranks."""
    lines = []
    for qid in queries:
        scores = ranker(qid)
        last = math.inf
        for rank, pid in enumerate(order(scores)[:DEPTH], start=1):
            last = min(round(scores[pid], 4), last - 0.0001)
            lines.append(f"{qid} Q0 {pid} {rank} {last:.4f} {name}")
    return lines


def ndcg(ranking: Sequence[str], grades: Mapping[str, int], cutoff: int = CUTOFF) -> float:
    """nDCG as in trec_eval: the gain is the grade, discounted by log2(rank + 1)."""

    def dcg(gains: Sequence[int]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:cutoff], start=1))

    ideal = dcg(sorted((g for g in grades.values() if g > 0), reverse=True))
    return dcg([max(0, grades.get(pid, 0)) for pid in ranking]) / ideal if ideal else 0.0


def mean_ndcg(lines: Sequence[str], qrels: Qrels) -> float:
    """Mean nDCG@10 of a run over all judged queries."""
    rankings: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        qid, _, pid, _, _, _ = line.split()
        rankings[qid].append(pid)
    return sum(ndcg(rankings.get(qid, []), grades) for qid, grades in qrels.items()) / len(qrels)


def ranks(values: Mapping[str, float]) -> dict[str, float]:
    """Ranks of the systems; 1 is the best, and ties share their average rank."""
    result = {}
    for name, value in values.items():
        better = sum(v > value for v in values.values())
        equal = sum(v == value for v in values.values())
        result[name] = better + (equal + 1) / 2
    return dict(sorted(result.items(), key=lambda item: (item[1], item[0])))


def read_collection(data: Path) -> tuple[dict[str, str], dict[str, str], Qrels]:
    """Queries, passages and official judgments."""
    queries = {}
    for line in (data / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        queries[row["query_id"]] = row["query_text"]
    passages = {}
    for line in (data / "passages.tsv").read_text(encoding="utf-8").splitlines():
        pid, text = line.split("\t")
        passages[pid] = text
    qrels: Qrels = {qid: {} for qid in queries}
    for line in (data / "qrels.txt").read_text(encoding="utf-8").splitlines():
        qid, _, pid, grade = line.split()
        qrels[qid][pid] = int(grade)
    return queries, passages, qrels


def make(data: Path) -> tuple[dict[str, str], dict[str, float]]:
    """Relative file name to content, and system to nDCG@10."""
    queries, passages, qrels = read_collection(data)
    files, values = {}, {}
    for name, ranker in sorted(make_rankers(queries, passages, qrels).items()):
        lines = run_lines(name, queries, ranker)
        files[f"runs/{name}.run"] = "".join(line + "\n" for line in lines)
        values[name] = round(mean_ndcg(lines, qrels), 6)
    files["official_leaderboard.json"] = json.dumps(ranks(values), indent=2) + "\n"
    return files, values


def main(argv: Sequence[str] | None = None) -> int:
    """Write the runs and the leaderboard, and print nDCG@10 of every system."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DEMO, help="folder of the collection")
    parser.add_argument("--out", type=Path, help="folder to write to (default: the collection's own)")
    options = parser.parse_args(argv)
    files, values = make(options.data)
    for name, content in files.items():
        target = (options.out or options.data) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8", newline="\n")
    for name, value in sorted(values.items(), key=lambda item: -item[1]):
        sys.stdout.write(f"{name:<14}{value:.4f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
