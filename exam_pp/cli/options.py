"""Options that several commands share, each with one home."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterable
from errno import EACCES
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exam_pp.errors import DataError
from exam_pp.rendering.render import RENDERERS, REPORT_FORMATS
from exam_pp.store.files import is_stream

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.rendering.document import Report
    from exam_pp.rendering.plots import Drawing

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])
SCRIPT_FORMATS = ("tsv", "json")
"""Formats with a number in every cell, and every row on its own."""


class InputPath(click.Path):
    """A file that is read, or ``-``: what cannot be is told before any work, in the words of the readers.

    click's own checks would make it a wrong usage. With ``folders`` a folder is fine, with ``data_sets`` a
    name such as ``irds:NAME``.
    """

    def __init__(self, *, folders: bool = False, data_sets: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=folders, allow_dash=True, readable=False)
        self._data_sets = data_sets

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The path; raises :class:`DataError`."""
        name = os.fspath(value)
        if not name:  # such as "$UNSET", which would be this folder
            self.fail("an empty name is no file.", param, ctx)
        if name != "-" and not (self._data_sets and name.startswith("irds:")):
            try:
                mode = Path(name).stat().st_mode
                if not os.access(name, os.R_OK):
                    raise PermissionError(EACCES, os.strerror(EACCES))
            except OSError as error:
                raise DataError(f"cannot be read ({error.strerror}).", file=name) from error
            if stat.S_ISDIR(mode) and not self.dir_okay:
                raise DataError("is a folder, not a file.", file=name)
        return super().convert(value, param, ctx)


class OutputPath(click.Path):
    """A file that is written, or ``-``; two outputs of a command are two files, or one would be lost."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, allow_dash=True, readable=False)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The path; :class:`click.BadParameter` for that of another option."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if ctx is not None and param is not None and not is_stream(path):
            outputs: dict[Path, click.Parameter] = ctx.meta.setdefault(__name__, {})
            other = outputs.setdefault(path.resolve(), param)
            if other is not param:
                self.fail(f"{path} is the file of {other.opts[-1]}, too.", param, ctx)
        return path


FILE = InputPath()
FILES = InputPath(folders=True)
QUERIES_FILE = InputPath(data_sets=True)
OUTPUT_PATH = OutputPath()

PASSAGES = click.argument("passages", type=FILE)
GRADED = click.argument("graded", type=FILE)
MIN_GRADE_DEFAULT = "[default: 4, or the top of a shorter scale; 1 for prompts without a scale]"
MIN_GRADE = click.option(
    "--min-grade", type=int, help=f"Grade from which an entry is covered.  {MIN_GRADE_DEFAULT}"
)
CUTOFF = click.option(
    "--cutoff",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many ranks of a system count.",
)
UNPARSED = click.option(
    "--unparsed",
    type=click.Choice(["default", "ungraded", "published"]),
    default="default",
    show_default=True,
    help="What replies that are no number become.",
)
QUERY_TEXTS = "Texts of the queries (JSON, JSONL or TSV)."
ONLY_QUERY = click.option(
    "--query", "queries", multiple=True, metavar="ID", help="Only this query; may be repeated."
)
LABEL_RULE = click.option(
    "--label-rule", help="Label by a rule in place of the best rating, such as '2nd>=5:3, 2nd>=4:1, else 0'."
)

METHOD_NAME = click.option(
    "--method-name",
    type=click.Choice(["stem", "tag"]),
    default="stem",
    show_default=True,
    help="Name a run's system by its file, or by the tag in its lines.",
)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several arguments and options as one decorator, in the order of the help."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def take(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Some of a command's keyword arguments, taken out of them."""
    return {name: options.pop(name) for name in names}


def output_option(help_text: str = "Write here instead of standard output.") -> Callable[[F], F]:
    """``-o FILE``; the default is standard output."""
    return click.option("-o", "--output", type=OUTPUT_PATH, default="-", help=help_text)


def required_output(help_text: str) -> Callable[[F], F]:
    """``-o FILE`` that has to be named, if only as ``-``."""
    return click.option("-o", "--output", type=OUTPUT_PATH, required=True, help=help_text)


def min_relevant_option(*also_called: str) -> Callable[[F], F]:
    """``--min-relevant-judgment``; the command receives ``min_relevant``."""
    return click.option(
        *also_called,
        "--min-relevant-judgment",
        "min_relevant",
        type=int,
        default=1,
        show_default=True,
        help="Judgment from which a passage is relevant (TREC DL: 2).",
    )


journal_options = together(
    click.option(
        "--retry-failed", is_flag=True, help="Ask again what failed before this run was interrupted."
    ),
    click.option(
        "--journal",
        type=click.Path(path_type=Path),
        help="Reply journal.  [default: next to -o]",
    ),
    click.option("--keep-journal", is_flag=True, help="Keep the journal once the output stands."),
)
"""How a command that asks a model continues after an interruption; the names are :data:`JOURNAL`."""
JOURNAL = ("journal", "keep_journal", "retry_failed")

new_bank_options = together(
    click.option("--test-collection", default="", help="Name of the collection, for the bank's records."),
    click.option("--description", default="", help="Words about this bank, for its records."),
    click.option("--max-queries", type=click.IntRange(1), help="Only the first queries."),
)
"""What the records of a bank say that a model writes, and for which queries; :data:`NEW_BANK` names them."""
NEW_BANK = ("test_collection", "description", "max_queries")


class _Format(click.Choice[str]):
    """Formats of this package; those of others are looked for only when a name is none of these."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name of the format."""
        if value not in self.choices and value in RENDERERS:
            return value
        return super().convert(value, param, ctx)


def format_option(*others: str) -> Callable[[F], F]:
    """``--format`` of a report; ``others`` are layouts that the command writes itself."""
    return click.option(
        "--format",
        "form",
        type=_Format((*REPORT_FORMATS, *others)),
        default=REPORT_FORMATS[0],
        show_default=True,
        help="Output format.",
    )


filter_options = together(
    click.option("--model", help="Only grades by this model."),
    click.option("--prompt-class", help="Only grades made with this prompt."),
    click.option(
        "--prompt-type",
        type=click.Choice(["question", "nugget", "direct"]),
        help="Only grades of this kind.",
    ),
    click.option("--prompt-hash", help="Only grades made with this version of the prompt's words."),
    click.option(
        "--question-set",
        type=click.Choice(["tqa", "genq", "question-bank"]),
        help="Only grades of this kind of bank.",
    ),
    click.option(
        "--grade-choice",
        type=click.Choice(["unite", "first"]),
        default="unite",
        show_default=True,
        help="Unite equal model and prompt (later ratings win), or take the first as published.",
    ),
)
"""Which grades to look at; the command receives ``grade_filter``-ready keyword arguments."""


def grade_filter(
    model: str | None,
    prompt_class: str | None,
    prompt_type: Any,
    prompt_hash: str | None,
    question_set: Any,
    grade_choice: Any,
) -> GradeFilter:
    """The filter that the shared options describe; a prompt is accepted under all its names."""
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.prompts.base import under_all_names

    return under_all_names(
        GradeFilter(model, prompt_class, prompt_type, question_set, prompt_hash, grade_choice)
    )


def answers_class_option(function: F) -> F:
    """``--answers-class``; the command receives the prompt's name, whichever of its names was given."""

    def name_of(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
        from exam_pp.prompts import PROMPTS

        prompt = PROMPTS.find(value)
        return value if prompt is None else prompt.name

    return click.option(
        "--answers-class",
        metavar="NAME",
        callback=name_of,
        help="The prompt whose answers explain the ratings.  [default: any without a scale]",
    )(function)


def prompt_file_option(help_text: str) -> Callable[[F], F]:
    """``--prompt-file``, repeatable; the command receives ``prompt_files``."""
    return click.option("--prompt-file", "prompt_files", multiple=True, type=FILE, help=help_text)


def plot_option(what: str) -> Callable[[F], F]:
    """``--plot FILE``, for a figure beside the report."""
    return click.option("--plot", type=OUTPUT_PATH, help=f"Also draw {what} (.png or .svg).")


def emit(text: str | Iterable[str], output: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Write a finished text, or its parts, to the output, atomically."""
    from exam_pp.store.files import write_text

    write_text(output, text, inputs=[path for path in inputs if path is not None])


def emit_report(report: Report, form: str, output: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Write a report in a format; what TSV has no room for goes to standard error."""
    from exam_pp.rendering.render import rendered

    if form == "tsv":
        log_notes(report.notes)
    emit(rendered(report, form), output, inputs)


def emit_figure(drawing: Drawing, path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Write a figure as a PNG or SVG, by the name; raises :class:`~exam_pp.errors.ExamError`."""
    from exam_pp.rendering.plots import draw, figure_format
    from exam_pp.store.files import atomic_output

    data = draw(drawing[0], figure_format(path), size=drawing[1])
    with atomic_output(path, inputs=[source for source in inputs if source is not None]) as stream:
        stream.write(data)


def log_summary(lines: Iterable[object]) -> None:
    """What was done, on standard error."""
    for line in lines:
        log.info("%s", line)


def log_notes(notes: Iterable[str]) -> None:
    """What a reader has to know, on standard error."""
    for note in notes:
        log.warning("%s", note)
