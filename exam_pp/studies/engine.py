"""The engine of a study: its steps from the files of the systems to leaderboards."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from exam_pp.banks import EntryKind, TestBank
from exam_pp.data_model import Role
from exam_pp.errors import OutputError, SelectionError
from exam_pp.formats.base import FORMATS, known_format
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.judges import E5, LEXICAL
from exam_pp.llm import packaged_e5
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.banks.edit import apply_to_bank
from exam_pp.phases.banks.import_bank import BankFormat, import_bank
from exam_pp.phases.evaluation.contents import graded_contents
from exam_pp.phases.evaluation.own_measures import read_measures
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import Advance, GradeFiles, grade_file
from exam_pp.phases.grading.prompt_files import assignment_prompt, choose_prompts, rating_prompt
from exam_pp.phases.grading.steps import Progress, Steps, asked, no_progress
from exam_pp.phases.interchange.answer_units import Unit, read_any_answers
from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.phases.review.apply_ratings import AppliedRatings, apply_ratings
from exam_pp.phases.validation.validate import validate
from exam_pp.plugins import needed
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.rendering.render import render
from exam_pp.reports.analysis.evaluation_page import write_evaluation
from exam_pp.reports.analysis.report_folder import Sources, grade_sets
from exam_pp.reports.validation.findings import findings_report
from exam_pp.signals import STOP
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import file_sha256, read_edits
from exam_pp.store.files import write_text
from exam_pp.store.inputs import reading
from exam_pp.store.locks import Lock
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import journal_path
from exam_pp.store.passages.query_texts import stored_query_texts
from exam_pp.store.problems import repairing
from exam_pp.store.tables import columns_named
from exam_pp.store.trec.queries import write_queries
from exam_pp.studies.boards import Board, Words, options, typed
from exam_pp.studies.inputs import STUDY_FILE, StudyFile, write_measures, write_study
from exam_pp.text.keys import id_by_text, ids_by_text
from exam_pp.text.wording import counted, listed

log = logging.getLogger(__name__)

_MEASURES = "measures.toml"
_QUERIES = "queries.json"
_WRITTEN = (STUDY_FILE, "steps.json", _QUERIES, _MEASURES)
"""Files of a study that are of no step."""
Work = Callable[[Path, Path, Advance], Iterable[str]]
"""Writes the output of a step, with a journal of replies; returns its summary."""


@dataclass(frozen=True)
class Judge:
    """A model that grades, and the words of its options.

    ``journal`` keeps its replies; None for a journal of each step. ``retry_failed`` asks again what failed.
    """

    model: ModelOptions
    words: Sequence[str] = ()
    journal: Path | None = None
    retry_failed: bool = False


class Grading(NamedTuple):
    """What :meth:`Engine.graded` got for a bank, and who answers where."""

    title: str
    files: GradeFiles
    prompts: Sequence[Prompt]
    words: Sequence[str | Path]
    replies: str
    role: Role | None
    model: ModelOptions
    journal: Path


@dataclass
class Results:
    """What a study has come to: leaderboards, the pages that explain them, and the file of games, if any.

    ``further`` are leaderboards that only reports show. ``gradings`` say how the study graded a bank.
    """

    boards: list[Board] = field(default_factory=list)
    reports: list[Path] = field(default_factory=list)
    games: Path | None = None
    further: list[Board] = field(default_factory=list)
    gradings: Mapping[Path, Grading] = field(default_factory=dict)


class Engine:
    """The steps of a study in its folder. A step with the same inputs and options as before is complete.

    ``judge`` is the model in place of that of the study, ``unit`` what a passage of an answer is, ``reports``
    whether pages are written, ``batch`` a folder of batch files in place of calls, and ``max_tokens_total``
    the limit of each grading. ``say`` gets the command line that does the same as a step. Every method raises
    :class:`~exam_pp.errors.ExamError`. Logs of `exam-pp serve`, of which each may change a bank, are the
    edits, if there are any; with ``refine`` False, nothing that people changed counts.
    """

    def __init__(
        self,
        study: StudyFile,
        folder: Path,
        judge: Judge | None = None,
        *,
        unit: Unit = "paragraph",
        reports: bool = True,
        batch: Path | None = None,
        max_tokens_total: int | None = None,
        refine: bool = True,
        progress: Progress = no_progress,
        say: Callable[[str], object] = lambda _line: None,
    ) -> None:
        self.study = study
        self.folder = folder
        _refuse_links(folder / name for name in (*_WRITTEN, ".study.lock"))
        self._steps = Steps(folder, progress)
        self._inputs = {os.path.realpath(file) for path in study.paths for file in _files(path)}
        self._judge = judge
        self._unit = unit
        self._asked: set[str] = set()
        self._banks: list[Path] = []
        self._logs = live_logs(folder) if refine else []
        self._edits = (self._logs or list(map(Path, study.edits))) if refine else []
        self._gradings: dict[Path, Grading] = {}
        self._refined: set[Path] = set()
        self._outdated: list[Mapping[tuple[Path, int], bool]] = []
        self._reports = reports
        self._say = say
        self._batch = batch
        self._max_tokens_total = max_tokens_total

    def run(self) -> Results:
        """Do all steps that are missing or changed, and write the study file."""
        lock = self.lock()
        try:
            return self.run_locked()
        finally:
            lock.release()

    def lock(self) -> Lock:
        """The lock of the folder."""
        in_use = f"{self.folder} is in use by another run or by `exam-pp serve`: wait for it, or end it."
        return Lock.take(self.folder / ".study.lock", in_use)

    def run_locked(self) -> Results:
        """Do what :meth:`run` does, for a caller who has the lock of the folder."""
        results = self._run()
        results.gradings = self._gradings
        if lost := [path for path in self._logs if path not in self._refined and read_edits(path).bank]:
            raise SelectionError(
                f"{lost[0]} changes another bank than those of this study: apply it with `exam-pp bank apply "
                "--force`, or move it away."
            )
        # Options that failed, such as edits of another file, are not kept for the next time.
        write_study(self.study, self.folder / STUDY_FILE)
        return results

    def _run(self) -> Results:
        banks = [self.bank(number, Path(path)) for number, path in enumerate(self.study.bank, 1)]
        if self.study.passages is not None and self.study.model is None:
            return self._known_grades(Path(self.study.passages), banks)
        read = {bank: read_bank(bank) for bank in banks}
        kinds = {bank: known.kinds for bank, known in read.items()}
        study = self.study
        for bank, known in read.items():
            _check_readers(bank, known, study)
        of_answers = [bank for bank in banks if study.answers and kinds[bank] == {"nugget"}]
        rated = {bank: min(kinds[bank]) for bank in banks if bank not in of_answers}
        self._asked = {*rated.values(), *(["assignment"] if of_answers else ())}
        if self.study.model is None:
            model = self._default_judge() if self._asked else LEXICAL
            self.study = self.study.model_copy(update={"model": model})
        asked = {*self._asked, *(["pair"] if self.study.games else ())}
        if any(self._judge_of(kind) != self.judge for kind in asked):
            log.warning("%s: %s judges the rest.", self._grades_only, LEXICAL)
        if not (self.folder / STUDY_FILE).exists():
            write_study(self.study, self.folder / STUDY_FILE)  # the judge, before it grades
        results = Results()
        unused = [] if rated else [*study.runs, *study.texts, *study.qrels, *filter(None, [study.official])]
        if unused:
            log.warning("Not used: %s. A bank of nuggets is for answers alone.", listed(unused))
        pool = self.pool() if rated else None
        answers = self.answers() if of_answers or self.study.games else None
        # Inputs hold more than the pool, if they show by themselves what they are.
        originals = [
            path
            for content in (() if study.columns or study.repair else ("runs", "answers", "qrels", "queries"))
            for path in options(f"--{content}", getattr(study.sources, content))
            if isinstance(path, Path) and (form := known_format(path)) and form.content == content
        ]
        self._check([*filter(None, (pool, answers)), *banks, *originals])
        if pool is not None:
            self._rate(pool, rated, results)
        if answers is not None:
            for number, bank in enumerate(of_answers, 1):
                self._assign(answers, bank, "" if len(of_answers) == 1 else f"-{number}", results)
            if self.study.games:
                results.games = self._compare(answers)
        return results

    @property
    def notes(self) -> Iterator[str]:
        """Sentences on ratings of people that no leaderboard counts."""
        # A rating is of one board: what another board does not have is not outdated.
        places = set.intersection(*map(set, self._outdated or [{}]))
        outdated = {place: any(each[place] for each in self._outdated) for place in places}
        return AppliedRatings(outdated=outdated).lines()

    def _known_grades(self, graded: Path, banks: Sequence[Path]) -> Results:
        """The leaderboards of a file that is graded already."""
        self._check([graded, *banks])
        graded, banks = self._refine(graded, banks)
        graded = self._correct(graded, banks or [None])
        sources = Sources(graded, banks)
        results = Results()
        for known in grade_sets(graded_contents(graded, banks), sources):
            bank = None if known.bank is None else Path(known.bank)
            results.boards.append(
                Board(graded, bank, known.kind == "assignment", grader=known.key, measures=self._measures())
            )
        if self._reports:
            results.reports.append(self._report("report", graded, banks, official=self.study.official))
        return results

    def bank(self, number: int, path: Path) -> Path:
        """A bank as a file of this package; other formats are converted."""
        columns, repair = self.study.columns_of_tables, self.study.repair
        with columns_named(columns, quiet=True):
            form = known_format(path)
        if form is not None and form.name == "bank":
            self._banks.append(path)
            return path
        name = "bank.jsonl" if len(self.study.bank) == 1 else f"bank-{number}.jsonl"
        split_lines = self.study.split_lines and (form is None or form.name == "bank-csv")
        # A table may name queries by their texts, and rubrics may have no texts.
        as_references: BankFormat | None = (
            "references" if form is not None and form.content == "answers" else None
        )
        if as_references and FORMATS.find(as_references) is None:
            raise SelectionError(f"{path} has answers and no test bank: --bank and --answers look swapped.")
        without = ("bank-csv", "ragtime26", "references", "rubrics")
        named = form is None or as_references or form.name in without
        queries = self.study.sources.queries if named else None
        words: Words = ["bank", "import", path, *options("--queries", queries)]
        words += options("--from", as_references) + options("--columns", self.study.columns)
        words += _flags(split_lines=split_lines, repair=repair)

        def work(output: Path, _journal: Path, _advance: Advance) -> Iterable[str]:
            with columns_named(columns, quiet=True), repairing(enabled=repair) as repairs:
                imported = import_bank(
                    [path], output, as_references, queries=queries, split_lines=split_lines
                )
            return chain(imported.lines(), repairs.lines())

        bank = self._step("Bank", words, name, work)
        self._banks.append(bank)
        return bank

    def pool(self) -> Path:
        """The passages of all systems."""
        study = self.study
        if study.passages is not None:
            return Path(study.passages)
        return self._import("Import", replace(self._sources, unit=self._unit), "passages.jsonl.gz")

    def answers(self) -> Path:
        """The whole answers of all systems."""
        sources = self._sources
        of_answers = ImportSources(answers=sources.answers, queries=sources.queries, unit="whole")
        return self._import("Answers", of_answers, "answers.jsonl.gz")

    @cached_property
    def _sources(self) -> ImportSources:
        """The inputs of the study; banks name the queries of answers that have texts in place of ids."""
        sources = self.study.sources
        texts = {
            query.query_id: query.query_text or query.query_id
            for path in (self._banks if sources.queries is None else ())
            for query in read_bank(path)
        }
        ids = ids_by_text(texts)
        with columns_named(self.study.columns_of_tables, quiet=True):
            by_text = any(
                id_by_text(answer.query_id, answer.query_text, texts, ids) != answer.query_id
                for path in (sources.answers if texts else ())
                for answer in read_any_answers(path, DroppedFields())
            )
        if not by_text:
            return sources
        path = self.folder / _QUERIES
        write_queries(texts, path)
        return replace(sources, queries=path)

    def graded(
        self,
        title: str,
        files: GradeFiles,
        prompts: Sequence[Prompt],
        words: Sequence[str | Path] = (),
        replies: str = "",
        role: Role | None = None,
    ) -> Path:
        """The file with the grades of the judge; ``files.output`` is its name in the folder of the study."""
        judge = self._judge_of(*(prompt.kind for prompt in prompts))
        if files.bank is not None:
            journal = self._journal(str(files.output), replies, judge)
            self._gradings[files.bank] = Grading(
                title, files, prompts, words, replies, role, judge.model, journal
            )

        def work(output: Path, journal: Path, advance: Advance) -> Iterable[str]:
            named = replace(
                files, output=output, journal=journal, retry_failed=judge.retry_failed, batch=self._batch
            )
            return grade_file(named, judge.model, GradeOptions(prompts, role=role), advance).lines()

        command: Words = ["grade", files.passages, *options("--bank", files.bank), *words]
        command += options("--role", role)
        command += options("--queries", files.queries)
        facts = asked(judge.model, *prompts)
        return self.ask(title, command, str(files.output), work, facts, replies, judge)

    def _refine(self, graded: Path, banks: Sequence[Path], name: str = "refined") -> tuple[Path, list[Path]]:
        """Banks with what people changed, and the file with the grades of their new entries."""
        refined: list[Path] = []
        for number, bank in enumerate(banks, 1):
            ending = "" if len(banks) == 1 else f"-{number}"
            changed, grading = self._changed(bank, f"{name}{ending}.jsonl"), self._gradings.get(bank)
            if changed != bank and grading is not None:
                output = Path(f"graded-{name}{ending}.jsonl.gz")
                files = replace(grading.files, passages=graded, bank=changed, output=output)
                graded = self.graded(*grading._replace(files=files)[:-2])
            refined.append(changed)
        return graded, refined

    def _changed(self, bank: Path, name: str) -> Path:
        """The bank with the changes of its log."""
        known = {path: read_edits(path) for path in self._logs}
        own = [path for path, edits in known.items() if edits.bank and edits.bank_sha256 == file_sha256(bank)]
        if not own:
            return bank
        self._refined.update(own)
        words: Words = ["bank", "apply", bank, own[0]]
        return self._step("Bank", words, name, lambda to, _journal, _done: apply_to_bank(bank, to, own[0]))

    def _rate(self, graded: Path, banks: Mapping[Path, EntryKind], results: Results) -> None:
        """Grade what the systems returned, and write the report."""
        study = self.study
        files_of_prompts = list(map(Path, study.prompt_file))
        words = options("--prompt", study.prompt) + options("--prompt-file", files_of_prompts)
        named = choose_prompts(study.prompt, files_of_prompts)
        for number, (bank, kind) in enumerate(banks.items(), 1):
            name = "graded.jsonl.gz" if number == len(banks) else f"graded-{number}.jsonl.gz"
            files = GradeFiles(graded, Path(name), bank)
            graded = self.graded("Grade", files, named or [rating_prompt(kind)], words, f"replies-{number}")
        graded, refined = self._refine(graded, list(banks))
        graded = self._correct(graded, refined)
        if self._reports:
            page = self._report("report", graded, refined, study.official)
            results.reports.append(page)
        kinds = banks.values() if len(banks) > 1 else [None]
        first, *others = (Board(graded, bank, kind=kind) for bank, kind in zip(refined, kinds, strict=True))
        results.boards.append(first)  # the report has the leaderboards of all banks
        results.further += others

    def _assign(self, answers: Path, bank: Path, suffix: str, results: Results) -> None:
        """Assign nuggets to whole answers, and write the report."""
        own = choose_prompts(self.study.prompt, list(map(Path, self.study.prompt_file)))
        named = next((prompt for prompt in own if prompt.kind == "assignment"), None)
        prompt = named or assignment_prompt(self._judge_of("assignment").model, read_bank(bank))
        queries = self._ids_as_texts(answers, bank)
        files = GradeFiles(answers, Path(f"assigned{suffix}.jsonl.gz"), bank, queries=queries)
        files_of_prompts = self.study.prompt_file if named and prompt.name not in PROMPTS else []
        words: Words = options("--prompt-file", list(map(Path, files_of_prompts))) or [
            "--prompt",
            prompt.shown,
        ]
        rankings = (r for query in read_passages(answers) for p in query.passages for r in p.rankings)
        role: Role | None = "answer" if any(r.role == "retrieved" for r in rankings) else None
        assigned = self.graded("Assign", files, [prompt], words, f"replies-nuggets{suffix}", role)
        assigned, (bank,) = self._refine(assigned, [bank], f"refined-nuggets{suffix}")
        assigned = self._correct(assigned, [bank], f"assigned-corrected{suffix}")
        if self._reports:
            results.reports.append(self._report(f"report-nuggets{suffix}", assigned, [bank]))
        results.boards.append(Board(assigned, bank, assigns=True, measures=self._measures()))

    def _compare(self, answers: Path) -> Path:
        """Let the judge compare answers.

        A plug-in offers ``games of answers``: a function of the files, the model and ``advance``, which
        writes a games file and returns its summary with ``lines``.
        """
        judge, queries = self._judge_of("pair"), self.study.sources.queries
        play = needed("games of answers", "games")

        def work(output: Path, journal: Path, advance: Advance) -> Iterable[str]:
            files = GradeFiles(answers, output, journal=journal, queries=queries)
            lines: Iterable[str] = play(files, judge.model, advance=advance).lines()
            return lines

        words: Words = ["compare", answers, *options("--queries", queries)]
        return self.ask("Games", words, "games.jsonl.gz", work, asked(judge.model), "replies-games", judge)

    def _correct(self, graded: Path, banks: Sequence[Path | None], name: str = "corrected") -> Path:
        """Put the ratings of people in place, for the entries of each bank."""
        for number, bank in enumerate(banks, 1):
            output = f"{name}.jsonl.gz" if number == len(banks) else f"{name}-{number}.jsonl.gz"
            graded = self._apply(graded, bank, output)
        return graded

    def _apply(self, graded: Path, bank: Path | None, name: str) -> Path:
        """Put ratings in place where their texts are; those without keys are of the first file."""
        edits, self._edits = self._edits, [path for path in self._edits if read_edits(path).is_by_content]
        edits = [path for path in edits if path not in self._logs or read_edits(path).ratings]
        if not edits:
            return graded

        def work(output: Path, _journal: Path, _advance: Advance) -> Iterable[str]:
            summary = apply_ratings(graded, edits, output, bank=bank)
            summary.bank_edits *= not self._refined
            self._outdated.append(summary.outdated)
            return summary.lines()

        (self.folder / name).unlink(missing_ok=True)  # for what it says
        return self._step("Correct", ["apply", graded, *edits, *options("--bank", bank)], name, work)

    def _check(self, files: Sequence[Path]) -> None:
        """Check files that are about to be graded; raises SelectionError for errors.

        The log has the findings on whole files; the import has named those on lines.
        """

        def work(output: Path, _journal: Path, _advance: Advance) -> Iterable[str]:
            findings = validate(files, limit=10, judge=self.judge.model.model)
            write_text(output, render(findings_report(findings), "text"))
            for level, _, file, line, _, message in findings.kept:
                if line is None or level == "error":
                    log.warning("%s.", ": ".join(filter(None, (file, message.removesuffix(".")))))
            if errors := findings.number("error"):
                raise SelectionError(f"{output} lists {counted(errors, 'error')} of the files: mend them.")
            return [f"{counted(findings.number('warning'), 'warning')}."]

        self._step("Check", ["validate", *files], "checks.txt", work)

    def _report(
        self,
        name: str,
        graded: Path,
        banks: Sequence[Path],
        official: str | None = None,
    ) -> Path:
        """The page with the verdict, in a folder with its tables."""
        named = None if official is None else Path(official)
        words: Words = ["evaluate", "report", graded, *options("--bank", banks)]
        words += options("--official", named) + options("--measure-file", measures := self._measures())
        command = shlex.join(["exam-pp", *map(str, words)])
        sources = Sources(
            graded, banks, official=named, command=command, rubric_measures=read_measures(measures)
        )

        def work(output: Path, _journal: Path, _advance: Advance) -> Iterable[str]:
            write_evaluation(sources, output.parent)
            return ()

        return self._step("Report", words, f"{name}/index.html", work)

    def _measures(self) -> Path | None:
        """The file of the measures that the study declares, if any."""
        if not self.study.measure:
            return None
        write_measures(self.study, self.folder / _MEASURES)
        return self.folder / _MEASURES

    def _import(self, title: str, sources: ImportSources, output: str) -> Path:
        columns, repair = self.study.columns_of_tables, self.study.repair
        kinds = ("runs", "texts", "queries", "qrels", "answers")
        words = [word for kind in kinds for word in options(f"--{kind}", getattr(sources, kind))]
        words += options("--columns", self.study.columns)
        words += options("--top", self.study.top if sources.runs else None)
        words += [] if sources.unit == "paragraph" else ["--unit", sources.unit]
        words += _flags(repair=repair)

        def work(path: Path, _journal: Path, _advance: Advance) -> Iterable[str]:
            with columns_named(columns), repairing(enabled=repair) as repairs:
                imported = import_passages(sources, path)
            return chain(imported.lines(), repairs.lines())

        return self._step(title, ["import", *words], output, work)

    def _ids_as_texts(self, answers: Path, bank: Path) -> Path | None:
        """A file with ids in place of texts, if no file has the text of a query."""
        queries = read_bank(bank)
        if stored_query_texts(answers) or any(query.query_text.strip() for query in queries):
            return None
        log.warning(
            "No file has the texts of the queries: the judge gets their ids. Name a file with --queries."
        )
        path = self.folder / _QUERIES
        write_queries({query.query_id: query.query_id for query in queries}, path)
        return path

    def _default_judge(self) -> str:
        """The judge of questions and facts without one; the log says why it is not ``e5``."""
        if self.study.prompt or self.study.prompt_file:
            return LEXICAL
        if problem := packaged_e5.e5_problem():
            log.info("%s The judge is %s.", problem, LEXICAL)
        return LEXICAL if problem else E5

    @property
    def judge(self) -> Judge:
        """The judge in place of that of the study, or that."""
        judge = self._judge or Judge(self.study.model_options, self.study.words_of_judge)
        return replace(judge, model=replace(judge.model, max_tokens_total=self._max_tokens_total))

    @property
    def _grades_only(self) -> str:
        """What a judge by similarity grades."""
        facts = " and facts" if self.judge.model.model == E5 else ""
        return f"{self.judge.model.model} grades questions{facts} only"

    def _judge_of(self, *kinds: str) -> Judge:
        """Who answers prompts of these kinds; a judge by similarity does not answer all."""
        judge = self.judge
        is_e5 = judge.model.model == E5
        if not is_e5 and judge.model.pipeline != "sentence-similarity":
            return judge
        graded = {"question", "nugget", "assignment"} if is_e5 else {"question"}
        if graded.intersection(kinds):
            return judge
        if not graded & self._asked:
            raise SelectionError(f"{self._grades_only}: name another judge with --model, such as {LEXICAL}.")
        return Judge(ModelOptions(LEXICAL), ["--model", LEXICAL])

    def ask(
        self,
        title: str,
        words: Words,
        output: str,
        work: Work,
        facts: Mapping[str, Any],
        replies: str = "",
        judge: Judge | None = None,
    ) -> Path:
        """A step that asks a judge; ``facts`` change its output, ``replies`` names its journal."""
        judge = judge or self.judge
        if judge.retry_failed:
            (self.folder / output).unlink(missing_ok=True)
        journal = self._journal(output, replies, judge)
        return self._step(title, [*words, *judge.words], output, work, facts, journal)

    def _journal(self, output: str, replies: str, judge: Judge) -> Path:
        """The journal of the replies of a judge."""
        default = self.folder / f"{replies}.journal" if replies else journal_path(self.folder / output)
        return judge.journal or default

    def _step(
        self,
        title: str,
        words: Words,
        output: str,
        work: Work,
        facts: Mapping[str, Any] | None = None,
        journal: Path | None = None,
    ) -> Path:
        """Do a step unless it is complete; ``facts`` are its options, by default the words of its command."""
        path = self.folder / output
        target = path.parent if path.parent != self.folder else path
        inside = target.iterdir() if target.is_dir() else []
        _refuse_links([path, target, *inside, *([journal] if journal else [])])
        if os.path.realpath(path) in self._inputs:
            raise OutputError(f"{path} is an input, and the study would write it: rename it.")
        inputs = [file for word in words if isinstance(word, Path) for file in _files(word)]
        command: Words = [*words, *options("--journal", journal), "-o", target]
        self._say(shlex.join(["exam-pp", *map(typed, command)]))
        names = [os.path.relpath(file, self.folder) for file in inputs]
        texts = [word if isinstance(word, str) else os.path.relpath(word, self.folder) for word in words]

        def protected(path: Path, advance: Advance) -> Iterator[str]:
            with reading(inputs), STOP.on_sigterm():
                yield from work(path, journal or Path(), advance)

        known = {"words": texts} if facts is None else facts
        return self._steps.run(title, output, inputs, {**known, "files": names}, protected)


def _check_readers(name: Path, bank: TestBank, study: StudyFile) -> None:
    """Raise SelectionError for criteria and reference answers without whole answers, or without a reader."""
    for what, is_here, why, judges in (
        (
            "criteria", bank.has_criteria, "a warning against a mistake has the words of the mistake",
            [None, E5],
        ),
        (
            "reference answers", bank.has_references, "a wrong answer has most words of the right one",
            [None, LEXICAL, E5],
        ),
    ):  # fmt: skip
        if is_here and not study.answers:
            raise SelectionError(f"{name} has {what}, which are for whole answers: name --answers.")
        if is_here and study.model in judges:
            raise SelectionError(f"{name} has {what}, and {why}: name a language model with --model.")


def live_logs(folder: Path) -> list[Path]:
    """The logs of `exam-pp serve` in the folder of a study: what people changed, for each bank."""
    return sorted((folder / "live").glob("log*.jsonl"))


def _flags(**given: bool) -> list[str]:
    """The options of a command without a value."""
    return [f"--{name.replace('_', '-')}" for name, is_given in given.items() if is_given]


def _refuse_links(places: Iterable[Path]) -> None:
    """Raise OutputError for a link in place of an output, which would lead outside the study."""
    for place in places:
        if place.is_symlink():
            raise OutputError(f"{place} is a link, which a study does not write through: remove it.")


def _files(path: Path) -> list[Path]:
    """The file, or the visible files of a folder."""
    if not path.is_dir():
        return [path] if path.exists() else []
    return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
