"""The checks of ``exam-pp validate``, with levels and descriptions, and their findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from exam_pp.metrics.ties_in_runs import order_problem
from exam_pp.results import RunLine
from exam_pp.text.wording import listed

Level = Literal["error", "warning"]


class FileCheck(NamedTuple):
    """A check of a file. An error makes results wrong or stops other commands; a warning may be intended."""

    name: str
    level: Level
    description: str


_CHECKS = (
    FileCheck("unreadable", "error", "the file cannot be read to its end, or its format is unknown"),
    FileCheck("empty", "error", "the file is empty"),
    FileCheck("format", "error", "a line that other commands refuse, such as one with a missing field"),
    FileCheck("duplicate-key", "error", "duplicate key in a JSON object; readers use the last value"),
    FileCheck("duplicate-query", "warning", "a query is on several lines"),
    FileCheck("duplicate-passage", "warning", "a passage occurs twice in a query"),
    FileCheck("wrong-id", "error", "a judgment or ranking names another passage or query than its own"),
    FileCheck("judgment-conflict", "warning", "a passage has different judgments"),
    FileCheck("duplicate-ranking", "warning", "a system ranks a passage twice"),
    FileCheck("shared-rank", "warning", "a system has two passages at the same rank"),
    FileCheck(
        "score-order", "warning", "the ranks are not the order of the scores, by which trec_eval sorts"
    ),
    FileCheck("citation", "warning", "an answer cites a document that is none of its references"),
    FileCheck("unjudged", "warning", "none or hardly any of the first passages of a run is in the qrels"),
    FileCheck("query-ids", "warning", "the ids of queries do not meet: write them in one way"),
    FileCheck("missing-queries", "warning", "a system lacks queries: it scores 0 there, or is left out"),
    FileCheck("name", "error", "a name that is empty, reserved, or one with another name in TREC files"),
    FileCheck("language", "warning", "a judge of English words cannot read the texts: name another --model"),
    FileCheck("rating-scale", "error", "a rating is outside the prompt's scale or below 0"),
    FileCheck("rating-conflict", "error", "a rating contradicts the lists of correct and wrong entries"),
    FileCheck("no-ratings", "warning", "a rating prompt has no ratings; thresholds then count correct as 1"),
    FileCheck("assignment", "warning", "an unknown nugget assignment, or one that contradicts its rating"),
    FileCheck("repeated-entry", "warning", "an entry occurs twice in a set of grades"),
    FileCheck("rated-again", "warning", "an entry is rated twice by the same model with the same prompt"),
    FileCheck("soft-grade", "warning", "probabilities that do not add up to 1, or do not match the scale"),
    FileCheck("other-system", "error", "ratings by criteria of the answer of another system"),
)  # fmt: skip

CHECKS: dict[str, FileCheck] = {check.name: check for check in _CHECKS}


class Finding(NamedTuple):
    """A problem in a file; ``where`` is the query, passage, entry or field on the line."""

    level: Level
    check: str
    file: str
    line: int | None
    where: str
    message: str


@dataclass
class Findings:
    """Counts all findings, and keeps ``limit`` per check and file (0: all).

    For the checks of all files together it has the ``queries`` by content (bank, queries, qrels) and file,
    and by system, all ``passages``, the first ``texts``, and the ``query_texts`` of answers (True) and of
    other files (False) by id.
    """

    limit: int = 0
    kept: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[str, str, Level]] = field(default_factory=Counter)
    files: list[tuple[str, str, str]] = field(default_factory=list)
    queries: defaultdict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    systems: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    passages: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    query_texts: dict[bool, dict[str, str]] = field(default_factory=lambda: {True: {}, False: {}})

    def add(
        self, check: str, file: str, line: int | None, where: str, message: str, level: Level | None = None
    ) -> None:
        """Add a finding; ``level`` overrides the level of the check."""
        finding = Finding(level or CHECKS[check].level, check, file, line, where, message)
        key = (file, check, finding.level)
        self.counts[key] += 1
        if not self.limit or self.counts[key] <= self.limit:
            self.kept.append(finding)

    def sees(self, query_id: str, systems: Iterable[str], passages: Iterable[str], text: str = "") -> None:
        """Keep what the checks of all files together need."""
        self.passages.update(passages)
        for system in systems:
            self.systems[system].add(query_id)
        if text and len(self.texts) < 500:  # a sample shows the language
            self.texts.append(text)

    def checked(self, file: str, format_name: str, contents: str) -> None:
        """Record a checked file with its format and a summary of its contents."""
        self.files.append((file, format_name, contents))

    def has(self, file: str, level: Level | None = None) -> bool:
        """Whether a file has findings, or those of a level."""
        return any(name == file and level in (None, of) for name, _, of in self.counts)

    def number(self, level: Level) -> int:
        """Return the number of findings of a level."""
        return sum(count for (_, _, counted_level), count in self.counts.items() if counted_level == level)


def ranking_problems(
    rankings: Mapping[str, Sequence[RunLine]], *, ties: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield check and message for rankings by system, at most once per check; ``ties``: see order_problem."""
    shared = [
        system
        for system, lines in rankings.items()
        if len({line.rank for line in lines}) < len({(line.rank, line.passage_id) for line in lines})
    ]
    if shared:
        yield "shared-rank", f"two passages have the same rank ({listed(shared)})"
    if problem := order_problem(rankings.values(), ties=ties):
        yield "score-order", problem
