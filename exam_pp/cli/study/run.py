"""``exam-pp run``: a whole study, from the files of its systems to the verdict, in one command."""

from __future__ import annotations

import itertools
import logging
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp import defaults
from exam_pp.cli.command import Command
from exam_pp.cli.command_line import is_given
from exam_pp.cli.guard import note_output
from exam_pp.cli.model_options import model_options
from exam_pp.cli.options import (
    COLUMNS,
    FILE,
    FILES,
    MAX_TOKENS_TOTAL,
    QUERIES_FILE,
    REPAIR,
    SPLIT_LINES,
    TO_BATCH,
    OutputPath,
    prompt_file_option,
    prompt_option,
)
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError

if TYPE_CHECKING:
    from exam_pp.studies.engine import Results
    from exam_pp.studies.inputs import StudyFile

log = logging.getLogger(__name__)

_KEYS = {
    **{
        name: name
        for name in ("passages", "runs", "texts", "queries", "bank", "answers", "qrels", "official", "edits")
    },
    **{name: name for name in ("top", "games", "model", "base_url", "columns", "split_lines", "repair")},
    "prompt": "prompt_classes",
    "prompt_file": "prompt_files",
    "model_pipeline": "pipeline",
}
"""Keys of a study file and the parameters of the command."""
_GRADED = tuple(f"{name}.jsonl.gz" for name in ("graded", "graded-1", "assigned", "assigned-1", "games"))
"""Files of a study that its judge has made."""


class _Run(Command):
    """A command whose options take several files, as a shell makes them of a pattern."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the option before each further file after its first one."""
        several = {
            name for each in self.params if each.multiple and each.type in (FILE, FILES) for name in each.opts
        }
        words: list[str] = []
        option = ""
        for before, word in itertools.pairwise(["", *args]):
            if word.startswith("-") and word != "-":
                option = word if word in several else ""
            elif option and before != option and not _is_study(word):
                words.append(option)
            words.append(word)
        return super().parse_args(ctx, words)


def _is_study(word: str) -> bool:
    return word.endswith(".toml") or (Path(word) / "study.toml").exists()


@click.command("run", cls=_Run)
@click.argument("study", type=click.Path(path_type=Path), required=False)
@click.option("--runs", multiple=True, type=FILES, help="Run file, or folder of run files; may be repeated.")
@click.option("--texts", multiple=True, type=FILE, help="Texts of the passages; may be repeated.")
@click.option("--queries", type=QUERIES_FILE, help="The queries, with their texts.")
@click.option(
    "--bank", multiple=True, type=FILE,
    help="Test bank of questions or nuggets, also as a table; may be repeated.",
)  # fmt: skip
@click.option("--answers", multiple=True, type=FILE, help="Answers of RAG systems; may be repeated.")
@click.option(
    "--passages", type=FILE,
    help="Passages file in place of --runs and --answers; without --model, its grades make the verdict.",
)  # fmt: skip
@click.option("--qrels", multiple=True, type=FILE, help="Judgments of people; may be repeated.")
@click.option("--official", type=FILE, help="Official leaderboard: ranks or scores.")
@click.option(
    "--edits", multiple=True, type=FILE,
    help="Corrections of the review page, which count in place of the judge's grades; may be repeated, and "
    "replaces the corrections of the last time.",
)  # fmt: skip
@COLUMNS
@SPLIT_LINES
@REPAIR
@click.option(
    "--top",
    type=IntRange(1),
    help=f"Number of passages of each run and query.  [default: {defaults.CUTOFF}]",
)
@prompt_option(
    "Prompt to grade with; may be repeated.  [default: from the kind of the bank]",
    "prompt_classes",
    multiple=True,
)
@prompt_file_option("TOML file with your own prompt to grade with; may be repeated.")
@click.option("--without", multiple=True, metavar="NAME", help="Remove this system; may be repeated.")
@click.option("--games/--no-games", default=False, help="Also let the judge compare the answers in pairs.")
@model_options(required=False)
@TO_BATCH
@MAX_TOKENS_TOTAL
@click.option(
    "-o", "--output", type=OutputPath(folders=True, files=False),
    help="Folder of the study.  [default: that of STUDY]",
)  # fmt: skip
@click.option(
    "--outside",
    is_flag=True,
    help="Permit a study file that names files outside its folder and the working folder.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    study: Path | None,
    output: Path | None,
    without: tuple[str, ...],
    outside: bool,
    batch: Path | None,
    max_tokens_total: int | None,
    **_options: Any,
) -> None:
    """Import, grade and evaluate systems, and say which one is better.

    Runs and answers are graded with the test bank by the judge (`--model`). The folder gets all files: the
    graded passages, the report with the verdict, the page to correct grades, and study.toml with the options,
    which STUDY (the file or its folder) takes up again. Then options add systems and texts, or replace
    systems of the same name; other options replace those of STUDY. The judge of a study does not change.
    Without --model it is e5, if its package is installed, and else the baseline lexical.

    Every step is an `exam-pp` command, which is printed, so that a script can take over. After an
    interruption, or a change of a file, repeat the command: only what is missing or changed is done.

    \b
    Examples:
      exam-pp run --runs runs --texts passages.tsv --queries queries.jsonl --bank questions.jsonl -o new-study
      exam-pp run study/study.toml --edits edits.json
    """
    from exam_pp.phases.grading.steps import make_folder
    from exam_pp.studies.engine import Engine, live_logs
    from exam_pp.studies.inputs import STUDY_FILE, StudyFile, read_study, with_systems

    if study is not None and study.is_dir():
        study /= STUDY_FILE
    if output is None and study is None:
        raise click.UsageError("run needs -o FOLDER, or the file of a study.")
    folder = output or (Path() if study is None else study.parent)
    note_output(context, folder, next(each for each in context.command.params if each.name == "output"))
    recorded = folder / STUDY_FILE
    source = study or (recorded if recorded.exists() else None)
    given = _given(context)
    before = StudyFile() if source is None else read_study(source, given, outside=outside)
    chosen = with_systems(before, given, without)
    if recorded.exists():
        chosen = _with_judge_of(read_study(recorded, given, outside=outside), chosen, folder)
    _check(chosen)
    if (logs := live_logs(folder)) and "edits" in given:
        raise SelectionError(f"Corrections of this study are in {logs[0]}: leave out --edits.")
    make_folder(folder)
    engine = Engine(
        chosen, folder, batch=batch, max_tokens_total=max_tokens_total,
        progress=lambda title: progress(title, "pairs"), say=lambda line: click.echo(f"$ {line}"),
    )  # fmt: skip
    results = engine.run()
    for board in results.boards:
        _show(board.words)
    for note in engine.notes:
        click.echo(note)
    if results.games is not None:
        try:
            _show(["evaluate", "elo", str(results.games)])
        except SelectionError as error:  # such as games that are all ungraded; the other results stay
            log.warning("%s", error)
    click.echo(_next_steps(engine.study, folder, results, is_live=bool(logs)))


def _given(context: click.Context) -> dict[str, Any]:
    """The options that the user named, as values of a study."""
    from exam_pp.phases.grading.settings_files import typed_settings

    given: dict[str, Any] = {}
    for key, name in _KEYS.items():
        if is_given(context, name):
            given[key] = _as_in_file(context.params[name])
    if Path(given.get("model") or "-").exists() and not given["model"].startswith((".", "/")):
        given["model"] = f"./{given['model']}"
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


def _with_judge_of(before: StudyFile, chosen: StudyFile, folder: Path) -> StudyFile:
    """The study with the judge that graded it; raises SelectionError for another one."""

    def judge(study: StudyFile) -> dict[str, Any]:
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


def _check(study: StudyFile) -> None:
    """Raise SelectionError or DataError for inputs that cannot be a study."""
    from exam_pp.store.files import check_ends

    systems = study.runs or study.answers
    for is_wrong, sentence in (
        (not (systems or study.passages), "A study needs systems: --runs, --answers or --passages."),
        (systems and study.passages, "--passages has its systems; leave out --runs and --answers."),
        (
            not study.bank and (study.model or not study.passages),
            "A study needs a test bank: --bank. `exam-pp generate questions` lets a model write one.",
        ),
        (study.runs and not study.texts, "The passages of runs need texts: --texts."),
        (study.games and not study.answers, "--games compares answers: it needs --answers."),
    ):
        if is_wrong:
            raise SelectionError(sentence)
    for path in study.paths:
        check_ends(path)  # a pipe could not be read at the next run


def _next_steps(study: StudyFile, folder: Path, results: Results, *, is_live: bool) -> str:
    """What to do with the results."""
    from exam_pp.plugins import offered
    from exam_pp.studies.boards import typed
    from exam_pp.studies.inputs import words_again

    words = ["exam-pp", "run", folder, *words_again(study, folder)]
    again = shlex.join(map(typed, words))
    # A plug-in offers a function of the words of the command again, which returns a line.
    offers = [line(words[2:]) for line in offered("next steps of a study")] if results.boards else []
    lines = ["", "Next:", *offers, f"  See why: open {' and '.join(map(str, results.reports))}"]
    pages = [path for report in results.reports if (path := report.parent / "review.html").exists()]
    if pages and not is_live:  # where people correct on the served page
        # The page saves only new ratings, and --edits replaces earlier files: so these are named again.
        new = _new_edits(study)
        saved = "save edits.json" if new == "edits.json" else f"save edits.json as {new}"
        files = [typed(Path(file)) for file in (*study.edits, new)]
        edits = shlex.join(word for file in files for word in ("--edits", file))
        lines.append(f"  Correct grades: open {' or '.join(map(str, pages))}, {saved}, then {again} {edits}")
    lines.append(f"  Add systems or change the bank: {again}")
    return "\n".join(lines)


def _new_edits(study: StudyFile) -> str:
    """A name for the next edits file, which is not that of an earlier one."""
    names = itertools.chain(["edits.json"], (f"edits-{number}.json" for number in itertools.count(2)))
    taken = {Path(path).resolve() for path in study.edits}
    return next(name for name in names if Path(name).resolve() not in taken)


def _show(words: Sequence[str]) -> None:
    """Run a command that shows a leaderboard; raises its error, or Exit with its exit code."""
    from exam_pp.cli.main import cli

    click.echo(f"\n$ {shlex.join(['exam-pp', *words])}")
    code = cli.main(args=list(words), prog_name="exam-pp", standalone_mode=False)
    if isinstance(code, int) and code:
        raise click.exceptions.Exit(code)
