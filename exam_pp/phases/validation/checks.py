"""What is wrong in files: checks with names, and findings that are counted and listed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Level = Literal["error", "warning"]


class Check(NamedTuple):
    """Something that is looked for. An error makes numbers wrong or stops other commands."""

    name: str
    level: Level
    description: str


_CHECKS = (
    Check("unreadable", "error", "the file cannot be read (to its end), or is of no known kind"),
    Check("empty", "error", "there is nothing in the file (a query without passages is a warning)"),
    Check("format", "error", "a line is not in the format: JSON, a field that is missing or of another type"),
    Check("not-unicode", "warning", "characters that are not Unicode; reading replaces them"),
    Check("duplicate-key", "error", "a key twice in one JSON object: readers use the last value alone"),
    Check("duplicate-query", "warning", "a query on several lines"),
    Check("duplicate-passage", "warning", "a passage twice in a query"),
    Check("text-conflict", "error", "one passage id with several texts in a query"),
    Check("text-differs", "warning", "one passage id with several texts, in different queries"),
    Check("empty-text", "warning", "a passage without words"),
    Check("wrong-id", "error", "a judgment or ranking of another passage or query than the one it stands at"),
    Check("duplicate-judgment", "warning", "a judgment twice"),
    Check("judgment-conflict", "warning", "a passage judged twice, differently (in qrels an error)"),
    Check("duplicate-ranking", "warning", "a system has a passage twice (in run files an error)"),
    Check("shared-rank", "warning", "a system has two passages at one rank"),
    Check("rank-holes", "warning", "ranks or queries missing in a ranking (as below the cut of an import)"),
    Check("score-order", "warning", "scores that rise with the rank, or stay: trec_eval sorts by score"),
    Check("id-space", "warning", "an id that is empty or has white space: runs and qrels cannot hold it"),
    Check("rating-scale", "error", "a rating outside the prompt's scale, or below 0"),
    Check("rating-conflict", "error", "ratings that contradict the lists of correct and wrong entries"),
    Check("no-ratings", "warning", "no ratings of a prompt that asks for them: thresholds see correct as 1"),
    Check("prompt-type", "warning", "a prompt type that is none, or ratings of another kind of entries"),
    Check("assignment", "warning", "labels of nuggets that are none, or do not fit the ratings beside them"),
    Check("wrong-above-0", "warning", "entries rated above 0 that are listed as wrong: another threshold"),
    Check("repeated-entry", "warning", "an entry twice in one set of grades"),
    Check("rated-again", "warning", "an entry rated twice, by the same model with the same prompt"),
    Check("unknown-answer", "warning", "a reply to an entry that was not asked"),
    Check("summary", "warning", "exam_ratio or relevance_label do not fit the ratings"),
    Check("soft-grade", "warning", "probabilities that are none, or do not fit scale, mean or margin"),
    Check("mixed-grades", "warning", "grades of one model and prompt, made with different options or words"),
    Check("foreign-entry", "error", "a grade for an entry of another query"),
    Check("unknown-entry", "error", "a grade for an entry that the bank does not have"),
    Check("missing-entry", "warning", "an entry of the bank that was not asked"),
    Check("no-bank", "warning", "a query that is graded or in the bank, but not both"),
    Check("incomplete", "warning", "a set of grades that only some queries, or passages of one, have"),
    Check("bank", "warning", "what `exam-pp bank lint` finds: repetitions, ids of other words ..."),
    Check("other-file", "warning", "edits that were made for another state of the bank"),
)  # fmt: skip

CHECKS: dict[str, Check] = {check.name: check for check in _CHECKS}


class Finding(NamedTuple):
    """One thing that is wrong; ``where`` is what stands on the line: a query, passage, entry or field."""

    level: Level
    check: str
    file: str
    line: int | None
    where: str
    message: str


@dataclass
class Findings:
    """Counts all findings, and keeps ``limit`` of each check and file (0: all)."""

    limit: int = 0
    kept: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[str, str, Level]] = field(default_factory=Counter)
    files: list[tuple[str, str, str]] = field(default_factory=list)

    def add(
        self, check: str, file: str, line: int | None, where: str, message: str, level: Level | None = None
    ) -> None:
        """Note a finding; ``level`` where it is not the one that the check has."""
        finding = Finding(level or CHECKS[check].level, check, file, line, where, message)
        key = (file, check, finding.level)
        self.counts[key] += 1
        if not self.limit or self.counts[key] <= self.limit:
            self.kept.append(finding)

    def checked(self, file: str, kind: str, contents: str) -> None:
        """Note that a file was checked to its end, and what it holds."""
        self.files.append((file, kind, contents))

    def has(self, file: str) -> bool:
        """Whether anything was found in a file."""
        return any(found == file for found, _, _ in self.counts)

    def number(self, level: Level) -> int:
        """How many findings there are of a level."""
        return sum(count for (_, _, found), count in self.counts.items() if found == level)
