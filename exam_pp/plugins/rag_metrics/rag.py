"""The evaluation of RAG systems by all metrics, and configurations of Open RAG Eval.

Each step is an `exam-pp` command, whose output is in a work folder.
"""

from __future__ import annotations

import json
import logging
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
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.prompt_files import assignment_prompt
from exam_pp.phases.grading.settings_files import SettingsFile
from exam_pp.phases.grading.steps import Steps, asked, is_data_set
from exam_pp.plugins.rag_metrics.distributions import distributions_report
from exam_pp.plugins.rag_metrics.open_rag_eval import ResultRow, write_result_rows
from exam_pp.prompts import PROMPTS
from exam_pp.rendering.document import Paragraph
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.report_summary import left_out_blocks
from exam_pp.results import ALL_QUERIES, ANSWERED, Score
from exam_pp.roles import DistinctNames, System, outputs_of
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import folder_output, read_text, safe_name, write_text
from exam_pp.store.parsing import parse_yaml, valid
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.query_texts import stored_query_texts
from exam_pp.store.trec.queries import read_query_texts, write_queries
from exam_pp.store.trec.runs import read_qrels
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
_OPTIONS = used("k_values", metrics=_SIMILARITY)
_KEYS = used("", model=_JUDGE, evaluator=used("name type", model=_JUDGE, options=_OPTIONS))


def read_settings(path: Path, base_url: str | None = None) -> tuple[Settings, DroppedFields]:
    """Read a configuration of Open RAG Eval, and count the keys without a counterpart."""
    content, dropped = parse_yaml(read_text(path), path, "A YAML configuration"), DroppedFields()
    if not isinstance(content, dict) or "evaluator" not in content:
        raise DataError("is missing; it holds the options of the metrics.", file=str(path), field="evaluator")
    count_unused(content, _KEYS, dropped)
    source = SettingsFile(str(path), path.parent, [base_url] if base_url else [])
    values: dict[str, Any] = {}
    judge = content.get("model")
    blocks = content["evaluator"]
    for block in blocks if isinstance(blocks, list) else [blocks]:
        named = block if isinstance(block, dict) else {}
        kind = str(named.get("name", named.get("type", block))).lower().removesuffix("evaluator")
        if kind not in ("trec", "trecrag", "consistency"):
            dropped.add(f"evaluators {kind!r}")
            continue
        # TRECEvaluator lists nuggets itself: from all relevant passages in one context, five times.
        values |= {} if kind == "consistency" else {"nuggets": True}
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


_PROBLEMS = (
    SelectionError, DataError, ModelError, MissingExtraError, UnknownNameError, click.ClickException,
)  # fmt: skip
_Words = Sequence[str | Path]


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
        self.scored: _Words = []
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
        for title, to_add, evaluate in (
            ("Retrieval", "--model and query texts", self._retrieval),
            ("Nugget scores", "--bank and --model", self._nugget_scores),
            (
                "Citations", "--model",
                lambda: self._of_answers("citations", lambda: self._graded("citations", "citation-support")),
            ),
            (
                "Factual consistency", "--model",
                lambda: self._of_answers(
                    "factual-consistency", lambda: self._graded("scored", "factual-consistency")
                ),
            ),
            (
                "Questions answered", "--model and query texts",
                lambda: self._of_answers(
                    "answered", lambda: self._whole("attempted", "answer-attempt", *self.queries)
                ),
            ),
            ("Consistency over repeats", "answers of several runs", self._consistency),
        ):  # fmt: skip
            try:
                found = evaluate()
            except _PROBLEMS as error:
                log.warning("Left out: %s. %s", title, error)
                self.left_out.append((title, str(error), to_add))
                continue
            self.notes += [f"{title}: {note}" for note in found["notes"]]
            self.scores += [
                score
                for score in (Score(*row.values()) for row in found["tables"][0]["rows"])
                if score.query_id != ALL_QUERIES
                if score.system not in self.repeats or (score.system, score.query_id) in self.outputs
            ]
        if not self.scores:
            if self.settings.model is None:  # else a judge has worked for the finished steps
                self.steps.remove()
            raise SelectionError(f"No metric has a result. {self.left_out[0][1]}")

    def _scored(
        self, name: str, words: _Words, source: Path, grade: Callable[[], Path] | None = None
    ) -> dict[str, Any]:
        """The scores that a command computes by the grades in a file, else by those that the judge makes."""
        words, form = ["evaluate", *words], ["--per-query", "--format", "json"]
        self.scored = [source]
        try:
            path = self._step(f"{name}.json", *words, *self.scored, *form)
        except SelectionError:
            if grade is None or self.settings.model is None:
                raise
            self.scored = [grade(), "--grader", self.settings.model.model]
            path = self._step(f"{name}.json", *words, *self.scored, *form)
        report: dict[str, Any] = json.loads(read_text(path))
        return report

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

    def _retrieved(self) -> Path:
        return self._step("retrieved.jsonl.gz", "filter", self.passages, "--role", "retrieved")

    def _labelled(self) -> Path:
        return self._graded("labelled", "relevance", *self.queries, source=self._retrieved())

    def _retrieval(self) -> dict[str, Any]:
        measures = [f"{name}@{k}" for name in ("P", "AP_top") for k in self.settings.k_values]
        words = ["qrels", "--prompt", "relevance"]
        measured = ["--min-grade", "2", *options("-m", [*measures, "RR", "MeanLabel"])]
        found = self._scored("retrieval", [*words, *measured], self._retrieved(), self._labelled)
        labels = self._step("labels.qrels", "evaluate", *words, *self.scored)
        self.labels = {(label.query_id, label.passage_id): label.whole for label in read_qrels(labels)}
        return found

    def _nugget_scores(self) -> dict[str, Any]:
        bank = self._nuggets()
        prompt = assignment_prompt(self.settings.model or ModelOptions(""), read_bank(bank)).shown
        return self._scored(
            "nugget-scores", ["nuggets", "--bank", bank], self.passages,
            lambda: self._whole("assigned", prompt, "--bank", bank),
        )  # fmt: skip

    def _nuggets(self) -> Path:
        """The bank: that of the user, or one with the nuggets of relevant passages."""
        if self.bank is not None:
            return self.bank
        if not self.settings.nuggets or self.settings.model is None:
            raise SelectionError("No bank of nuggets is named.")
        words = ["--prompt", "relevance", "-S", "window-size=all", "-S", "iterations=5", *self.queries]
        prompts = ["nugget-creation", "nugget-importance"]
        return self._step("nuggets.jsonl", "nuggetize", self._labelled(), *words, prompts=prompts)

    def _of_answers(self, metric: str, grade: Callable[[], Path]) -> dict[str, Any]:
        return self._scored(metric, ["answers", "--metric", metric], self.passages, grade)

    def _whole(self, name: str, prompt: str, *words: str | Path) -> Path:
        """Grades of whole answers, each of which is one passage."""
        answers = self._step("answers.jsonl", "convert", self.passages, "--to", "rag24", *self.queries)
        whole = self._step("answers.jsonl.gz", "import", "--answers", answers, "--unit", "whole")
        return self._graded(name, prompt, *words, source=whole)

    def _consistency(self) -> dict[str, Any]:
        given, encoder = self.settings.similarities, self.settings.encoder
        scores = self.steps.folder / "scores.jsonl" if self.scores else None
        if scores is not None:
            write_score_rows(self.scores, scores)
        rescaled = given.get("bert_score", {}).get("rescale_with_baseline", True)
        metrics = {
            "rouge": "rouge_score" in given,
            "bertscore": encoder and rescaled,
            "bertscore-raw": encoder and not rescaled,
            "spread": scores,
        }
        words = ["consistency", *options("--metric", [name for name, wanted in metrics.items() if wanted])]
        words += options("--model", encoder) + options("--scores", scores)
        return self._scored("consistency", words, self.passages)

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
