"""Check the demo collection (data/demo): one line per finding, then a summary; exit status 0 or 1.

Usage: python scripts/check_demo.py [--data data/demo]
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scripts import make_demo_runs
else:
    import make_demo_runs  # the neighbour in this folder

QUERIES = 8
PASSAGES = 150
PASSAGE_WORDS = (20, 150)
NUGGET_WORDS = (3, 8)
ITEMS = (9, 13)
GOLD_QUESTIONS = 4
DEPTH = (10, 20)
RETRIEVAL_SYSTEMS = 10
GENERATIVE_SYSTEMS = 2
EXACT_AGREEMENT = (0.75, 0.90)
KAPPA = (0.60, 0.90)
FAR_APART = 0.05
GAP = 0.03
QUERY_ID = re.compile(r"d?[0-9]+")
FACET_ID = re.compile(r"[a-z][a-z0-9-]*")

Pair = tuple[str, str]


def md5(text: str) -> str:
    """The id rule of the bank format: hex MD5 of the stripped text."""
    return hashlib.md5(text.strip().encode("utf-8"), usedforsecurity=False).hexdigest()


def cohen_kappa(pairs: Sequence[tuple[int, int]], quadratic: bool = False) -> float:
    """Cohen's kappa of two assessors, plain or with quadratic weights."""

    def distance(a: int, b: int) -> float:
        return float((a - b) ** 2) if quadratic else float(a != b)

    n = len(pairs)
    if not n:
        return 0.0
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(distance(a, b) for a, b in pairs) / n
    expected = sum(first[a] * second[b] * distance(a, b) for a in first for b in second) / n / n
    return 1 - observed / expected if expected else 1.0


def contains(text: str, phrase: str) -> bool:
    """Does the phrase occur in the text as whole words, whatever its case?"""
    return re.search(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)", text.lower()) is not None


class Checker:
    """Reads the collection file by file and collects findings."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.findings: list[str] = []
        self.notes: list[str] = []
        self.queries: dict[str, dict[str, Any]] = {}
        self.passages: dict[str, str] = {}
        self.official: dict[Pair, int] = {}

    def find(self, where: str, what: str) -> None:
        """Record a finding."""
        self.findings.append(f"{where}: {what}")

    def expect(self, condition: bool, where: str, what: str) -> None:
        """Record a finding unless the condition holds."""
        if not condition:
            self.find(where, what)

    def lines(self, name: str) -> list[str]:
        """The lines of a file of the collection; a finding if it is not clean UTF-8 text."""
        path = self.data / name
        if not path.is_file():
            self.find(name, "is missing")
            return []
        raw = path.read_bytes()
        self.expect(
            raw.endswith(b"\n") and b"\r" not in raw, name, "needs Unix line ends and a final newline"
        )
        return raw.decode("utf-8").removesuffix("\n").split("\n")

    def json_lines(self, name: str) -> list[dict[str, Any]]:
        """The objects of a JSONL file."""
        return [json.loads(line) for line in self.lines(name)]

    def unique(self, where: str, ids: Iterable[Any]) -> None:
        """A finding for every id that occurs twice."""
        for item, count in Counter(ids).items():
            self.expect(count == 1, where, f"{item} occurs {count} times")

    def check_queries(self) -> None:
        """Ids, texts and facets of the queries."""
        name = "queries.jsonl"
        rows = self.json_lines(name)
        self.unique(name, (row["query_id"] for row in rows))
        self.unique(name, (row["query_text"] for row in rows))
        for row in rows:
            qid = row["query_id"]
            ok = isinstance(qid, str) and QUERY_ID.fullmatch(qid) is not None
            self.expect(ok, name, f"{qid!r} is not a well-formed query id")
            self.expect(bool(row["query_text"].strip()), name, f"{qid} has no text")
            facets = [facet["facet_id"] for facet in row.get("facets", [])]
            self.unique(f"{name} {qid}", facets)
            for facet in facets:
                well_formed = FACET_ID.fullmatch(facet) is not None
                self.expect(well_formed, name, f"{qid}: {facet!r} is not a well-formed facet id")
            self.queries[qid] = row
        self.expect(len(rows) >= QUERIES, name, f"{len(rows)} queries, at least {QUERIES} expected")
        self.expect(any(row.get("facets") for row in rows), name, "no query has subtopics")

    def check_passages(self) -> None:
        """Ids, lengths and duplicates of the passages."""
        name = "passages.tsv"
        seen: dict[str, str] = {}
        for number, line in enumerate(self.lines(name), start=1):
            fields = line.split("\t")
            if len(fields) != 2:
                self.find(name, f"line {number} has {len(fields)} columns, not 2")
                continue
            pid, text = fields
            self.expect(pid not in self.passages, name, f"{pid} occurs twice")
            prefix, _, rest = pid.rpartition("-p")
            ok = prefix in self.queries and re.fullmatch(r"[0-9]{2}", rest) is not None
            self.expect(ok, name, f"{pid!r} is not a well-formed passage id")
            words = len(text.split())
            in_range = PASSAGE_WORDS[0] <= words <= PASSAGE_WORDS[1]
            self.expect(
                in_range, name, f"{pid} has {words} words, not {PASSAGE_WORDS[0]} to {PASSAGE_WORDS[1]}"
            )
            key = " ".join(make_demo_runs.tokens(text))
            self.expect(key not in seen, name, f"{pid} has the same text as {seen.get(key)}")
            self.expect(text == " ".join(text.split()), name, f"{pid} has irregular white space")
            seen[key] = pid
            self.passages[pid] = text
        count = len(self.passages)
        self.expect(count >= PASSAGES, name, f"{count} passages, at least {PASSAGES} expected")

    def read_qrels(self, name: str) -> dict[Pair, int]:
        """Judgments of one assessor."""
        result: dict[Pair, int] = {}
        for line in self.lines(name):
            fields = line.split()
            if len(fields) != 4 or fields[1] != "0" or not re.fullmatch(r"[0-3]", fields[3]):
                self.find(name, f"not a judgment with a grade from 0 to 3: {line!r}")
                continue
            qid, _, pid, grade = fields
            self.expect(qid in self.queries, name, f"unknown query {qid}")
            self.expect(pid in self.passages, name, f"unknown passage {pid}")
            self.expect((qid, pid) not in result, name, f"{qid} {pid} is judged twice")
            result[qid, pid] = int(grade)
        for pid in self.passages:
            qid = pid.rpartition("-p")[0]
            self.expect((qid, pid) in result, name, f"{pid} is not judged for its query {qid}")
        for qid in self.queries:
            grades = {grade for (query, _), grade in result.items() if query == qid}
            self.expect(grades == {0, 1, 2, 3}, name, f"{qid} does not use all grades, only {sorted(grades)}")
        return result

    def check_judgments(self) -> None:
        """Both assessors, and how far they agree."""
        self.official = self.read_qrels("qrels.txt")
        other = self.read_qrels("qrels-assessor-b.txt")
        for pair in sorted(self.official.keys() ^ other.keys()):
            self.find("qrels", f"{pair[0]} {pair[1]} is judged by one assessor only")
        pairs = [(grade, other[pair]) for pair, grade in self.official.items() if pair in other]
        n = max(1, len(pairs))
        exact = sum(a == b for a, b in pairs) / n
        far = sum(abs(a - b) > 1 for a, b in pairs) / n
        kappa = cohen_kappa(pairs)
        self.expect(
            EXACT_AGREEMENT[0] <= exact <= EXACT_AGREEMENT[1],
            "qrels",
            f"exact agreement {exact:.3f} is out of bounds",
        )
        self.expect(KAPPA[0] <= kappa <= KAPPA[1], "qrels", f"kappa {kappa:.3f} is out of bounds")
        self.expect(far <= FAR_APART, "qrels", f"{far:.3f} of the pairs differ by more than one grade")
        counts = Counter(self.official.values())
        self.notes.append(f"{n} judged pairs, grades " + " ".join(f"{g}:{counts[g]}" for g in sorted(counts)))
        self.notes.append(
            f"assessors: exact agreement {exact:.3f}, kappa {kappa:.3f}, quadratic kappa"
            f" {cohen_kappa(pairs, quadratic=True):.3f}, apart by more than one grade {far:.3f}"
        )

    def check_bank(self, name: str, kind: str) -> None:
        """One test bank; kind is "question" or "nugget"."""
        lines: Counter[tuple[str, str | None]] = Counter()
        items: dict[str, list[dict[str, Any]]] = {qid: [] for qid in self.queries}
        for row in self.json_lines(f"{name}"):
            qid, facet = row["query_id"], row.get("facet_id")
            if qid not in self.queries:
                self.find(name, f"unknown query {qid!r}")
                continue
            lines[qid, facet] += 1
            query = self.queries[qid]
            facets = {entry["facet_id"]: entry["facet_text"] for entry in query.get("facets", [])}
            self.expect(row["test_collection"] == "exam_pp-demo", name, f"{qid}: wrong test_collection")
            self.expect(
                row["query_text"] == query["query_text"],
                name,
                f"{qid}: query_text differs from queries.jsonl",
            )
            self.expect(row["info"]["prompt_target"] == f"{kind}s", name, f"{qid}: wrong prompt_target")
            if facet is not None:
                same = facets.get(facet) == row["facet_text"]
                self.expect(same, name, f"{qid}/{facet}: not a facet of queries.jsonl")
            for item in row["items"]:
                text, item_id = item[f"{kind}_text"], item[f"{kind}_id"]
                wanted = "/".join([qid, *([facet] if facet else []), md5(text)])
                self.expect(item_id == wanted, name, f"{item_id} should be {wanted}")
                same = item["query_id"] == qid and item.get("facet_id") == facet
                self.expect(same, name, f"{item_id}: query or facet differs from its line")
                items[qid].append(item)
        self.unique(name, (item[f"{kind}_id"] for entries in items.values() for item in entries))
        for qid, query in self.queries.items():
            for facet in [entry["facet_id"] for entry in query.get("facets", [])] or [None]:
                label = f"{qid}/{facet}" if facet else qid
                self.expect(lines[qid, facet] == 1, name, f"{label} has {lines[qid, facet]} lines, not 1")
            n = len(items[qid])
            self.expect(ITEMS[0] <= n <= ITEMS[1], name, f"{qid} has {n} items, not {ITEMS[0]} to {ITEMS[1]}")
            if kind == "question":
                self.check_gold_answers(name, qid, items[qid])
            else:
                self.check_nuggets(name, qid, items[qid])
        gold = sum("gold_answers" in item for entries in items.values() for item in entries)
        vital = sum(item.get("importance") == "vital" for entries in items.values() for item in entries)
        detail = f"{gold} with gold answers" if kind == "question" else f"{vital} vital"
        self.notes.append(f"{sum(map(len, items.values()))} {kind}s, {detail}")

    def check_gold_answers(self, name: str, qid: str, items: Sequence[dict[str, Any]]) -> None:
        """Every gold answer occurs in a passage that is judged relevant."""
        relevant = [
            self.passages.get(pid, "")
            for (query, pid), grade in self.official.items()
            if query == qid and grade >= 2
        ]
        with_gold = [item for item in items if "gold_answers" in item]
        enough = len(with_gold) >= GOLD_QUESTIONS
        self.expect(enough, name, f"{qid} has gold answers for {len(with_gold)} questions only")
        for item in with_gold:
            self.expect(
                bool(item["gold_answers"]), name, f"{item['question_id']}: empty list of gold answers"
            )
            for answer in item["gold_answers"]:
                occurs = any(contains(text, answer) for text in relevant)
                self.expect(occurs, name, f"{qid}: gold answer {answer!r} is in no passage judged 2 or 3")
        for item in items:
            self.expect(item["question_text"].endswith("?"), name, f"{item['question_id']} is not a question")

    def check_nuggets(self, name: str, qid: str, items: Sequence[dict[str, Any]]) -> None:
        """Importance and length of the nuggets."""
        importance = {item.get("importance") for item in items}
        self.expect(
            importance == {"vital", "okay"}, name, f"{qid} needs vital and okay nuggets, nothing else"
        )
        for item in items:
            words = len(item["nugget_text"].split())
            self.expect(
                NUGGET_WORDS[0] <= words <= NUGGET_WORDS[1], name, f"{item['nugget_id']} has {words} words"
            )

    def check_runs(self) -> None:
        """Form of the run files, and their reproduction together with the official leaderboard."""
        names = sorted(path.name for path in (self.data / "runs").glob("*"))
        count = len(names)
        self.expect(count == RETRIEVAL_SYSTEMS, "runs", f"{count} files, {RETRIEVAL_SYSTEMS} expected")
        for name in names:
            self.check_run(f"runs/{name}")
        files, values = make_demo_runs.make(self.data)
        made = {name.removeprefix("runs/") for name in files if name.startswith("runs/")}
        for name in sorted(made ^ set(names)):
            self.find("runs", f"{name} is not both here and made by make_demo_runs.py")
        for name, content in files.items():
            path = self.data / name
            same = path.is_file() and path.read_bytes() == content.encode("utf-8")
            self.expect(same, name, "differs from what make_demo_runs.py makes")
        self.check_leaderboard(values)

    def check_run(self, name: str) -> None:
        """One run file."""
        stem = Path(name).stem
        self.expect(name.endswith(".run"), name, "does not end in .run")
        depth: Counter[str] = Counter()
        last: dict[str, float] = {}
        seen: set[Pair] = set()
        for line in self.lines(name):
            fields = line.split()
            if len(fields) != 6 or fields[1] != "Q0":
                self.find(name, f"not a line of a run: {line!r}")
                continue
            qid, _, pid, rank, score, tag = fields
            depth[qid] += 1
            self.expect(qid in self.queries, name, f"unknown query {qid}")
            self.expect(pid in self.passages, name, f"unknown passage {pid}")
            self.expect((qid, pid) not in seen, name, f"{qid} {pid} occurs twice")
            self.expect(int(rank) == depth[qid], name, f"{qid}: rank {rank} where {depth[qid]} is due")
            falls = float(score) < last.get(qid, float("inf"))
            self.expect(falls, name, f"{qid}: the score does not fall at rank {rank}")
            self.expect(tag == stem, name, f"{qid}: tag {tag} differs from the file name")
            seen.add((qid, pid))
            last[qid] = float(score)
        for qid in self.queries:
            ok = DEPTH[0] <= depth[qid] <= DEPTH[1]
            self.expect(ok, name, f"{qid} has {depth[qid]} passages, not {DEPTH[0]} to {DEPTH[1]}")

    def check_leaderboard(self, values: dict[str, float]) -> None:
        """The official leaderboard ranks the run files by nDCG@10, and there are no near-ties."""
        name = "official_leaderboard.json"
        if not (self.data / name).is_file():
            return
        official = json.loads((self.data / name).read_text(encoding="utf-8"))
        qrels: make_demo_runs.Qrels = {qid: {} for qid in self.queries}
        for (qid, pid), grade in self.official.items():
            qrels.setdefault(qid, {})[pid] = grade
        found = {
            path.stem: round(
                make_demo_runs.mean_ndcg(path.read_text(encoding="utf-8").splitlines(), qrels), 6
            )
            for path in sorted((self.data / "runs").glob("*.run"))
        }
        self.expect(
            official == make_demo_runs.ranks(found), name, "is not the ranking of the run files by nDCG@10"
        )
        ordered = sorted(values.items(), key=lambda item: -item[1])
        for (first, high), (second, low) in itertools.pairwise(ordered):
            self.expect(high - low >= GAP, name, f"{first} and {second} are only {high - low:.4f} apart")
        self.notes.append("nDCG@10: " + ", ".join(f"{system} {value:.3f}" for system, value in ordered))

    def check_answers(self) -> None:
        """Answers of the generative systems: citations, references and lengths."""
        names = sorted(path.name for path in (self.data / "answers").glob("*.jsonl"))
        count = len(names)
        self.expect(count == GENERATIVE_SYSTEMS, "answers", f"{count} files, {GENERATIVE_SYSTEMS} expected")
        for short in names:
            name = f"answers/{short}"
            rows = self.json_lines(name)
            topics = [row["topic_id"] for row in rows]
            self.unique(name, topics)
            for qid in sorted(self.queries.keys() ^ set(topics)):
                self.find(name, f"query {qid} is unknown or has no answer")
            for row in rows:
                self.check_answer(name, row)
            mean = sum(row["response_length"] for row in rows) / max(1, len(rows))
            self.notes.append(
                f"{short.removesuffix('.jsonl')}: {len(rows)} answers, {mean:.0f} words on average"
            )

    def check_answer(self, name: str, row: dict[str, Any]) -> None:
        """One answer."""
        qid, references = row["topic_id"], row["references"]
        self.expect(row["run_id"] == Path(name).stem, name, f"{qid}: run_id differs from the file name")
        same = row["topic"] == self.queries.get(qid, {}).get("query_text")
        self.expect(same, name, f"{qid}: the topic differs from queries.jsonl")
        self.unique(f"{name} {qid}", references)
        for pid in references:
            self.expect(pid in self.passages, name, f"{qid}: unknown reference {pid}")
            grade = self.official.get((qid, pid), 0)
            self.expect(grade >= 2, name, f"{qid}: reference {pid} is judged {grade}")
        words = sum(len(part["text"].split()) for part in row["answer"])
        self.expect(words == row["response_length"], name, f"{qid}: response_length should be {words}")
        cited = set()
        for part in row["answer"]:
            self.expect(bool(part["citations"]), name, f"{qid}: a sentence has no citation")
            for index in part["citations"]:
                ok = isinstance(index, int) and 0 <= index < len(references)
                self.expect(ok, name, f"{qid}: citation {index} is out of range")
                cited.add(index)
        self.expect(len(cited) == len(references), name, f"{qid}: a reference is never cited")

    def check_readme(self) -> None:
        """The deliberately wrong passages that the README lists exist and are judged 0."""
        name = "README.md"
        text = "\n".join(self.lines(name))
        section = re.search(
            r"^## Deliberately wrong passages$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
        )
        listed = re.findall(r"^- `([^`]+)`", section.group(1), re.MULTILINE) if section else []
        self.expect(bool(listed), name, "lists no deliberately wrong passages")
        for pid in listed:
            self.expect(pid in self.passages, name, f"unknown passage {pid}")
            judged = {grade for (_, judged_pid), grade in self.official.items() if judged_pid == pid}
            self.expect(judged == {0}, name, f"the wrong passage {pid} is not judged 0")
        for system in sorted(
            path.stem for folder in ("runs", "answers") for path in (self.data / folder).glob("*")
        ):
            self.expect(f"`{system}`" in text, name, f"does not describe the system {system}")
        for qid in self.queries:
            self.expect(f"`{qid}`" in text, name, f"does not describe the query {qid}")

    def check(self) -> None:
        """All checks, in the order in which they build on each other."""
        self.check_queries()
        self.check_passages()
        self.check_judgments()
        self.check_bank("questions.jsonl", "question")
        self.check_bank("nuggets.jsonl", "nugget")
        self.check_answers()
        self.check_readme()
        self.check_runs()


def main(argv: Sequence[str] | None = None) -> int:
    """Check the collection; 1 if there is any finding."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=make_demo_runs.DEMO, help="folder of the collection")
    checker = Checker(parser.parse_args(argv).data)
    try:
        checker.check()
    except (KeyError, TypeError, ValueError, OSError) as error:
        checker.find("check", f"stopped: {type(error).__name__}: {error}")
    for finding in checker.findings:
        sys.stdout.write(finding + "\n")
    for note in checker.notes:
        sys.stdout.write(note + "\n")
    sys.stdout.write(
        f"{len(checker.queries)} queries, {len(checker.passages)} passages,"
        f" {len(checker.findings)} findings\n"
    )
    return 1 if checker.findings else 0


if __name__ == "__main__":
    sys.exit(main())
