"""Statistics of test banks, and problems in their texts and ids (lint)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from exam_pp.graders.nuggetize import MAX_WORDS
from exam_pp.metrics.duplicates import near_duplicates
from exam_pp.prompts.answer_key import gold_answers
from exam_pp.prompts.generation import MAX_NUGGET_WORDS
from exam_pp.test_bank import BankLine, Entry, Nugget, TestBank, is_stale


@dataclass(frozen=True)
class BankStatistics:
    """Counts over a whole bank.

    ``sizes`` has the number of entries of each query, ``words`` the number of words of each entry.
    ``importance`` counts the entries that have an importance by its label (``vital``, ``okay``, or another).
    """

    queries: int
    facets: int
    questions: int
    nuggets: int
    sizes: Sequence[int]
    words: Sequence[int]
    importance: Mapping[str, int]
    with_gold_answers: int
    unanswerable: int
    weighted: int
    repeated_ids: int


def bank_statistics(test_bank: TestBank) -> BankStatistics:
    """Count the queries, facets and entries of a bank."""
    entries = [entry for query in test_bank for entry in query.entries.values()]
    golds = [entry.gold_answers for entry in entries if entry.gold_answers is not None]
    return BankStatistics(
        queries=len(test_bank.queries),
        facets=len({(line.query_id, line.facet_id) for line in test_bank.lines if line.facet_id is not None}),
        questions=sum(entry.kind == "question" for entry in entries),
        nuggets=sum(entry.kind == "nugget" for entry in entries),
        sizes=[len(query.entries) for query in test_bank],
        words=[len(entry.text.split()) for entry in entries],
        importance=Counter(entry.importance for entry in entries if entry.importance is not None),
        with_gold_answers=sum(bool(answers) for answers in golds),
        unanswerable=sum(not answers for answers in golds),
        weighted=sum(entry.weight != 1 for entry in entries),
        repeated_ids=len(test_bank.duplicates),
    )


def select_queries(bank: TestBank, queries: Collection[str]) -> TestBank:
    """The bank with only these queries; without queries, the whole bank."""
    if not queries:
        return bank
    return TestBank.from_lines(line for line in bank.lines if line.query_id in queries)


class Problem(NamedTuple):
    """A problem of a bank: an error makes scores wrong, a warning may make them wrong."""

    severity: Literal["error", "warning"]
    query_id: str
    entry_id: str | None
    problem: str
    text: str | None = None


def lint(bank: TestBank) -> Iterator[Problem]:
    """Problems in the texts and ids of a bank, query by query."""
    if len(bank.kinds) > 1:
        yield Problem("warning", "all", None, "the bank has both questions and nuggets")
    for query in bank:
        if not query.query_text.strip():
            yield Problem("warning", query.query_id, None, "the query has no text")
        if not query.entries:
            yield Problem("error", query.query_id, None, "the query has no entries")
        texts = {key: entry.text for key, entry in query.entries.items()}
        for pair in near_duplicates(texts):
            first = repr(texts[pair.first])
            same = f"duplicate of {first}"
            similar = f"shares {pair.similarity:.0%} of the words with {first}"
            first_facet, facet = (query.entries[key].facet_id for key in (pair.first, pair.second))
            counts_twice = pair.similarity == 1 and first_facet == facet
            severity: Literal["error", "warning"] = "error" if counts_twice else "warning"
            problem = same if pair.similarity == 1 else similar
            if pair.similarity == 1 and not counts_twice:
                problem += f" of the facet {first_facet!r}"
            yield Problem(severity, query.query_id, pair.second, problem, texts[pair.second])
    for line in bank.lines:
        for item in line.items:
            for severity, problem in _item_problems(line, item):
                yield Problem(severity, line.query_id, item.entry_id, problem, item.text)
    for key, count in Counter(bank.duplicates).items():
        query_id = _query_of(bank, key)
        # Published banks have copies of entries. They are graded once, so they are no error.
        is_copy = len(_texts_of(bank, query_id, key)) == 1
        problem = f"the id occurs {count + 1} times" + ("" if is_copy else ", with different texts")
        yield Problem("warning" if is_copy else "error", query_id, key, problem)


def _query_of(bank: TestBank, key: str) -> str:
    return next((query.query_id for query in bank if key in query.entries), "")


def _texts_of(bank: TestBank, query_id: str, key: str) -> set[str]:
    """The texts of the entries with an id, without whitespace around them."""
    lines = (line for line in bank.lines if line.query_id == query_id)
    return {item.text.strip() for line in lines for item in line.items if item.entry_id == key}


def _item_problems(line: BankLine, item: Entry) -> Iterator[tuple[Literal["error", "warning"], str]]:
    if not item.text.strip():
        yield "error", "the text is empty"
    if is_stale(item.entry_id, item.text):
        yield "warning", "the id belongs to another text: grades of the old text count for the new text"
    if isinstance(item, Nugget) and len(item.text.split()) > (limit := _most_words(line, item)):
        yield "warning", f"has more than {limit} words"
    if item.importance not in (None, "vital", "okay"):
        yield "warning", f"the importance {item.importance!r} is neither vital nor okay"
    if item.gold_answers is not None and gold_answers(item, "strict") is None:
        yield "warning", "the gold answer refers to other choices, so that few replies match it"


def _most_words(line: BankLine, item: Nugget) -> int:
    """The limit in the prompt of AutoNuggetizer (with importance) or of the workbench paper."""
    listed = isinstance(line.info, dict) and "nuggetizer" in line.info
    return MAX_WORDS if listed or item.importance is not None else MAX_NUGGET_WORDS
