"""Grading: a model grades every passage against every bank entry of its query, or directly."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from exam_pp.banks import Entry, TestBank
from exam_pp.data_model import DIRECT_ID, AnyGrades, DirectGrade, PassageView, Role
from exam_pp.graders.base import Grader, PassageUnit
from exam_pp.graders.listwise import REPAIRS
from exam_pp.graders.make import make_grader
from exam_pp.graders.soft import calibrated
from exam_pp.llm.decoding import DECODING
from exam_pp.llm_requests import LOW_MASS, NOT_SENT
from exam_pp.phases.grading.scheduler import (
    WINDOW_REQUESTS,
    Answer,
    AnyQuery,
    Job,
    answer_in_windows,
)
from exam_pp.prompts.answer_key import gold_answers
from exam_pp.prompts.base import PROMPTS, Prompt, Unparsed
from exam_pp.roles import accepted_entries, answers_in, joined_text


@dataclass(frozen=True)
class GradeOptions:
    """Options of a grading.

    Pairs that have a grade by the same model and prompt are not graded again, unless ``regrade``.
    ``unparsed`` is the policy for replies without a number; None: that of the model
    (:func:`~exam_pp.phases.grading.grading_run.resolve_options`), else ``default``. ``soft`` stores soft
    grades; None leaves the choice to the engine. ``repairs`` is the number of further attempts
    after a list that cannot be read. ``max_queries`` and ``max_passages`` keep only the first queries and
    the first passages of each query. ``positions`` are the positions of the queries of this shard (from 0),
    None for all queries. With ``only_unjudged``, passages with judgments are not graded. ``role``
    grades only what systems retrieved, or only parts of answers. ``calibrate`` divides the likelihoods of
    choices by those without a passage.
    """

    prompts: Sequence[Prompt]
    unparsed: Unparsed | None = None
    soft: bool | None = None
    regrade: bool = False
    repairs: int = REPAIRS
    max_queries: int | None = None
    max_passages: int | None = None
    positions: frozenset[int] | None = None
    only_unjudged: bool = False
    role: Role | None = None
    calibrate: bool = False


@dataclass
class GradeSummary:
    """Counts for the summary.

    ``pairs`` are to be graded, ``reused`` pairs have a grade in the file, and ``judged`` pairs are skipped,
    because their passage has a judgment. ``sources`` counts ratings by reading rule, ``reasons`` ungraded
    pairs by reason. ``tokens`` are those of prompts and of replies, as an endpoint counts them.
    ``low_masses`` of the ``soft`` grades have a mass below :data:`~exam_pp.llm_requests.LOW_MASS`.
    ``other_options`` counts reused pairs whose grade was made with other values of options, by the names of
    all these options.
    """

    queries: int = 0
    passages: int = 0
    pairs: int = 0
    graded: int = 0
    ungraded: int = 0
    reused: int = 0
    judged: int = 0
    shortened: int = 0
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    soft: int = 0
    low_masses: int = 0
    other_options: Counter[tuple[str, ...]] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    without_bank: list[str] = field(default_factory=list)
    without_text: list[str] = field(default_factory=list)

    def add(self, grades: AnyGrades) -> None:
        """Count the grades of one passage."""
        self.shortened += len(grades.tokens_cut or {})
        self.tokens = [sum(each) for each in zip(self.tokens, grades.tokens or (0, 0), strict=False)]
        masses = grades.masses().values()
        self.soft += len(masses)
        self.low_masses += sum(mass < LOW_MASS for mass in masses)
        if isinstance(grades, DirectGrade):
            self.graded += not grades.error
            self.sources.update(["number"] if grades.is_rated else [])
        else:
            self.graded += len(grades.correct) + len(grades.wrong)
            self.sources.update(rating.source or "number" for rating in grades.self_ratings or ())
        self.ungraded += len(grades.failures())
        self.reasons.update(str(error["failure_reason"]) for error in grades.failures().values())

    @property
    def not_numbers(self) -> int:
        """The number of ratings that a rule gave, because the reply was not a number of the scale."""
        return sum(count for source, count in self.sources.items() if source != "number")


def select(queries: Iterable[AnyQuery], options: GradeOptions) -> Iterator[AnyQuery]:
    """The first ``max_queries`` queries, or a shard of them, with their first ``max_passages`` passages."""
    for position, query in enumerate(islice(queries, options.max_queries)):
        if options.positions is not None and position not in options.positions:
            continue
        yield replace(query, passages=query.passages[: options.max_passages])


@dataclass(frozen=True)
class Exam:
    """The bank entries and query texts of a grading."""

    bank: TestBank
    query_texts: Mapping[str, str] = field(default_factory=dict)

    def query_text(self, query_id: str) -> str:
        """The text of the query from ``query_texts``, else from the bank; empty if both lack it."""
        bank = self.bank.queries.get(query_id)
        return (self.query_texts.get(query_id) or (bank.query_text if bank else "")).strip()

    def targets(self, query_id: str, prompt: Prompt) -> dict[str, Entry | None]:
        """Entry id to entry, for the entries that the prompt grades; ``{DIRECT_ID: None}`` if it is direct.

        Empty if the prompt needs a query text and the query has none. A prompt with an answer key skips
        questions whose gold answers its rule cannot compare with replies.
        """
        if prompt.needs_query and not self.query_text(query_id):
            return {}
        if prompt.kind == "direct":
            return {DIRECT_ID: None}
        return {
            key: entry
            for key, entry in self.bank.entries(query_id).items()
            if entry.kind == prompt.entry_kind
            if not (prompt.answer_key and gold_answers(entry, prompt.answer_match) is None)
        }


def graded_ids(passage: PassageView, prompt: Prompt, model: str) -> set[str]:
    """The ids of entries for which the passage has a grade by ``model`` with ``prompt``."""
    return {key for grades in grades_by(passage, prompt, model) for key in grades.graded_ids()}


def grades_by(passage: PassageView, prompt: Prompt, model: str) -> Iterator[AnyGrades]:
    """The sets of grades of a passage by ``model`` with ``prompt``."""
    names = (prompt.name, *PROMPTS.aliases(prompt.name))
    for grades in passage.grade_sets():
        hashes = {None, prompt.hash} if grades.prompt_class == prompt.name else {prompt.hash}
        same_prompt = grades.prompt_class in names and grades.prompt_hash in hashes
        if same_prompt and grades.model == model:
            yield grades


DECISIVE = (
    "revision",
    "checkpoint_hash",
    "base_url",
    "dtype",
    "num_beams",
    "max_input_tokens",
    "thinking_tokens",
    "no_answer_at",
    "choose",
    "calibrate",
    *DECODING,
)
"""Recorded model options that change replies; reused grades with another value are reported."""
ANSWER_MATCH = "--answer-match"
"""The name under which reused grades by another rule for answer keys are counted."""
_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(["no_answer_at", *DECODING]),
    "thinking_tokens": 0,
    "temperature": 0,
    "choose": False,
    "calibrate": False,
}
"""Values of decisive options that a grade does not record."""


def _with_other_options(
    passage: PassageView, prompt: Prompt, model: str, options: dict[str, Any], reused: Collection[str]
) -> Counter[tuple[str, ...]]:
    """Decisive options to the number of reused pairs whose grade records other values of them."""
    different: dict[str, tuple[str, ...]] = {}
    options = _DEFAULTS | options
    for grades in grades_by(passage, prompt, model):
        recorded = _DEFAULTS | (grades.model_options or {})
        not_sent = recorded.get(NOT_SENT, ())
        names = tuple(
            k for k in DECISIVE
            if k in recorded and k in options and recorded[k] != options[k] and k not in not_sent
        )  # fmt: skip
        if prompt.answer_key and grades.answer_match not in (None, prompt.answer_match):
            names = (*names, ANSWER_MATCH)
        for key in grades.graded_ids().intersection(reused):
            # Several grades of a pair: count the grade with the fewest differences.
            different[key] = min(different.get(key, names), names, key=len)
    return Counter(names for names in different.values() if names)


def count_work(queries: Iterable[AnyQuery], exam: Exam, model: str, options: GradeOptions) -> GradeSummary:
    """The counts of a grading before its first request, such as the pairs to grade."""
    summary = GradeSummary()
    work = grading_jobs(queries, exam, model=model, provenance={}, options=options, summary=summary)
    deque(work, maxlen=0)  # for its counts
    return summary


def _texts(query: AnyQuery, prompt: Prompt, role: Role | None) -> Iterator[tuple[int, PassageView, str]]:
    """The texts that the prompt grades, with the position and the passage that gets the grade.

    For a prompt on whole answers, they are the answers of systems, each with its first part. For others, they
    are the passages of a role; None: all.
    """
    passages = query.passages
    if not prompt.whole_answer:
        for position, passage in enumerate(passages):
            entries = passage.rankings
            if (
                role is None
                or accepted_entries(query.query_id, passage.passage_id, entries, role) is not None
            ):
                yield position, passage, passage.text
        return
    for positions in answers_in(query).values():
        parts = [passages[position] for position in positions]
        yield positions[0], parts[0], joined_text(parts)


def _ungraded_targets(
    passage: PassageView, targets: dict[str, Entry | None], prompt: Prompt, model: str, options: GradeOptions
) -> dict[str, Entry | None]:
    if options.only_unjudged and passage.judgments:
        return {}
    known = set() if options.regrade else graded_ids(passage, prompt, model)
    return {key: entry for key, entry in targets.items() if key not in known}


def grade(
    queries: Iterable[AnyQuery],
    bank: TestBank,
    answer: Answer,
    *,
    model: str,
    provenance: dict[str, Any],
    options: GradeOptions,
    query_texts: Mapping[str, str] | None = None,
    summary: GradeSummary | None = None,
    window_requests: int = WINDOW_REQUESTS,
) -> Iterator[AnyQuery]:
    """The queries with the new grades appended to their passages, in input order.

    Grades in the input are not changed. ``query_texts`` take precedence over the texts of the bank. Queries
    without a bank entry (for direct prompts: without a text) are returned unchanged and counted in
    ``summary``.
    """
    counts = summary if summary is not None else GradeSummary()
    work = grading_jobs(
        queries,
        Exam(bank, query_texts or {}),
        model=model,
        provenance=provenance,
        options=options,
        summary=counts,
    )
    return answer_in_windows(work, answer, counts.add, window_requests)


def grading_jobs(
    queries: Iterable[AnyQuery],
    exam: Exam,
    *,
    model: str,
    provenance: dict[str, Any],
    options: GradeOptions,
    summary: GradeSummary,
) -> Iterator[tuple[AnyQuery, list[Job]]]:
    """Yield every selected query with its grading jobs, and count them in ``summary``."""
    soft, unparsed = options.soft is not False, options.unparsed or "default"
    if options.calibrate:
        provenance = provenance | {"calibrate": True}
    graders = [
        (prompt, make_grader(prompt, model, provenance, unparsed, soft, options.repairs))
        for prompt in options.prompts
    ]
    for query in select(queries, options):
        yield query, list(_jobs(query, exam, graders, model, provenance, options, summary))


def _jobs(
    query: AnyQuery,
    exam: Exam,
    graders: Sequence[tuple[Prompt, Grader[AnyGrades]]],
    model: str,
    provenance: dict[str, Any],
    options: GradeOptions,
    counts: GradeSummary,
) -> Iterator[Job]:
    """The grading jobs of a query."""
    counts.queries += 1
    counts.passages += len(query.passages)
    text = exam.query_text(query.query_id)
    kinds = {prompt.kind for prompt, _ in graders}
    if kinds - {"direct"} and not exam.bank.entries(query.query_id):
        counts.without_bank.append(query.query_id)
    if not text and any(prompt.needs_query for prompt, _ in graders):
        counts.without_text.append(query.query_id)
    for prompt, grader in graders:
        targets = exam.targets(query.query_id, prompt)
        for position, passage, context in _texts(query, prompt, options.role):
            ungraded = _ungraded_targets(passage, targets, prompt, model, options)
            counts.pairs += len(ungraded)
            if options.only_unjudged and passage.judgments:
                counts.judged += len(targets)
                continue
            if len(ungraded) < len(targets):
                counts.reused += len(targets) - len(ungraded)
                if provenance:  # else the model is not loaded yet
                    reused = targets.keys() - ungraded.keys()
                    counts.other_options += _with_other_options(passage, prompt, model, provenance, reused)
            if ungraded:
                entries = [entry for entry in ungraded.values() if entry is not None]
                unit = PassageUnit(query.query_id, text, passage.passage_id, context, entries)
                grading = grader.run(unit)
                yield Job(position, calibrated(grading) if options.calibrate else grading, unit.pairs)
