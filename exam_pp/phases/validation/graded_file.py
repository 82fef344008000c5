"""Checks of passages files: each line, and consistency across lines and with test banks."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from exam_pp.data_model import (
    NO_PASSAGE,
    Judgment,
    Passage,
    QueryPassages,
    RankingEntry,
    parse_line,
)
from exam_pp.errors import DataError
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.validation.across_queries import AcrossQueries
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.grades import Note, check_grades
from exam_pp.phases.validation.rankings import RankedPassage, check_ranks
from exam_pp.prompts import PROMPTS
from exam_pp.roles import System, role_of
from exam_pp.store.duplicate_keys import duplicate_key
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import sentence
from exam_pp.store.passages.graded_file import parse_query, passage_field
from exam_pp.test_bank import QueryBank, TestBank
from exam_pp.wording import counted

_SPACE = re.compile(r"\s")
_GENERATED_ID = re.compile(r".+/[0-9a-f]{32}")


def check_graded(path: Path, findings: Findings, banks: Sequence[TestBank] = ()) -> str:
    """Check a passages file with one query in memory at a time; returns a summary of its contents.

    ``banks`` are compared with the graded entries of their kind (question or nugget).
    """
    checker = _Checker(str(path), findings, [(bank, bank.kinds) for bank in banks])
    for number, line in read_lines(path):
        checker.line(number, line)
    checker.finish()
    queries, passages = len(checker.first_line), len(checker.texts.lines)
    sets = counted(checker.grade_sets, "set of grades", "sets of grades")
    return f"{counted(queries, 'query')}, {counted(passages, 'passage')}, {sets}"


@dataclass
class _Texts:
    """Ids and texts of all passages as 64-bit hashes: 28 bytes per passage, as a file may have millions."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    texts: array[int] = field(default_factory=lambda: array("q"))
    queries: array[int] = field(default_factory=lambda: array("q"))
    lines: array[int] = field(default_factory=lambda: array("I"))

    def add(self, passage: Passage, query_id: str, line: int) -> None:
        self.ids.append(hash(passage.passage_id))
        self.texts.append(hash(passage.text))
        self.queries.append(hash(query_id))
        self.lines.append(line)

    def conflicts(self) -> Iterator[tuple[int, int, bool]]:
        """Yield a line, an earlier line with another text of the same id, and whether the query is the same.

        A text is compared with the first of its query, and the first of a query with the first of the file.
        """
        order = sorted(range(len(self.ids)), key=self.ids.__getitem__)
        for _, same_id in groupby(order, key=self.ids.__getitem__):
            first = -1
            of_query: dict[int, int] = {}
            for index in same_id:
                first = index if first < 0 else first
                known = of_query.setdefault(self.queries[index], index)
                if self.texts[known] != self.texts[index]:
                    yield self.lines[index], self.lines[known], True
                elif known == index and self.texts[first] != self.texts[index]:
                    yield self.lines[index], self.lines[first], False


@dataclass
class _Checker:
    file: str
    findings: Findings
    banks: Sequence[tuple[TestBank, Collection[str]]]
    first_line: dict[str, int] = field(default_factory=dict)
    texts: _Texts = field(default_factory=_Texts)
    across_queries: AcrossQueries = field(default_factory=AcrossQueries)
    grade_sets: int = 0

    def line(self, number: int, line: bytes) -> None:
        """Check a line; problems become findings, so that the next line is checked, too."""
        query = self._parsed(number, line)
        if query is None:
            return

        def note(check: str, where: str, message: str) -> None:
            location = f"query {query.query_id}" + (f", {where}" if where else "")
            self.findings.add(check, self.file, number, location, message)

        if key := duplicate_key(line):
            note("duplicate-key", "", f"has the key {key!r} twice in one object")
        if query.query_id in self.first_line:
            note("duplicate-query", "", f"is also on line {self.first_line[query.query_id]}")
        self.first_line.setdefault(query.query_id, number)
        if not query.passages:
            where = f"query {query.query_id}"
            self.findings.add("empty", self.file, number, where, "has no passages", "warning")
        for message in self.across_queries.add(query, number):
            note("mixed-grades", "", message)
        _check_passages(query, note)
        for passage in query.passages:
            self.texts.add(passage, query.query_id, number)
            self.grade_sets += sum(1 for _ in passage.grade_sets()) + len(passage.support_grades or ())
            self.grade_sets += len(passage.criteria_grades or ())
        _check_rankings(query, note)
        _check_completeness(query, note)
        for bank, kinds in self.banks:
            _check_bank(query, bank, kinds, note)

    def _parsed(self, number: int, line: bytes) -> QueryPassages | None:
        def note(check: str, where: str, message: str) -> None:
            self.findings.add(check, self.file, number, where, message)

        try:
            return parse_line(line)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
            if problems[0]["type"] != "json_invalid":
                for problem in problems:
                    note("format", passage_field(problem["loc"]), sentence(problem))
                return None
        try:
            query = parse_query(line, self.file, number)
        except DataError as error:
            note("format", error.field or "", error.problem)
            return None
        note("not-unicode", "", "has lone surrogates")
        return query

    def finish(self) -> None:
        """Add the findings that need the whole file."""
        if not self.first_line and not self.findings.has(self.file):
            self.findings.add("empty", self.file, None, "", "has no queries")
        for line, first, same_query in self.texts.conflicts():
            message = f"has a passage id that has a different text on line {first}"
            self.findings.add("text-conflict" if same_query else "text-differs", self.file, line, "", message)
        for message in self.across_queries.incomplete_grades():
            self.findings.add("incomplete", self.file, None, "", message)
        for message in self.across_queries.incomplete_rankings():
            self.findings.add("rank-holes", self.file, None, "", message)
        for query_id in dict.fromkeys(query_id for bank, _ in self.banks for query_id in bank.queries):
            if query_id not in self.first_line:
                message = "is in the bank, but not in the file"
                self.findings.add("no-bank", self.file, None, f"query {query_id}", message)


def _check_passages(query: QueryPassages, note: Note) -> None:
    seen: set[str] = set()
    prefix = f"{query.query_id}/"
    for noun, name in (("query", query.query_id), *(("passage", p.passage_id) for p in query.passages)):
        if name != NO_PASSAGE and (not name or _SPACE.search(name)):
            note("id-space", "", f"the {noun} id {name!r} is empty or has whitespace")
    for passage in query.passages:
        where = f"passage {passage.passage_id}"
        if passage.passage_id in seen:
            note("duplicate-passage", where, "occurs twice in this query")
        seen.add(passage.passage_id)
        if not passage.text.strip() and passage.passage_id != NO_PASSAGE:
            note("empty-text", where, "has an empty text")
        _check_judgments(query.query_id, passage, passage.judgments, where, note)
        _check_ids_of_rankings(query.query_id, passage, passage.rankings, where, note)
        _check_supports(passage, where, note)
        _check_criteria(query.query_id, passage, where, note)
        rated: dict[tuple[GradeKey, str | None], set[str]] = defaultdict(set)
        for grades in passage.grade_sets():
            key = GradeKey.of(grades)
            location = f"{where}, {key.model} {key.prompt_class}"
            check_grades(grades, key.prompt_class, location, note)
            entries = grades.entry_ratings().keys()
            for entry_id in entries & rated[key, grades.prompt_hash]:
                note(
                    "rated-again",
                    location,
                    f"{entry_id} is also rated in an earlier set of grades; the later rating counts",
                )
            rated[key, grades.prompt_hash] |= entries
            for entry_id in entries:
                if not entry_id.startswith(prefix) and _GENERATED_ID.fullmatch(entry_id):
                    note("foreign-entry", location, f"{entry_id} is the id of an entry of another query")


def _check_supports(passage: Passage, where: str, note: Note) -> None:
    """Check the grades of the citations of a part of an answer."""
    cited = {citation for ranking in passage.rankings for citation in ranking.citations or ()}
    for grades in passage.support_grades or ():
        location = f"{where}, {grades.model} {grades.prompt_class}"
        times = Counter(item.citation for item in grades.supports)
        for citation, count in times.items():
            if citation not in cited:
                note("uncited", location, f"has a grade for the citation {citation}, which it does not have")
            if count > 1:
                note("repeated-entry", location, f"the citation {citation} is graded {count} times")


def _check_criteria(query_id: str, passage: Passage, where: str, note: Note) -> None:
    """Check the ratings of the answers whose first part the passage is."""
    systems = {
        str(System.of(ranking))
        for ranking in passage.rankings
        if role_of(query_id, passage.passage_id, ranking) == "answer"
    }
    for grades in passage.criteria_grades or ():
        location = f"{where}, {grades.model} {grades.prompt_class}"
        if grades.system not in systems:
            note(
                "other-system",
                location,
                f"has ratings of {grades.system}, but is no part of its answer",
            )
        for criterion, count in Counter(item.criterion for item in grades.ratings).items():
            if count > 1:
                note("repeated-entry", location, f"the criterion {criterion} is rated {count} times")
        levels = grades.highest_levels
        for item in grades.ratings:
            highest = levels.get(item.criterion)
            if item.rating is None:
                continue
            if item.rating < 0 or (highest is not None and item.rating > highest):
                scale = "0 and higher" if highest is None else f"0 to {highest}"
                note("rating-scale", location, f"{item.criterion} is rated {item.rating}, outside {scale}")


def _check_judgments(
    query_id: str, passage: Passage, judgments: Sequence[Judgment], where: str, note: Note
) -> None:
    levels: dict[str, list[int]] = defaultdict(list)
    for judgment in judgments:
        levels[judgment.query_id].append(judgment.relevance)
        if judgment.passage_id != passage.passage_id:
            note("wrong-id", where, f"has a judgment for the passage {judgment.passage_id}")
        if query_id not in (judgment.query_id, judgment.title_query) and not judgment.query_id.startswith(
            query_id + "/"
        ):
            note("wrong-id", where, f"has a judgment for the query {judgment.query_id}")
    for counts in map(Counter, levels.values()):
        if len(counts) > 1:
            note("judgment-conflict", where, f"is judged {' and '.join(map(str, counts))}")
        for level, times in counts.items():
            if times > 1:
                note("duplicate-judgment", where, f"is judged {level} several times")


def _check_ids_of_rankings(
    query_id: str, passage: Passage, rankings: Sequence[RankingEntry], where: str, note: Note
) -> None:
    systems = Counter(_ranking_name(query_id, ranking) for ranking in rankings)
    for system, times in systems.items():
        if times > 1:
            note("duplicate-ranking", where, f"the system {system} ranks it {times} times")
    for ranking in rankings:
        if ranking.passage_id != passage.passage_id:
            note("wrong-id", where, f"has a ranking for the passage {ranking.passage_id}")
        if ranking.query_id != query_id and not ranking.query_id.startswith(query_id + "/"):
            note("wrong-id", where, f"has a ranking for the query {ranking.query_id}")


def _ranking_name(query_id: str, ranking: RankingEntry) -> str:
    """Return the system, with its repeat, its role and the facet for which it ranked passages, if any."""
    name = str(System.of(ranking))
    if ranking.role == "answer":
        name = f"{name} (answer)"
    if ranking.query_id == query_id or not ranking.query_id.startswith(f"{query_id}/"):
        return name
    return f"{name} ({ranking.query_id.removeprefix(f'{query_id}/')})"


def _check_rankings(query: QueryPassages, note: Note) -> None:
    systems: dict[str, list[RankedPassage]] = defaultdict(list)
    for passage in query.passages:
        for ranking in passage.rankings:
            name = _ranking_name(query.query_id, ranking)
            systems[name].append(RankedPassage(ranking.rank, ranking.score, passage.passage_id))
    for check, message in check_ranks(systems):
        note(check, "", message)


def _check_completeness(query: QueryPassages, note: Note) -> None:
    graded: Counter[GradeKey] = Counter()
    for passage in query.passages:
        graded.update({GradeKey.of(grades) for grades in passage.grade_sets()})
    total = len({passage.passage_id for passage in query.passages})
    for key, count in graded.items():
        prompt = PROMPTS.find(key.prompt_class)
        if count < total and not key.is_reviewer and not (prompt is not None and prompt.whole_answer):
            note("incomplete", "", f"no grades by {key} for {total - count} of {total} passages")


def _check_bank(query: QueryPassages, bank: TestBank, kinds: Collection[str], note: Note) -> None:
    query_bank: QueryBank | None = bank.queries.get(query.query_id)
    unknown: Counter[str] = Counter()
    missing: dict[GradeKey, set[str]] = defaultdict(set)
    for passage in query.passages:
        for (key, kind), entries in _requested_entries(passage).items():
            if kind not in (*kinds, None):
                continue
            if query_bank is None:
                note("no-bank", "", "is graded, but not in the bank")
                return
            unknown.update(entries - query_bank.entries.keys())
            if not key.is_reviewer:
                of_kind = {e for e, entry in query_bank.entries.items() if kind in (None, entry.kind)}
                missing[key] |= of_kind - entries
    for entry_id, times in unknown.items():
        note(
            "unknown-entry", "", f"{entry_id} is graded for {counted(times, 'passage')}, but not in the bank"
        )
    for key, entries in missing.items():
        if entries:
            entries_are = counted(len(entries), "entry of the bank is", "entries of the bank are")
            message = f"{entries_are} not graded for all passages, such as {min(entries)}"
            note("missing-entry", f"{key.model} {key.prompt_class}", message)


def _requested_entries(passage: Passage) -> dict[tuple[GradeKey, str | None], set[str]]:
    """Return the graded and ungraded entries of a passage, by grader and kind."""
    requested: dict[tuple[GradeKey, str | None], set[str]] = defaultdict(set)
    for grades in passage.rubric_grades or ():
        failed = grades.errors.keys() if isinstance(grades.errors, dict) else ()
        requested[GradeKey.of(grades), grades.kind] |= {*grades.entry_ratings(), *failed}
    return requested
