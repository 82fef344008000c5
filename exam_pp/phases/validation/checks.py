"""The checks of ``exam-pp validate``, with levels and descriptions, and their findings."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Level = Literal["error", "warning"]


class Check(NamedTuple):
    """A check of a file. An error makes results wrong or stops other commands; a warning may be intended."""

    name: str
    level: Level
    description: str


_CHECKS = (
    Check("unreadable", "error", "the file cannot be read to its end, or its format is unknown"),
    Check("empty", "error", "the file is empty (a query without passages is a warning)"),
    Check("format", "error", "a line is not valid JSON, or a field is missing or has the wrong type"),
    Check("not-unicode", "warning", "characters that are not valid Unicode; readers replace them"),
    Check("duplicate-key", "error", "duplicate key in a JSON object; readers use the last value"),
    Check("duplicate-query", "warning", "a query is on several lines (an error in games files)"),
    Check("duplicate-passage", "warning", "a passage occurs twice in a query"),
    Check("text-conflict", "error", "a passage id has several texts in the same query"),
    Check("text-differs", "warning", "a passage id has several texts in different queries"),
    Check("empty-text", "warning", "a passage has an empty text"),
    Check("wrong-id", "error", "a judgment or ranking names another passage or query than its own"),
    Check("duplicate-judgment", "warning", "a judgment occurs twice"),
    Check("judgment-conflict", "warning", "a passage has different judgments (an error in qrels)"),
    Check("duplicate-ranking", "warning", "a system ranks a passage twice (an error in run files)"),
    Check("shared-rank", "warning", "a system has two passages at the same rank"),
    Check("rank-holes", "warning", "a ranking has missing ranks or queries (normal after `import --top`)"),
    Check("score-order", "warning", "scores do not fall with the rank; trec_eval sorts by score"),
    Check("id-space", "warning", "an id is empty or has whitespace, which run files and qrels do not allow"),
    Check("rating-scale", "error", "a rating is outside the prompt's scale or below 0"),
    Check("rating-conflict", "error", "a rating contradicts the lists of correct and wrong entries"),
    Check("no-ratings", "warning", "a rating prompt has no ratings; thresholds then count correct as 1"),
    Check("prompt-type", "warning", "an unknown prompt type, or ratings of another kind of entry"),
    Check("assignment", "warning", "an unknown nugget assignment, or one that contradicts its rating"),
    Check("wrong-above-0", "warning", "an entry rated above 0 is listed as wrong (due to another threshold)"),
    Check("repeated-entry", "warning", "an entry occurs twice in a set of grades"),
    Check("rated-again", "warning", "an entry is rated twice by the same model with the same prompt"),
    Check("unknown-answer", "warning", "a reply for an entry that is neither correct nor wrong"),
    Check("summary", "warning", "exam_ratio or relevance_label does not match the ratings"),
    Check("uncited", "warning", "a grade for a citation that no part of an answer has"),
    Check("other-system", "error", "ratings by criteria of the answer of another system"),
    Check("soft-grade", "warning", "invalid probabilities, or they do not match the scale, mean or margin"),
    Check("mixed-grades", "warning", "grades of a model and prompt with different options or prompt texts"),
    Check("foreign-entry", "error", "a grade for an entry of another query"),
    Check("unknown-entry", "error", "a grade for an entry that is not in the bank"),
    Check("missing-entry", "warning", "a passage is not graded for an entry of the bank"),
    Check("no-bank", "warning", "a query is graded but not in the bank, or in the bank but not in the file"),
    Check("incomplete", "warning", "a model graded only some queries, or some passages of a query"),
    Check("repeated-game", "warning", "a judge compared the same answers in the same order several times"),
    Check("missing-order", "warning", "a game of two orders lacks that of the other order"),
    Check("ungraded", "warning", "a game has neither a winner nor an error"),
    Check("word-counts", "warning", "an answer has different numbers of words in the games of its query"),
    Check("unknown-system", "error", "a game of a system that did not answer the query in `--passages`"),
    Check("bank", "warning", "problems that `exam-pp bank lint` reports, such as duplicates and wrong ids"),
    Check("other-file", "warning", "the edits were made for another version of the bank"),
)  # fmt: skip

CHECKS: dict[str, Check] = {check.name: check for check in _CHECKS}


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
    """Counts all findings, and keeps ``limit`` per check and file (0: all)."""

    limit: int = 0
    kept: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[str, str, Level]] = field(default_factory=Counter)
    files: list[tuple[str, str, str]] = field(default_factory=list)

    def add(
        self, check: str, file: str, line: int | None, where: str, message: str, level: Level | None = None
    ) -> None:
        """Add a finding; ``level`` overrides the level of the check."""
        finding = Finding(level or CHECKS[check].level, check, file, line, where, message)
        key = (file, check, finding.level)
        self.counts[key] += 1
        if not self.limit or self.counts[key] <= self.limit:
            self.kept.append(finding)

    def checked(self, file: str, format_name: str, contents: str) -> None:
        """Record a checked file with its format and a summary of its contents."""
        self.files.append((file, format_name, contents))

    def has(self, file: str) -> bool:
        """Whether a file has findings."""
        return any(name == file for name, _, _ in self.counts)

    def number(self, level: Level) -> int:
        """Return the number of findings of a level."""
        return sum(count for (_, _, counted_level), count in self.counts.items() if counted_level == level)
