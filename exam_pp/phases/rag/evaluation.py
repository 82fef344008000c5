"""Evaluation of RAG systems: retrieval, nuggets, citations, consistency and share of answered questions.

Every metric is that of another command, such as `exam-pp evaluate answers`. The steps that ask a model
write graded files into a work folder.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry, is_canary
from exam_pp.errors import DataError, MissingExtraError, ModelError, SelectionError, UnknownNameError
from exam_pp.formats.base import Source, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.grade_filter import GradeFilter
from exam_pp.graders.nuggetize import Nuggetizer
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.embeddings import TokenEmbedder
from exam_pp.metrics.text_similarity import default_layer
from exam_pp.phases.banks.nuggetize import NuggetizeOptions, nuggetize_file
from exam_pp.phases.banks.relevant_passages import Relevance
from exam_pp.phases.evaluation.answers import answered, factual_consistency
from exam_pp.phases.evaluation.citations import AnswerFilter, citations
from exam_pp.phases.evaluation.consistency import consistency, repeated_answers
from exam_pp.phases.evaluation.judgments import judgments, pool_notes
from exam_pp.phases.evaluation.nugget_scores import nugget_scores
from exam_pp.phases.evaluation.result import Evaluation, counted_names
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.score_runs import score_rankings
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grade_answers import (
    CitationOptions,
    ScoreOptions,
    grade_citations,
    score_answers,
)
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.phases.grading.prompt_files import assignment_prompt
from exam_pp.phases.grading.steps import Progress, Steps, asked, is_data_set, no_progress
from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.phases.passages.filter import FilterOptions, filter_file
from exam_pp.phases.rag.config import RagConfig
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.prompts.base import with_aliases
from exam_pp.prompts.claims import FACTUAL_CONSISTENCY
from exam_pp.results import Qrel, Score
from exam_pp.roles import DistinctNames, SystemOutput, outputs_of
from exam_pp.store.passages.graded_file import passages_writer, read_passages
from exam_pp.store.trec.answers import Answer
from exam_pp.store.trec.queries import read_query_texts, write_queries
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

WORK_FOLDER = "steps"
"""The folder of the files of the steps, in the output folder."""


class Section(NamedTuple):
    """The scores of a metric."""

    title: str
    stem: str
    evaluation: Evaluation


class LeftOut(NamedTuple):
    """A metric without a result, with the reason, and the option that adds it."""

    section: str
    reason: str
    to_add: str


@dataclass
class RagEvaluation:
    """The evaluation of one input.

    ``left_out``: Metrics without results. ``query_texts``: Texts of the queries; empty without a file of
    them.
    """

    source: Path
    sections: list[Section] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    systems: dict[str, dict[int | None, str]] = field(default_factory=dict)
    query_texts: dict[str, str] = field(default_factory=dict)
    labels: list[Qrel] = field(default_factory=list)
    retrieved: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    inputs: list[tuple[str, Path]] = field(default_factory=list)


def evaluate_rag(
    source: Path, folder: Path, config: RagConfig, progress: Progress = no_progress
) -> RagEvaluation:
    """Evaluate what the systems of a file retrieved and answered.

    Finished steps are not computed again, and an interrupted step continues from its journal. A metric whose
    input is missing, or whose step fails, is left out, and named with the reason. A repeat has no scores for
    queries to which it has no output.

    ``source``: A passages file with rankings and answers, graded or not; or answers with their passages, such
    as those of Open RAG Eval.
    """
    steps = Steps(folder / WORK_FOLDER, progress)
    run = _Run(source, config, steps)
    for title, stem, enabled, to_add, evaluate in run.metrics():
        if not enabled:
            run.result.left_out.append(LeftOut(title, "switched off", f"enabled = true in [{stem}]"))
            continue
        try:
            evaluation = evaluate()
        except (SelectionError, DataError, ModelError, MissingExtraError, UnknownNameError) as error:
            log.warning("Left out: %s. %s", title, error)
            run.result.left_out.append(LeftOut(title, str(error), to_add))
            continue
        if not evaluation.scores:
            reason = " ".join(evaluation.notes) or "no score could be computed"
            run.result.left_out.append(LeftOut(title, reason, to_add))
            continue
        run.result.sections.append(Section(title, stem, _without_absent_repeats(evaluation, run.result)))
    if not run.result.sections:
        reasons = [left_out.reason for left_out in run.result.left_out if left_out.reason != "switched off"]
        raise SelectionError(f"No metric has a result. {reasons[0] if reasons else 'All are switched off.'}")
    return run.result


class _Run:
    """The steps of an evaluation, in order."""

    def __init__(self, source: Path, config: RagConfig, steps: Steps) -> None:
        self.config = config
        self.steps = steps
        self.result = RagEvaluation(source, inputs=[("input", source)])
        self.passages, self.queries = self._imported(source)
        if config.queries is not None and not is_data_set(config.queries):
            self.result.inputs.append(("query texts", config.queries))
        if self.queries is not None:
            self.result.query_texts = read_query_texts(self.queries)
        self._read_outputs()
        self._labelled: Path | None = None

    def metrics(self) -> Iterable[tuple[str, str, bool, str, Callable[[], Evaluation]]]:
        """Title, table of the options, whether it is switched on, the missing input, and the function."""
        config = self.config
        return [
            ("Retrieval", "retrieval", config.retrieval.enabled, "[model] and query texts", self.retrieval),
            ("Nugget scores", "nuggets", config.nuggets.enabled, "[nuggets] bank or create", self.nuggets),
            ("Citations", "citations", config.citations.enabled, "[model]", self.citations),
            (
                "Factual consistency",
                "hallucination",
                config.hallucination.enabled,
                "[model] or [hallucination.model]",
                self.hallucination,
            ),
            (
                "Questions answered",
                "no_answer",
                config.no_answer.enabled,
                "[model] and query texts",
                self.no_answer,
            ),
            (
                "Consistency over repeats",
                "consistency",
                config.consistency.enabled,
                "answers of several runs",
                self.consistency,
            ),
        ]

    def _imported(self, source: Path) -> tuple[Path, Path | None]:
        """The passages file, and the file of query texts; answers with passages are imported first."""
        form = known_format(source)
        if form is None or form.content != "answers":
            return source, self.config.queries
        read = form.read
        if read is None:
            raise DataError("has answers that cannot be read.", file=str(source))

        def import_answers(output: Path, _advance: Any) -> Iterable[str]:
            return import_passages(ImportSources(answers=[source], unit="sentence"), output).lines()

        passages = self.steps.run("Import", "passages.jsonl.gz", [source], {}, import_answers)
        if self.config.queries is not None:
            return passages, self.config.queries

        def write_texts(output: Path, _advance: Any) -> Iterable[str]:
            found: Iterable[Answer] = read(Source(source, dropped=DroppedFields()))
            texts = {answer.query_id: answer.query_text for answer in found if answer.query_text.strip()}
            write_queries(texts, output)
            return [f"{counted(len(texts), 'query text')}."]

        queries = self.steps.run("Query texts", "queries.json", [source], {}, write_texts)
        return passages, queries if read_query_texts(queries) else None

    def _read_outputs(self) -> None:
        result = self.result
        answers = rankings = False
        distinct = DistinctNames()
        self._has_consistency_scores = False
        for query in read_passages(self.passages):
            self._has_consistency_scores |= any(passage.consistency_grades for passage in query.passages)
            for (system, repeat), output in outputs_of(query).items():
                if is_canary(system):
                    continue
                name = distinct(output.key)
                result.systems.setdefault(system, {})[repeat] = name
                result.retrieved[name, query.query_id] = [p.passage_id for p in output.retrieved]
                answers |= output.answered
                rankings |= bool(output.retrieved)
        if not (answers or rankings):
            raise SelectionError(
                f"{result.source} has neither rankings nor answers of systems; import them with `exam-pp "
                "import --runs --answers`."
            )

    def retrieval(self) -> Evaluation:
        """Measures of the retrieved passages, by labels."""
        step = self.config.retrieval
        if not any(self.result.retrieved.values()):
            raise SelectionError(f"{self.result.source} has no retrieved passages.")
        measures = [f"{name}@{k}" for name in ("P", "AP_top") for k in step.k_values] + ["RR", "MeanLabel"]
        if step.labels == "judgments":
            labels: Sequence[Qrel] = judgments(self.passages)
            source, ungraded = self.passages, None
        else:
            source = self.labelled()
            model = self.config.model_of(step)
            grades = GradeFilter(_name(model), step.prompt_class, kind="direct")
            qrels = rubric_qrels(source, grade_filter=with_aliases(grades), role="retrieved")
            labels, ungraded = qrels.qrels, qrels.ungraded
        self.result.labels = list(labels)
        evaluation = score_rankings(
            labels, source, measures, min_grade=step.min_label, ungraded=ungraded, role="retrieved"
        )
        if step.labels == "judgments":
            evaluation.notes += pool_notes(self.passages)
        else:
            evaluation.provenance = replace(qrels.provenance, min_grades=(step.min_label,))
        return evaluation

    def labelled(self) -> Path:
        """The retrieved passages with relevance labels; without a model, the input."""
        step = self.config.retrieval
        model = self.config.model_of(step)
        if model is None:
            return self.passages
        if self._labelled is None:

            def keep(output: Path, _advance: Any) -> Iterable[str]:
                kept = filter_file(self.passages, output, FilterOptions(role="retrieved"))
                return [f"{counted(kept.units, 'passage')} of {kept.units_read} kept."]

            retrieved = self.steps.run("Retrieved passages", "retrieved.jsonl.gz", [self.passages], {}, keep)
            self._labelled = self._grade(
                "Relevance labels", "labelled.jsonl.gz", retrieved, model, PROMPTS.get(step.prompt_class)
            )
        return self._labelled

    def _grade(
        self,
        name: str,
        output: str,
        source: Path,
        model: ModelOptions,
        prompt: Prompt,
        bank: Path | None = None,
    ) -> Path:
        """Grade a file with a prompt."""
        options = GradeOptions([prompt])
        return self._asked(
            name, output, asked(model, prompt),
            lambda files, advance: grade_file(files, model, options, advance),
            source, bank, self.queries,
        )  # fmt: skip

    def _asked(
        self,
        name: str,
        output: str,
        settings: Mapping[str, Any],
        work: Callable[[GradeFiles, Any], Any],
        source: Path,
        bank: Path | None = None,
        queries: Path | None = None,
    ) -> Path:
        """Run a step that asks a model about a file; ``work`` returns a summary."""
        inputs = [path for path in (source, bank, queries) if path is not None]

        def run(path: Path, advance: Any) -> Iterable[str]:
            lines: Iterable[str] = work(GradeFiles(source, path, bank, queries=queries), advance).lines()
            return lines

        return self.steps.run(name, output, inputs, settings, run)

    def _whole_answers(self) -> Path:
        """A file with each answer as one passage, which prompts read as a whole."""

        def work(output: Path, _advance: Any) -> Iterable[str]:
            count = 0
            with passages_writer(output, inputs=[self.passages]) as writer:
                for query in read_passages(self.passages):
                    answers = [
                        _whole(query.query_id, found)
                        for found in outputs_of(query).values()
                        if found.answered and not is_canary(found.system)
                    ]
                    count += len(answers)
                    if answers:
                        writer.write(QueryPassages(query.query_id, answers))
                if not count:
                    raise SelectionError(f"{self.result.source} has no answers of systems.")
            return [f"{counted(count, 'answer')}."]

        return self.steps.run("Whole answers", "answers.jsonl.gz", [self.passages], {}, work)

    def nuggets(self) -> Evaluation:
        """Nugget scores by a bank, or by the nuggets of the labelled passages."""
        step = self.config.nuggets
        model = self.config.model_of(step)
        bank = step.bank
        if bank is not None:
            self.result.inputs.append(("bank", bank))
        elif not step.create:
            raise SelectionError("No bank of nuggets is named, and the configuration does not create one.")
        else:
            bank = self._nuggetized(model)
        if model is None:
            scores = nugget_scores(self.passages, bank)
            if len(scores) > 1:
                raise SelectionError(
                    f"{self.passages} has nugget assignments of several graders ({', '.join(scores)})."
                )
            return next(iter(scores.values()))
        prompt = PROMPTS.get(step.prompt_class or assignment_prompt(model).name)
        assigned = self._grade(
            "Nugget assignment", "assigned.jsonl.gz", self._whole_answers(), model, prompt, bank
        )
        return next(iter(nugget_scores(assigned, bank).values()))

    def _nuggetized(self, model: ModelOptions | None) -> Path:
        step, retrieval = self.config.nuggets, self.config.retrieval
        if model is None or self.queries is None:
            raise SelectionError("making nuggets needs a model, and the texts of the queries")
        judge = self.config.model_of(retrieval)
        by_grades = retrieval.labels == "grades"
        relevance = Relevance(
            "model" if by_grades else "human",
            step.min_label,
            _name(judge) if by_grades else None,
            retrieval.prompt_class,
        )
        fields: dict[str, Any] = {
            "max_nuggets": step.max_nuggets,
            "keep": step.keep,
            "window_size": None if step.window_size == "all" else step.window_size,
            "iterations": step.iterations,
        }
        nuggetizer = Nuggetizer(**fields)
        options = NuggetizeOptions(relevance, nuggetizer)
        source = self.labelled() if by_grades else self.passages

        prompts = asked(model, nuggetizer.creation, nuggetizer.importance)
        settings = prompts | {"relevance": vars(relevance)} | fields
        return self._asked(
            "Nuggets", "nuggets.jsonl", settings,
            lambda files, advance: nuggetize_file(files, model, options, advance=advance),
            source, queries=self.queries,
        )  # fmt: skip

    def citations(self) -> Evaluation:
        """Precision and recall of citations."""
        step = self.config.citations
        model = self.config.model_of(step)
        source = self.passages
        if model is not None:
            prompt = PROMPTS.get(step.prompt_class)
            source = self._asked(
                "Citations", "citations.jsonl.gz", asked(model, prompt),
                lambda files, advance: grade_citations(files, model, CitationOptions(prompt), advance),
                self.passages,
            )  # fmt: skip
        selection = AnswerFilter(_name(model), None if model is None else prompt.name)
        return citations(source, selection=selection, rule=step.citations)

    def hallucination(self) -> Evaluation:
        """Factual consistency of answers and of their parts."""
        step = self.config.hallucination
        model = self.config.model_of(step)
        # Models with code of their own, such as HHEM, run in `exam-pp grade` alone.
        if step.model is None and self._has_consistency_scores:
            evaluation = factual_consistency(self.passages)
            if model is not None:
                evaluation.notes.append(
                    f"The scores in {self.passages} count; for scores by a model, name it in "
                    "[hallucination.model]."
                )
            return evaluation
        source = self.passages
        if model is not None:
            prompt = None if step.prompt_class is None else PROMPTS.get(step.prompt_class)
            options = ScoreOptions(step.claims, step.sources, prompt=prompt, soft=step.soft)
            settings = asked(model, prompt or FACTUAL_CONSISTENCY) | {
                "claims": step.claims, "sources": step.sources, "soft": step.soft,
            }  # fmt: skip
            source = self._asked(
                "Factual consistency", "scored.jsonl.gz", settings,
                lambda files, advance: score_answers(files, model, options, advance), self.passages,
            )  # fmt: skip
        return factual_consistency(source, selection=AnswerFilter(_name(model)))

    def no_answer(self) -> Evaluation:
        """Share of answered questions."""
        step = self.config.no_answer
        model = self.config.model_of(step)
        source = self.passages
        if model is not None:
            prompt = PROMPTS.get(step.prompt_class)
            source = self._grade(
                "Answered questions", "attempted.jsonl.gz", self._whole_answers(), model, prompt
            )
        return answered(source, grade_filter=GradeFilter(_name(model), step.prompt_class))

    def consistency(self) -> Evaluation:
        """Similarity of repeated answers, and spread of the scores of the other metrics."""
        step = self.config.consistency
        repeats = repeated_answers(self.passages)
        embedder: TokenEmbedder | None = None
        if step.encoder is not None:
            embedder = TokenEmbedder(ModelOptions(step.encoder), step.layer or default_layer(step.encoder))
        scores = [score for section in self.result.sections for score in section.evaluation.scores]
        known = set(map(str, repeats.positions))
        computed = {score.metric for score in scores if score.system in known}
        lacking = [metric for metric in step.metrics if metric not in computed]
        evaluation = consistency(
            repeats,
            with_rouge=step.rouge,
            stem=step.stem,
            embedder=embedder,
            rescale=step.rescale,
            scores=[] if step.metrics and len(lacking) == len(step.metrics) else scores,
            metrics=[metric for metric in step.metrics if metric in computed],
            sample=step.variance == "sample",
        ).evaluation
        if lacking:
            names = counted_names(lacking, "metric", "metrics")
            evaluation.notes.append(f"Left out, because the repeats have no scores of them: {names}.")
        return evaluation


def _without_absent_repeats(evaluation: Evaluation, result: RagEvaluation) -> Evaluation:
    """Drop the zeros of repeats that have no output for a query: a repeat that did not run is no failure."""
    repeats = {name for names in result.systems.values() if len(names) > 1 for name in names.values()}
    absent = {
        (score.system, score.query_id)
        for score in evaluation.scores
        if score.system in repeats and (score.system, score.query_id) not in result.retrieved
    }
    if not absent:
        return evaluation

    def present(scores: Iterable[Score]) -> list[Score]:
        return [score for score in scores if (score.system, score.query_id) not in absent]

    pairs = counted(len(absent), "query of a repeat", "queries of repeats")
    return replace(
        evaluation,
        scores=present(evaluation.scores),
        best_case=present(evaluation.best_case),
        worst_case=present(evaluation.worst_case),
        notes=[*evaluation.notes, f"Left out, because the repeat has no output: the zeros of {pairs}."],
    )


def _name(model: ModelOptions | None) -> str | None:
    return None if model is None else model.model


def _whole(query_id: str, output: SystemOutput) -> Passage:
    """The answer of a system as one passage."""
    passage_id = f"{output.name}/{query_id}"
    cited: Sequence[str] = list(dict.fromkeys(key for part in output.parts for key in part.citations))
    more: dict[str, Any] = {"citations": cited} if cited else {}
    if output.repeat is not None:
        more["repeat"] = output.repeat
    entry = RankingEntry(
        method=output.system,
        passage_id=passage_id,
        query_id=query_id,
        rank=1,
        score=1.0,
        role="answer",
        **more,
    )
    data = PassageData(judgments=[], rankings=[entry])
    return Passage(passage_id=passage_id, text=output.text, data=data)
