"""Commands: `evaluate answers` and `consistency`, `verify-answers`, `analyze distributions`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.command_line import given_words, refuse, refuse_without
from exam_pp.cli.leaderboard_options import (
    SEED,
    LeaderboardOutput,
    confidence_option,
    leaderboard_options,
    missing_queries_option,
)
from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    FILE,
    FILES,
    GRADED,
    JOURNAL,
    ONLY_QUERIES,
    OUTPUT_PATH,
    PASSAGES,
    QUERIES_FILE,
    QUERY_TEXTS,
    OutputPath,
    answer_match_option,
    bank_option,
    emit_figure,
    emit_report,
    format_option,
    journal_options,
    log_summary,
    model_names,
    output_option,
    plot_option,
    prompt_option,
    required_output,
    support_filter_options,
    take,
)
from exam_pp.cli.progress import asking
from exam_pp.rendering.document import Picture
from exam_pp.text.wording import listed

if TYPE_CHECKING:
    from exam_pp.phases.evaluation.inputs import LoadedPassages
    from exam_pp.phases.evaluation.result import MissingQueries
    from exam_pp.plugins.rag_metrics.citations import CitationRule
    from exam_pp.plugins.rag_metrics.embeddings import TokenEmbedder
    from exam_pp.rendering.document import Report


_METRICS = {
    "citations": Kind(
        """Score systems by whether the passages that their answers cite support them.

        The grades are those of `exam-pp grade --prompt citation-support`: full support is 1, partial
        support .5, no support 0. Precision is the mean over the cited passages of an answer, recall the mean
        over its parts. A part without citations, and a citation of a passage that is not in the file, count
        0. Ungraded citations count 0; the bounds show what they could change.

        Example:

        \b
          exam-pp evaluate answers citations.jsonl.gz --metric citations
        """,
        ("prompt_hash", "systems", "missing_queries"),
    ),
    "first-citations": Kind(
        """The same, but only the first citation of each part counts, as in the TREC RAG track.

        Example:

        \b
          exam-pp evaluate answers citations.jsonl.gz --metric first-citations
        """,
        ("prompt_hash", "systems", "missing_queries"),
    ),
    "sentence-support": Kind(
        """Score systems by the share of the parts of their answers that all their citations support fully.

        A part without citations counts 0. With parts that are sentences (`import --unit sentence`), this is
        the sentence support of ARGUE, where no sentence is excused from citing.

        Example:

        \b
          exam-pp evaluate answers citations.jsonl.gz --metric sentence-support
        """,
        ("prompt_hash", "systems", "missing_queries"),
    ),
    "criteria": Kind(
        """Score systems by the ratings of their answers by criteria.

        The ratings are those of `exam-pp grade --prompt criteria`, or with criteria of your own.
        The columns are the mean of all criteria, and the mean rating by each criterion. Ungraded criteria
        count 0; the bounds show what they could change. If criteria have scales of different lengths, the
        mean of all is that of ratings divided by their highest level.

        Example:

        \b
          exam-pp evaluate answers rated.jsonl.gz --metric criteria
        """,
        ("prompt_hash", "systems", "missing_queries"),
    ),
    "factual-consistency": Kind(
        """Score systems by how consistent their answers are with the sources.

        The scores are those of `exam-pp grade --prompt factual-consistency`. FactualConsistency is the
        score of whole answers against all their sources together, and FactualConsistency_parts the mean over
        the parts, each with its highest score over its sources. Higher means more consistent. Claims without
        a score are in no mean; a note counts them with their reasons.

        Example:

        \b
          exam-pp evaluate answers scored.jsonl.gz --metric factual-consistency
        """,
        ("systems",),
    ),
    "answered": Kind(
        """Compute the share of questions that each system answered, rather than declined.

        The verdicts are those of `exam-pp grade --prompt answer-attempt`: an answer counts as an answer
        even if it is wrong. An empty answer declines. Failures are listed below the table and are in no
        share: answers without a verdict, and queries to which a system has no answer.

        Example:

        \b
          exam-pp evaluate answers attempted.jsonl.gz --metric answered --intervals queries
        """,
        ("prompt_hash",),
    ),
}
_RULES: Mapping[str, CitationRule] = {
    "citations": "all",
    "first-citations": "first",
    "sentence-support": "together",
}
_TITLES = {
    "criteria": "Criteria",
    "factual-consistency": "Factual consistency",
    "answered": "Questions answered",
}


_PASSAGES = f"{__name__}.passages"
"""Key of the passages that were read for the metric, in the context of the command."""


def _metric(context: click.Context, _option: click.Parameter, metric: str | None) -> str | None:
    """The metric; by default that of the grades in the file."""
    if metric is not None or context.resilient_parsing:
        return metric
    from exam_pp.errors import SelectionError
    from exam_pp.phases.evaluation.inputs import loaded
    from exam_pp.text.wording import listed

    graded = context.params["graded"]
    found = _metrics_of(context.meta.setdefault(_PASSAGES, loaded(graded)))
    if not found:
        raise SelectionError(
            f"{graded} has no grades of answers; make them with `exam-pp grade`, with the --prompt "
            "citation-support, criteria, factual-consistency or answer-attempt."
        )
    if len(found) > 1:
        raise SelectionError(
            f"{graded} has grades for several metrics; use --metric {listed(found, ' or ')}."
        )
    return found[0]


def _metrics_of(graded: LoadedPassages) -> list[str]:
    """The metrics whose grades a file has."""
    from exam_pp.prompts.direct import ANSWER_ATTEMPT

    found = set()
    for query in graded:
        for passage in query.passages:
            grades = {
                "citations": passage.support_grades,
                "criteria": passage.criteria_grades,
                "factual-consistency": passage.consistency_grades,
                "answered": [
                    each for each in passage.direct_grades or () if each.prompt_class == ANSWER_ATTEMPT.name
                ],
            }
            found |= {metric for metric, present in grades.items() if present}
    return [metric for metric in _METRICS if metric in found]


@click.command("answers", cls=Command, kinds=_METRICS, chosen_by="metric")
@GRADED
@click.option(
    "--metric",
    type=click.Choice(list(_METRICS)),
    callback=_metric,
    help="What to score.  [default: that of the grades in GRADED]",
)
@ONLY_QUERIES
@support_filter_options
@missing_queries_option("answer")
@leaderboard_options()
def answers_command(
    *,
    graded: Path,
    metric: str,
    queries: Path | None,
    grader: str | None,
    prompt_class: str | None,
    prompt_hash: str | None,
    systems: tuple[str, ...],
    missing_queries: MissingQueries,
    output: LeaderboardOutput,
) -> None:
    """Score systems by the grades of their answers.

    GRADED holds answers with grades by `exam-pp grade`: of the support of citations, by criteria, of the
    consistency with the sources, or verdicts whether answers decline. `exam-pp evaluate answers --metric
    NAME --help` shows how each is scored.

    Examples:

    \b
      exam-pp evaluate answers citations.jsonl.gz
      exam-pp evaluate answers attempted.jsonl.gz --metric answered --intervals queries
    """
    from exam_pp.grade_filter import AnswerFilter, GradeFilter
    from exam_pp.phases.evaluation.inputs import query_ids
    from exam_pp.plugins.rag_metrics.answers import answered, criteria, factual_consistency
    from exam_pp.plugins.rag_metrics.citations import citations
    from exam_pp.prompts.base import with_aliases
    from exam_pp.prompts.direct import ANSWER_ATTEMPT

    passages = click.get_current_context().meta.get(_PASSAGES, graded)
    selected = None if queries is None else query_ids(queries)
    selection = AnswerFilter(grader, prompt_class, prompt_hash, systems)
    if metric == "answered":
        verdicts = GradeFilter(grader, prompt_class or ANSWER_ATTEMPT.name, prompt_hash=prompt_hash)
        evaluation = answered(passages, grade_filter=with_aliases(verdicts), queries=selected)
    elif metric == "factual-consistency":
        evaluation = factual_consistency(passages, selection=selection, queries=selected)
    elif metric == "criteria":
        evaluation = criteria(
            passages, selection=selection, queries=selected, missing_queries=missing_queries
        )
    else:
        evaluation = citations(
            passages,
            selection=selection,
            rule=_RULES[metric],
            queries=selected,
            missing_queries=missing_queries,
        )
    output.write(evaluation, _TITLES.get(metric, "Citations"), [graded, queries])


_FAMILIES = {
    "rouge": ("rouge", "rouge-stem"),
    "bertscore": ("bertscore", "bertscore-raw"),
    "spread": ("spread", "spread-sample"),
}
"""Family to its metrics, of which one is computed."""


@click.command("consistency", cls=Command)
@PASSAGES
@click.option(
    "--scores",
    type=FILES,
    multiple=True,
    help="Scores of single queries whose systems are the repeats, such as `rag-run-1` (rows of JSON, TSV, or "
    "results of Open RAG Eval); may be repeated.",
)
@ONLY_QUERIES
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated.")
@click.option(
    "--metric",
    "metrics",
    type=click.Choice([name for names in _FAMILIES.values() for name in names]),
    multiple=True,
    help="ROUGE-1, ROUGE-2 and ROUGE-L of words (rouge) or their stems (rouge-stem), which need the extra "
    "rouge; BERTScore by --model, rescaled with the baseline of bert-score for English where exam_pp has it "
    "(bertscore), or not rescaled (bertscore-raw); the spread of --scores, with variances over n repeats "
    "divided by n, as in Open RAG Eval (spread), or by n − 1 (spread-sample). May be repeated.  [default: "
    "rouge; bertscore with --model; spread with --scores]",
)
@click.option(
    "--model",
    "encoder",
    shell_complete=model_names,
    metavar="MODEL",
    help="Encoder of BERTScore: a Hugging Face model or checkpoint folder. NAME_L9, in the notation of "
    "bert-score, compares the vectors of layer 9 in place of its default, else the last one.",
)
@click.option("--device", metavar="DEVICE", help="Device of the encoder.  [default: the first GPU, else cpu]")
@click.option(
    "--also pairs",
    "pairs_output",
    type=OUTPUT_PATH,
    help="JSON lines with precision, recall and F1 of each pair of answers, to write, too.",
)
@leaderboard_options()
def consistency_command(
    *,
    passages: Path,
    scores: tuple[Path, ...],
    queries: Path | None,
    systems: tuple[str, ...],
    metrics: tuple[str, ...],
    encoder: str | None,
    device: str | None,
    pairs_output: Path | None,
    output: LeaderboardOutput,
) -> None:
    """Compare the answers of repeated runs of each system, and describe the spread of their scores.

    A score is the mean F1 over all pairs of repeats of an answer: ROUGE-1, ROUGE-2, ROUGE-L, and BERTScore
    with --model. Higher means more consistent. With --scores, further columns have the mean, variance,
    coefficient of variation (cv: sd/mean, lower is more consistent) and mean/(1+sd) (adjusted) of each score
    over the repeats. Missing answers and scores are in no number, and are counted below the table.

    PASSAGES holds the answers of several runs under one name, as `exam-pp import --answers` stores those of
    Open RAG Eval.

    Examples:

    \b
      exam-pp evaluate consistency repeated.jsonl.gz
      exam-pp evaluate consistency repeated.jsonl.gz --metric spread --scores repeated-scores.jsonl
    """
    from exam_pp.formats.scores import read_query_scores
    from exam_pp.phases.evaluation.inputs import query_ids
    from exam_pp.phases.evaluation.nugget_leaderboard import score_files
    from exam_pp.plugins.rag_metrics.consistency import consistency, repeated_answers, write_pairs

    chosen = _chosen(metrics, encoder, scores)
    files = [file for source in scores for file in score_files(source)]
    selected = None if queries is None else query_ids(queries)
    repeats = repeated_answers(passages, queries=selected, systems=systems)
    rows = [score for file in files for score in read_query_scores(file)]
    if selected is not None:
        rows = [score for score in rows if score.query_id in selected]
    embedder = None if encoder is None else _embedder(encoder, device)
    result = consistency(
        repeats,
        with_rouge=not chosen.isdisjoint(("rouge", "rouge-stem")),
        stem="rouge-stem" in chosen,
        embedder=embedder,
        rescale="bertscore" in chosen,
        scores=rows,
        sample="spread-sample" in chosen,
    )
    inputs = [passages, queries, *files]
    if pairs_output is not None:
        write_pairs(result.pairs, pairs_output, inputs=[path for path in inputs if path is not None])
    output.write(result.evaluation, "Consistency over repeats", inputs)


def _chosen(metrics: tuple[str, ...], encoder: str | None, scores: tuple[Path, ...]) -> set[str]:
    """The metrics; without names, those for which there are inputs. Raises click.UsageError."""
    inputs = {"bertscore": encoder, "spread": scores}
    if encoder is None:
        refuse_without("--model", "device")
    if not metrics:
        return {"rouge"} | {name for name, given in inputs.items() if given}
    chosen = set(metrics)
    families = sorted(family for family, names in _FAMILIES.items() if not chosen.isdisjoint(names))
    for family in families:
        if chosen.issuperset(_FAMILIES[family]):
            raise click.UsageError(f"Use one of --metric {listed(_FAMILIES[family], ' and ')}.")
    for family, option in (("bertscore", "--model"), ("spread", "--scores")):
        if family in families and not inputs[family]:
            raise click.UsageError(f"--metric {listed(_FAMILIES[family], ' and ')} need {option}.")
    if "bertscore" not in families:
        refuse_without("--metric bertscore", "encoder")
    if "spread" not in families:
        refuse_without("--metric spread", "scores")
    return chosen


def _embedder(encoder: str, device: str | None) -> TokenEmbedder:
    from exam_pp.llm.base import ModelOptions
    from exam_pp.plugins.rag_metrics.consistency import default_layer
    from exam_pp.plugins.rag_metrics.embeddings import TokenEmbedder

    name, _, layer = encoder.rpartition("_L")
    if Path(encoder).exists() or not layer.isdecimal():
        return TokenEmbedder(ModelOptions(encoder, device=device), default_layer(encoder))
    if int(layer) < 1:
        raise click.UsageError(f"--model {encoder}: layers are counted from 1.")
    return TokenEmbedder(ModelOptions(name, device=device), int(layer))


_WITHOUT_MODEL = {"passages", "config", "queries", "bank", "output", "base_url"}
"""Parameters of `evaluate rag` that need no --model."""


@click.command("rag", cls=Command)
@PASSAGES
@click.option("--config", type=FILE, help="YAML file with the evaluators of Open RAG Eval.")
@click.option("--queries", type=QUERIES_FILE, help=f"{QUERY_TEXTS}  [default: those of PASSAGES, if any]")
@bank_option("Test bank of nuggets.")
@model_options(required=False)
@click.option(
    "-o", "--output", type=OutputPath(folders=True, files=False), required=True, help="Folder to write."
)
@click.pass_context
def rag_command(
    context: click.Context,
    /,
    *,
    passages: Path,
    config: Path | None,
    queries: Path | None,
    bank: Path | None,
    output: Path,
    **options: Any,
) -> None:
    """Evaluate retrieval, nuggets, citations, factual consistency and repeats of RAG systems in one run.

    PASSAGES holds rankings and answers, graded or not, or is a file of answers with their passages, as of
    Open RAG Eval. A metric is that of the grades in PASSAGES. If it lacks them, --model makes them, or the
    judge that --config names; `exam-pp grade` makes them with other models, prompts and options. A server
    that --config names gets passages and the key only if --base-url or OPENAI_BASE_URL names it, too. Local
    models in --config are below its folder.

    Open index.html in the folder, which also has leaderboards, score rows (scores.jsonl), and the results of
    each system as a CSV file of Open RAG Eval. A metric without input, or whose step failed, is left out, and
    named on the page with the reason. To continue an interrupted run, repeat the command: finished steps, in
    the folder `steps`, are not computed again.

    Examples:

    \b
      exam-pp evaluate rag cited.jsonl.gz --queries queries.jsonl \\
        --bank nuggets.jsonl --model lexical -o rag
      exam-pp evaluate rag repeated.csv --model fake -o rag-2
    """
    from exam_pp.plugins.rag_metrics.rag import Rag, Settings, read_settings

    settings = Settings()
    if config is not None:
        settings, dropped = read_settings(config, options["base_url"])
        log_summary(dropped.lines())
    if options["model"] is None:
        refuse(context, lambda name: name not in _WITHOUT_MODEL, "needs --model")
    else:
        words = given_words(context, without={"passages", "config", "queries", "bank", "output"})
        settings = settings.model_copy(update={"judge": words, "model": take_model_options(options)})
    rag = Rag(passages, output, settings, queries, bank)
    rag.evaluate()
    rag.write(output)
    log_summary([f"Written: {output / 'index.html'}"])


@click.command("verify-answers", cls=Command)
@GRADED
@required_output("Graded file to write.")
@bank_option("Test bank of questions with gold answers.", required=True)
@click.option(
    "--grades answers-grader", "answers_grader", metavar="MODEL", help="Only answers extracted by this model."
)
@prompt_option("Only answers extracted with this prompt.", "answers_class", option="--grades answers")
@click.option("--prompt-file", type=FILE, help="TOML file with your own prompt that asks the model.")
@answer_match_option(
    "model", help_text="by the model alone, as in the paper (model); or first by the words, with an "
)
@model_options()
@click.option(
    "--regrade", is_flag=True, help="Verify all answers again, also those with a verified grade in GRADED."
)
@journal_options
def verify_command(
    graded: Path,
    output: Path,
    bank: Path,
    answers_grader: str | None,
    answers_class: str | None,
    **options: Any,
) -> None:
    """Let a model verify the extracted answers in GRADED against the gold answers of the bank.

    An extracted answer is correct if the model calls it a response as correct as a gold answer. With
    --answer-match paper or strict, an answer whose words match a gold answer is correct without a call, and
    an unanswerable answer is wrong. The verified grades have the prompt
    answer-verification. To continue an interrupted run, repeat the command.

    Example:

    \b
      exam-pp verify-answers two-models.jsonl.gz --bank questions-gold.jsonl -o verified.jsonl.gz \\
        --model google/flan-t5-large
    """
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.phases.grading.prompt_files import read_prompt
    from exam_pp.plugins.rag_metrics.verify_answers import verify_answers
    from exam_pp.prompts.rubric import ANSWER_VERIFICATION

    prompt_file, match = options["prompt_file"], options["answer_match"]
    prompt = ANSWER_VERIFICATION if prompt_file is None else read_prompt(prompt_file)
    model = take_model_options(options)
    files = GradeFiles(graded, output, bank, **take(options, *JOURNAL))
    answers = GradeFilter(model=answers_grader, prompt_class=answers_class)
    asking(
        "Verifying",
        "answers",
        lambda advance: verify_answers(
            files,
            model,
            answers,
            prompt=prompt,
            regrade=options["regrade"],
            only_model=match == "model",
            answer_match="paper" if match == "model" else match,
            advance=advance,
        ),
    )


@click.command("distributions", cls=Command)
@click.argument("scores", metavar="SCORES...|GRADED", nargs=-1, required=True, type=FILE)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure, by its name in SCORES; may be repeated.  [default: all]",
)
@confidence_option(
    "Confidence level of the intervals; for GRADED, 1 minus it is also the level of significance."
)
@support_filter_options
@SEED
@plot_option("a box plot of each measure")
@format_option()
@output_option()
def distributions_command(
    *,
    scores: tuple[Path, ...],
    measures: tuple[str, ...],
    confidence: float,
    seed: int,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Compare the scores of systems over queries: box plots, means, medians, intervals and tests.

    SCORES are files with scores of single queries: those of `exam-pp evaluate ... --per-query`, JSON lines
    of scores, output of `trec_eval -q`, or results of Open RAG Eval (CSV). The formats html and --plot have
    pictures; the share of questions answered (Answered) is a bar. Systems NAME-run-1, NAME-run-2 ... are
    repeats of NAME: their scores are averaged, and adjusted(M) is mean/(1+sd) of the measure M over them.

    GRADED has ratings of answers by criteria, by one model or person (--grader). Every two of the systems are
    compared by each criterion on the queries that both have ratings for: with the paired randomisation test
    and the paired t test, both two-sided. Holm's method adjusts the p-values over all rows, so name only the
    systems in question (--system).

    Examples:

    \b
      exam-pp analyze distributions ndcg.tsv --format html -o distributions.html
      exam-pp analyze distributions cover.tsv ndcg.tsv -m nDCG@10
      exam-pp analyze distributions rated-answers.jsonl --grader human:ann \\
        --system gen-long --system gen-short
    """
    from exam_pp.phases.evaluation.judgments import is_passages

    if len(scores) == 1 and is_passages(scores[0]):
        refuse_without("files of scores", "measures", "plot")
        _paired_tests(*scores, confidence=confidence, seed=seed, form=form, output=output, **criteria)
        return
    refuse_without("a graded file", "seed", *criteria)

    from exam_pp.plugins.rag_metrics.distributions import distributions_report

    report = distributions_report(scores, measures, confidence=confidence, decimals=6 if form == "tsv" else 3)
    if plot is not None:
        emit_figure([block for block in report.blocks if isinstance(block, Picture)], plot, scores)
    emit_report(report, form, output, scores)


def _paired_tests(
    graded: Path,
    *,
    grader: str | None,
    prompt_class: str | None,
    prompt_hash: str | None,
    systems: tuple[str, ...],
    confidence: float,
    seed: int,
    form: str,
    output: Path,
) -> None:
    """The tests of every two systems by criterion."""
    from exam_pp.grade_filter import AnswerFilter
    from exam_pp.plugins.rag_metrics.paired_criteria import paired_criteria

    selection = AnswerFilter(grader, prompt_class, prompt_hash, systems)
    report = paired_criteria(graded, selection=selection, confidence=confidence, seed=seed)
    emit_report(report, form, output, [graded])


def _citations(options: dict[str, Any], flat: bool) -> Report:
    from exam_pp.grade_filter import AnswerFilter
    from exam_pp.plugins.rag_metrics.citation_report import citations

    chosen = AnswerFilter(model=options["grader"], **take(options, "prompt_class", "prompt_hash", "systems"))
    limit = options["limit"] or 50
    return citations(options["graded"], chosen, queries=options["queries"], limit=limit, flat=flat)


CITATIONS = (
    "citations",
    Kind(
        """List the citations of answers with statement, cited passage and label, most doubtful first.

    Ungraded citations come first, then those whose label differs most from the share of the words of the
    statement that the passage contains: full support by a passage without its words, no support by one
    with all of them. Cited passages without text in the file are only counted.

    Example:

    \b
      exam-pp verify citations citations.jsonl.gz --limit 20
    """,
        (),
        {
            "systems": "Only this system; may be repeated.",
            "limit": "Maximum number of citations.  [default: 50]",
        },
    ),
    _citations,
)
"""The report of ``exam-pp verify``."""
