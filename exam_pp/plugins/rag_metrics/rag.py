"""The evaluation of RAG systems by all metrics, and configurations of Open RAG Eval.

Each step that asks a model is an `exam-pp` command, whose output is in a work folder.
"""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import click
from pydantic import BaseModel, Field

from exam_pp.cli.main import cli
from exam_pp.data_model import WHOLE, is_canary
from exam_pp.errors import DataError, MissingExtraError, ModelError, SelectionError, UnknownNameError
from exam_pp.formats.base import known_format
from exam_pp.formats.dropped_fields import DroppedFields, count_unused, used
from exam_pp.grade_filter import AnswerFilter, GradeFilter, check_one
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.evaluation.result import Evaluation, noted_names
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings
from exam_pp.phases.grading.prompt_files import assignment_prompt
from exam_pp.phases.grading.settings_files import SettingsFile
from exam_pp.phases.grading.steps import Steps, asked, is_data_set
from exam_pp.plugins.rag_metrics.answers import answered, factual_consistency
from exam_pp.plugins.rag_metrics.citations import citations
from exam_pp.plugins.rag_metrics.consistency import consistency, default_layer, repeated_answers
from exam_pp.plugins.rag_metrics.distributions import distributions_report
from exam_pp.plugins.rag_metrics.embeddings import TokenEmbedder
from exam_pp.plugins.rag_metrics.open_rag_eval import ResultRow, write_result_rows
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import with_aliases
from exam_pp.prompts.direct import ANSWER_ATTEMPT, GRADED_RELEVANCE
from exam_pp.rendering.document import Paragraph
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.report_summary import left_out_blocks
from exam_pp.results import ANSWERED, Score
from exam_pp.roles import DistinctNames, System, outputs_of
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import folder_output, read_text, safe_name, write_text
from exam_pp.store.parsing import parse_yaml, valid
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.query_texts import stored_query_texts
from exam_pp.store.trec.queries import read_query_texts, write_queries
from exam_pp.store.trec.scores import write_score_rows
from exam_pp.studies.boards import options, typed

log = logging.getLogger(__name__)


class Settings(BaseModel):
    """Options of the evaluators of Open RAG Eval, under their names.

    ``model`` makes the grades that the input lacks, and with ``nuggets`` also nuggets; ``judge`` are the
    words of its options. ``encoder``: That of BERTScore; None for no BERTScore.
    """

    model: ModelOptions | None = None
    judge: list[str] = []
    nuggets: bool = False
    encoder: str | None = None
    k_values: list[Annotated[int, Field(ge=1), WHOLE]] = Field([1, 3, 5], min_length=1)
    run_consistency: bool = True
    metrics_to_run_consistency: list[str] = []
    metrics: list[str | dict[str, Any]] = ["rouge_score"]

    @property
    def similarities(self) -> dict[str, Any]:
        """The similarities of repeats, with their options."""
        named = [each if isinstance(each, dict) else {each: None} for each in self.metrics]
        return {name: options or {} for each in named for name, options in each.items()}


_SAMPLING = {name: name for name in ("temperature", "top_p", "presence_penalty", "frequency_penalty")} | {
    "max_tokens": "max_tokens",
    "seed": "sampling_seed",
}
"""Settings of a judge in Open RAG Eval to those of ``-M``."""
_JUDGE = used("type name base_url", model_kwargs=used(" ".join(_SAMPLING)))
_SIMILARITY = used("", rouge_score={}, bert_score=used("model_type rescale_with_baseline"))
_OPTIONS = used("k_values run_consistency metrics_to_run_consistency", metrics=_SIMILARITY)
_KEYS = used("", model=_JUDGE, evaluator=used("name type", model=_JUDGE, options=_OPTIONS))


def read_settings(path: Path, base_url: str | None = None) -> tuple[Settings, DroppedFields]:
    """Read a configuration of Open RAG Eval, and count the keys without a counterpart."""
    content, dropped = _yaml(path), DroppedFields()
    count_unused(content, _KEYS, dropped)
    source = SettingsFile(str(path), path.parent, [base_url] if base_url else [])
    values, judge = {"run_consistency": False}, content.get("model")
    blocks = content["evaluator"]
    for block in blocks if isinstance(blocks, list) else [blocks]:
        named = block if isinstance(block, dict) else {}
        kind = str(named.get("name", named.get("type", block))).lower().removesuffix("evaluator")
        if kind not in ("trec", "trecrag", "consistency"):
            dropped.add(f"evaluators {kind!r}")
            continue
        # TRECEvaluator lists nuggets itself: from all relevant passages in one context, five times.
        values |= {"run_consistency": True} if kind == "consistency" else {"nuggets": True}
        given = named.get("options") or {}
        values |= {key: given[key] for key in _OPTIONS if key in given}
        judge = named.get("model", judge)
    settings = valid(Settings.model_validate, values, path, within="evaluator.options")
    if (bert := settings.similarities.get("bert_score")) is not None:
        encoder = str(bert.get("model_type", "xlm-roberta-large"))
        settings.encoder = source.model_name(encoder, "bert_score.model_type")
    if not isinstance(judge, dict) or "name" not in judge:
        return settings, dropped
    # It is behind an endpoint, and its key is read from the environment.
    sampling = judge.get("model_kwargs") or {}
    table = {"pipeline": "openai", "model": judge["name"], "base_url": judge.get("base_url") or base_url}
    table |= {_SAMPLING[key]: value for key, value in sampling.items() if key in _SAMPLING}
    model = source.model(table, "model.")  # checks the server and the values
    words = ["--model", model.model, "--model-pipeline", "openai", *options("--base-url", table["base_url"])]
    words += options("-M", [f"{key}={table[key]}" for key in _SAMPLING.values() if key in table])
    return settings.model_copy(update={"judge": words, "model": model}), dropped


def _yaml(path: Path) -> dict[str, Any]:
    content = parse_yaml(read_text(path), path, "A YAML configuration")
    if not isinstance(content, dict) or "evaluator" not in content:
        raise DataError("is missing; it holds the options of the metrics.", file=str(path), field="evaluator")
    return content


_PROBLEMS = (
    SelectionError, DataError, ModelError, MissingExtraError, UnknownNameError, click.ClickException,
)  # fmt: skip
Scoring = Callable[[Path, str | None], Evaluation]
"""Scores by the grades of a file by a model; None: by those of its only grader."""


class Rag:
    """The scores of the systems of one input: by the grades that it has, else by those of the judge.

    ``source``: Rankings and answers, graded or not; or answers with their passages. Finished steps, in the
    folder ``steps``, are not computed again, and an interrupted step continues from its journal.
    """

    def __init__(
        self,
        source: Path,
        folder: Path,
        settings: Settings,
        queries: Path | None = None,
        bank: Path | None = None,
    ) -> None:
        self.inputs = [path for path in (source, queries, bank) if path is not None and not is_data_set(path)]
        self.settings, self.bank = settings, bank
        self.steps = Steps(folder / "steps")
        form, self.passages = known_format(source), source
        if form is not None and form.content == "answers":
            self.passages = self._step(
                "passages.jsonl.gz", "import", "--answers", source, "--unit", "sentence"
            )
        self.texts = stored_query_texts(self.passages) | (read_query_texts(queries) if queries else {})
        self.queries = options("--queries", self.steps.folder / "queries.json" if self.texts else None)
        if self.texts:
            write_queries(self.texts, self.steps.folder / "queries.json")
        self.scores: list[Score] = []
        self.notes: list[str] = []
        self.left_out: list[tuple[str, str, str]] = []
        self.labels: dict[tuple[str, str], int] = {}
        distinct = DistinctNames()
        self.outputs: dict[tuple[str, str], tuple[System, list[str]]] = {
            (distinct(system), query.query_id): (system, [each.passage_id for each in output.retrieved])
            for query in read_passages(self.passages)
            for system, output in outputs_of(query).items()
            if not is_canary(system.name)
        }
        self.repeats = {name for (name, _), (system, _) in self.outputs.items() if system.repeat is not None}

    def evaluate(self) -> None:
        """Compute all scores. A metric without input, or whose step fails, is left out, with the reason.

        A repeat has no score for queries at which it did not run. Raises SelectionError if no metric has a
        result.
        """
        for title, to_add, evaluate, grade in (
            ("Retrieval", "--model and query texts", self._retrieval, self._labelled),
            ("Nugget scores", "--bank and --model", self._nugget_scores, self._assigned),
            (
                "Citations", "--model",
                lambda source, grader: citations(source, selection=AnswerFilter(grader)),
                lambda: self._graded("citations", "citation-support"),
            ),
            (
                "Factual consistency", "--model",
                lambda source, grader: factual_consistency(source, selection=AnswerFilter(grader)),
                lambda: self._graded("scored", "factual-consistency"),
            ),
            (
                "Questions answered", "--model and query texts",
                lambda source, grader: answered(
                    source, grade_filter=GradeFilter(grader, ANSWER_ATTEMPT.name)
                ),
                lambda: self._of_answers("attempted", "answer-attempt", *self.queries),
            ),
            ("Consistency over repeats", "answers of several runs", self._consistency, None),
        ):  # fmt: skip
            try:
                found = self._scored(evaluate, grade)
            except _PROBLEMS as error:
                log.warning("Left out: %s. %s", title, error)
                self.left_out.append((title, str(error), to_add))
                continue
            self.notes += [f"{title}: {note}" for note in found.notes]
            self.scores += [
                score
                for score in found.scores
                if score.system not in self.repeats or (score.system, score.query_id) in self.outputs
            ]
        if not self.scores:
            raise SelectionError(f"No metric has a result. {self.left_out[0][1]}")

    def _scored(self, evaluate: Scoring, grade: Callable[[], Path] | None) -> Evaluation:
        """The scores by the grades in the input, else by those that the judge makes."""
        try:
            return evaluate(self.passages, None)
        except SelectionError:
            if grade is None or self.settings.model is None:
                raise
        return evaluate(grade(), self.settings.model.model)

    def _step(self, output: str, *words: str | Path, prompts: Sequence[str] = ()) -> Path:
        """The output of an `exam-pp` command, which runs unless it is complete; ``prompts`` are asked."""
        model, judge = self.settings.model, self.settings.judge if prompts else []

        def work(path: Path, _advance: object) -> Sequence[str]:
            command = [*map(typed, [*words, *judge, "-o", path])]
            log.info("$ %s", shlex.join(["exam-pp", *command]))
            cli.main(args=[*command, *quiet], prog_name="exam-pp", standalone_mode=False)
            return ()

        quiet = [] if log.isEnabledFor(logging.INFO) else ["-q"]
        inputs = [word for word in words if isinstance(word, Path)]
        facts: dict[str, Any] = {"words": [word for word in words if isinstance(word, str)]}
        facts |= asked(model, *map(PROMPTS.get, prompts)) if model and prompts else {}
        return self.steps.run(output, output, inputs, facts, work)

    def _graded(self, name: str, prompt: str, *words: str | Path, source: Path | None = None) -> Path:
        words = ("grade", source or self.passages, "--prompt", prompt, *words)
        return self._step(f"{name}.jsonl.gz", *words, prompts=[prompt])

    def _labelled(self) -> Path:
        retrieved = self._step("retrieved.jsonl.gz", "filter", self.passages, "--role", "retrieved")
        return self._graded("labelled", "relevance", *self.queries, source=retrieved)

    def _retrieval(self, source: Path, grader: str | None) -> Evaluation:
        grades = with_aliases(GradeFilter(grader, GRADED_RELEVANCE.name, kind="direct"))
        found = rubric_qrels(source, grade_filter=grades, role="retrieved")
        self.labels = {(label.query_id, label.passage_id): label.whole for label in found.qrels}
        measures = [f"{name}@{k}" for name in ("P", "AP_top") for k in self.settings.k_values]
        return score_rankings(
            found.qrels, source, [*measures, "RR", "MeanLabel"],
            min_grade=2, ungraded=found.ungraded, role="retrieved",
        )  # fmt: skip

    def _nugget_scores(self, source: Path, _grader: str | None) -> Evaluation:
        found = nugget_scores(source, self._nuggets())
        check_one(found, f"{source} has nugget assignments of several graders")
        return next(iter(found.values()))

    def _nuggets(self) -> Path:
        """The bank: that of the user, or one with the nuggets of relevant passages."""
        if self.bank is not None:
            return self.bank
        if not self.settings.nuggets or self.settings.model is None:
            raise SelectionError("No bank of nuggets is named.")
        words = ["--prompt", "relevance", "-S", "window-size=all", "-S", "iterations=5", *self.queries]
        prompts = ["nugget-creation", "nugget-importance"]
        return self._step("nuggets.jsonl", "nuggetize", self._labelled(), *words, prompts=prompts)

    def _assigned(self) -> Path:
        bank = self._nuggets()
        prompt = assignment_prompt(self.settings.model or ModelOptions(""), read_bank(bank))
        return self._of_answers("assigned", prompt.shown, "--bank", bank)

    def _of_answers(self, name: str, prompt: str, *words: str | Path) -> Path:
        """Grades of whole answers, each of which is one passage."""
        answers = self._step("answers.jsonl", "convert", self.passages, "--to", "rag24", *self.queries)
        whole = self._step("answers.jsonl.gz", "import", "--answers", answers, "--unit", "whole")
        return self._graded(name, prompt, *words, source=whole)

    def _consistency(self, source: Path, _grader: str | None) -> Evaluation:
        settings, repeats = self.settings, repeated_answers(source)
        if not settings.run_consistency:
            raise SelectionError("The configuration leaves it out.")
        bert, encoder = settings.similarities.get("bert_score", {}), settings.encoder
        known = set(map(str, repeats.positions))
        computed = {score.metric for score in self.scores if score.system in known}
        wanted = [_METRICS.get(_PREFIX.sub("", name), name) for name in settings.metrics_to_run_consistency]
        evaluation = consistency(
            repeats,
            with_rouge="rouge_score" in settings.similarities,
            embedder=TokenEmbedder(ModelOptions(encoder), default_layer(encoder)) if encoder else None,
            rescale=bool(bert.get("rescale_with_baseline", True)),
            scores=self.scores if not wanted or computed.intersection(wanted) else [],
            metrics=[metric for metric in wanted if metric in computed],
        ).evaluation
        lacking = [metric for metric in wanted if metric not in computed]
        text = "Left out, because the repeats have no scores of them: {}."
        evaluation.notes += noted_names(lacking, text, "metric", "metrics")
        return evaluation

    def write(self, folder: Path) -> None:
        """Write the page, the score rows, and a CSV file of Open RAG Eval for each system."""
        with folder_output(folder, self.inputs) as work:
            scores = work / "scores.jsonl"
            write_score_rows(self.scores, scores)
            for system, rows in self._rows().items():
                write_result_rows(rows, work / f"{safe_name(system)}.csv")
            report = distributions_report([scores])
            blocks = [*report.blocks, *map(Paragraph, self.notes), *left_out_blocks(self.left_out)]
            write_text(work / "index.html", render(replace(report, blocks=blocks), "html"))

    def _rows(self) -> dict[str, list[ResultRow]]:
        """System to its results in the columns of Open RAG Eval, for each query and repeat.

        A ranking without repeats counts for all of them. Metrics without a result have no column.
        """
        scores: dict[tuple[str, str], list[Score]] = {}
        for score in self.scores:
            scores.setdefault((score.system, score.query_id), []).append(score)
        rows: dict[str, list[ResultRow]] = {}
        for (name, query_id), (system, retrieved) in self.outputs.items():
            keys = [key for key in retrieved if (query_id, key) in self.labels]
            labels = {"retrieval_score_umbrela_scores": {key: self.labels[query_id, key] for key in keys}}
            cells: dict[str, Any] = labels if keys else {}
            for of in dict.fromkeys((system.name, name)):
                for score in scores.get((of, query_id), ()):
                    _add(cells, score)
            row = ResultRow(query_id, self.texts.get(query_id, ""), system.repeat, cells)
            rows.setdefault(system.name, []).append(row)
        return rows


_METRICS = {
    "mean_umbrela_score": "MeanLabel",
    "vital_nuggetizer_score": "V",
    "mean_nugget_assignment_score": "A",
    "hallucination_score": "FactualConsistency",
    "citation_f1_score": "citation_F1",
    "no_answer_score": "Answered",
}
"""Names of metrics in Open RAG Eval, without the prefix of their column, to those of exam_pp."""
_PREFIX = re.compile(r"^(generation|retrieval)_score_")
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "MeanLabel": ("retrieval_score_mean_umbrela_score",),
    "A": ("generation_score_nuggetizer_scores.All", "generation_score_mean_nugget_assignment_score"),
    "A_strict": ("generation_score_nuggetizer_scores.All Strict",),
    "V": ("generation_score_nuggetizer_scores.Vital", "generation_score_vital_nuggetizer_score"),
    "V_strict": ("generation_score_nuggetizer_scores.Vital Strict",),
    "W": ("generation_score_nuggetizer_scores.Weighted",),
    "W_strict": ("generation_score_nuggetizer_scores.Weighted Strict",),
    "FactualConsistency": ("generation_score_hallucination_score",),
    "citation_precision": ("generation_score_citation_scores.weighted_precision",),
    "citation_recall": ("generation_score_citation_scores.weighted_recall",),
    "citation_F1": ("generation_score_citation_scores.f1", "generation_score_citation_f1_score"),
    "Answered": ("generation_score_no_answer_score.query_answered",),
    "P(rel=2)": ("retrieval_score_precision_metrics.precision@",),
    "AP_top(rel=2)": ("retrieval_score_precision_metrics.AP@",),
    "RR(rel=2)": ("retrieval_score_precision_metrics.MRR",),
}
"""Metric, without its cutoff, to its columns; after a dot, keys in a JSON cell. A cutoff is a further key."""


def _add(cells: dict[str, Any], score: Score) -> None:
    """Add a score to the cells of its columns, at the keys in their JSON objects."""
    metric, at, cutoff = score.metric.partition("@")
    for column in _COLUMNS.get(metric, ()):
        *path, last = [*column.split("."), *([cutoff] if at else [])]
        target = cells
        for key in path:
            target = target.setdefault(key, {})
        target[last] = ("yes" if score.value else "no") if metric == ANSWERED else score.value
