"""Passages with selected grades for verification reports: rating, answer, reply and judgment."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from exam_pp.banks import Entry
from exam_pp.data_model import (
    DIRECT_ID,
    LEGACY_PROMPT_CLASS,
    DirectGrade,
    Passage,
    RubricGrades,
    is_human,
)
from exam_pp.grade_filter import GradeSelector
from exam_pp.phases.review.review_table import cells_of
from exam_pp.prompts import PROMPTS

UNGRADED = "ungraded"
NOT_ASKED = "not asked"

_START = 200
"""Characters of a passage that are kept with every pair."""


class GradedPair(NamedTuple):
    """The grade of a passage for a bank entry, with its explanation.

    ``rating`` is None for an ungraded pair, with the cause in ``reason``. ``source`` is the rule by which the
    rating was read, or None if the file does not record it. ``reply`` is the model's reply, or None if it is
    only the rating. With ``is_number``, the prompt reads the rating as a number from it, alone or with text
    (``4: mostly complete``). ``judgment`` is the highest, or None. ``text`` is the start of the passage.
    ``asked`` is False if the file has neither a grade nor an error for the pair. An entry ``to_avoid`` is
    not covered, whatever its rating.
    """

    passage_id: str
    text: str
    judgment: int | None
    rating: int | None = None
    source: str | None = UNGRADED
    answer: str | None = None
    reply: str | None = None
    is_number: bool = True
    reason: str | None = NOT_ASKED
    tokens_cut: int = 0
    asked: bool = False
    to_avoid: bool = False

    @property
    def by_default(self) -> bool:
        """Whether the reply was not a number, so that the default rule gave the rating."""
        return (self.source or "").startswith("default")


@dataclass(frozen=True, slots=True)
class CheckedPassage:
    """A passage with its selected grades.

    ``text`` is the full text, ``judgment`` the highest judgment or None, and ``pairs`` has the bank entries
    that the model was asked about.
    """

    passage_id: str
    text: str
    judgment: int | None
    pairs: Mapping[str, GradedPair]

    @property
    def best_rating(self) -> int | None:
        """The highest rating over the entries, or None if no entry is graded."""
        return max((rating for rating, _ in self.rated()), default=None)

    def reaching(self, min_grade: int) -> list[str]:
        """Ids of the entries that are rated at least ``min_grade``, best first."""
        return [key for rating, key in self.rated() if rating >= min_grade]

    def rated(self) -> list[tuple[int, str]]:
        """Ratings and ids of the entries that have one, best first; ties in the order of the bank.

        What a passage should avoid is left out.
        """
        rated = [
            (pair.rating, key)
            for key, pair in self.pairs.items()
            if pair.rating is not None and not pair.to_avoid
        ]
        return sorted(rated, key=lambda item: -item[0])


@dataclass(frozen=True, slots=True)
class CheckedQuery:
    """A query's passages, and the texts of its bank entries by id."""

    query_id: str
    text: str
    entries: dict[str, str]
    passages: list[CheckedPassage]

    @property
    def heading(self) -> str:
        """The id and, if known, the text."""
        return f"{self.query_id}: {self.text}" if self.text else self.query_id


def checked_passages(
    passages: Iterable[Passage],
    selector: GradeSelector,
    answers_class: str | None = None,
) -> list[CheckedPassage]:
    """The passages with the grades that the selector chooses.

    The answer that explains a rating is the same model's reply to the prompt class ``answers_class``, by
    default to any prompt without a scale.
    """
    return [
        CheckedPassage(
            passage.passage_id,
            passage.text,
            _judgment(passage),
            _pairs_of(passage, selector, answers_class),
        )
        for passage in passages
    ]


def entries_of(
    passages: Sequence[CheckedPassage], entries: Mapping[str, Entry] | None
) -> tuple[dict[str, str], frozenset[str]]:
    """Entry id to text, and the graded ids that the bank lacks.

    Without a bank (``entries`` is None) the entries are the graded ids, with the ids as texts.
    With direct grades, the direct grade is the only entry.
    """
    asked = dict.fromkeys(entry_id for passage in passages for entry_id in passage.pairs)
    if DIRECT_ID in asked:
        return {DIRECT_ID: "direct grade"}, frozenset()
    if entries is None:
        return {entry_id: entry_id for entry_id in asked}, frozenset()
    return {key: entry.listed for key, entry in entries.items()}, frozenset(asked.keys() - entries.keys())


def in_bank_order(
    passage: CheckedPassage, entries: Iterable[str], avoided: Collection[str] = ()
) -> CheckedPassage:
    """The passage with only the pairs of these entries, in their order; some are to be avoided."""
    pairs = {
        entry_id: passage.pairs[entry_id]._replace(to_avoid=entry_id in avoided)
        for entry_id in entries
        if entry_id in passage.pairs
    }
    return replace(passage, pairs=pairs)


def blank_pair(passage: CheckedPassage) -> GradedPair:
    """The pair of the passage and an entry that the model was not asked about."""
    return GradedPair(passage.passage_id, text_start(passage.text, _START), passage.judgment)


def text_start(text: str, width: int) -> str:
    """The start of a text on one line, cut at a space; a long first word is cut inside."""
    line = " ".join(text[: 2 * width].split())
    if len(line) <= width and len(text) <= 2 * width:
        return line
    if len(line) <= width - 2:  # The start is mostly whitespace.
        return f"{line} …".strip()
    start, space, _ = line[: width - 1].rpartition(" ")
    return f"{start} …" if space else f"{line[: width - 1]}…"


def _pairs_of(
    passage: Passage,
    selector: GradeSelector,
    answers_class: str | None,
) -> dict[str, GradedPair]:
    """Entry id to pair; of several grades of an entry the last rating counts, else the first error."""
    pairs: dict[str, GradedPair] = {}
    blank = GradedPair(passage.passage_id, text_start(passage.text, _START), _judgment(passage))
    for grades in selector.select(passage):
        assert isinstance(grades, RubricGrades | DirectGrade)
        answers = extracted_answers(passage, grades.model, answers_class)
        for entry_id, cell in cells_of(grades).items():
            if cell.rating is None and entry_id in pairs:
                continue
            is_rating = not grades.is_rated or (cell.reply or "").strip() == str(cell.rating)
            reply = None if cell.rating is not None and is_rating else cell.reply
            pairs[entry_id] = blank._replace(
                rating=cell.rating,
                source=UNGRADED if cell.rating is None else cell.source,
                answer=answers.get(entry_id),
                reply=reply,
                is_number=reply is None or _is_number(grades.prompt_class, reply, cell.rating, cell.source),
                reason=cell.reason,
                tokens_cut=cell.cut or 0,
                asked=True,
            )
    return pairs


@lru_cache(maxsize=10_000)
def _is_number(prompt_class: str | None, reply: str, rating: int | None, source: str | None) -> bool:
    """Whether the prompt reads the rating as a number, and the file does not say otherwise."""
    prompt = PROMPTS.find(prompt_class)
    if prompt is None or (source or "").startswith("default"):
        return False
    read = prompt.parse(reply, None, "default")
    return (read.rating, read.source) == (rating, "number")


def _judgment(passage: Passage) -> int | None:
    return max((judgment.relevance for judgment in passage.judgments), default=None)


def extracted_answers(passage: Passage, model: str | None, answers_class: str | None) -> dict[str, str]:
    """Entry id to the same model's extracted answer; of several prompt classes the first in the file.

    Reviewers do not extract answers, so their ratings get the answers of any model.
    """
    answers: dict[str, tuple[str, str]] = {}
    by_reviewer = is_human(model)
    for grades in passage.rubric_grades or ():
        prompt_class = grades.prompt_class or LEGACY_PROMPT_CLASS
        if (grades.model != model and not by_reviewer) or (
            grades.is_rated if answers_class is None else prompt_class != answers_class
        ):
            continue
        for entry_id, answer in grades.answers:
            if answers.get(entry_id, (prompt_class,))[0] == prompt_class:
                answers[entry_id] = (prompt_class, answer)
    return {entry_id: answer for entry_id, (_, answer) in answers.items()}
