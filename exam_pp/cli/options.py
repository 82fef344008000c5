"""Options that several commands share, each with one home."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.reports.document import Report

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])
ReportFormat = Literal["text", "tsv", "json", "md"]

PASSAGES = click.argument("passages", type=click.Path(path_type=Path, allow_dash=True))
GRADED = click.argument("graded", type=click.Path(path_type=Path, allow_dash=True))

METHOD_NAME = click.option(
    "--method-name",
    type=click.Choice(["stem", "tag"]),
    default="stem",
    show_default=True,
    help="Name a run's system by its file, or by the tag in its lines.",
)


def output_option(help_text: str = "Write here instead of standard output.") -> Callable[[F], F]:
    """``-o FILE``; the default is standard output."""
    return click.option(
        "-o", "--output", type=click.Path(path_type=Path, allow_dash=True), default="-", help=help_text
    )


def format_option(*formats: str) -> Callable[[F], F]:
    """``--format``; the first is the default."""
    names = formats or ("text", "tsv", "json", "md")
    return click.option(
        "--format",
        "form",
        type=click.Choice(names),
        default=names[0],
        show_default=True,
        help="Output format.",
    )


def filter_options(function: F) -> F:
    """Which grades to look at; the command receives ``grade_filter``-ready keyword arguments."""
    options = [
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
    ]
    for option in reversed(options):
        function = option(function)
    return function


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
    from exam_pp.prompts import PROMPTS

    also_called: tuple[str, ...] = ()
    if prompt_class is not None and prompt_class in PROMPTS:
        prompt_class = PROMPTS.get(prompt_class).name
        also_called = PROMPTS.aliases(prompt_class)
    return GradeFilter(model, prompt_class, prompt_type, question_set, prompt_hash, grade_choice, also_called)


def answers_class_option(function: F) -> F:
    """``--answers-class``; the command receives the prompt's name, whichever of its names was given."""

    def name_of(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
        from exam_pp.prompts import PROMPTS

        return PROMPTS.get(value).name if value is not None and value in PROMPTS else value

    return click.option(
        "--answers-class",
        metavar="NAME",
        callback=name_of,
        help="The prompt whose answers explain the ratings (default: any without a scale).",
    )(function)


def prompt_file_option(help_text: str) -> Callable[[F], F]:
    """``--prompt-file``, repeatable; the command receives ``prompt_files``."""
    return click.option(
        "--prompt-file", "prompt_files", multiple=True, type=click.Path(path_type=Path), help=help_text
    )


def plot_option(what: str) -> Callable[[F], F]:
    """``--plot FILE``, for a figure beside the report."""
    return click.option("--plot", type=click.Path(path_type=Path), help=f"Also draw {what} (.png or .svg).")


def emit(text: str | Iterable[str], output: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Write a finished text, or its parts, to the output, atomically."""
    from exam_pp.store.files import write_text

    write_text(output, text, inputs=[path for path in inputs if path is not None])


def emit_report(report: Report, form: str, output: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Write a report in a format; what TSV has no room for goes to standard error."""
    from exam_pp.reports.document import Paragraph
    from exam_pp.reports.render import rendered

    if form == "tsv":
        log_notes(block.text for block in report.blocks if isinstance(block, Paragraph))
    emit(rendered(report, form), output, inputs)


def log_notes(notes: Iterable[str]) -> None:
    """What a reader has to know, on standard error."""
    for note in notes:
        log.warning("%s", note)
