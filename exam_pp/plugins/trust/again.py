"""Whether a grader repeats itself: requests answered again, in other batches, by another engine or seed."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from exam_pp.cli.grading.plan import machine, used_memory
from exam_pp.data_model import AnyGrades
from exam_pp.errors import ModelError, SelectionError
from exam_pp.llm.backends import can_rate, load_llm
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm_requests import Completion, Request
from exam_pp.metrics.uncertainty import share_interval
from exam_pp.phases.grading.grade import Exam, GradeOptions, GradeSummary, grades_by, grading_jobs
from exam_pp.phases.grading.grading_run import (
    GradeFiles,
    check_files,
    check_fit,
    resolve_options,
)
from exam_pp.phases.grading.scheduler import Answer, run_requests
from exam_pp.prompts.rubric import QUESTION_EXTRACTION, QUESTION_SELF_RATED
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

SEED = 20261126
"""Seed of the random sample and of the order of requests."""

_Pair = tuple[str, str, str, str]
"""Query, passage, prompt class and entry."""

REFERENCE = "transformers in float32"
_MAX_NEW_TOKENS = 16
_TEXTS = (
    "Bees dance to tell other bees of the hive where flowers are. The angle of the dance shows the "
    "direction relative to the sun, and its length the distance.",
    "A sourdough starter is flour and water in which wild yeast and bacteria live. It is fed every day "
    "and makes bread rise without baker's yeast.",
    "The lighthouse was built in 1858. In 1971 its lamp was replaced by an automatic one, and the last "
    "keeper left the island.",
    "Rust forms when iron meets water and oxygen. Salt speeds it up; paint, oil or zinc keep it away.",
)
PASSAGES = (*_TEXTS, " ".join(_TEXTS * 2))  # a long one among short ones, as in batches with padding
QUESTIONS = (
    "How do bees tell each other where flowers are?",
    "How can iron be kept from rusting?",
)


def examine_model(model: ModelOptions) -> tuple[Report, bool]:
    """The machine, and whether a model answers the same alone, in batches and with the reference engine.

    The requests are few and their replies short, because the probabilities of the labels show any dependency
    of the model on its batch more sharply than further replies. The second value is False if a reply changes
    in float32. Raises :class:`exam_pp.errors.ModelError` if the model cannot be loaded.
    """
    prompt = QUESTION_SELF_RATED if can_rate(model) else QUESTION_EXTRACTION
    requests = [
        Request(
            prompt.render({"question": question, "context": passage}),
            prompt.labels,
            _MAX_NEW_TOKENS,
            one_line=True,
        )
        for question in QUESTIONS
        for passage in PASSAGES
    ]
    began = time.perf_counter()
    llm = load_llm(model)
    loaded = time.perf_counter()
    log.info("%s is asked %s, alone and in batches", llm.name, counted(len(requests), "request"))
    alone = _answer(llm, alone=True)(requests)
    speed = len(requests) / (time.perf_counter() - loaded)
    rows = [_replies_changed("in batches", alone, _answer(llm, alone=False)(requests))]
    provenance = llm.provenance()
    dtype = provenance.get("dtype")
    if dtype is not None and (provenance["engine"], dtype) != ("transformers", "float32"):
        try:
            exact = load_llm(replace(model, engine="transformers", dtype="float32", compute_type=None))
            rows.append(_replies_changed(REFERENCE, alone, _answer(exact, alone=True)(requests)))
        except ModelError as error:  # the GPU may have no memory for a second model in float32
            log.warning("The reference engine could not be used: %s", error)
    facts: dict[str, Cell] = {
        "model": llm.name,
        "seconds to load": round(loaded - began, 1),
        "pairs per second, one at a time": round(speed, 1),
        **dict(used_memory()),
    }
    columns = ("compared with one prompt at a time", "replies", "changed", "largest change of a probability")
    changed = sum(row[2] for row in rows)
    blocks: list[Block] = [
        machine(),
        _model_table(provenance, facts),
        Table(columns, rows, "Replies", decimals=6),
        Paragraph(_conclusion(changed, dtype)),
    ]
    return Report("exam-pp grade --plan", blocks), not changed or dtype != "float32"


def _replies_changed(
    setting: str, alone: Sequence[Completion], replies: Sequence[Completion]
) -> tuple[str, int, int, float | None]:
    """The row of a setting: replies, those that changed, and the largest change; None without labels."""
    pairs = list(zip(alone, replies, strict=True))
    changes = [
        abs(math.exp(p) - math.exp(q))
        for a, b in pairs
        for p, q in zip(a.label_logprobs, b.label_logprobs, strict=False)
    ]
    flips = sum((a.text, a.error) != (b.text, b.error) for a, b in pairs)
    return setting, len(pairs), flips, max(changes, default=None)


def _conclusion(changed: int, dtype: object) -> str:
    if not changed:
        return "No reply changed: grades do not depend on batches."
    if dtype == "float32":
        remedy = "In float32 this is a defect: use -M engine=transformers, and report it."
    else:
        remedy = "In reduced precision this is normal if two labels are about equally likely."
    return f"{counted(changed, 'reply')} changed. {remedy}"


def grade_again(files: GradeFiles, model: ModelOptions, options: GradeOptions, passages: int) -> Report:
    """Grade a random sample of the graded passages again, and compare with the grades of the file.

    The requests are sent in random order in batches, and one at a time; if the model samples its replies,
    also with the next seed. The journal is not read. A pair that has become ungraded has changed.

    Raises:
        SelectionError: The passages have no grades by the model with these prompts.
    """
    exam = check_files(files, options)
    check_fit(model, options)
    llm = load_llm(model)
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
        other = load_llm(replace(model, sampling_seed=(model.sampling_seed or 0) + 1))
        settings["with another seed"] = other, _answer(other, alone=False)
    rows = [
        _grades_changed(name, before, dict(_graded(sample, exam, used, answer, options)))
        for name, (used, answer) in settings.items()
    ]
    columns = ("graded again", "pairs", "changed grades", "%", "interval")
    provenance = llm.provenance()
    alone = (
        "It answers each request alone: by its construction, batches change no grade."
        if provenance.get("batch_invariant")
        else "Its engine may compute other numbers in other batches; the share shows whether grades change."
    )
    drawn = counted(sum(len(query.passages) for query in sample), "passage")
    return Report(
        "Grades of a second grading",
        [
            Table(columns, rows, f"Grades by {llm.name} that changed", decimals=1),
            _model_table(provenance),
            Paragraph(
                f"Graded again: {drawn}, drawn at random from those with a "
                f"grade; grades are compared with those of the file. Intervals: 95 %, over passages. {alone}"
            ),
        ],
    )


def _model_table(provenance: Mapping[str, object], facts: Mapping[str, Cell] | None = None) -> Table:
    """Facts about the model, and what grades record of it."""
    recorded = [(key, str(value)) for key, value in provenance.items()]
    return Table(("property", "value"), [*(facts or {}).items(), *recorded], "Model")


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


def _grades_changed(
    setting: str, before: Mapping[_Pair, int], after: Mapping[_Pair, int]
) -> tuple[str, int, int, float, str]:
    """The row of a setting: pairs, those whose grade changed, their share, and its interval over passages."""
    pairs = Counter(pair[:2] for pair in before)
    changed = Counter(pair[:2] for pair, rating in before.items() if after.get(pair) != rating)
    low, high = share_interval([changed[passage] for passage in pairs], [*pairs.values()])
    share = 100 * changed.total() / pairs.total()
    return setting, pairs.total(), changed.total(), share, f"[{100 * low:.1f}, {100 * high:.1f}]"
