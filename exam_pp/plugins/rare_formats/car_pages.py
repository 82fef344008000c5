"""Run pages of TREC CAR Y3 as JSON lines: one page per system and query, with passages and their facets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from exam_pp.data_model import Id, Integer, Number
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, register
from exam_pp.formats.sample import with_keys
from exam_pp.models import Record
from exam_pp.results import RunLine
from exam_pp.store.parsing import read_records
from exam_pp.store.trec.runs import full_facet_id


class ParagraphText(Record):
    """A part of a paragraph's text; parts with a link also have the linked ``entity``."""

    text: str


class CarParagraph(Record):
    """A passage of a page; without ``para_body`` its text is in another file."""

    para_id: Id
    para_body: list[ParagraphText] | None = None

    @property
    def text(self) -> str | None:
        """The text of all parts; None without ``para_body``."""
        return None if self.para_body is None else "".join(part.text for part in self.para_body)


class ParagraphOrigin(Record):
    """The place of a paragraph in the system's ranking for a facet, ``section_path``."""

    para_id: Id
    section_path: Id
    rank: Integer
    rank_score: Number


class RunPage(Record):
    """The page of a system (``run_id``) for a query (``squid``), paragraphs in reading order."""

    run_id: Id
    squid: Id
    paragraphs: list[CarParagraph] = Field(default_factory=list)
    paragraph_origins: list[ParagraphOrigin] | None = None

    def page_ranking(self) -> list[RunLine]:
        """The paragraphs as a ranking of the query in the order of the page; a duplicate counts once."""
        ids = list(dict.fromkeys(paragraph.para_id for paragraph in self.paragraphs))
        return [
            RunLine(self.squid, passage_id, rank, float(len(ids) - rank + 1), self.run_id)
            for rank, passage_id in enumerate(ids, 1)
        ]

    def facet_rankings(self) -> list[RunLine]:
        """The rankings of facets, best first; without origins the ranking of the query.

        Ids of facets without the query in front (``heading_id``) get it.
        """
        if not self.paragraph_origins:
            return self.page_ranking()
        lines: dict[tuple[str, str], RunLine] = {}
        for origin in sorted(self.paragraph_origins, key=lambda o: (o.rank, -o.rank_score)):
            query_id = full_facet_id(self.squid, origin.section_path)
            line = RunLine(query_id, origin.para_id, origin.rank, origin.rank_score, self.run_id)
            lines.setdefault((query_id, origin.para_id), line)
        return list(lines.values())


def read_run_pages(path: str | Path) -> Iterator[tuple[int, RunPage]]:
    """Read the pages with their line numbers, in file order.

    Raises :class:`DataError`, also for a system that has two pages for a query.
    """
    first: dict[tuple[str, str], int] = {}
    for number, page in read_records(RunPage, path, "run pages"):
        if (other := first.setdefault((page.run_id, page.squid), number)) != number:
            raise DataError(
                f"the system {page.run_id!r} has another page for the query {page.squid!r} on line {other}; "
                "remove one of them.",
                file=str(path),
                line=number,
            )
        yield number, page


register(
    Format(
        "car-pages", "passages", "run pages of TREC CAR Y3, JSON lines", with_keys("squid", "run_id"),
        read_run_pages, "page", read_by="exam-pp import --from car-pages",
        schema=Schema("car-pages", "a run page of TREC CAR Y3", RunPage),
    ),
)  # fmt: skip
