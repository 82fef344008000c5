"""Report on replies that were not numbers, ungraded pairs with reasons, and shortened prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import GradedPair, blank_pair, text_start
from exam_pp.rendering.document import Block, Cell, Heading, Report, Table
from exam_pp.reports.review.verification.parts import omission, verification_report, without_empty_columns

_REPLY = 90
"""Characters of a reply in the list of replies."""


class _Pair(NamedTuple):
    """A bank entry of a query, and the grade of a passage for it."""

    query_id: str
    entry_id: str
    entry: str
    pair: GradedPair

    @property
    def source(self) -> str | None:
        """The rule by which the rating was read; None without a rating."""
        known = self.pair.source if self.pair.source not in (None, "number") else "not recorded"
        return None if self.pair.rating is None else known


def unparsed(checked: CheckedFile, *, limit: int | None = None, flat: bool = False) -> Report:
    """Counts of replies that were not numbers, of ungraded pairs and of shortened prompts.

    Each list has the ``limit`` most frequent rows. A reply is not a number if the file says so
    (``default-0``, ``default-1``), or if it does not contain the rating as a number. With ``flat``, one table
    with a row for each of these pairs; those that were not asked are only counted.
    """
    pairs = [
        _Pair(query.query_id, entry_id, text, passage.pairs.get(entry_id) or blank_pair(passage))
        for query in checked.queries
        for passage in query.passages
        for entry_id, text in query.entries.items()
    ]
    not_numbers = [each for each in pairs if each.pair.rating is not None and not each.pair.is_number]
    ungraded = [each for each in pairs if each.pair.asked and each.pair.rating is None]
    not_asked = [each for each in pairs if not each.pair.asked]
    cut = [each for each in pairs if each.pair.tokens_cut]
    summary = (
        f"{len(pairs)} pairs: {len(not_numbers)} with a rating that is not a number in the reply, "
        f"{len(ungraded)} ungraded, {len(not_asked)} not asked, {len(cut)} with a shortened prompt."
    )
    if not (not_numbers or ungraded or not_asked or cut):
        summary = f"All {len(pairs)} pairs are graded, all replies are numbers, and no prompt was shortened."
    kinds = {"not a number": not_numbers, "ungraded": ungraded, "shortened": cut}
    replies = ((e.pair.rating, e.source, text_start(e.pair.reply or "", _REPLY)) for e in not_numbers)
    passages = ((each.query_id, each.pair.passage_id) for each in cut)
    blocks = [
        *_counts("Replies that were not numbers", ("rating", "source", "reply"), replies, limit),
        *_counts("Ungraded pairs", ("reason",), ((each.pair.reason,) for each in ungraded), limit),
        *_counts(
            "Not asked", ("query_id", "entry"), ((each.query_id, each.entry) for each in not_asked), limit
        ),
        *_counts("Shortened prompts", ("query_id", "passage"), passages, limit),
    ]
    return verification_report(
        "Unparsed replies and ungraded pairs", checked, summary, [_table(kinds, limit)] if flat else blocks
    )


def _counts(
    title: str, columns: Sequence[str], rows: Iterable[tuple[Cell, ...]], limit: int | None
) -> list[Block]:
    """The most frequent of the rows, one for each pair, with their numbers; empty without rows."""
    counts = Counter(rows)
    shown = counts.most_common(limit)
    table = Table(("pairs", *columns), [[count, *row] for row, count in shown])
    others = omission(len(counts) - len(shown), "row", len(shown))
    return [Heading(f"{title} ({counts.total()})"), without_empty_columns(table), *others] if counts else []


def _table(kinds: Mapping[str, Sequence[_Pair]], limit: int | None) -> Table:
    columns = (
        "kind", "query_id", "entry_id", "entry", "passage_id", "rating", "source", "reply", "reason",
        "tokens_cut",
    )  # fmt: skip
    rows = [
        [kind, each.query_id, each.entry_id, each.entry, each.pair.passage_id, each.pair.rating, each.source,
         each.pair.reply, each.pair.reason, each.pair.tokens_cut or None]
        for kind, pairs in kinds.items() for each in pairs[:limit]
    ]  # fmt: skip
    return Table(columns, rows)
