"""Repeatability of a grader: a sample graded again in another order, batch size and seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from exam_pp.data_model import AnyGrades
from exam_pp.errors import SelectionError
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm_requests import Completion, Request
from exam_pp.metrics.bounded_mean import share_interval
from exam_pp.phases.grading.grade import Exam, GradeOptions, GradeSummary, grades_by, grading_jobs
from exam_pp.phases.grading.grading_run import (
    GradeFiles,
    check_files,
    check_fit,
    prepare_llm,
    resolve_options,
)
from exam_pp.phases.grading.scheduler import Answer, run_requests
from exam_pp.rendering.document import Paragraph, Report, Table
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from exam_pp.text.wording import counted

SEED = 20261126
"""Seed of the random sample and of the order of requests."""

_Pair = tuple[str, str, str, str]
"""Query, passage, prompt class and entry."""


class Change(NamedTuple):
    """How many grades of pairs changed in a setting, with the interval of the share over passages."""

    setting: str
    pairs: int
    changed: int
    interval: tuple[float, float]


@dataclass(frozen=True)
class Repeatability:
    """The grades of a sample that change if a model grades it again; ``provenance`` is that of the model."""

    model: str
    passages: int
    changes: Sequence[Change]
    provenance: Mapping[str, object]


def grade_again(
    files: GradeFiles, model: ModelOptions, options: GradeOptions, passages: int
) -> Repeatability:
    """Grade a random sample of the graded passages again, and compare with the grades of the file.

    The requests are sent in random order in batches, and one at a time; if the model samples its replies,
    also with the next seed. The journal is not read. A pair that has become ungraded has changed.

    Raises:
        SelectionError: The passages have no grades by the model with these prompts.
    """
    exam = check_files(files, options)
    check_fit(model, options)
    llm = prepare_llm(model, files)
    options = replace(resolve_options(options, llm, model), regrade=True)
    sample = _sample(files, options, llm.name, passages)
    before = {
        pair: rating
        for query in sample
        for passage in query.passages
        for prompt in options.prompts
        for grades in grades_by(passage, prompt, llm.name)
        for pair, rating in _ratings(query.query_id, passage.passage_id, grades)
    }
    settings = {
        "in another order": (llm, _answer(llm, alone=False)),
        "in another order, one at a time": (llm, _answer(llm, alone=True)),
    }
    if model.samples:
        other = prepare_llm(replace(model, sampling_seed=(model.sampling_seed or 0) + 1), files)
        settings["with another seed"] = other, _answer(other, alone=False)
    return Repeatability(
        llm.name,
        sum(len(query.passages) for query in sample),
        [
            _change(name, before, dict(_graded(sample, exam, used, answer, options)))
            for name, (used, answer) in settings.items()
        ],
        llm.provenance(),
    )


def _sample(files: GradeFiles, options: GradeOptions, model: str, size: int) -> list[RawQuery]:
    """The queries with the drawn passages; raises :class:`SelectionError` without graded passages."""

    def graded() -> Iterator[tuple[RawQuery, list[int]]]:
        for query in read_raw_passages(files.passages):
            yield (
                query,
                [
                    position
                    for position, passage in enumerate(query.passages)
                    if any(True for prompt in options.prompts for _ in grades_by(passage, prompt, model))
                ],
            )

    known = [(query.query_id, position) for query, positions in graded() for position in positions]
    if not known:
        raise SelectionError(
            f"{files.passages} has no grades by {model} with this prompt: --again needs a graded file."
        )
    drawn = set(Random(SEED).sample(known, min(size, len(known))))
    return [
        RawQuery(query.query_id, [query.passages[at] for at in positions if (query.query_id, at) in drawn])
        for query, positions in graded()
    ]


def _answer(llm: LLM, *, alone: bool) -> Answer:
    """Answers distinct requests in random order, in the batches of the model or alone."""

    def answer(requests: Sequence[Request]) -> list[Completion]:
        distinct = {request.key(): request for request in requests}
        keys = Random(SEED).sample(list(distinct), len(distinct))
        sent = [distinct[key] for key in keys]
        batches = [[index] for index in range(len(sent))] if alone else None
        replies = {keys[index]: reply for index, reply in llm.generate(sent, batches)}
        return [replies[request.key()] for request in requests]

    return answer


def _graded(
    sample: Sequence[RawQuery], exam: Exam, llm: LLM, answer: Answer, options: GradeOptions
) -> Iterator[tuple[_Pair, int]]:
    work = [
        (query.query_id, query.passages[job.position].passage_id, job.grading)
        for query, jobs in grading_jobs(
            sample, exam, model=llm.name, provenance={}, options=options, summary=GradeSummary()
        )
        for job in jobs
    ]
    results = run_requests([grading for *_, grading in work], answer)
    for (query_id, passage_id, _), grades in zip(work, results, strict=True):
        yield from _ratings(query_id, passage_id, grades)


def _ratings(query_id: str, passage_id: str, grades: AnyGrades) -> Iterator[tuple[_Pair, int]]:
    for entry_id, rating in grades.entry_ratings().items():
        yield (query_id, passage_id, grades.prompt_class or "", entry_id), rating


def _change(setting: str, before: Mapping[_Pair, int], after: Mapping[_Pair, int]) -> Change:
    pairs = Counter(pair[:2] for pair in before)
    changed = Counter(pair[:2] for pair, rating in before.items() if after.get(pair) != rating)
    interval = share_interval([changed[passage] for passage in pairs], [*pairs.values()])
    return Change(setting, pairs.total(), changed.total(), interval)


def again_report(result: Repeatability) -> Report:
    """A row for each setting, and what the grades record of the model."""
    rows = [
        (row.setting, row.pairs, row.changed, 100 * row.changed / row.pairs,
         f"[{100 * row.interval[0]:.1f}, {100 * row.interval[1]:.1f}]")
        for row in result.changes
    ]  # fmt: skip
    columns = ("graded again", "pairs", "changed grades", "%", "interval")
    alone = (
        "It answers each request alone: by its construction, batches change no grade."
        if result.provenance.get("batch_invariant")
        else "Its engine may compute other numbers in other batches; the share shows whether grades change."
    )
    return Report(
        "Grades of a second grading",
        [
            Table(columns, rows, f"Grades by {result.model} that changed", decimals=1),
            Table(
                ("property", "value"),
                [(key, str(value)) for key, value in result.provenance.items()],
                "Model",
            ),
            Paragraph(
                f"Graded again: {counted(result.passages, 'passage')}, drawn at random from those with a "
                f"grade; grades are compared with those of the file. Intervals: 95 %, over passages. {alone}"
            ),
        ],
    )
