"""What a conversion leaves out: keys that no reader uses, and fields that a writer has no place for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from exam_pp.data_model import Passage, QueryPassages, Record
from exam_pp.store.files import is_stream, read_lines, read_text
from exam_pp.store.trec.answers import Answer
from exam_pp.store.trec.queries import Query
from exam_pp.test_bank import BankLine, Entry

EMPTY: tuple[Any, ...] = (None, "", [], {})
"""Values of a key that say no more than its absence."""


class DroppedFields:
    """Counts of what another format has no room for."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, what: str, count: int = 1) -> None:
        """Note that ``count`` things of a kind, a plural such as ``ratings``, are left out."""
        if count:
            self._counts[what] += count

    def keys(self, values: Mapping[str, Any] | None, known: Iterable[str] = ()) -> None:
        """Note every key that is not known and says something, by its name."""
        for key in (values or {}).keys() - set(known):
            self.add(f"values of {key!r}", (values or {})[key] not in EMPTY)

    @property
    def counts(self) -> dict[str, int]:
        """What was left out, and how often; sorted by name."""
        return dict(sorted(self._counts.items()))

    def __bool__(self) -> bool:
        return bool(self._counts)

    def lines(self) -> Iterator[str]:
        """One sentence for people; nothing if nothing was lost."""
        if self._counts:
            listed = ", ".join(f"{what} ({count})" for what, count in sorted(self._counts.items()))
            yield f"Left out, since the format has no place for it: {listed}."


Used = Mapping[str, Any]
"""Keys that a reader uses, as a tree: True is all below, ``*`` any key. Lists are passed through.

Of a mapping under a text the keys are used, and its values are what the text says.
"""


def used(words: str, **nested: Any) -> Used:
    """A tree of the keys in ``words``, each with all below, and of ``nested`` ones."""
    return {**dict.fromkeys(words.split(), True), **nested}


def unused_keys(path: Path, tree: Used, dropped: DroppedFields) -> None:
    """Note every key of a JSON file, or of JSON lines, that is not in the tree."""
    if is_stream(path):
        uncounted(dropped)
        return
    for value in _values(path):
        _walk(value, tree, "", dropped)


def uncounted(dropped: DroppedFields) -> None:
    """Note that nobody knows what a reader passed over: a stream cannot be read a second time."""
    dropped.add("what is not read of a stream, uncounted")


def _values(path: Path) -> Iterator[Any]:
    try:
        yield json.loads(read_text(path))
        return
    except (ValueError, RecursionError):
        pass
    for _, line in read_lines(path):
        yield json.loads(line)  # the reader has read it before


def _walk(value: Any, tree: Any, place: str, dropped: DroppedFields) -> None:
    if tree is True:
        return
    if isinstance(tree, str):
        dropped.add(tree, sum(item is not None for item in value.values()) if isinstance(value, dict) else 0)
        return
    if isinstance(value, list):
        for item in value:
            _walk(item, tree, place, dropped)
    elif isinstance(value, dict):
        for key, item in value.items():
            known = key if key in tree else "*"
            where = f"{place}.{known if known in tree else key}".strip(".")
            if known in tree:
                _walk(item, tree[known], where, dropped)
            elif item not in EMPTY:
                dropped.add(f"values of {where!r}")


CHANGED_TEXTS = "texts, of which white space or numbers in front"


def dropped_bank_fields(
    lines: Iterable[BankLine],
    keeps: Collection[str],
    dropped: DroppedFields,
    *,
    entry_id: Callable[[Entry], str] | None = None,
    text: Callable[[str], str] | None = None,
    collection: str | None = None,
) -> None:
    """Note what of a bank a format without the fields in ``keeps`` leaves out.

    ``entry_id`` and ``text`` are what an entry has when it is read again (None: the same); ``collection`` is
    what reading says of the test collection anyway.
    """
    for line in lines:
        shown = {
            "query texts": line.query_text,
            "facets": line.facet_id,
            "facet texts": line.facet_text,
            "test collections": line.test_collection if line.test_collection != collection else "",
            "hashes": line.hash is not None,
            "infos of queries": _without_target(line.info),
            "queries without entries": not line.items,
        }
        for name, value in shown.items():
            if value and name not in keeps:
                dropped.add(name)
        if "further keys" not in keeps:
            dropped.keys(line.model_extra)
        for item in line.items:
            _dropped_entry_fields(item, keeps, dropped)
            if entry_id is not None and entry_id(item) != item.entry_id:
                dropped.add("entry ids")
            if text is not None and text(item.text) != item.text:
                dropped.add(CHANGED_TEXTS)


def _dropped_entry_fields(item: Entry, keeps: Collection[str], dropped: DroppedFields) -> None:
    shown = {
        "importance labels": item.importance is not None,
        "weights": item.weight != 1,
        "gold answers": item.gold_answers is not None,
        "infos of entries": item.info is not None,
    }
    for name, present in shown.items():
        if present and name not in keeps:
            dropped.add(name)
    if "further keys" not in keeps:
        dropped.keys(item.model_extra)


def _without_target(info: Any) -> Any:
    """The info without what every reader says of itself: whether these are questions or nuggets."""
    if not isinstance(info, dict):
        return info
    return {key: value for key, value in info.items() if key != "prompt_target"}


def dropped_passage_fields(query: QueryPassages, keeps: Collection[str], dropped: DroppedFields) -> None:
    """Note what of a query's passages a format without the parts in ``keeps`` leaves out."""
    for passage in query.passages:
        counts = {
            "texts of passages": 1,
            "judgments": len(passage.judgments),
            "places in rankings": len(passage.rankings),
            "cited documents": sum(len(ranking.citations or ()) for ranking in passage.rankings),
            "sets of grades": sum(1 for _ in passage.grade_sets()),
        }
        for name, count in counts.items():
            if name not in keeps:
                dropped.add(name, count)
        dropped.add("values of 'paragraph'", passage.paragraph not in EMPTY)
        kept: list[Record] = [passage, passage.data]
        kept += passage.judgments if "judgments" in keeps else []
        kept += passage.rankings if "places in rankings" in keeps else []
        for record in kept:
            dropped.keys(record.model_extra)


def dropped_ranking_fields(query_id: str, passage: Passage, dropped: DroppedFields) -> None:
    """Note what of a passage's places in rankings is lost where a system ranks it once, for its query."""
    entries = passage.rankings
    dropped.add("ids of rankings", sum(e.passage_id != passage.passage_id for e in entries))
    dropped.add("facets of rankings", sum(entry.query_id != query_id for entry in entries))
    systems = {entry.method for entry in entries}
    dropped.add("further places of a passage in a ranking", len(entries) - len(systems))


def dropped_query_fields(query: Query, dropped: DroppedFields) -> None:
    """Note what of a query a format of ids and texts leaves out."""
    dropped.add("facets", len(query.facets or ()))
    dropped.keys(query.model_extra)


def dropped_answer_fields(answer: Answer, keeps: Collection[str], dropped: DroppedFields) -> None:
    """Note what of an answer a format without the parts in ``keeps`` leaves out."""
    cited = {docid for part in answer.parts for docid in part.citations}
    counts = {
        "query texts": bool(answer.query_text),
        "teams": bool(answer.team),
        "cited documents": sum(len(part.citations) for part in answer.parts),
        "references that are not cited": len(set(answer.references) - cited),
        "boundaries of parts": max(0, len(answer.parts) - 1),
    }
    for name, count in counts.items():
        if name not in keeps:
            dropped.add(name, int(count))


def trimmed(text: str, dropped: DroppedFields) -> str:
    """The text without the white space around it, for tables in which a cell has none."""
    dropped.add("white space around texts", text != text.strip())
    return text.strip()
