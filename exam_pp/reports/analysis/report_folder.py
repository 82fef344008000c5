"""The folder of `exam-pp evaluate report`: a page with the whole evaluation, and its tables as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from exam_pp.data_model import Role
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, grader_names
from exam_pp.metrics.correlation import ranks_of
from exam_pp.phases.analysis.agreement import agreement, graders, rated_passages
from exam_pp.phases.analysis.correlation import Correlations, OfficialRanks, correlation, read_official
from exam_pp.phases.analysis.response_lengths import compare_lengths, response_lengths
from exam_pp.phases.analysis.sweep import sweep
from exam_pp.phases.evaluation import rubric as evaluate
from exam_pp.phases.evaluation.contents import GradedContents, GradeKind, graded_contents
from exam_pp.phases.evaluation.input_files import input_files, versions
from exam_pp.phases.evaluation.judgments import judgment_provenance, judgments
from exam_pp.phases.evaluation.leaderboards import Standings, leaderboard
from exam_pp.phases.evaluation.nugget_leaderboard import ScoringRules, nugget_leaderboard, read_conditions
from exam_pp.phases.evaluation.result import Evaluation, PathLike
from exam_pp.phases.evaluation.score_runs import score_rankings, score_runs
from exam_pp.phases.evaluation.selected_grades import SelectedGrades, read_selected, within_scale
from exam_pp.phases.evaluation.uncertainty import Statistics
from exam_pp.phases.evaluation.weak_spots import weak_spots
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import with_thresholds
from exam_pp.rendering.document import Block, Cell, Heading, Link, Report
from exam_pp.rendering.plots import Drawing, png
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.agreement import agreement_report, graders_figure, graders_report
from exam_pp.reports.analysis.correlation import correlation_report, rank_figure
from exam_pp.reports.analysis.evaluation_summary import (
    EvaluationProvenance,
    Leaderboard,
    LeftOut,
    bank_names,
    grader_blocks,
    left_out_blocks,
    summary_blocks,
    weak_spot_blocks,
)
from exam_pp.reports.analysis.response_lengths import TITLE as LENGTHS
from exam_pp.reports.analysis.response_lengths import length_figure, length_report
from exam_pp.reports.analysis.side_by_side import compared_figure
from exam_pp.reports.analysis.sweep import sweep_figure, sweep_report
from exam_pp.reports.evaluation.leaderboards import (
    SCRIPT_DECIMALS,
    leaderboard_figure,
    leaderboard_report,
    per_query_report,
)
from exam_pp.reports.evaluation.nugget_leaderboard import nugget_report
from exam_pp.reports.evaluation.score_layouts import official_json
from exam_pp.reports.review.page import render_page
from exam_pp.results import Qrel
from exam_pp.store.files import atomic_output, folder_output, is_read_once, safe_name, write_text
from exam_pp.store.trec.runs import method_of, run_files, write_qrels

REVIEW_PAGE = "review.html"


@dataclass(frozen=True)
class Sources:
    """Inputs and settings of an evaluation; only the graded file is required.

    ``review`` also writes the review page, ``figures`` also the figures for papers as PNG files. ``command``
    is the command line for the provenance. ``role`` is that of
    :func:`~exam_pp.phases.evaluation.rubric.cover`.
    """

    graded: PathLike
    banks: Sequence[PathLike] = ()
    runs: Sequence[PathLike] = ()
    official: PathLike | None = None
    qrels: PathLike | None = None
    grade_filter: GradeFilter = field(default_factory=GradeFilter)
    measures: Sequence[str] = ("nDCG@10", "RR")
    min_grade: int | None = None
    min_relevant: int = 1
    cutoff: int = 20
    review: bool = True
    figures: bool = False
    command: str = ""
    role: Role | None = None


@dataclass(frozen=True)
class _GradeSet:
    """The grades of a grader for the entries of a bank.

    ``name`` is that of the grader in titles, empty if the file has a single grader. ``suffix`` is that of its
    files, empty if a single set is evaluated.
    """

    key: GradeKey
    kind: GradeKind
    bank: PathLike | None
    name: str
    suffix: str
    grade_filter: GradeFilter


def write_evaluation(sources: Sources, folder: PathLike, statistics: Statistics | None = None) -> Path:
    """Write the whole evaluation of a graded file; returns the path of the page.

    The page is self-contained; it links to the tables and to the review page in the same folder. Equal inputs
    give equal bytes. Sections without inputs are named at the end of the page, with the missing input. A
    missing folder is created. Files of the same names are replaced at the end, all at once.

    Args:
        sources: Inputs and settings.
        folder: Folder to write.
        statistics: Options of intervals and tests. Default: nested intervals for Rubric-Cover, intervals over
            queries for other leaderboards, and significance letters.

    Raises:
        ExamError: An input is invalid.
    """
    inputs = [s for s in (sources.graded, *sources.banks, sources.official, sources.qrels) if s is not None]
    for source in filter(is_read_once, inputs):
        raise SelectionError(f"'{source}' is a stream, but it is read several times. Name a file.")
    with folder_output(folder, inputs) as work:
        report = _Evaluator(sources, work, statistics or Statistics("nested", significance=True)).report()
        write_text(work / "index.html", render(report, "html"))
    return Path(folder) / "index.html"


def _check_systems(official: OfficialRanks, sources: Sources, ranked: Iterable[str]) -> None:
    """Raise SelectionError if no system has both an official rank and scores."""
    systems = {*ranked, *map(method_of, run_files(sources.runs))}
    if systems and not systems & official.ranks.keys():
        raise SelectionError(
            f"{official.source} and the graded file or runs have no system in common. Check that they use "
            "the same names of systems."
        )


class _Evaluator:
    """Runs the phases, writes their tables as files, and collects the blocks of the page."""

    def __init__(self, sources: Sources, folder: Path, statistics: Statistics) -> None:
        self.sources = sources
        self.folder = folder
        self.statistics = statistics
        self.over_queries = replace(statistics, intervals="queries")
        self.contents: GradedContents = graded_contents(sources.graded, sources.banks, sources.grade_filter)
        self.sets = _grade_sets(self.contents, sources)
        self.grades: dict[_GradeSet, SelectedGrades] = {}
        self.section = ""
        self.blocks: list[Block] = []
        self.leaderboards: list[Leaderboard] = []
        self.left_out: list[LeftOut] = []

    def report(self) -> Report:
        """Write all files except the page, and return the page."""
        sources = self.sources
        covered = self._cover()
        self._rubric_qrels()
        self._nuggets()
        official = self._judgments()
        if sources.official is not None:
            official = read_official(sources.official)
            _check_systems(official, sources, self.contents.systems)
        correlations = self._correlations(official)
        self._sweep(official)
        self._agreement()
        self._graders()
        self._lengths(covered)
        addresses = self._review()
        if covered:
            first = next(iter(covered))
            spots = weak_spots(covered[first], self._read(first))
            self.blocks += weak_spot_blocks(spots, self.leaderboards[0], addresses) if spots.queries else []
        provenance = self._provenance()
        write_text(self.folder / "provenance.json", provenance.json)
        names = {grade_set.key: grade_set.name or "yes" for grade_set in self.sets}
        source = Path(sources.graded).name
        blocks = [
            *summary_blocks(self.contents, self.leaderboards, correlations),
            *grader_blocks(self.contents, names),
            *self.blocks,
            *provenance.blocks,
            Link("provenance.json: the same for scripts", "provenance.json"),
            *left_out_blocks(self.left_out),
        ]
        return Report(f"Evaluation of {source}", blocks)

    def _text(self, name: str, text: str, about: str) -> None:
        write_text(self.folder / name, text)
        self.blocks.append(Link(f"{name}: {about}", name))

    def _figure(self, name: str, drawing: Drawing, about: str) -> None:
        """Write a figure if figures are requested."""
        if self.sources.figures:
            with atomic_output(self.folder / name) as stream:
                stream.write(png(drawing))
            self.blocks.append(Link(f"{name}: {about}", name))

    def _skip(self, section: str, reason: str, to_add: str) -> None:
        self.left_out.append(LeftOut(section, reason, to_add))

    def _section(self, title: str, grade_set: _GradeSet | None = None) -> str:
        """Add the headings of a section, and return its title with the grader."""
        if title != self.section:
            self.section = title
            self.blocks.append(Heading(title))
        if grade_set is not None and grade_set.name:
            self.blocks.append(Heading(grade_set.name, level=2))
        return _titled(title, grade_set.name if grade_set is not None else "")

    def _add(self, title: str, stem: str, standings: Standings, evaluation: Evaluation) -> None:
        """Keep a leaderboard, and write its files."""
        self.leaderboards.append(Leaderboard(title, stem, standings))
        self._figure(f"{stem}.png", leaderboard_figure(standings), f"{title}, with intervals")
        per_query = render(per_query_report(evaluation, title), "tsv")
        self._text(f"{stem}-per-query.tsv", per_query, "scores of each query")

    def _leaderboard(self, title: str, stem: str, evaluation: Evaluation, statistics: Statistics) -> None:
        """Add the table and the pictures of a leaderboard, and write its files."""
        standings = leaderboard(evaluation, statistics)
        self.blocks += leaderboard_report(standings, title).content
        for_scripts = leaderboard_report(standings, title, formatted=False)
        self._text(f"{stem}.tsv", render(for_scripts, "tsv"), "the leaderboard")
        self._add(title, stem, standings, evaluation)

    @cached_property
    def _rubric_sets(self) -> list[_GradeSet]:
        return [grade_set for grade_set in self.sets if grade_set.kind in ("question", "nugget")]

    def _read(self, grade_set: _GradeSet) -> SelectedGrades:
        """The grades of a set, which are read once."""
        if grade_set not in self.grades:
            sources = self.sources
            grades = read_selected(
                sources.graded,
                grade_set.bank,
                grade_set.grade_filter,
                sources.min_grade,
                None,
                role=sources.role,
            )
            self.grades[grade_set] = within_scale(grades) if len(self.sets) > 1 else grades
        return self.grades[grade_set]

    def _cover(self) -> dict[_GradeSet, Evaluation]:
        covered = {}
        for grade_set in self._rubric_sets:
            title = self._section("Rubric-Cover", grade_set)
            evaluation = evaluate.cover_of(self._read(grade_set), cutoff=self.sources.cutoff)
            self._leaderboard(title, f"cover{grade_set.suffix}", evaluation, self.statistics)
            covered[grade_set] = evaluation
        if not covered:
            self._skip("Rubric-Cover", "no grades of questions or nuggets are selected", "exam-pp grade")
        return covered

    def _rubric_qrels(self) -> None:
        sources = self.sources
        graded = [grade_set for grade_set in self.sets if grade_set.kind != "assignment"]
        if not sources.runs and not self.contents.systems:
            self._skip("Rubric-Qrels", "no runs, and the graded file has no rankings", "--runs")
            return
        if not graded:
            self._skip("Rubric-Qrels", "no ratings are selected", "exam-pp grade")
        for grade_set in graded:
            title = self._section("Rubric-Qrels", grade_set)
            grades = self._read(grade_set)
            labels = evaluate.qrels_of(grades)
            options: dict[str, Any] = {
                "min_grade": None if sources.min_grade is None else grades.min_grade,
                "default_min_grade": labels.level,
                "ungraded": labels.ungraded,
            }
            evaluation = self._scored(labels.qrels, **options)
            evaluation.notes[:0] = labels.notes
            evaluation.provenance = with_thresholds(labels.provenance, evaluation.provenance)
            self._leaderboard(title, f"rubric-qrels{grade_set.suffix}", evaluation, self.over_queries)
            name = f"rubric{grade_set.suffix}.qrels"
            write_qrels(labels.qrels, self.folder / name)
            self.blocks.append(Link(f"{name}: the labels, for trec_eval", name))

    def _scored(self, labels: Sequence[Qrel], **options: Any) -> Evaluation:
        """Scores of the runs by labels; without runs, of the rankings in the graded file."""
        sources = self.sources
        if not sources.runs:
            return score_rankings(labels, sources.graded, sources.measures, role=sources.role, **options)
        return score_runs(labels, sources.runs, sources.measures, **options)

    def _nuggets(self) -> None:
        sources = self.sources
        assigned = [grade_set for grade_set in self.sets if grade_set.kind == "assignment"]
        if not assigned:
            has_them = any(
                grader.kind == "assignment" and grader.selected for grader in self.contents.graders.values()
            )
            reason = "nugget assignments have no bank" if has_them else "no nugget assignments are selected"
            to_add = "--bank with the nuggets" if has_them else "exam-pp grade with an assignment prompt"
            self._skip("Nugget scores", reason, to_add)
        for grade_set in assigned:
            assert grade_set.bank is not None
            (condition,) = read_conditions(
                [sources.graded],
                [grade_set.bank],
                grade_filter=grade_set.grade_filter,
                rules=ScoringRules(role=sources.role),
            )
            title = self._section("Nugget scores", grade_set)
            scores = nugget_leaderboard([condition], statistics=self.over_queries)
            standings = scores.conditions[0][1]
            self.blocks += nugget_report(scores).content
            for_scripts = nugget_report(scores, formatted=False)
            stem = f"nuggets{grade_set.suffix}"
            self._text(f"{stem}.tsv", render(for_scripts, "tsv"), "the leaderboard")
            self._add(title, stem, standings, condition.evaluation)

    def _judgments(self) -> OfficialRanks | None:
        """Write the leaderboard of manual judgments; returns its ranks by the first measure.

        Returns None without judgments.
        """
        sources = self.sources
        if sources.qrels is None and not self.contents.judged:
            self._skip("Manual judgments", "the graded file has no judgments", "--qrels")
            return None
        if not sources.runs and not self.contents.systems:
            self._skip("Manual judgments", "no runs, and the graded file has no rankings", "--runs")
            return None
        source = sources.qrels or sources.graded
        judged = judgments(source)
        evaluation = self._scored(judged, min_grade=sources.min_relevant)
        evaluation.provenance = judgment_provenance(source, evaluation)
        self._leaderboard(self._section("Manual judgments"), "judgments", evaluation, self.over_queries)
        first = evaluation.scores[0].metric
        ranked = Evaluation([score for score in evaluation.scores if score.metric == first])
        self._text("official.json", official_json(ranked), f"ranks by {first} on the manual judgments")
        return OfficialRanks("official.json", ranks_of(self.leaderboards[-1].means[first]))

    def _correlations(self, official: OfficialRanks | None) -> dict[str, Correlations]:
        """Write the correlations of all leaderboards; returns title to correlation."""
        if official is None:
            self._skip("Correlation with the official leaderboard", "no official ranks", "--official")
            return {}
        results: dict[str, Correlations] = {}
        compared: dict[str, Mapping[str, float]] = {}
        for board in self.leaderboards:
            if board.stem == "judgments" and self.sources.official is None:
                continue
            try:
                result = correlation(
                    f"{board.stem}-per-query.tsv",
                    official,
                    scores=board.means,
                    intervals="systems",
                    samples=self.statistics.samples,
                    seed=self.statistics.seed,
                )
            except SelectionError as error:
                self._skip(f"Correlation of {board.title}", str(error), "official ranks of these systems")
                continue
            results[board.title] = result
            self._section("Correlation with the official leaderboard")
            self.blocks.append(Heading(board.title, level=2))
            self.blocks += correlation_report(result, decimals=3).content
            for_scripts = correlation_report(result, decimals=SCRIPT_DECIMALS)
            self._text(
                f"{board.stem}-correlation.tsv", render(for_scripts, "tsv"), "the same table for scripts"
            )
            for metric, scores in board.means.items():
                name = f"{board.title}: {metric}"
                compared[name] = scores
                short = f"{board.stem}-{metric}".translate({ord(c): "_" for c in "()=@,/ "})
                about = f"{name} against the official ranks"
                self._figure(f"ranks-{short}.png", rank_figure(scores, official.ranks, name), about)
        if len(compared) > 1:
            order = sorted(official.ranks, key=lambda system: (official.ranks[system], system))
            self._figure("compared.png", compared_figure(compared, order), "leaderboards, min–max scaled")
        return results

    @property
    def _banks(self) -> Iterator[tuple[PathLike | None, str, GradeFilter]]:
        """Each bank with its name in titles, which is empty for a single bank, and the filter of its grades.

        Direct grades have no bank.
        """
        criteria = self.sources.grade_filter
        banks = list(dict.fromkeys(grade_set.bank for grade_set in self.sets))
        names = bank_names(self.sources.banks)
        for bank in banks:
            if len(banks) == 1:
                yield bank, "", criteria
            elif bank is None:
                yield bank, "direct grades", replace(criteria, kind="direct")
            else:
                yield bank, names[bank], criteria

    def _sweep(self, official: OfficialRanks | None) -> None:
        title = "Correlation by setting"
        if official is None:
            self._skip(title, "no official ranks", "--official")
            return
        sources = self.sources
        for bank, name, criteria in self._banks:
            try:
                swept = sweep(
                    sources.graded,
                    official,
                    runs=sources.runs or None,
                    bank=bank,
                    grade_filter=criteria,
                    measures=sources.measures,
                    cutoff=sources.cutoff,
                )
            except SelectionError as error:
                self._skip(_titled(title, name), str(error), "official ranks of these systems")
                continue
            suffix = _suffix(name) if name else ""
            swept = replace(swept, notes=())  # the same notes stand below Rubric-Cover
            self._section(title)
            self.blocks += [Heading(name, level=2)] if name else []
            self.blocks += sweep_report(swept).content
            with suppress(SelectionError):  # raised if no measure has a threshold
                self._figure(f"sweep{suffix}.png", sweep_figure(swept), "Kendall's tau-b over thresholds")
            for_scripts = sweep_report(swept, decimals=SCRIPT_DECIMALS)
            self._text(f"sweep{suffix}.tsv", render(for_scripts, "tsv"), "the same table for scripts")

    def _agreement(self) -> None:
        sources = self.sources
        title = "Agreement with judgments"
        if sources.qrels is None and not self.contents.judged:
            self._skip(title, "the graded file has no judgments", "--qrels")
            return
        for grade_set in self.sets:
            if grade_set.kind == "assignment":
                continue
            try:
                passages = rated_passages(
                    sources.graded,
                    qrels=sources.qrels,
                    bank=grade_set.bank,
                    grade_filter=grade_set.grade_filter,
                )
            except SelectionError as error:
                self._skip(_titled(title, grade_set.name), str(error), "judgments of graded passages")
                continue
            most = max(len(passage.ratings) for passage in passages)
            ranks = [rank for rank in (1, 2, 5) if rank <= most]  # direct grades are one per passage
            result = agreement(
                passages, min_relevant=sources.min_relevant, min_answers=ranks, seed=self.statistics.seed
            )
            self._section(title, grade_set)
            report = agreement_report(result)
            self.blocks += report.content
            self._text(f"agreement{grade_set.suffix}.tsv", render(report, "tsv"), "the tables")
            self._text(f"agreement{grade_set.suffix}.tex", render(report, "latex"), "the tables for a paper")

    def _graders(self) -> None:
        title = "Agreement of graders"
        banks = {grade_set.bank for grade_set in self.sets}
        try:
            compared = graders(self.sources.graded, bank=banks.pop() if len(banks) == 1 else None)
        except SelectionError as error:
            self._skip(title, str(error), "grades of another grader")
            return
        self._section(title)
        report = graders_report(compared)
        self.blocks += report.content
        self._figure("graders.png", graders_figure(compared), "weighted κ of every two graders")
        self._text("graders.tsv", render(report, "tsv"), "the same table for scripts")

    def _lengths(self, covered: Mapping[_GradeSet, Evaluation]) -> None:
        lengths = response_lengths(self.sources.graded, cutoff=self.sources.cutoff, role=self.sources.role)
        if not covered:
            self._skip(LENGTHS, "no grades of questions or nuggets are selected", "exam-pp grade")
            return
        if len(lengths) < 2:
            reason = "the graded file has rankings of fewer than two systems"
            self._skip(LENGTHS, reason, "rankings in the graded file")
            return
        if not any(lengths.values()):
            self._skip(LENGTHS, "the graded file has no texts", "a graded file with texts")
            return
        for grade_set, evaluation in covered.items():
            result = compare_lengths(evaluation, lengths)
            self._section(LENGTHS, grade_set)
            self.blocks += length_report(result).content
            self._figure(f"length{grade_set.suffix}.png", length_figure(result), "with the Pareto front")
            for_scripts = render(length_report(result, decimals=SCRIPT_DECIMALS), "tsv")
            self._text(f"length{grade_set.suffix}.tsv", for_scripts, "response lengths and scores")

    def _review(self) -> dict[str, str]:
        """Write the review page of the first grader; returns query id to its address."""
        sources = self.sources
        if not sources.review:
            self._skip("Review page", "--no-review", "--review")
            return {}
        reviewed = next((one for one in self.sets if one.kind != "assignment"), None)
        if reviewed is None:
            self._skip("Review page", "no ratings are selected", "exam-pp grade")
            return {}
        options = ReviewOptions(min_grade=sources.min_grade, cutoff=sources.cutoff)
        criteria = with_aliases(replace(sources.grade_filter, prompt_class=reviewed.key.prompt_class))
        try:
            material = review_material(sources.graded, criteria, bank=reviewed.bank, options=options)
        except SelectionError as error:
            self._skip("Review page", str(error), "exam-pp review")
            return {}
        write_text(self.folder / REVIEW_PAGE, render_page(material.head, material.tables))
        prompt_class = reviewed.key.prompt_class
        self._section("Review page")
        self.blocks.append(Link(f"{REVIEW_PAGE}: the grades with prompt class {prompt_class}", REVIEW_PAGE))
        return {
            query["id"]: f"{REVIEW_PAGE}#/q/{number}" for number, query in enumerate(material.head["queries"])
        }

    def _provenance(self) -> EvaluationProvenance:
        sources = self.sources
        files = input_files(
            [
                ("graded file", sources.graded),
                *(("bank", bank) for bank in sources.banks),
                *(("run", run) for run in sources.runs),
                ("official ranks", sources.official),
                ("judgments", sources.qrels),
            ]
        )
        settings: dict[str, Cell] = {
            "measures": ", ".join(sources.measures),
            "cutoff": sources.cutoff,
            "threshold": "default of each prompt" if sources.min_grade is None else sources.min_grade,
            "lowest relevant judgment": sources.min_relevant,
            "confidence level": self.statistics.confidence,
            "bootstrap samples": self.statistics.samples,
            "seed": self.statistics.seed,
        }
        return EvaluationProvenance(sources.command, files, versions(), settings, self.leaderboards)


def _titled(title: str, name: str) -> str:
    return f"{title}: {name}" if name else title


def _suffix(name: str) -> str:
    """The end of file names for a grader or bank."""
    return f"-{safe_name(name.replace(', ', '-').replace(' ', '-'))}"


def _grade_sets(contents: GradedContents, sources: Sources) -> list[_GradeSet]:
    """The sets of grades to evaluate, by model and prompt class.

    Reviewers rate only some pairs, so their grades are evaluated only if no others are selected. Raises
    SelectionError if no selected grades are for entries of the banks.
    """
    chosen = {key: grader for key, grader in contents.graders.items() if grader.selected}
    chosen = {key: grader for key, grader in chosen.items() if not key.is_reviewer} or chosen
    pairs: list[tuple[GradeKey, PathLike | None]] = []
    for key, grader in chosen.items():
        if grader.kind == "direct" or (not sources.banks and grader.kind != "assignment"):
            pairs.append((key, None))
        else:
            pairs += [(key, bank) for bank in grader.banks]
    # Sections begin with the first bank, and with ratings, which have thresholds.
    order = {bank: number for number, bank in enumerate(sources.banks)}
    pairs.sort(
        key=lambda pair: (
            order.get(pair[1], len(order)) if pair[1] else len(order),
            not chosen[pair[0]].rated,
        )
    )
    if not pairs:
        banks = ", ".join(map(str, sources.banks))
        raise SelectionError(
            f"No selected grades in {sources.graded} are for entries of {banks}; name their bank with --bank."
            if banks
            else f"The grades in {sources.graded} are nugget assignments; name their bank with --bank."
        )
    short = grader_names(list(contents.graders)) if len(contents.graders) > 1 else None
    keys = [key for key, _ in pairs]
    names = bank_names(sources.banks)
    sets = []
    for key, bank in pairs:
        name = short(key) if short is not None else ""
        if bank is not None and keys.count(key) > 1:
            name = ", ".join(part for part in (name, names[bank]) if part)
        suffix = _suffix(name) if len(pairs) > 1 else ""
        only = with_aliases(replace(sources.grade_filter, model=key.model, prompt_class=key.prompt_class))
        sets.append(_GradeSet(key, chosen[key].kind, bank, name, suffix, only))
    return sets
