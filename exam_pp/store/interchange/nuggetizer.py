"""Nuggets in the JSON lines of AutoNuggetizer (Pradeep et al., 2024): one line a query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from exam_pp.data_model import Id, Record
from exam_pp.store.files import atomic_output, read_lines
from exam_pp.store.parsing import parse_record
from exam_pp.test_bank import BankLine, Nugget, entry_id


class NuggetText(Record):
    """A nugget; other keys are kept."""

    text: str = Field(min_length=1)
    importance: str | None = None


class NuggetLine(Record):
    """The nuggets of a query."""

    query: str = ""
    qid: Id
    nuggets: list[NuggetText]


def read_nuggetizer(path: str | Path) -> Iterator[BankLine]:
    """The lines as a bank. The file has no ids: they are made of query and text, as for generated nuggets.

    Labels of importance that are neither vital nor okay occur, and stay. Raises :class:`DataError`.
    """
    for number, text in read_lines(path):
        line = parse_record(NuggetLine, text, path, number)
        yield bank_line(line.qid, line.query, line.nuggets)


def bank_line(query_id: str, query_text: str, nuggets: Iterable[NuggetText]) -> BankLine:
    """The nuggets of a query as a line of a bank."""
    return BankLine(
        query_id=query_id,
        query_text=query_text,
        info={"prompt_target": "nuggets"},
        items=[_nugget(query_id, nugget) for nugget in nuggets],
    )


KEPT = "nuggetizer"
"""The key of ``info`` that keeps what has the name of a field of ours, which it does not mean."""


def _nugget(query_id: str, nugget: NuggetText) -> Nugget:
    extra = nugget.model_extra or {}
    ours = {key: value for key, value in extra.items() if key in Nugget.model_fields}
    importance = {} if nugget.importance is None else {"importance": nugget.importance}
    return Nugget(
        query_id=query_id,
        nugget_id=entry_id(query_id, nugget.text),
        nugget_text=nugget.text,
        **importance,
        **({"info": {KEPT: ours}} if ours else {}),
        **{key: value for key, value in extra.items() if key not in ours},
    )


def write_nuggetizer(
    lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write nuggets, a line a query; facets of a query are united."""
    united: dict[str, NuggetLine] = {}
    for line in lines:
        query = united.setdefault(
            line.query_id, NuggetLine(query=line.query_text, qid=line.query_id, nuggets=[])
        )
        query.query = query.query or line.query_text
        query.nuggets.extend(_text(item) for item in line.items if isinstance(item, Nugget))
    with atomic_output(path, inputs=inputs) as stream:
        for query in united.values():
            stream.write(query.model_dump_json(exclude_unset=True).encode() + b"\n")


def _text(nugget: Nugget) -> NuggetText:
    importance = {} if nugget.importance is None else {"importance": nugget.importance}
    kept = nugget.info.get(KEPT) if isinstance(nugget.info, dict) else None
    extra = {**(nugget.model_extra or {}), **(kept if isinstance(kept, dict) else {})}
    return NuggetText(**{**extra, "text": nugget.nugget_text, **importance})
