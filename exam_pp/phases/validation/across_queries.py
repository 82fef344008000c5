"""Validate: what graders and systems did in some queries alone, or differently in others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exam_pp.data_model import QueryPassages
from exam_pp.grade_filter import GradeKey
from exam_pp.wording import counted


@dataclass
class WholeFile:
    """Which queries have grades of whom, and rankings of which systems; and how the grades were made."""

    queries: set[str] = field(default_factory=set)
    graded: defaultdict[GradeKey, set[str]] = field(default_factory=lambda: defaultdict(set))
    ranked: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _made: defaultdict[GradeKey, dict[str, tuple[Any, int]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _told: set[tuple[GradeKey, str]] = field(default_factory=set)

    def add(self, query: QueryPassages, line: int) -> Iterator[str]:
        """Take a query, and say how its grades were made differently from earlier ones: each option once."""
        self.queries.add(query.query_id)
        last: dict[GradeKey, tuple[str | None, dict[str, Any] | None]] = {}
        for passage in query.passages:
            for ranking in passage.rankings:
                self.ranked[ranking.method].add(query.query_id)
            for grades in passage.grade_sets():
                key = GradeKey.of(grades)
                self.graded[key].add(query.query_id)
                how = grades.prompt_hash, grades.model_options
                if how != last.get(key):  # seldom
                    last[key] = how
                    yield from self._differences(key, _options(*how), line)

    def _differences(self, key: GradeKey, how: Mapping[str, Any], line: int) -> Iterator[str]:
        """What is not recorded contradicts nothing."""
        made = self._made[key]
        for name, value in how.items():
            first, first_line = made.setdefault(name, (value, line))
            if first != value and (key, name) not in self._told:
                self._told.add((key, name))
                there = f"{first!r} on line {first_line}"
                yield f"{key.model} {key.prompt_class}: {name} is {value!r}, and {there}"

    def incomplete(self) -> Iterator[str]:
        """Which models graded some of the queries alone."""
        for key, queries in sorted(self.graded.items()):
            if not key.is_person and (words := self._some(queries)):
                yield f"no grades by {key} for {words}"

    def partly_ranked(self) -> Iterator[str]:
        """Which systems have rankings for some of the ranked queries alone."""
        ranked = set().union(*self.ranked.values())
        missing = Counter({name: len(ranked - queries) for name, queries in sorted(self.ranked.items())})
        some = [f"{name}: {count}" for name, count in missing.most_common(3) if count]
        if some:
            systems = counted(sum(map(bool, missing.values())), "system")
            queries = counted(len(ranked), "query")
            yield f"{systems} without a ranking for some of {queries} ({', '.join(some)})"

    def _some(self, queries: set[str]) -> str:
        missing = sorted(self.queries - queries)
        whole = counted(len(self.queries), "query")
        return f"{len(missing)} of {whole}, such as {missing[0]}" if missing else ""


def _options(prompt_hash: str | None, model_options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What decides a grade: the words of the prompt, and the options of the model."""
    words = {} if prompt_hash is None else {"prompt_hash": prompt_hash}
    return words | {name: value for name, value in (model_options or {}).items() if value is not None}
