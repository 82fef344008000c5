"""Answers and documents of a query, from which games between systems are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from exam_pp.data_model import DIRECT_ID, DirectGrade, Passage, QueryPassages
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeSelector
from exam_pp.graders.pairwise import AnswerText, Document, PairUnit
from exam_pp.phases.tournaments.pairs import PlannedGame
from exam_pp.prompts.markup import without_thinking
from exam_pp.roles import System, SystemOutput, outputs_of, role_of


@dataclass(frozen=True)
class DocumentRule:
    """Labels and reasons of documents, and the lowest label of a document that is shown.

    ``selector``: Selects the direct grades that hold labels and reasons; None for no grades.
    ``min_relevance``: The lowest label; None shows all documents.
    """

    selector: GradeSelector | None = None
    min_relevance: int | None = None

    def document(self, passage: Passage) -> Document:
        """The passage with its label and reason."""
        label, reason = None, None
        for grades in self.selector.select(passage) if self.selector else ():
            label = grades.entry_ratings().get(DIRECT_ID, label)
            if isinstance(grades, DirectGrade) and grades.answer is not None:
                reason = without_thinking(grades.answer)
        return Document(passage.passage_id, passage.text, label, reason)

    def keeps(self, document: Document, query_id: str) -> bool:
        """Whether the document is shown; raises :class:`SelectionError` for a document without a label."""
        if self.min_relevance is None:
            return True
        if document.label is None:
            raise SelectionError(
                f"The document {document.passage_id!r} of the query {query_id!r} has no label, which "
                "--min-judgment needs; grade it with `exam-pp grade` and a direct prompt, or leave out "
                "--min-judgment."
            )
        return document.label >= self.min_relevance


@dataclass
class Contest:
    """The answers of systems to a query.

    ``answers``: System and repeat to the answer with its passages; empty answers are included. ``shared``:
    Passages of the query without rankings and judgments, such as documents of RAGElo's files without agents.
    They are the documents of a game if its systems retrieved and cite no passages.
    """

    query_id: str
    query_text: str
    answers: dict[System, SystemOutput]
    shared: list[Passage] = field(default_factory=list)
    rule: DocumentRule = field(default_factory=DocumentRule)

    @property
    def repeats(self) -> dict[str, list[int | None]]:
        """System to its repeats that answered, in order."""
        repeats: dict[str, list[int | None]] = {}
        for system, repeat in sorted(self.answers, key=lambda key: (key.name, key.repeat or 0)):
            repeats.setdefault(system, []).append(repeat)
        return repeats

    def unit(self, game: PlannedGame) -> PairUnit:
        """The answers of a game, with the documents of both systems."""
        a, b = self.answers[game.a], self.answers[game.b]
        documents = [self.rule.document(passage) for passage in pooled([a, b]) or self.shared]
        return PairUnit(
            self.query_id,
            self.query_text,
            AnswerText(a.system, a.text, a.repeat),
            AnswerText(b.system, b.text, b.repeat),
            [document for document in documents if self.rule.keeps(document, self.query_id)],
            game.order,
        )


def pooled(outputs: Iterable[SystemOutput]) -> list[Passage]:
    """The retrieved and cited passages of several systems, each once, by their best rank.

    Equal ranks are in the order of the names of systems, so both orders of a game have the same documents.
    """
    ranked: dict[str, tuple[int, Passage]] = {}
    for output in sorted(outputs, key=lambda output: output.name):
        for rank, passage in enumerate(output.sources):
            best = ranked.get(passage.passage_id)
            if best is None or rank < best[0]:
                ranked[passage.passage_id] = (rank, passage)
    return [passage for _, passage in sorted(ranked.values(), key=lambda item: item[0])]


def contest_of(
    query: QueryPassages, texts: Mapping[str, str], systems: Collection[str], rule: DocumentRule
) -> Contest:
    """The contest of a query.

    ``systems``: The systems that play; empty for all. Returns the contest with all answers, also empty ones.
    """
    answers = {
        key: output
        for key, output in outputs_of(query).items()
        if output.answered and (not systems or output.system in systems)
    }
    for output in answers.values():
        _check_single(query.query_id, output)
    shared = [passage for passage in query.passages if not passage.rankings and not passage.judgments]
    return Contest(query.query_id, texts.get(query.query_id, ""), answers, shared, rule)


def _check_single(query_id: str, output: SystemOutput) -> None:
    """Raise SelectionError if parts of an answer have the same rank, or one of them is a whole answer."""
    whole = f"{output.name}/{query_id}"
    ranks: dict[int, str] = {}
    for passage, _ in output.parts:
        other = ranks.setdefault(_rank(query_id, passage, output), passage.passage_id)
        if other != passage.passage_id or (passage.passage_id == whole and len(output.parts) > 1):
            raise SelectionError(
                f"The system {output.name!r} has two answers to the query {query_id!r}, which cannot be "
                f"distinguished (see {passage.passage_id!r}); import them as repeats or as two systems."
            )


def _rank(query_id: str, passage: Passage, output: SystemOutput) -> int:
    """The best rank of a part in an answer."""
    return min(
        entry.rank
        for entry in passage.rankings
        if entry.method == output.system
        and entry.repeat in (None, output.repeat)
        and role_of(query_id, passage.passage_id, entry) == "answer"
    )
