"""The judge of TREC AutoJudge: nugget creator, qrels creator and leaderboard judge in one class."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.banks import BankLine, TestBank
from exam_pp.cli.logs import start_log
from exam_pp.cli.options import log_summary
from exam_pp.errors import ExamError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.plugins.autojudge.settings import LlmConfig, read_settings
from exam_pp.plugins.autojudge.work import Work, lines_of_kind
from exam_pp.results import Score
from exam_pp.store.passages.graded_file import read_passages

if TYPE_CHECKING:
    from autojudge_base import Leaderboard, Qrels, Report, Request
    from autojudge_base.nugget_data import NuggetBanks

log = logging.getLogger(__name__)

COVER = "Cover"
LABEL = "label_mean"
V_STRICT = "V_strict"

_MEANINGS = {
    COVER: "Rubric-Cover: share of the topic's bank entries that the answer covers",
    LABEL: "Mean Rubric-Qrels label of the answer's parts",
    V_STRICT: "Share of the topic's vital nuggets that the answer supports (AutoNuggetizer)",
}

ScoreTable = Mapping[tuple[str, str], float]
"""Run and topic to a score."""


class ExamJudge:
    """Nuggets, qrels and a leaderboard by exam_pp, for ``auto-judge run``.

    The class fulfils the three protocols of ``autojudge_base``: ``NuggetCreatorProtocol``,
    ``QrelsCreatorProtocol`` and ``LeaderboardJudgeProtocol``. A workflow file names it as
    ``exam_pp.plugins.autojudge.ExamJudge``. docs/how-to/autojudge.md lists the settings.

    Problems that the user can solve raise :class:`exam_pp.errors.ExamError`; within a command of click, such
    as ``auto-judge run``, they end the command with their message.
    """

    @property
    def nugget_banks_type(self) -> type[NuggetBanks]:
        """The format of the banks: AutoJudge's ``NuggetBanks`` with questions and claims."""
        from autojudge_base.nugget_data import NuggetBanks

        banks: type[NuggetBanks] = NuggetBanks
        return banks

    def create_nuggets(
        self,
        rag_responses: Iterable[Report] | None,
        rag_topics: Sequence[Request],
        llm_config: LlmConfig | None,
        nugget_banks: NuggetBanks | None = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> NuggetBanks:
        """Make a bank with questions (``nugget_bank``) or nuggets (``claim_bank``) for every topic."""
        del rag_responses, corpus
        with _command():
            return Work(read_settings(settings), rag_topics, llm_config).new_bank(nugget_banks)

    def create_qrels(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: LlmConfig | None,
        nugget_banks: NuggetBanks | None = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> Qrels:
        """Make Rubric-Qrels: a label for every part of every answer.

        ``nugget_banks``: The bank. None: that of the settings. Returns labels of ``run/topic#1``,
        ``run/topic#2`` ..., or of ``run/topic`` with ``unit: whole``. Parts without a readable reply have no
        label.
        """
        from autojudge_base import QrelRow, Qrels

        del corpus
        with _command():
            work = Work(read_settings(settings), rag_topics, llm_config)
            graded, bank, grade_filter = _grades(work, rag_responses, work.bank(nugget_banks))
            labels = _labels(work, graded, bank, grade_filter)
            return Qrels(rows=[QrelRow(query, passage, label) for (query, passage), label in labels.items()])

    def judge(
        self,
        rag_responses: Iterable[Report],
        rag_topics: Sequence[Request],
        llm_config: LlmConfig | None,
        nugget_banks: NuggetBanks | None = None,
        qrels: Qrels | None = None,
        corpus: str | None = None,
        **settings: Any,
    ) -> Leaderboard:
        """Score every run for every topic: ``Cover``, ``label_mean``, and ``V_strict`` for vital nuggets.

        ``rag_topics``: The topics; answers to others are ignored. Topics without an answer score 0.
        ``nugget_banks``: The bank. None: that of the settings. ``qrels``: Labels of the parts of answers.
        None: Rubric-Qrels.
        """
        del corpus
        with _command():
            work = Work(read_settings(settings), rag_topics, llm_config)
            reports = list(rag_responses)
            lines = work.bank(nugget_banks)
            graded, bank, grade_filter = _grades(work, reports, lines)
            if qrels is None:
                labels = _labels(work, graded, bank, grade_filter)
            else:
                labels = {(row.topic_id, row.doc_id): row.grade for row in qrels.rows}
            covered = cover(
                graded, bank, grade_filter=grade_filter, min_grade=work.settings.min_grade,
                cutoff=work.settings.cutoff, role="answer",
            )  # fmt: skip
            log_summary(covered.notes)
            columns = {COVER: _table(score for score in covered.scores if score.metric.startswith("Cover("))}
            columns[LABEL] = _label_means(work, graded, labels)
            nuggets = lines_of_kind(lines, "nugget")
            if any(item.importance == "vital" for line in nuggets for item in line.items):
                columns[V_STRICT] = _vital_scores(work, reports, nuggets)
            else:
                log.warning(
                    "V_strict is left out, because the bank has no nuggets with the importance 'vital'; with "
                    "the setting importance: true, the model labels nuggets."
                )
            runs = sorted({work.column("system", report.metadata.run_id) for report in reports})
            return _leaderboard(columns, runs, work)


def _grades(
    work: Work, reports: Iterable[Report], lines: Sequence[BankLine]
) -> tuple[Path, TestBank, GradeFilter]:
    """The graded file, the entries that were graded, and the filter of their grades."""
    prompt, kept = work.grading(lines)
    graded = work.graded("Grades", "graded.jsonl.gz", reports, kept, prompt)
    return graded, TestBank.from_lines(kept), GradeFilter(prompt_class=prompt.name)


def _labels(
    work: Work, graded: Path, bank: TestBank, grade_filter: GradeFilter
) -> dict[tuple[str, str], int]:
    """Topic and part of an answer, as columns of qrels, to its label."""
    labels = rubric_qrels(
        graded, bank, grade_filter=grade_filter, label=work.settings.label,
        min_grade=work.settings.min_grade, role="answer",
    )  # fmt: skip
    log_summary(labels.notes)
    return {(line.query_id, line.passage_id): line.whole for line in labels.qrels}


def _label_means(work: Work, graded: Path, labels: Mapping[tuple[str, str], int]) -> ScoreTable:
    """The mean label of the first parts of each answer; parts without a label count as 0."""
    of_parts: dict[tuple[str, str], list[int]] = defaultdict(list)
    for query in read_passages(graded):
        for passage in query.passages:
            for entry in passage.data.rankings:
                if work.settings.cutoff is None or entry.rank <= work.settings.cutoff:
                    label = labels.get((query.query_id, passage.passage_id), 0)
                    of_parts[entry.method, query.query_id].append(label)
    return {key: sum(values) / len(values) for key, values in of_parts.items()}


def _vital_scores(work: Work, reports: Sequence[Report], nuggets: Sequence[BankLine]) -> ScoreTable:
    assigned = work.assigned(reports, nuggets)
    (evaluation,) = nugget_scores(
        assigned, TestBank.from_lines(nuggets), cutoff=work.settings.cutoff, role="answer"
    ).values()
    log_summary(evaluation.notes)
    return _table(score for score in evaluation.scores if score.metric == V_STRICT)


def _table(scores: Iterable[Score]) -> ScoreTable:
    return {(score.system, score.query_id): score.value for score in scores}


def _leaderboard(columns: Mapping[str, ScoreTable], runs: Iterable[str], work: Work) -> Leaderboard:
    from autojudge_base import LeaderboardBuilder, LeaderboardSpec, MeasureSpec

    measures = tuple(MeasureSpec(name, description=_MEANINGS[name]) for name in columns)
    builder = LeaderboardBuilder(LeaderboardSpec(measures=measures))
    for run in runs:
        for topic in work.topics:
            values = {name: table.get((run, topic), 0.0) for name, table in columns.items()}
            builder.add(run_id=run, topic_id=topic, values=values)
    return builder.build(expected_topic_ids=list(work.topics), on_missing="error")


@contextmanager
def _command() -> Iterator[None]:
    """Within a command of click, log to standard error, and end it with the message of an ExamError."""
    context = click.get_current_context(silent=True)
    if context is not None and not logging.getLogger().handlers:
        start_log(context)
    try:
        yield
    except ExamError as error:
        if context is None:
            raise
        failure = click.ClickException(str(error))
        failure.exit_code = error.exit_code  # type: ignore[misc]
        raise failure from error
