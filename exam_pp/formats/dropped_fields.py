"""Dropped fields: counts of the values that the target format of a conversion cannot hold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from exam_pp.banks import TARGET, BankLine, Entry
from exam_pp.data_model import BeyondPool, Judgment, Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.records import unknown_keys
from exam_pp.store.files import read_lines, read_text
from exam_pp.store.trec.answers import Answer
from exam_pp.store.trec.queries import Query

EMPTY: tuple[Any, ...] = (None, "", [], {})
"""Values that mean the same as a missing key."""


class DroppedFields:
    """Counts of the fields that a conversion drops."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, name: str, count: int = 1) -> None:
        """Count ``count`` dropped values under a plural noun such as ``"judgments"``."""
        if count:
            self._counts[name] += count

    def add_except(self, keeps: Collection[str], counts: Mapping[str, int]) -> None:
        """Count the values of each name that is not in ``keeps``, the fields of the target format."""
        for name in counts.keys() - set(keeps):
            self.add(name, int(counts[name]))

    def field(self, key: str, count: int = 1) -> None:
        """Count ``count`` dropped values of a key or column of the source file."""
        self.add(f"field {key!r}", count)

    def fields(self, counts: Mapping[str, int]) -> None:
        """Count the values of columns of a table; cells after the last column have the name ""."""
        for name, count in counts.items():
            if name:
                self.field(name, count)
            else:
                self.add("cells without a column", count)

    def keys(self, values: Mapping[str, Any] | None, known: Iterable[str] = ()) -> None:
        """Count every key that is not in ``known`` and has a value."""
        for key in (values or {}).keys() - set(known):
            self.field(key, (values or {})[key] not in EMPTY)

    @property
    def counts(self) -> dict[str, int]:
        """Name to number of dropped values, sorted by name."""
        return dict(sorted(self._counts.items()))

    def __bool__(self) -> bool:
        return bool(self._counts)

    def lines(self) -> Iterator[str]:
        """Yield the message with all counts; yields no line if no field was dropped."""
        if self._counts:
            listed = ", ".join(f"{name} ({count})" for name, count in sorted(self._counts.items()))
            yield f"Not used: {listed}."


Used = Mapping[str, Any]
"""Keys that a reader uses, as a tree: True means the key with all values below it, and ``*`` means any key.

The elements of a list are compared with the subtree of the list. A string in place of a subtree is a name:
the keys of that mapping are used, and its values are counted as dropped under the name.
"""


def used(keys: str, **nested: Any) -> Used:
    """Make a tree of the space-separated ``keys``, each with all values below it, and ``nested`` subtrees."""
    return {**dict.fromkeys(keys.split(), True), **nested}


def count_unused_keys(path: Path, dropped: DroppedFields, *, tree: Used) -> None:
    """Count every key of a JSON or JSON lines file that is not in the tree."""
    for value in _values(path):
        count_unused(value, tree, dropped)


def _values(path: Path) -> Iterator[Any]:
    try:
        yield json.loads(read_text(path))
        return
    except (ValueError, RecursionError):
        pass
    for _, line in read_lines(path):
        if line[:1] not in b"{[":
            return  # columns of a CSV file are no fields
        yield json.loads(line)  # cannot raise: the reader has already parsed this line


def count_unused(value: Any, tree: Any, dropped: DroppedFields, path: str = "") -> None:
    """Count every key of a value that is not in the tree; ``path`` is that of the value."""
    if tree is True:
        return
    if isinstance(tree, str):
        dropped.add(tree, sum(item is not None for item in value.values()) if isinstance(value, dict) else 0)
        return
    if isinstance(value, list):
        for item in value:
            count_unused(item, tree, dropped, path)
    elif isinstance(value, dict):
        for key, item in value.items():
            known = key if key in tree else "*"
            key_path = f"{path}.{known if known in tree else key}".strip(".")
            if known in tree:
                count_unused(item, tree[known], dropped, key_path)
            elif item not in EMPTY:
                dropped.field(key_path)


def count_dropped_bank_fields(
    lines: Iterable[BankLine],
    keeps: Collection[str],
    dropped: DroppedFields,
    *,
    entry_id: Callable[[Entry], str] | None = None,
) -> None:
    """Count the fields of a bank that are not in ``keeps``, the fields of the target format.

    ``entry_id`` computes the id of an entry after a round trip (None: unchanged).
    """
    for line in lines:
        present = {
            "query texts": line.query_text,
            "facets": line.facet_id,
            "facet texts": line.facet_text,
            "test collections": line.test_collection,
            "hashes": line.hash is not None,
            # Every reader sets the target, questions or nuggets.
            "info of queries": line.info.keys() - {TARGET} if isinstance(line.info, dict) else line.info,
            "queries without entries": not line.items,
        }
        dropped.add_except(keeps, {name: bool(value) for name, value in present.items()})
        for record in (line, *line.items) if "extra keys" not in keeps else ():
            dropped.keys(record.model_extra)
        for item in line.items:
            of_entry = {
                "importance labels": item.importance is not None,
                "weights": item.weight != 1,
                "groups of entries": item.group is not None,
                "categories": item.category is not None,
                "gold answers": item.gold_answers is not None,
                "info of entries": item.info is not None,
            }
            dropped.add_except(keeps, of_entry)
            if entry_id is not None and entry_id(item) != item.entry_id:
                dropped.add("entry ids")


def count_dropped_passage_fields(
    query: QueryPassages, keeps: Collection[str], dropped: DroppedFields
) -> None:
    """Count the fields of a query's passages that are not in ``keeps``, the fields of the target format."""
    beyond = query.beyond_pool or BeyondPool()
    of_query = {"query texts": bool(query.query_text), "judgments": len(beyond.judgments)}
    dropped.add_except(keeps, {**of_query, "full rankings": len(beyond.rankings)})
    for passage in query.passages:
        counts = {
            "passage texts": 1,
            "judgments": len(passage.judgments),
            "ranking entries": len(passage.rankings),
            "citations": sum(len(ranking.citations or ()) for ranking in passage.rankings),
            "sets of grades": sum(1 for _ in passage.grade_sets()),
            "consistency grades": len(passage.consistency_grades or ()),
            "sets of grades of citations": len(passage.support_grades or ()),
            "ratings of answers by criteria": len(passage.criteria_grades or ()),
        }
        dropped.add_except(keeps, counts)
        dropped.field("paragraph", passage.paragraph not in EMPTY)
        raw: dict[str, Any] = json.loads(bytes(passage.dump()))
        data = raw.get("paragraph_data", {})
        dropped.keys(unknown_keys(Passage, raw))
        dropped.keys(unknown_keys(PassageData, data))
        for judgment in data.get("judgments", ()) if "judgments" in keeps else ():
            dropped.keys(unknown_keys(Judgment, judgment))
        for ranking in data.get("rankings", ()) if "ranking entries" in keeps else ():
            dropped.keys(unknown_keys(RankingEntry, ranking))


def count_dropped_ranking_fields(query_id: str, passage: Passage, dropped: DroppedFields) -> None:
    """Count passage ids, facets and repeated entries of a passage's ranking entries, which a run drops."""
    entries = passage.rankings
    dropped.add("passage ids of ranking entries", sum(e.passage_id != passage.passage_id for e in entries))
    dropped.add("facets of ranking entries", sum(entry.query_id != query_id for entry in entries))
    systems = {entry.method for entry in entries}
    dropped.add("repeated ranking entries of a passage", len(entries) - len(systems))


def count_dropped_query_fields(query: Query, dropped: DroppedFields) -> None:
    """Count the fields of a query that a format of ids and texts drops."""
    dropped.add("facets", len(query.facets or ()))
    dropped.keys(query.model_extra)


def count_dropped_answer_fields(answer: Answer, keeps: Collection[str], dropped: DroppedFields) -> None:
    """Count the fields of an answer that are not in ``keeps``, the fields of the target format."""
    cited = {docid for part in answer.parts for docid in part.citations}
    counts = {
        "query texts": bool(answer.query_text),
        "teams": bool(answer.team),
        "citations": sum(len(part.citations) for part in answer.parts),
        "citations of empty parts": answer.textless_citations,
        "uncited references": len(set(answer.references) - cited),
        "boundaries of answer parts": max(0, len(answer.parts) - 1),
        "passage texts": len(answer.texts),
        "repeats": answer.repeat is not None,
    }
    dropped.add_except(keeps, counts)


def trimmed(text: str, dropped: DroppedFields) -> str:
    """Return the stripped text, because table cells drop surrounding whitespace; counted if it differs."""
    dropped.add("leading or trailing whitespace", text != text.strip())
    return text.strip()
