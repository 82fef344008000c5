"""Commands that check how far scores and graders can be trusted."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, get_args

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.command_line import refuse, refuse_without
from exam_pp.cli.leaderboard_options import BANK, SAMPLES, SEED, confidence_option
from exam_pp.cli.options import (
    CUTOFF,
    CUTOFF_DEFAULT,
    FIGURE_PATH,
    FILE,
    FILTER,
    GRADED,
    MIN_GRADE,
    ONLY_QUERIES,
    PASSAGES,
    PROMPT,
    QUERIES_FILE,
    QUERY_FORMATS,
    QUERY_TEXTS,
    ROLE,
    SCRIPT_FORMATS,
    bank_option,
    compared_graders,
    emit_figure,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    grades_options,
    log_notes,
    log_summary,
    model_names,
    of_each_side,
    output_option,
    panel_members,
    part_to_grade,
    required_output,
)
from exam_pp.cli.progress import Advance, progress
from exam_pp.cli.ranges import IntRange, NumberRange
from exam_pp.plugins import needed
from exam_pp.plugins.trust.canary_texts import CANARIES
from exam_pp.plugins.trust.pair_sample import SampledBy

FAILED = 4
"""Exit code of a gate that failed."""
UNDECIDED = 5
"""Exit code of an undecided gate that does not pass."""


@click.command("gate", cls=Command)
@click.argument("baseline", type=FILE, required=False)
@click.argument("new", type=FILE, required=False)
@click.option(
    "--max-drop",
    type=NumberRange(0),
    help="Largest drop of the mean that is accepted, in units of the measure, such as 0.02.  [required, "
    "unless --plan]",
)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure, by its name in the files; may be repeated.  [default: the only one of both files]",
)
@click.option(
    "--system",
    "systems",
    metavar="NAME",
    multiple=True,
    callback=of_each_side,
    help="The system, if a file has several. Name it twice for BASELINE and NEW.",
)
@click.option(
    "--missing-queries",
    type=click.Choice(["zero", "skip"]),
    default="zero",
    show_default=True,
    help="A query that NEW has no score for counts as 0 (zero), or is left out (skip). If the measure has "
    "scores below 0, zero counts it as a drop by --worst-drop.",
)
@click.option(
    "--undecided",
    type=click.Choice(["estimate", "pass", "fail"]),
    help="An undecided gate passes if the measured drop is at most --max-drop (estimate), always (pass), or "
    "never (fail).  [required, unless --plan]",
)
@click.option(
    "--worst-drop",
    type=NumberRange(0, min_open=True),
    help="Largest possible change of the score of one query. Needed for measures with another range than 0 "
    "to 1; a value that is too low makes the outcome wrong.  [default: 1]",
)
@confidence_option("Confidence level of each confidence bound.")
@click.option(
    "--limit",
    type=IntRange(min=0),
    default=5,
    show_default=True,
    help="Maximum number of queries with large drops to list for each measure.",
)
@click.option(
    "--plan",
    "planned",
    is_flag=True,
    help="Estimate how many queries and labels show a difference; BASELINE has scores of a pilot, if any.",
)
@click.option(
    "-S systems",
    "number",
    type=IntRange(min=2),
    help="Number of systems of the planned leaderboard.  [default: those of the pilot, or 2]",
)
@click.option(
    "-S difference",
    "difference",
    type=NumberRange(0, min_open=True),
    default=0.05,
    show_default=True,
    help="True difference of two means that the planned leaderboard has to show.",
)
@format_option()
@output_option()
def gate_command(
    *,
    baseline: Path | None,
    new: Path | None,
    systems: tuple[str | None, str | None],
    planned: bool,
    number: int | None,
    difference: float,
    form: str,
    output: Path,
    **options: Any,
) -> None:
    """Check that a new version of a system is not worse than the baseline, for continuous integration.

    BASELINE and NEW are files with scores of single queries: those of `exam-pp evaluate ... --per-query`,
    JSON lines of scores, or output of `trec_eval -q`. Both can be the same file, with two systems. One-sided
    confidence bounds of the drop are paired over queries. The gate passes if they show for all measures that
    the drop is at most --max-drop, and fails if they show for any measure that it is larger. Otherwise it is
    undecided: the queries are too few, and --undecided says what happens.

    The exit code is 0 if the gate passes, 4 if it fails, and 5 if it is undecided and does not pass. In
    GitHub Actions, --format md >> "$GITHUB_STEP_SUMMARY" shows the report on the page of the run.

    With --plan, it reports how many queries show a difference of -S difference between systems of a
    leaderboard, by a formula. It also reports how many labels of people correct a score as exactly.

    Examples:

    \b
      exam-pp gate ndcg.tsv ndcg.tsv --system bm25 --system rerank --max-drop 0.02 --undecided estimate
      exam-pp gate baseline.tsv new.tsv --max-drop 0.02 --undecided fail --format md
      exam-pp gate --plan -S systems=12
    """
    from exam_pp.plugins.trust.gate import gate, gate_report, query_plan_report

    if planned:
        used = {
            "planned",
            "baseline",
            "measures",
            "number",
            "difference",
            "confidence",
            "form",
            "output",
        }
        refuse(click.get_current_context(), lambda name: name not in used, "has no effect on --plan")
        report = query_plan_report(baseline, options["measures"], number, difference, options["confidence"])
        emit_report(report, form, output, [baseline])
        return
    refuse_without("--plan", "number", "difference")
    if baseline is None or new is None:
        raise click.UsageError("Missing arguments 'BASELINE' and 'NEW'.")
    for name in ("max_drop", "undecided"):
        if options[name] is None:
            raise click.UsageError(f"Missing option '--{name.replace('_', '-')}'.")

    result = gate(baseline, new, system=systems[0], system_after=systems[1], **options)
    report = gate_report(result, decimals=6 if form == "tsv" else 4)
    emit_report(report, form, output, [baseline, new])
    if not result.passes:
        sys.exit(FAILED if result.outcome == "failed" else UNDECIDED)


@click.command("grade-panel", cls=Command)
@PASSAGES
@click.option(
    "--config", "panel", required=True, type=FILE, help="TOML file with a table [[grader]] for each grader."
)
@required_output("Graded file to write.")
@bank_option("Test bank with the questions or nuggets to grade.")
@click.option(
    "--queries", type=QUERIES_FILE,
    help=f"Texts of the queries, for direct prompts ({QUERY_FORMATS}).  [default: those of the bank]",
)  # fmt: skip
@part_to_grade
@click.option(
    "--retry-failed", is_flag=True, help="Send requests again that failed before the run was interrupted."
)
@click.option(
    "--base-url",
    "servers",
    multiple=True,
    metavar="URL",
    help="Server that graders of the panel may use, named again here; may be repeated.  [default: "
    "OPENAI_BASE_URL, else https://api.openai.com/v1]",
)
def grade_panel_command(
    *, passages: Path, panel: Path, output: Path, bank: Path | None, queries: Path | None, **options: Any
) -> None:
    """Grade PASSAGES with the graders of a panel, one after the other, into one file.

    A panel file has a table for each grader. Its keys are the options of `exam-pp grade`, with _ in place of
    -, and its settings for -M: model, prompt_class (one or a list), and others such as model_pipeline,
    base_url, reply and temperature. A server that a panel names gets passages and the key only if --base-url
    or OPENAI_BASE_URL names it, too. Paths are below the folder of the panel:

    \b
      [[grader]]
      model = "google/flan-t5-large"
      prompt_class = "self-rated"
      [[grader]]
      model = "lexical"
      prompt_class = "self-rated"

    Grades that PASSAGES already holds are kept and not computed again, also those of reviewers. Each grader
    has a journal of its own. To continue an interrupted run, repeat the command: until the output is
    complete, the folder OUTPUT.panel keeps the grades of the finished graders.

    `exam-pp analyze panel` compares the graders, and `exam-pp consensus` adds their consensus.

    Example:

    \b
      exam-pp grade-panel passages.jsonl.gz --config panel.toml --bank questions.jsonl -o panel.jsonl.gz
    """
    from exam_pp.phases.grading.distributed import refuse_process_group
    from exam_pp.phases.grading.grade import GradeOptions
    from exam_pp.phases.grading.grading_run import GradeFiles
    from exam_pp.plugins.trust.grade_panel import grade_panel
    from exam_pp.signals import STOP

    refuse_process_group()

    def shown(title: str) -> AbstractContextManager[Advance]:
        return progress(title, "pairs")

    retry_failed, servers = options.pop("retry_failed"), options.pop("servers")
    files = GradeFiles(passages, output, bank, queries=queries, retry_failed=retry_failed)
    with STOP.on_sigterm():
        grade_panel(files, panel, GradeOptions([], **options), shown, servers=servers)
    if str(output) != "-":
        log_summary([f"Written: {output}"])


@click.command("sample-pairs", cls=Command)
@GRADED
@bank_option("Test bank; only pairs with its entries are drawn.", default="all graded entries")
@required_output("File with the sampled pairs to write.")
@click.option(
    "--count",
    "budget",
    type=IntRange(min=1),
    required=True,
    help="Number of pairs to expect; the drawn number is random.",
)
@click.option(
    "--by",
    type=click.Choice(get_args(SampledBy)),
    default="even",
    show_default=True,
    help="All pairs are equally likely (even); the same number of pairs is expected for each rating "
    "(rating); pairs are likelier if graders disagree on them (disagreement); or entries are drawn, each "
    "with all its passages (entry; best for Cover).",
)
@click.option(
    "--grader",
    "graders",
    shell_complete=model_names,
    multiple=True,
    metavar="NAME",
    help="Only grades by this model; with --by disagreement repeated, for the graders to compare.  "
    "[default: the only model; for disagreement also all others]",
)
@PROMPT
@grades_options
@click.option(
    "--cutoff",
    type=IntRange(min=0),
    help="Draw from the passages within the first ranks of at least one system. 0: from all graded "
    f"passages.  {CUTOFF_DEFAULT}",
)
@ROLE
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random draw.")
def sample_pairs_command(
    *,
    graded: Path,
    bank: Path | None,
    output: Path,
    budget: int,
    by: SampledBy,
    graders: tuple[str, ...],
    cutoff: int | None,
    role: Any,
    seed: int,
    **criteria: Any,
) -> None:
    """Draw pairs of passage and bank entry for people to label, with known probabilities.

    The pairs are graded by one model (the first --grader) with one prompt. Every pair is drawn independently
    of the others (with --by entry, every entry with all its pairs), and its probability is in the file, so
    that scores can be corrected without bias. The draw depends only on the seed and the ids; a larger
    --count keeps the pairs of a smaller one.

    With --by disagreement, a quarter of --count is spread evenly over all pairs, and the rest by the
    range of the ratings of the graders.

    Then label the pairs with `exam-pp review --pairs`.

    Examples:

    \b
      exam-pp sample-pairs graded.jsonl.gz --bank questions.jsonl --count 300 --by rating -o pairs.json
      exam-pp sample-pairs two-models.jsonl.gz --bank questions.jsonl --grader google/flan-t5-large \\
        --prompt self-rated --count 300 --by disagreement \\
        -o pairs.json
    """
    from exam_pp.plugins.trust.pair_sample_files import write_pair_sample
    from exam_pp.plugins.trust.sample_pairs import sample_pairs

    if len(graders) > 1 and by != "disagreement":
        raise click.UsageError(f"--by {by} uses the grades of one grader; name --grader only once.")
    drawn = sample_pairs(
        graded,
        bank=bank,
        grade_filter=grade_filter(graders[0] if graders else None, **criteria),
        budget=budget,
        by=by,
        compared=graders[1:],
        cutoff=cutoff,
        role=role,
        seed=seed,
    )
    write_pair_sample(drawn.sample, output, inputs=[path for path in (graded, bank) if path is not None])
    log_notes(drawn.notes)
    log_summary(drawn.lines())


@click.command("corrected", cls=Command)
@GRADED
@BANK
@click.option(
    "--pairs", type=FILE, required=True, help="The drawn pairs with their probabilities (sample-pairs)."
)
@click.option(
    "--reviewer",
    required=True,
    metavar="NAME",
    help="Source of the labels: human:NAME, a model that stands for people, or judgments (of passages, for "
    "-m label-mean).",
)
@click.option(
    "-m",
    "--measure",
    type=click.Choice(["cover", "pair-share", "label-mean", "nuggets"]),
    default="cover",
    show_default=True,
    help="Rubric-Cover; the share of pairs of passage and entry with at least --min-grade; the mean direct "
    "grade, and the share with at least --min-grade; or the nugget scores V, W and A.",
)
@ONLY_QUERIES
@MIN_GRADE
@click.option(
    "--cutoff",
    type=IntRange(min=1),
    help="Depth to which the rankings are evaluated.  [default: that of the sample, or the highest rank in "
    "the file, at most 20; for nuggets all ranks]",
)
@ROLE
@click.option(
    "--intervals",
    type=click.Choice(["queries", "labels"]),
    default="queries",
    show_default=True,
    help="Intervals contain the choice of the queries and the error of the judge (queries), or only the "
    "error of the judge on these queries (labels).",
)
@confidence_option()
@click.option(
    "--baseline", metavar="NAME", help="System to which others are compared.  [default: the best system]"
)
@format_option()
@output_option()
@filter_options
def corrected_command(
    *,
    graded: Path,
    bank: Path | None,
    pairs: Path,
    queries: Path | None,
    reviewer: str,
    measure: Any,
    min_grade: int | None,
    cutoff: int | None,
    role: Any,
    intervals: Any,
    confidence: float,
    baseline: str | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Estimate the scores that people would give, from the judge's grades and labels of a sample.

    The pairs were drawn by `exam-pp sample-pairs` and labelled by people. The labels show what people say
    to each rating of the judge, and with it how all pairs would be labelled. The score by the labels alone
    stands beside it: its interval shows what the judge adds. GRADED has the grades of the judge, the labels
    of people and the rankings.

    The default for --grader and --prompt are the grades from which the pairs were drawn.

    Examples:

    \b
      exam-pp evaluate corrected labelled-pairs.jsonl.gz --bank questions.jsonl \\
        --pairs pairs.json --reviewer human:ana
      exam-pp evaluate corrected labelled-pairs.jsonl.gz --bank questions.jsonl \\
        --pairs pairs.json --reviewer human:ana --intervals labels --format html -o corrected.html
    """
    from exam_pp.plugins.trust.corrected import corrected_report, corrected_scores

    result = corrected_scores(
        graded,
        pairs,
        bank,
        reviewer=reviewer,
        measure=measure,
        grade_filter=grade_filter(**criteria),
        min_grade=min_grade,
        cutoff=cutoff,
        queries=queries,
        role=role,
        intervals=intervals,
        confidence=confidence,
        baseline=baseline,
    )
    formatted = form not in SCRIPT_FORMATS
    report = corrected_report(result, formatted=formatted, decimals=3 if formatted else 6)
    emit_report(report, form, output, [graded, bank, pairs, queries])


@click.command("audit", cls=Command)
@click.argument("files", metavar="GRADED|GAMES...", nargs=-1, required=True, type=FILE)
@bank_option("Test bank, with the models that it was made by.", default="all graded entries")
@click.option("--qrels", type=FILE, help="Judgments in place of those in GRADED (a qrels file).")
@click.option("--families", type=FILE, help="Families of models and systems (TOML or JSON).")
@click.option(
    "--bank-writer", metavar="NAME", help="Model that wrote the bank.  [default: as the bank records it]"
)
@filter_options
@MIN_GRADE
@CUTOFF
@ROLE
@confidence_option()
@SAMPLES
@SEED
@format_option()
@output_option()
def audit_command(
    *,
    files: tuple[Path, ...],
    bank: Path | None,
    qrels: Path | None,
    families: Path | None,
    bank_writer: str | None,
    min_grade: int | None,
    cutoff: int | None,
    role: Any,
    confidence: float,
    samples: int,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Audit a grader, or judges of games: length, families, places.

    With GRADED, the sections are: correlation of grades with length at the same judgment; grader, bank writer
    and systems of one family. Each ends with a verdict: evidence, no evidence, or undecided. A section
    without its input names what is missing.

    GAMES are games files, as exam-pp or RAGElo writes them. For each judge and prompt, the command writes the
    share of wins of place A, of the longer answer and of the judge's own family, with intervals and tests
    over queries. If pairs of answers were compared in both orders, the flip rate is the share of pairs whose
    verdicts differ.

    A families file has a table for each family, such as `[gpt]`, with patterns: `models = ["gpt-*"]` for
    graders, judges and bank writers and `systems = ["*-gpt4"]` for systems.

    Examples:

    \b
      exam-pp analyze audit graded.jsonl.gz --bank questions.jsonl --families families.toml
      exam-pp analyze audit games.jsonl.gz --families families.toml
    """
    from exam_pp.formats.exam_pp_files import contains_games
    from exam_pp.phases.evaluation.leaderboards import Statistics
    from exam_pp.plugins.trust.audit import audit

    decimals = 6 if form == "tsv" else 3
    graded, *more = files
    if contains_games(graded):
        refuse_without(
            "a graded file", "bank", "qrels", "bank_writer", "min_grade", "cutoff", "role", "samples", "seed",
            *criteria,
        )  # fmt: skip
        # A plug-in offers a function of these values, whose result has a Report.
        biases = needed("biases of judges", "games")(files, families=families, confidence=confidence)
        emit_report(biases.report(decimals), form, output, [*files, families])
        return
    if more:
        raise click.UsageError("Name one graded file, or games files.")
    report = audit(
        graded,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        qrels=qrels,
        families=families,
        bank_writer=bank_writer,
        role=role,
        min_grade=min_grade,
        cutoff=cutoff,
        statistics=Statistics(confidence=confidence, samples=samples, seed=seed),
        decimals=decimals,
    )
    emit_report(report, form, output, [graded, bank, qrels, families])


@click.command("panel", cls=Command)
@GRADED
@bank_option("Test bank; only its entries count.", default="all graded entries")
@panel_members
@MIN_GRADE
@CUTOFF
@ROLE
@confidence_option()
@SEED
@format_option()
@output_option()
def panel_command(
    *,
    graded: Path,
    bank: Path | None,
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    rule: Any,
    min_graders: int,
    min_grade: int | None,
    cutoff: int | None,
    role: Any,
    confidence: float,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Show how far the leaderboard depends on the grader: leaderboards, places of systems.

    A grader is a model with a prompt, or a reviewer. The report has the leaderboard by Rubric-Cover of every
    grader and of their consensus, and how each grader agrees with the others. The command computes the
    consensus itself; a consensus in GRADED (`exam-pp consensus`) counts as a grader only if --grader names
    it.

    Examples:

    \b
      exam-pp analyze panel two-models.jsonl.gz --bank questions.jsonl
      exam-pp analyze panel two-models.jsonl.gz --bank questions.jsonl --rule mean
    """
    from exam_pp.plugins.trust.panel import analyze_panel, panel_report

    result = analyze_panel(
        graded, bank,
        rule=rule, min_graders=min_graders, grade_filter=grade_filter(None, None, **criteria),
        graders=graders, prompt_classes=prompt_classes, min_grade=min_grade, cutoff=cutoff, role=role,
        confidence=confidence, seed=seed,
    )  # fmt: skip
    report = panel_report(result, decimals=6 if form == "tsv" else 3)
    emit_report(report, form, output, [graded, bank])


@click.command("graders", cls=Command)
@GRADED
@bank_option("Test bank; only its entries count.", default="all graded entries")
@click.option(
    "--by",
    type=click.Choice(["label", "entry", "criterion"]),
    default="label",
    show_default=True,
    help="What to compare: labels of passages (label), ratings of pairs of passage and entry (entry), or "
    "ratings of answers by criteria (criterion).",
)
@click.option(
    "--test",
    type=click.Choice(["bound", "published"]),
    default="bound",
    show_default=True,
    help="The alternative annotator test: by a bound of the judge's loss, for any number of items, or the t "
    "test of the paper, from 30 items.",
)
@compared_graders
@SAMPLES
@SEED
@format_option()
@output_option()
@click.option(
    "--plot differences",
    "plot_differences",
    type=FIGURE_PATH,
    help="Also draw the differences of two graders against their means, with bias and limits of agreement "
    "(.svg).",
)
def graders_command(
    *,
    graded: Path,
    bank: Path | None,
    by: str,
    test: Any,
    graders: tuple[str, ...],
    samples: int,
    seed: int,
    plot_differences: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Measure the agreement of the graders of a file with each other and with the judgments.

    A grader is a model with a prompt, or a reviewer. The command compares the labels of passages, which are
    their best ratings. It writes tables for every two graders: Cohen's κ, weighted κ and Krippendorff's α;
    Kendall's τ-b and Spearman's ρ with p-values and intervals; bias and limits of agreement (Bland and
    Altman). A further table has α of all graders. If three reviewers or more rated the same items, the
    alternative annotator test (Calderon et al., 2025) says whether a model may replace them.

    Reviewers often rate only some pairs of passage and entry (`exam-pp apply`). To include them, use
    --by entry.

    Examples:

    \b
      exam-pp analyze graders two-models.jsonl.gz --bank questions.jsonl
      exam-pp analyze graders two-models.jsonl.gz --by entry --plot differences=differences.svg
    """
    from exam_pp.grade_filter import AnswerFilter
    from exam_pp.plugins.trust import graders as trust

    if by == "criterion":
        refuse_without("--by label or entry", "bank", "prompt_type", "question_set", "grade_choice")
        selection = AnswerFilter(prompt_class=criteria["prompt_class"], prompt_hash=criteria["prompt_hash"])
        compared = trust.criteria_graders(graded, selection=selection, models=graders)
    else:
        if by == "label":
            refuse_without("--by entry or criterion", "test")
        compared = trust.graders(
            graded, bank=bank, grade_filter=grade_filter(None, **criteria), models=graders,
            per_entry=by == "entry",
        )  # fmt: skip
    inputs = [graded, bank]
    if plot_differences is not None:
        drawn = trust.difference_pictures(compared, seed)
        if drawn:
            emit_figure(drawn, plot_differences, inputs)
        else:
            log_notes([f"{plot_differences} is not written: the graders have no common items."])
    emit_report(trust.graders_report(compared, test=test, samples=samples, seed=seed), form, output, inputs)


@click.command("consensus", cls=Command)
@GRADED
@required_output("Graded file to write.")
@panel_members
@click.option(
    "--name", "grader_name", metavar="NAME", help="Name of the consensus.  [default: panel:median, by --rule]"
)
def consensus_command(
    *,
    graded: Path,
    output: Path,
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    rule: Any,
    min_graders: int,
    grader_name: str | None,
    **criteria: Any,
) -> None:
    """Add the consensus of the graders of GRADED, as a grader of its own name.

    A grader is a model with a prompt, or a reviewer. The consensus has a rating for every pair of
    passage and entry that at least -S min-graders of them rated, also for direct grades and assigned nuggets.
    Ties are resolved downwards, so that a doubtful pair is not covered. All graders need the same prompt,
    or prompts with the same scale.

    Other commands use the consensus like any grader, with --grader panel:median. A consensus is no member of
    another one unless --grader names it. Repeating the command replaces the consensus of this name.

    Examples:

    \b
      exam-pp consensus two-models.jsonl.gz -o with-consensus.jsonl.gz
      exam-pp consensus two-models.jsonl.gz --rule mean --name both -o with-mean.jsonl.gz
    """
    from exam_pp.plugins.trust.consensus import consensus

    summary = consensus(
        graded,
        output,
        rule=rule,
        name=grader_name,
        min_graders=min_graders,
        grade_filter=grade_filter(None, None, **criteria),
        graders=graders,
        prompt_classes=prompt_classes,
    )
    log_summary(summary.lines())


_CANARY_KINDS = {
    "add": Kind(
        """Add the canaries as systems to PASSAGES.

        The canaries are systems `canary:NAME` at the end of each query: an empty passage (empty), a passage
        of another query (other-query), the bank entries (bank), the repeated query (query), keywords without
        sentences (keywords), instructions to the grader in a passage of another query (injection-en, -de,
        -fr, -es, -zh), claims of authority before it (authority), a good passage of the query (original) with
        its text twice (doubled) and with negated facts (negated, English only).

        Grade the output with `exam-pp grade`. Leaderboards have canaries only with `--canaries`. `exam-pp
        filter --remove canaries` removes canaries again.

        Examples:

        \b
          exam-pp canaries add passages.jsonl.gz --bank questions.jsonl -o with-canaries.jsonl.gz
          exam-pp canaries add passages.jsonl.gz --bank questions.jsonl --canary empty \\
            --canary keywords -o with-canaries.jsonl.gz
          exam-pp canaries add passages.jsonl.gz --queries queries.jsonl -o with-canaries.jsonl.gz
        """,
        ("bank", "queries", "names", "seed"),
    ),
    "report": Kind(
        """Show what every grader in the graded PASSAGES gave to the canaries.

        For each grader and canary: the mean rating, and the share of pairs of passage and entry that are
        covered, next to the same for the passages of all real systems, and for the unchanged passages
        (control).

        Examples:

        \b
          exam-pp canaries report graded-canaries.jsonl.gz
          exam-pp canaries report graded-canaries.jsonl.gz --min-grade 3 --format html -o canaries.html
        """,
        ("min_grade", *FILTER,
         "form"),
    ),
}  # fmt: skip


@click.command("canaries", cls=Command, kinds=_CANARY_KINDS)
@click.argument("kind", type=click.Choice(list(_CANARY_KINDS)))
@PASSAGES
@bank_option("Test bank with the texts of queries and entries.")
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"{QUERY_TEXTS} In place of --bank, for direct prompts.",
)
@output_option()
@click.option(
    "--canary",
    "names",
    type=click.Choice(list(CANARIES)),
    multiple=True,
    help="Only this canary; may be repeated.  [default: all]",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the choice of other queries and answers."
)
@MIN_GRADE
@filter_options
@format_option()
def canaries_command(
    *,
    kind: Literal["add", "report"],
    passages: Path,
    bank: Path | None,
    queries: Path | None,
    output: Path,
    names: tuple[str, ...],
    seed: int,
    min_grade: int | None,
    form: str,
    **criteria: Any,
) -> None:
    """Add systems that deserve no score, and show what graders gave them.

    `add` writes PASSAGES with the canaries. Grade them, and `report` shows what the graders can be made to
    believe.

    Examples:

    \b
      exam-pp canaries add passages.jsonl.gz --bank questions.jsonl -o with-canaries.jsonl.gz
      exam-pp canaries report graded-canaries.jsonl.gz
    """
    if kind == "report":
        from exam_pp.plugins.trust.canaries import canary_report

        report = canary_report(
            passages,
            grade_filter=grade_filter(**criteria),
            min_grade=min_grade,
            formatted=form not in SCRIPT_FORMATS,
        )
        emit_report(report, form, output, [passages])
        return
    from exam_pp.plugins.trust.canaries import add_canaries

    if (bank is None) == (queries is None):
        raise click.UsageError("Use either --bank or --queries for the texts of the queries.")
    log_summary(add_canaries(passages, bank, output, names, seed=seed, queries=queries).lines())
