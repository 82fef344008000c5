"""``exam-pp run``: a whole study, from the files of its systems to the verdict, in one command."""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import is_given
from exam_pp.cli.guard import note_output
from exam_pp.cli.model_options import model_options
from exam_pp.cli.options import (
    COLUMNS,
    FILE,
    FILES,
    QUERIES_FILE,
    OutputPath,
    prompt_file_option,
    prompt_option,
)
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError
from exam_pp.judges import E5, LEXICAL

if TYPE_CHECKING:
    from exam_pp.phases.study.study_file import Study

log = logging.getLogger(__name__)

_KEYS = {
    **{name: name for name in ("runs", "texts", "queries", "bank", "answers", "qrels", "official", "edits")},
    **{name: name for name in ("top", "games", "model", "base_url", "columns")},
    "prompt": "prompt_classes",
    "prompt_file": "prompt_files",
    "model_pipeline": "pipeline",
}
"""Keys of a study file and the parameters of the command."""
_GRADED = tuple(f"{name}.jsonl.gz" for name in ("graded", "graded-1", "assigned", "assigned-1", "games"))
"""Files of a study that its judge has made."""

Words = list[str | Path]
"""Words of a command, with its input files as paths."""


@click.command("run", cls=Command)
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option("--runs", multiple=True, type=FILES, help="Run file, or folder of run files; may be repeated.")
@click.option("--texts", multiple=True, type=FILE, help="Texts of the passages; may be repeated.")
@click.option("--queries", type=QUERIES_FILE, help="The queries, with their texts.")
@click.option(
    "--bank", multiple=True, type=FILE,
    help="Test bank of questions or nuggets, also as a table; may be repeated.",
)  # fmt: skip
@click.option("--answers", multiple=True, type=FILE, help="Answers of RAG systems; may be repeated.")
@click.option("--qrels", multiple=True, type=FILE, help="Judgments of people; may be repeated.")
@click.option("--official", type=FILE, help="Official leaderboard: ranks or scores.")
@click.option(
    "--edits", multiple=True, type=FILE,
    help="Corrections of the review page, which count in place of the judge's grades; may be repeated, and "
    "replaces the corrections of the last time.",
)  # fmt: skip
@COLUMNS
@click.option("--top", type=IntRange(1), help="Number of passages of each run and query.  [default: 20]")
@prompt_option(
    "Prompt to grade with; may be repeated.  [default: from the kind of the bank]",
    "prompt_classes",
    multiple=True,
)
@prompt_file_option("TOML file with your own prompt to grade with; may be repeated.")
@click.option("--games/--no-games", default=False, help="Also let the judge compare the answers in pairs.")
@model_options(required=False)
@click.option(
    "-o", "--output", type=OutputPath(folders=True, files=False),
    help="Folder of the study.  [default: that of STUDY]",
)  # fmt: skip
@click.pass_context
def command(context: click.Context, /, *, study: Path | None, output: Path | None, **_options: Any) -> None:
    """Import, grade and evaluate systems, and say which one is better.

    Runs and answers are graded with the test bank by the judge (`--model`). The folder gets all files: the
    graded passages, the report with the verdict, the page to correct grades, and study.toml with the options,
    which STUDY takes up again. Options replace those of STUDY. The judge of a study does not change. Without
    --model it is e5 for questions, if its package is installed, and else the baseline lexical.

    Every step is an `exam-pp` command, which is printed, so that a script can take over. After an
    interruption, or a change of a file, repeat the command: only what is missing or changed is done.

    \b
    Examples:
      exam-pp run --runs runs --texts passages.tsv --queries queries.jsonl --bank questions.jsonl -o new-study
      exam-pp run study/study.toml --edits edits.json
    """
    from exam_pp.phases.grading.steps import make_folder
    from exam_pp.phases.study.study_file import STUDY_FILE, Study, read_study

    if output is None and study is None:
        raise click.UsageError("run needs -o FOLDER, or the file of a study.")
    folder = output or (Path() if study is None else study.parent)
    note_output(context, folder, next(each for each in context.command.params if each.name == "output"))
    recorded = folder / STUDY_FILE
    source = study or (recorded if recorded.exists() else None)
    given = _given(context)
    chosen = Study() if source is None else read_study(source, given)
    chosen = chosen.model_copy(update=given)
    if recorded.exists():
        chosen = _with_judge_of(read_study(recorded, given), chosen, folder)
    _check(chosen)
    make_folder(folder)
    _Work(chosen, folder).run()


def _given(context: click.Context) -> dict[str, Any]:
    """The options that the user named, as values of a study."""
    from exam_pp.phases.grading.settings_files import typed_settings

    given: dict[str, Any] = {}
    for key, name in _KEYS.items():
        if is_given(context, name):
            given[key] = _as_in_file(context.params[name])
    if is_given(context, "settings"):
        settings = typed_settings(context.params["settings"])
        given["settings"] = {key: getattr(settings, key) for key in settings.model_fields_set - {"model"}}
    return given


def _as_in_file(value: Any) -> Any:
    """The value of an option as a study file has it."""
    if isinstance(value, tuple):
        return [str(each) for each in value]
    if isinstance(value, dict):
        return ",".join(f"{meaning}={column}" for meaning, column in value.items())
    return str(value) if isinstance(value, Path) else value


def _with_judge_of(before: Study, chosen: Study, folder: Path) -> Study:
    """The study with the judge that graded it; raises SelectionError for another one."""

    def judge(study: Study) -> dict[str, Any]:
        same_paths = study.with_paths(lambda _key, path: os.path.relpath(path))
        return same_paths.model_dump(include={"model", "model_pipeline", "settings"})

    if chosen.model is None:
        return chosen.model_copy(update=judge(before))
    is_graded = any((folder / name).exists() for name in _GRADED)  # else the judge may have failed
    if is_graded and judge(before) != judge(chosen):
        other = chosen.model if chosen.model != before.model else f"{chosen.model} with other settings"
        raise SelectionError(
            f"The study in {folder} was graded by {before.model}: leave out --model, or name another folder "
            f"with -o for the study by {other}."
        )
    return chosen


def _check(study: Study) -> None:
    """Raise SelectionError for inputs that cannot be a study."""
    from exam_pp.phases.study.study_file import option_of
    from exam_pp.store.files import is_read_once

    if not (study.runs or study.answers):
        raise SelectionError("A study needs systems: --runs or --answers.")
    if not study.bank:
        raise SelectionError(
            "A study needs a test bank: --bank. `exam-pp generate questions` lets a model write one."
        )
    if study.runs and not study.texts:
        raise SelectionError("The passages of runs need texts: --texts.")
    if study.games and not study.answers:
        raise SelectionError("--games compares answers: it needs --answers.")

    def check(key: str, path: str) -> str:
        if not Path(path).is_dir() and is_read_once(path):
            raise SelectionError(
                f"{option_of(key)} is read several times and cannot be a stream: name a file."
            )
        return path

    study.with_paths(check)


class _Work:
    """The steps of a study, each a command of its own."""

    def __init__(self, study: Study, folder: Path) -> None:
        from exam_pp.phases.grading.steps import Steps

        self.study = study
        self.folder = folder
        self.steps = Steps(folder)
        self.reports: list[Path] = []

    def run(self) -> None:
        """Do all steps, and print the verdict and what to do next."""
        from exam_pp.phases.study.study_file import STUDY_FILE, write_study
        from exam_pp.store.banks.bank_json import read_bank

        study = self.study
        banks = [self.bank(number, Path(path)) for number, path in enumerate(study.bank, 1)]
        kinds = {bank: read_bank(bank).kinds for bank in banks}
        if study.model is None:
            asks = {"question"} in kinds.values() and not (study.prompt or study.prompt_file)
            judge = _judge_of_questions() if asks else LEXICAL
            study = self.study = study.model_copy(update={"model": judge})
        of_answers = [bank for bank in banks if study.answers and kinds[bank] == {"nugget"}]
        rated = [bank for bank in banks if bank not in of_answers]
        if study.edits and not rated:
            raise SelectionError(
                "--edits corrects grades of questions, but this study has nuggets of answers only. Correct "
                "assignments of nuggets with `exam-pp apply`."
            )
        if not (self.folder / STUDY_FILE).exists():
            write_study(study, self.folder / STUDY_FILE)  # the judge, before it grades
        last: list[list[str]] = []
        if rated:
            last.append(self.rate(rated))
        for number, bank in enumerate(of_answers, 1):
            last.append(self.assign(bank, "" if len(of_answers) == 1 else f"-{number}"))
        if study.games:
            last.append(self.games())
        for words in last:
            click.echo(f"\n$ {shlex.join(['exam-pp', *words])}")
            _exam_pp(words)
        # Options that failed, such as edits of another file, are not kept for the next time.
        write_study(study, self.folder / STUDY_FILE)
        click.echo(self.next_steps(rated=bool(rated)))

    def bank(self, number: int, path: Path) -> Path:
        """A bank as a file of this package; other formats are converted."""
        from exam_pp.formats.base import known_format
        from exam_pp.store.tables import columns_of

        form = known_format(path)
        if form is not None and form.name == "bank":
            return path
        name = "bank.jsonl" if len(self.study.bank) == 1 else f"bank-{number}.jsonl"
        named = {pair.partition("=")[2] for pair in (self.study.columns or "").split(",")}
        columns = _options("--columns", self.study.columns) if named & set(columns_of(path)) else []
        # A table may name queries by their texts.
        queries = _options("--queries", self.study.queries) if form is None or form.name == "bank-csv" else []
        return self.step("Bank", ["bank", "import", path, *queries, *columns], name)

    def rate(self, banks: Sequence[Path]) -> list[str]:
        """Grade what the systems returned, and write the report; returns the command of the verdict."""
        from exam_pp.store.banks.bank_json import read_bank

        study = self.study
        inputs = _options("--runs", study.runs) + _options("--texts", study.texts)
        inputs += _options("--queries", study.queries) + _options("--qrels", study.qrels)
        inputs += _options("--answers", study.answers) + _options("--columns", study.columns)
        inputs += _options("--top", study.top if study.runs else None)
        passages = graded = self.step("Import", ["import", *inputs], "passages.jsonl.gz")
        self.step("Check", ["validate", passages, *banks], "checks.txt")
        for number, bank in enumerate(banks, 1):
            name = "graded.jsonl.gz" if number == len(banks) else f"graded-{number}.jsonl.gz"
            prompts = _options("--prompt", study.prompt) + _options("--prompt-file", study.prompt_file)
            nuggets = read_bank(bank).kinds == {"nugget"}
            judge = self.judge_of_answers() if nuggets else self.judge()
            words: Words = ["grade", graded, "--bank", bank, *prompts, *judge]
            graded = self.step("Grade", words, name, f"replies-{number}")
        depth = _options("--cutoff", study.cutoff)
        if study.edits:
            words = [
                "apply",
                graded,
                *map(Path, study.edits),
                *_options("--bank", banks[:1]),
                *depth,
                "--force",
            ]
            graded = self.step("Correct", words, "corrected.jsonl.gz")
        of_banks = _options("--bank", banks)
        official = _options("--official", study.official)
        words = ["evaluate", "report", graded, *of_banks, *official, *depth]
        self.report(words, "report")
        if len(banks) > 1:  # the report has the leaderboards of all banks
            depth += ["--grades", f"type={min(read_bank(banks[0]).kinds)}"]
        return ["evaluate", "cover", str(graded), *map(str, of_banks[:2]), *map(str, depth)]

    def assign(self, bank: Path, suffix: str) -> list[str]:
        """Assign nuggets to whole answers; returns the command of the verdict."""
        from exam_pp.llm.base import ModelOptions
        from exam_pp.phases.grading.prompt_files import assignment_prompt

        answers = self.answers()
        model = ModelOptions(self.study.model or "", self.study.model_pipeline or "text2text")
        prompt = assignment_prompt(model).shown
        words: Words = ["grade", answers, "--bank", bank, "--prompt", prompt, *self.judge_of_answers()]
        words += self.ids_as_texts(answers, bank)
        assigned = self.step("Assign", words, f"assigned{suffix}.jsonl.gz", f"replies-nuggets{suffix}")
        of_file: Words = [assigned, "--bank", bank]
        self.report(["evaluate", "report", *of_file], f"report-nuggets{suffix}")
        return ["evaluate", "nuggets", *map(str, of_file)]

    def report(self, words: Words, name: str) -> None:
        """Write a report, which the next steps name."""
        self.reports.append(self.step("Report", words, f"{name}/index.html"))

    def games(self) -> list[str]:
        """Let the judge compare answers; returns the command of the ratings."""
        study = self.study
        words: Words = ["compare", self.answers(), *_options("--queries", study.queries)]
        words += self.judge_of_answers()
        return ["evaluate", "elo", str(self.step("Games", words, "games.jsonl.gz", "replies-games"))]

    def answers(self) -> Path:
        """The whole answers."""
        words: Words = ["import", *_options("--answers", self.study.answers), "--unit", "whole"]
        words += _options("--queries", self.study.queries) + _options("--columns", self.study.columns)
        return self.step("Answers", words, "answers.jsonl.gz")

    def ids_as_texts(self, answers: Path, bank: Path) -> Words:
        """The option of a file with ids in place of texts, if no file has the text of a query."""
        from exam_pp.store.banks.bank_json import read_bank
        from exam_pp.store.passages.query_texts import stored_query_texts
        from exam_pp.store.trec.queries import write_queries

        queries = read_bank(bank)
        if stored_query_texts(answers) or any(query.query_text.strip() for query in queries):
            return []
        log.warning(
            "No file has the texts of the queries: the judge gets their ids. Name a file with --queries."
        )
        path = self.folder / "queries.json"
        if not path.exists():
            write_queries({query.query_id: query.query_id for query in queries}, path)
        return ["--queries", path]

    def judge(self) -> Words:
        """The options of the judge."""
        study = self.study
        return [
            *("--model", study.model or LEXICAL),
            *_options("--model-pipeline", study.model_pipeline),
            *_options("--base-url", study.base_url),
            *_options("-M", _settings(study)),
        ]

    def judge_of_answers(self) -> Words:
        """The options of the judge of nuggets and games, which a judge by similarity leaves to lexical."""
        by_similarity = self.study.model == E5 or self.study.model_pipeline == "sentence-similarity"
        return ["--model", LEXICAL] if by_similarity else self.judge()

    def step(self, title: str, words: Words, output: str, replies: str = "") -> Path:
        """Do a step, unless its output is complete; ``replies`` is the journal of what the judge replied."""
        path = self.folder / output
        target = path.parent if path.parent != self.folder else path
        inputs = [file for word in words if isinstance(word, Path) for file in _files(word)]
        journal = ["--journal", str(self.folder / f"{replies}.journal")] if replies else []
        command = [*map(str, words), *journal, "-o", str(target)]
        click.echo(f"$ {shlex.join(['exam-pp', *command])}")

        def work(_path: Path, _advance: object) -> Iterator[str]:
            _exam_pp(command)
            yield from ()

        options = [word if isinstance(word, str) else os.path.relpath(word, self.folder) for word in words]
        names = [os.path.relpath(file, self.folder) for file in inputs]
        return self.steps.run(title, output, inputs, {"words": options, "files": names}, work)

    def next_steps(self, *, rated: bool) -> str:
        """What to do with the results."""
        from exam_pp.phases.study.study_file import STUDY_FILE, option_of, typed_again

        study = self.folder / STUDY_FILE
        words: Words = ["exam-pp", "run", study]
        for key, value in typed_again(self.study, study).items():
            words += (
                _options("-M", _settings(self.study))
                if key == "settings"
                else _options(option_of(key), value)
            )
        again = shlex.join(map(str, words))
        lines = ["", "Next:", f"  See why: open {' and '.join(map(str, self.reports))}"]
        if rated:
            lines.append(
                f"  Correct grades: open {self.folder / 'report' / 'review.html'}, save edits.json, then "
                f"{again} --edits edits.json"
            )
        lines.append(f"  Add systems or change the bank: {again}")
        return "\n".join(lines)


def _settings(study: Study) -> list[str]:
    """The settings of the judge, as options have them."""
    return [
        f"{key}={each if isinstance(each, str) else json.dumps(each)}"
        for key, value in study.settings.items()
        for each in (value if key == "stop" else [value])  # -M stop may be repeated
    ]


def _judge_of_questions() -> str:
    """The default judge; if this machine cannot run ``e5``, the log has the reason."""
    from exam_pp.llm.packaged_e5 import default_judge, e5_problem

    if problem := e5_problem():
        log.info("%s The judge is %s.", problem, LEXICAL)
    return default_judge()


def _options(name: str, values: Any) -> Words:
    """The words of an option for each value, with files as paths."""
    if values is None:
        return []
    items = values if isinstance(values, list) else [values]
    return [word for item in items for word in (name, _path_or_text(name, item))]


_FILES = {"--runs", "--texts", "--queries", "--qrels", "--answers", "--bank", "--official", "--prompt-file"}


def _path_or_text(name: str, value: Any) -> str | Path:
    return Path(value) if name in _FILES and not str(value).startswith("irds:") else str(value)


def _files(path: Path) -> list[Path]:
    """The file, or the visible files of a folder."""
    if not path.is_dir():
        return [path] if path.exists() else []
    return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))


def _exam_pp(words: Sequence[str]) -> None:
    """Run a command; raises its error, or Exit with its exit code."""
    from exam_pp.cli.main import cli

    code = cli.main(args=list(words), prog_name="exam-pp", standalone_mode=False)
    if isinstance(code, int) and code:
        raise click.exceptions.Exit(code)
