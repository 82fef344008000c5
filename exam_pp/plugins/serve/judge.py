"""The judge of a live workbench: grades the new entries of a query, and reads passages ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from exam_pp.banks import BankLine, Entry, TestBank, make_entry
from exam_pp.data_model import QueryPassages
from exam_pp.llm.backends import load_llm
from exam_pp.llm.similarity import SimilarityLLM
from exam_pp.phases.grading.grade import GradeOptions, grade
from exam_pp.phases.grading.grading_run import check_files, resolve_options
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.records import replace as copy_of
from exam_pp.store.passages.journal import Journal
from exam_pp.studies.engine import Grading

Advance = Callable[[int], None]
"""Gets the number of pairs that are graded; it may raise an exception, which ends the grading."""


def _ignore(_pairs: int) -> None:
    """Nobody waits for the progress."""


class Judge:
    """The model of a study, with the study's own journal of replies; for one thread.

    Replies of a grading that is cancelled are kept. Raises :class:`~exam_pp.errors.ExamError`.
    """

    def __init__(self, grading: Grading) -> None:
        files = replace(grading.files, output=grading.journal.with_name("live.jsonl.gz"))
        options = GradeOptions(grading.prompts, role=grading.role)
        self._exam = check_files(files, options)
        self._llm = load_llm(grading.model)
        self._options = resolve_options(options, self._llm, grading.model)
        self._journal = Journal(grading.journal)
        self._advance: Advance = _ignore
        self._answer = Answerer(self._llm, self._journal, self._on_replies)

    def _on_replies(self, pairs: int) -> None:
        self._advance(pairs)

    def graded(
        self, query: QueryPassages, bank: TestBank, new: Iterable[str], advance: Advance = _ignore
    ) -> QueryPassages:
        """A copy of a query with grades of the entries ``new`` of a bank."""
        self._advance = advance
        items = [bank.entries(query.query_id)[key] for key in new]
        return self._graded(query, _bank_of(query.query_id, items), self._answer)

    def read_ahead(self, query: QueryPassages) -> None:
        """Embed the passages of a query, so that a judge by similarity needs only new questions later."""
        if isinstance(self._llm, SimilarityLLM):
            question = make_entry("question", query.query_id, self._exam.query_text(query.query_id) or "?")
            with Journal(None) as forgotten:
                self._graded(query, _bank_of(query.query_id, [question]), Answerer(self._llm, forgotten))

    def _graded(self, query: QueryPassages, bank: TestBank, answer: Answerer) -> QueryPassages:
        copy = replace(query, passages=[copy_of(passage) for passage in query.passages])
        (graded,) = grade(
            [copy],
            bank,
            answer,
            model=self._llm.name,
            provenance=self._llm.provenance(),
            options=self._options,
            query_texts=self._exam.query_texts,
        )
        return graded

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def _bank_of(query_id: str, entries: Sequence[Entry]) -> TestBank:
    return TestBank.from_lines([BankLine(query_id=query_id, items=list(entries))])
