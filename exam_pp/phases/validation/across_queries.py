"""Checks across queries: graders and systems that lack some queries, and mixed model options."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exam_pp.data_model import QueryPassages
from exam_pp.grade_filter import GradeKey
from exam_pp.wording import counted


@dataclass
class AcrossQueries:
    """Collects the queries and the model options of every grader, and the queries of every system."""

    queries: set[str] = field(default_factory=set)
    graded: defaultdict[GradeKey, set[str]] = field(default_factory=lambda: defaultdict(set))
    ranked: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _first_options: defaultdict[GradeKey, dict[str, tuple[Any, int]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _reported: set[tuple[GradeKey, str]] = field(default_factory=set)

    def add(self, query: QueryPassages, line: int) -> Iterator[str]:
        """Add a query; yields a message for each option that differs from that of earlier grades, once."""
        self.queries.add(query.query_id)
        last: dict[GradeKey, tuple[str | None, dict[str, Any] | None]] = {}
        for passage in query.passages:
            for ranking in passage.rankings:
                self.ranked[ranking.method].add(query.query_id)
            for grades in passage.grade_sets():
                key = GradeKey.of(grades)
                self.graded[key].add(query.query_id)
                options = grades.prompt_hash, grades.model_options
                if options != last.get(key):  # rarely, so that the comparison below is cheap
                    last[key] = options
                    yield from self._differences(key, _options(*options), line)

    def _differences(self, key: GradeKey, options: Mapping[str, Any], line: int) -> Iterator[str]:
        """Yield differences from the first grades; options that are not recorded do not count."""
        known = self._first_options[key]
        for name, value in options.items():
            first, first_line = known.setdefault(name, (value, line))
            if first != value and (key, name) not in self._reported:
                self._reported.add((key, name))
                yield (
                    f"{key.model} {key.prompt_class}: {name} is {value!r} here, but {first!r} on line "
                    f"{first_line}"
                )

    def incomplete_grades(self) -> Iterator[str]:
        """Yield a message for each model that graded only some queries."""
        for key, queries in sorted(self.graded.items()):
            if not key.is_reviewer and (missing := self._missing_queries(queries)):
                yield f"no grades by {key} for {missing}"

    def incomplete_rankings(self) -> Iterator[str]:
        """Yield a message if systems have rankings for only some of the ranked queries."""
        ranked = set().union(*self.ranked.values())
        missing = Counter({name: len(ranked - queries) for name, queries in sorted(self.ranked.items())})
        listed = [f"{name}: {count}" for name, count in missing.most_common(3) if count]
        if listed:
            systems = counted(sum(map(bool, missing.values())), "system")
            queries = counted(len(ranked), "query")
            yield f"{systems} without rankings for some of {queries} (missing by system: {', '.join(listed)})"

    def _missing_queries(self, queries: set[str]) -> str:
        missing = sorted(self.queries - queries)
        total = counted(len(self.queries), "query")
        return f"{len(missing)} of {total}, such as {missing[0]}" if missing else ""


def _options(prompt_hash: str | None, model_options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the recorded settings that influence a grade: prompt hash and model options."""
    prompt = {} if prompt_hash is None else {"prompt_hash": prompt_hash}
    return prompt | {name: value for name, value in (model_options or {}).items() if value is not None}
