"""Arguments and options that several commands share, and helpers for outputs and logs."""

from __future__ import annotations

import logging
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from errno import EACCES
from itertools import product
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from exam_pp import defaults
from exam_pp.cli.command_line import parameter_name
from exam_pp.cli.guard import note_input, note_output, note_report
from exam_pp.cli.output_format import ending_of, of_ending
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import DataError, OutputError
from exam_pp.rendering.render import RENDERERS, REPORT_FORMATS, render
from exam_pp.store.files import check_output, is_stream
from exam_pp.store.locks import temporary_folder
from exam_pp.text.wording import closest, listed

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.rendering.document import Picture, Report

log = logging.getLogger(__name__)
F = TypeVar("F", bound=Callable[..., Any])
_READS_STANDARD_INPUT = f"{__name__}.reads_standard_input"
SCRIPT_FORMATS = ("tsv", "json")
"""Formats for scripts: a flat table with full-precision values."""
READER_FORMATS = ("text", "html")
"""Formats for readers: they begin with the verdict, and shares are in percent."""


class InputPath(click.Path):
    """A file to read, or ``-``. A file that cannot be read raises DataError before any work starts.

    click's own checks would report wrong usage (exit code 2) instead. ``folders`` also accepts folders,
    ``data_sets`` names such as ``irds:NAME``, and ``manifests`` manifests, which a pattern such as ``runs/*``
    also matches.
    """

    is_input = True

    def __init__(self, *, folders: bool = False, data_sets: bool = False, manifests: bool = False) -> None:
        super().__init__(path_type=Path, dir_okay=folders, allow_dash=True, readable=False)
        self._data_sets = data_sets
        self._manifests = manifests

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the path; raises :class:`DataError`."""
        name = os.fspath(value)
        if not name:  # such as "$UNSET"; Path("") would be the current folder
            self.fail("the file name is empty.", param, ctx)
        if name != "-" and not (self._data_sets and name.startswith("irds:")):
            try:
                mode = Path(name).stat().st_mode
                if not os.access(name, os.R_OK):
                    raise PermissionError(EACCES, os.strerror(EACCES))
            except OSError as error:
                meant = _meant(name) if isinstance(error, FileNotFoundError) else ""
                raise DataError(f"cannot be read ({error.strerror}).{meant}", file=name) from error
            if stat.S_ISDIR(mode) and not self.dir_okay:
                raise DataError("is a folder, not a file.", file=name)
            if not self._manifests and name.endswith(".json"):
                _refuse_manifest(Path(name))
        if name == "-" and ctx is not None:
            if ctx.meta.get(_READS_STANDARD_INPUT):
                self.fail("standard input (-) can only be one of the inputs.", param, ctx)
            ctx.meta[_READS_STANDARD_INPUT] = True
        if not (self._data_sets and name.startswith("irds:")):
            note_input(ctx, Path(name), param)
        return super().convert(value, param, ctx)


def _refuse_manifest(path: Path) -> None:
    from exam_pp.store.manifests import is_manifest

    if is_manifest(path):
        raise DataError(
            "is the manifest of a file, which only `exam-pp show manifest` reads.", file=str(path)
        )


def _meant(name: str) -> str:
    """What the name of a missing file could stand for: a pattern, or a misspelling."""
    path = Path(name)
    if set(name) & set("*?["):
        matches = sorted(map(str, path.parent.glob(path.name)))
        return f" It is a pattern: name its files ({listed(matches)}), or their folder." if matches else ""
    names = [entry.name for entry in path.parent.iterdir()] if os.access(path.parent, os.R_OK) else []
    close = closest(path.name, names, 0.8)
    return f" Did you mean {path.with_name(close)}?" if close else ""


class UncheckedPath(click.Path):
    """An argument that may be a file to read; the command itself checks whether it can be read."""

    def __init__(self, path_type: type[Path] | None = None) -> None:
        super().__init__(path_type=path_type, allow_dash=True, readable=False)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the path."""
        if os.path.exists(value):  # noqa: PTH110 - SQL can be too long for a path, which pathlib raises
            note_input(ctx, Path(value), param)
        return super().convert(value, param, ctx)


class OutputPath(click.Path):
    """A file to write, or ``-``. Two outputs of a command must be different files.

    A file that cannot be written raises OutputError before any work starts. ``folders`` also accepts the name
    of a folder, which may be new; ``files`` is False if only a folder is possible.
    """

    def __init__(self, *, folders: bool = False, files: bool = True) -> None:
        super().__init__(path_type=Path, allow_dash=files, file_okay=files, readable=False)
        self._folders = folders
        self.name = "file" if files else "directory"  # The metavar in --help; click would write PATH.

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the path; raises :class:`OutputError`, or BadParameter if another option has the path."""
        from exam_pp.store.manifests import SUFFIX  # imports pydantic, which would make --help slow

        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if not self.file_okay and ending_of(path) and not path.is_dir():
            self.fail(f"{path} has the name of a file, but this is a folder: -o {path.with_suffix('')}.")
        if os.path.realpath(path).endswith(SUFFIX):  # also a link to a manifest
            raise OutputError(
                f"{path} has the name of a manifest. Choose a name that does not end in {SUFFIX}."
            )
        if not self._folders:
            check_output(path, option=param.opts[0] if param is not None else "-o")
        if ctx is not None and param is not None and not is_stream(path):
            note_output(ctx, path, param)
        return path


class FigurePath(OutputPath):
    """A figure to write; the suffix is checked before any work starts."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the path; raises :class:`OutputError`."""
        path: Path = super().convert(value, param, ctx)
        if path.suffix.lower() != ".svg":
            raise OutputError(
                f"{path}: the name of a figure must end with .svg; other programs, such as rsvg-convert, "
                "make PDF and PNG of it."
            )
        return path


def _one_bank(context: click.Context, _option: click.Parameter, banks: tuple[Path, ...]) -> Path | None:
    """The bank; several banks are merged into a temporary file, which is removed after the command."""
    if len(banks) < 2:
        return banks[0] if banks else None
    from exam_pp.phases.banks.compare import merge_banks

    folder = context.with_resource(temporary_folder())
    merged = folder / (
        "+".join(bank.name.removesuffix(".gz").removesuffix(".jsonl") for bank in banks) + ".jsonl"
    )
    log_summary(merge_banks(banks, merged).lines())
    return merged


def bank_option(help_text: str, *, default: str = "", required: bool = False) -> Callable[[F], F]:
    """``--bank``, repeatable; the command receives a single path. ``default`` explains a missing option."""
    return click.option(
        "--bank",
        type=FILE,
        multiple=True,
        required=required,
        callback=_one_bank,
        help=f"{help_text} May be repeated; several banks are merged."
        f"{f'  [default: {default}]' if default else ''}",
    )


FILE = InputPath()
FILES = InputPath(folders=True)
QUERIES_FILE = InputPath(data_sets=True)
OUTPUT_PATH = OutputPath()
FIGURE_PATH = FigurePath()

PASSAGES = click.argument("passages", type=FILE)
GRADED = click.argument("graded", type=FILE)
MIN_GRADE_DEFAULT = "[default: 4, or the highest grade of a shorter scale; 1 for prompts without a scale]"
MIN_GRADE = click.option(
    "--min-grade", type=int, help=f"Lowest grade that covers an entry.  {MIN_GRADE_DEFAULT}"
)
CUTOFF_DEFAULT = f"[default: the highest rank in the file, of rankings at most {defaults.CUTOFF}]"
CUTOFF = click.option(
    "--cutoff",
    type=IntRange(min=1),
    help=f"Depth to which rankings, and answers by their parts, are evaluated.  {CUTOFF_DEFAULT}",
)


def role_option(default: str = "of a system with a ranking and an answer, the answer") -> Callable[[F], F]:
    """``--role``; ``default`` explains a missing option."""
    return click.option(
        "--role",
        type=click.Choice(["retrieved", "answer"]),
        help="Only the passages that systems retrieved, or only the parts of their answers.  "
        f"[default: {default}]",
    )


ROLE = role_option()
CANARIES = click.option(
    "--canaries", is_flag=True, help="With the systems that `exam-pp canaries` added, as systems like others."
)


def unparsed_option(default: str) -> Callable[[F], F]:
    """The option for ratings of replies without a number; its value is None if it is not used.

    ``default`` describes the policy that None stands for.
    """
    return click.option(
        "--unparsed",
        type=click.Choice(["default", "ungraded", "published", "chat"]),
        help="Ratings of replies without a number: 0 for 'unanswerable' and ill-formed replies, else 1 "
        "(default); no rating (ungraded); the rule of the published implementation, which swaps 0 and 1 "
        "(published); or no rating except 0 for 'unanswerable', with numbers read from sentences, such as "
        f"'the coverage is 5: ...' (chat).  [default: {default}]",
    )


def reply_option(label: str, *others: str) -> Callable[[F], F]:
    """``--reply``: how a model chooses a ``label``; :func:`take_reply` turns the value into keywords."""
    calibrated = (
        "; or correct this choice for labels that the model prefers without a passage, by one more call per "
        "bank entry (calibrated)"
    )
    return click.option(
        "--reply",
        type=click.Choice(["written", "chosen", *others]),
        default="written",
        show_default=True,
        help=f"Let the model write its reply (written), or take the likeliest {label} (chosen)"
        f"{calibrated if others else ''}.",
    )


def take_reply(options: dict[str, Any]) -> None:
    """Replace the value of :func:`reply_option` by ``choose`` and ``calibrate``."""
    reply = options.pop("reply")
    options |= {"choose": reply != "written", "calibrate": reply == "calibrated"}


def answer_match_option(*others: str, help_text: str = "") -> Callable[[F], F]:
    """``--answer-match``; ``others`` are further choices, the first of which is then the default."""
    return click.option(
        "--answer-match",
        type=click.Choice([*others, "paper", "strict"]),
        default=[*others, "paper"][0],
        show_default=True,
        help=f"Comparison of extracted answers with gold answers: {help_text}edit distance below 20 % "
        "(paper); or also equal numbers, synonyms of true and false, and no question about 'all of the "
        "above' (strict).",
    )


QUERY_FORMATS = "JSON, JSON lines, TSV, TREC topics, CAR outlines or irds:NAME"
QUERY_TEXTS = f"Texts of the queries ({QUERY_FORMATS})."
ONLY_QUERIES = click.option(
    "--queries", type=QUERIES_FILE, help=f"Only the queries of this file ({QUERY_FORMATS})."
)
ONLY_QUERY = click.option(
    "--query", "queries", multiple=True, metavar="ID", help="Only this query; may be repeated."
)
LABEL_RULE = click.option(
    "--label-rule",
    metavar="RULE",
    help="Rule that makes labels from the ratings of a passage: '2nd>=5:3, 2nd>=4:1, else 0' gives label 3 "
    "if "
    "the second best rating is at least 5.  [default: the best rating]",
)

METHOD_NAME = click.option(
    "--method-name",
    type=click.Choice(["stem", "tag"]),
    default="stem",
    show_default=True,
    help="Name systems by the file name without extensions (stem) or by the tag in the run file (tag).",
)

UNITS = ["paragraph", "sentence", "whole"]
UNIT_HELP = "Part of an answer that becomes a passage; a paragraph has at most about 400 words."


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Combine several arguments and options into one decorator, in the order of the help."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def of_each_side(
    context: click.Context, option: click.Parameter, values: tuple[Any, ...]
) -> tuple[Any | None, Any | None]:
    """Callback of a repeatable option of a comparison: the values for the first and the second side."""
    if len(values) > 2:
        raise click.UsageError(
            f"{parameter_name(option)} can be named twice at most, once for each of the two sides.", context
        )
    return (values[0], values[-1]) if values else (None, None)


def take(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Remove some keyword arguments of a command and return them."""
    return {name: options.pop(name) for name in names}


def output_option(help_text: str = "File to write.  [default: standard output]") -> Callable[[F], F]:
    """``-o FILE``; the default is standard output."""
    return click.option("-o", "--output", type=OUTPUT_PATH, default="-", help=help_text)


def refuse_terminal(output: Path, example: str) -> None:
    """Refuse to write a file of data to a terminal; ``example`` is a name for it."""
    if str(output) == "-" and sys.stdout.isatty():
        raise click.UsageError(f"The output is data, not for a terminal: name a file with -o {example}.")


def required_output(help_text: str) -> Callable[[F], F]:
    """``-o FILE`` without a default; ``-`` is standard output."""
    return click.option("-o", "--output", type=OUTPUT_PATH, required=True, help=help_text)


MIN_RELEVANT = click.option(
    "--min-judgment",
    "min_relevant",
    type=int,
    default=defaults.MIN_JUDGMENT,
    show_default=True,
    help="Lowest judgment that counts as relevant (use 2 for TREC DL).",
)


journal_options = together(
    click.option(
        "--retry-failed", is_flag=True, help="Send requests again that failed before the run was interrupted."
    ),
    click.option(
        "--journal",
        type=OUTPUT_PATH,
        metavar="FILE",
        help="File that keeps the replies, also after the run.  [default: .OUTPUT.journal, until the output "
        "is complete]",
    ),
)
"""Options to resume a command that asks a model; :data:`JOURNAL` has their names."""
JOURNAL = ("journal", "retry_failed")

MAX_TOKENS_TOTAL = click.option(
    "--max-tokens-total", type=IntRange(1),
    help="Stop each grading by an endpoint before its prompts and replies have more tokens than this; with a "
    "higher limit, the same command continues.  [default: no limit]",
)  # fmt: skip

TO_BATCH = click.option(
    "--to-batch", "batch", type=OutputPath(folders=True, files=False),
    help="Write the requests to this folder as batch files of OpenAI (also for vllm run-batch), and read the "
    "replies that are put there, in place of calls to --base-url.",
)  # fmt: skip

MAX_QUERIES = click.option(
    "--max-queries", type=IntRange(1), help="Use only the first queries, at most this many."
)
part_to_grade = together(
    click.option(
        "--only",
        "only_unjudged",
        type=click.Choice(["unjudged"]),
        callback=lambda _context, _option, value: value is not None,
        help="Grade only passages without a judgment; this fills holes of qrels.",
    ),
    role_option("all passages"),
    click.option(
        "--max-queries", type=IntRange(1), help="Grade and write only the first queries, at most this many."
    ),
    click.option(
        "--max-passages",
        type=IntRange(1),
        help="Grade and write only the first passages of each query, at most this many.",
    ),
)
"""Options that select the passages to grade."""
new_bank_options = together(
    click.option(
        "--test-collection", default="", metavar="NAME", help="Name of the collection, stored in the bank."
    ),
    MAX_QUERIES,
)
"""Options of commands that generate a bank; :data:`NEW_BANK` has their names."""
NEW_BANK = ("test_collection", "max_queries")


FORMAT_DEFAULT = f"[default: that of the ending of -o, such as .html; else {REPORT_FORMATS[0]}]"


class _Format(click.Choice[str]):
    """Report formats. Formats of other packages are only searched for names that this package lacks."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name of the format."""
        if value not in self.choices and value in RENDERERS:
            return value
        return super().convert(value, param, ctx)


def format_option(*extra: str) -> Callable[[F], F]:
    """``--format`` of a report; ``extra`` are additional formats that the command itself writes."""
    return click.option(
        "--format",
        "form",
        type=_Format((*REPORT_FORMATS, *extra)),
        default=REPORT_FORMATS[0],
        callback=of_ending,
        help=f"Output format.  {FORMAT_DEFAULT}",
    )


def model_names(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The models of the catalogue whose names begin with ``incomplete``, with their purpose."""
    from exam_pp.judges import CATALOGUE

    return [
        CompletionItem(model.name, help=model.use) for model in CATALOGUE if model.name.startswith(incomplete)
    ]


class _PromptName(click.ParamType[str]):
    """The name of a prompt. Commands receive a short name as the name in files."""

    name = "prompt"

    def convert(self, value: str, _param: click.Parameter | None, _ctx: click.Context | None) -> str:
        """Return the name in files of a short name, or another name unchanged."""
        from exam_pp.prompts import PROMPTS

        prompt = PROMPTS.find(value)
        return value if prompt is None or value != prompt.short else prompt.name

    def shell_complete(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The prompts whose names begin with ``incomplete``."""
        from exam_pp.prompts import PROMPTS

        names = sorted(PROMPTS.get(name).shown for name in PROMPTS)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def prompt_option(
    help_text: str,
    name: str = "prompt_class",
    *,
    option: str = "--prompt",
    multiple: bool = False,
    callback: Any = None,
) -> Callable[[F], F]:
    """``--prompt``; the command receives ``name``, the name in files or a tuple of them."""
    return click.option(
        option,
        name,
        type=_PromptName(),
        multiple=multiple,
        callback=callback,
        metavar="NAME",
        help=help_text,
    )


PROMPT = prompt_option("Only grades with this prompt.")
ANSWERS_CLASS = prompt_option(
    "Prompt of the extracted answers to show.  [default: any prompt without a scale]",
    "answers_class",
    option="--grades answers",
)
PROMPT_HASH = click.option(
    "--grades hash",
    "prompt_hash",
    metavar="HASH",
    help="Only grades with the version of the prompt that has this hash (see `exam-pp show prompt`).",
)
support_filter_options = together(
    click.option(
        "--grader",
        shell_complete=model_names,
        metavar="NAME",
        help="Only grades by this model, or by this reviewer (human:NAME).",
    ),
    PROMPT,
    PROMPT_HASH,
    click.option(
        "--system", "systems", multiple=True, metavar="NAME", help="Only this system; may be repeated."
    ),
)
"""Options that select the grades of citations by one grader, and systems."""

grades_options = together(
    click.option(
        "--grades type",
        "prompt_type",
        type=click.Choice(["question", "nugget", "direct"]),
        help="Only grades for questions, for nuggets, or for the query itself (direct).",
    ),
    PROMPT_HASH,
    click.option(
        "--grades set",
        "question_set",
        type=click.Choice(["tqa", "genq", "question-bank"]),
        help="Only grades for entries of this origin, detected from their ids: Textbook Question Answering "
        "(tqa), the first published format of banks (genq), or any other bank (question-bank).",
    ),
    click.option(
        "--grades choice",
        "grade_choice",
        type=click.Choice(["merge", "first"]),
        default="merge",
        show_default=True,
        help="If a passage has several sets of grades by the same model and prompt: merge them, where later "
        "ratings replace earlier ones (merge), or use the first set, as published (first).",
    ),
)
filter_options = together(
    click.option(
        "--grader",
        shell_complete=model_names,
        metavar="NAME",
        help="Only grades by this model, or reviewer (human:NAME).",
    ),
    PROMPT,
    grades_options,
)
"""Options that select grades; pass the received keyword arguments to :func:`grade_filter`.

:data:`GRADES` has the names of the last ones, :data:`FILTER` those of all.
"""
GRADES = ("prompt_type", "prompt_hash", "question_set", "grade_choice")
FILTER = ("grader", "prompt_class", *GRADES)
compared_graders = together(
    click.option(
        "--grader",
        "graders",
        shell_complete=model_names,
        multiple=True,
        metavar="NAME",
        help="Compare only this model, or reviewer (human:NAME); may be repeated.  [default: all]",
    ),
    PROMPT,
    grades_options,
)
"""The same with several graders, which :func:`grade_filter` does not get."""
panel_members = together(
    click.option(
        "--grader",
        "graders",
        shell_complete=model_names,
        multiple=True,
        metavar="NAME",
        help="Only this model, or reviewer (human:NAME), as a member of the panel; may be repeated.  "
        "[default: all but consensuses]",
    ),
    prompt_option(
        "Only grades with this prompt; may be repeated, for prompts with the same scale.",
        "prompt_classes",
        multiple=True,
    ),
    grades_options,
    click.option(
        "--rule",
        type=click.Choice(["median", "mean", "majority"]),
        default="median",
        show_default=True,
        help="How the ratings of a pair become one rating: the median, of an even number the lower of the "
        "two in the middle; the mean, halves rounded down; or the most frequent rating, of several the "
        "lowest (majority).",
    ),
    click.option(
        "-S min-graders",
        "min_graders",
        type=IntRange(1),
        default=2,
        show_default=True,
        help="Number of graders that must have rated a pair; ungraded pairs are no vote.",
    ),
)
"""Options that select the members of a panel and combine their ratings, as :data:`compared_graders`."""
filter_columns = together(
    click.option(
        "--grader",
        "graders",
        shell_complete=model_names,
        multiple=True,
        metavar="NAME",
        help="Only grades by this model, or reviewer (human:NAME); may be repeated, for columns of each.",
    ),
    prompt_option(
        "Only grades with this prompt; may be repeated, for columns of each.",
        "prompt_classes",
        multiple=True,
    ),
    grades_options,
)
"""The same with several graders and prompts; pass the keyword arguments to :func:`grade_filters`."""


def grade_filter(
    grader: str | None,
    prompt_class: str | None,
    prompt_type: Any,
    prompt_hash: str | None,
    question_set: Any,
    grade_choice: Any,
) -> GradeFilter:
    """The filter described by :data:`filter_options`; accepts a prompt by any of its names."""
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.prompts.base import with_aliases

    return with_aliases(
        GradeFilter(grader, prompt_class, prompt_type, question_set, prompt_hash, grade_choice)
    )


def grade_filters(
    graders: tuple[str, ...], prompt_classes: tuple[str, ...], **criteria: Any
) -> dict[str, GradeFilter]:
    """Column name to the filter described by :data:`filter_columns`.

    Prompt classes of different kinds have the names of their kinds, such as ``question`` and ``nugget``.
    """
    columns = columns_of(graders, prompt_classes, _kinds)
    return {name: grade_filter(*column, **criteria) for name, column in columns.items()}


def columns_of(
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    names: Callable[[Sequence[str]], Sequence[str]] = list,
) -> dict[str, tuple[str | None, str | None]]:
    """Column name to the grader and the prompt class that it selects; None selects all.

    The name is the grader, the prompt class or both, as needed to distinguish the columns; ``names`` are
    those of prompt classes.
    """
    models, prompts = list(dict.fromkeys(graders)) or [""], list(dict.fromkeys(prompt_classes)) or [""]
    shown = dict(zip(prompts, names(prompts), strict=True))
    columns = {}
    for model, prompt in product(models, prompts):
        parts = (model if len(models) > 1 else "", shown[prompt] if len(prompts) > 1 else "")
        columns[" ".join(part for part in parts if part)] = (model or None, prompt or None)
    return columns


def _kinds(prompt_classes: Sequence[str]) -> Sequence[str]:
    """The kinds of prompts if every prompt has another kind, otherwise their names."""
    from exam_pp.prompts import PROMPTS

    found = [PROMPTS.find(name) for name in prompt_classes]
    kinds = [prompt.kind for prompt in found if prompt is not None]
    return kinds if len(set(kinds)) == len(prompt_classes) else prompt_classes


def repairs_option(reply: str, default: int = 2) -> Callable[[F], F]:
    """``--repairs N``; ``reply`` describes the replies that are repaired."""
    return click.option(
        "--repairs",
        type=IntRange(0, 5),
        default=default,
        show_default=True,
        help=f"Number of retries after a reply {reply}",
    )


def prompt_file_option(help_text: str) -> Callable[[F], F]:
    """``--prompt-file``, repeatable; the command receives ``prompt_files``."""
    return click.option("--prompt-file", "prompt_files", multiple=True, type=FILE, help=help_text)


def plot_option(content: str) -> Callable[[F], F]:
    """``--plot FILE``, for a figure in addition to the report."""
    return click.option("--plot", type=FIGURE_PATH, help=f"Also draw {content} (.svg).")


def emit(text: str, output: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Write a text to the output atomically."""
    from exam_pp.store.files import write_text

    write_text(output, text, inputs=[path for path in inputs if path is not None])


def emit_report(
    report: Report,
    form: str,
    output: Path,
    inputs: Iterable[Path | None] = (),
) -> None:
    """Write a report in a format; TSV cannot hold its notes, so they are logged."""
    if form == "tsv":
        for note in report.notes:
            log.log(logging.WARNING if note in report.warnings else logging.INFO, "%s", note)
    emit_rendered(report, form, output, inputs)


def emit_rendered(
    report: Report,
    form: str,
    output: Path,
    inputs: Iterable[Path | None] = (),
    *,
    names_in_files: bool = False,
) -> None:
    """Write a report in a format, without a log of its notes.

    Readers see short names of prompts, except with ``names_in_files``. On a terminal, plain text is fitted to
    the width.
    """
    note_report(report.provenance)
    if form in READER_FORMATS and not names_in_files:
        from exam_pp.reports.evaluation.short_names import for_readers

        report = for_readers(report)
    if form == "text" and str(output) == "-" and sys.stdout.isatty():
        from exam_pp.rendering.text import text

        emit(text(report, get_terminal_size().columns), output, inputs)
        return
    emit(render(report, form), output, inputs)


def emit_figure(pictures: Sequence[Picture], path: Path, inputs: Iterable[Path | None] = ()) -> None:
    """Write pictures as an SVG file."""
    from exam_pp.rendering.pictures.svg import svg_file

    emit(svg_file(pictures), path, inputs)


class _Columns(click.ParamType[dict[str, str]]):
    """Pairs such as ``id=question_id,text=answer``: a meaning, and the name of its column."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        """Return meaning to column."""
        if isinstance(value, dict):
            return value
        pairs = [pair.partition("=") for pair in value.split(",")]
        if not all(meaning.strip() and column.strip() for meaning, _, column in pairs):
            self.fail(f"{value!r} is not a list of MEANING=COLUMN, such as id=question_id,text=answer.")
        return {meaning.strip(): column.strip() for meaning, _, column in pairs}


COLUMNS = click.option(
    "--columns",
    type=_Columns(),
    metavar="MEANING=COLUMN,...",
    help="Columns of tables with other names, such as `id=question_id,text=answer`; `a+b` joins two "
    "texts, `a.b` is a key within a key of JSON, and `bank:text=Fact` is for one kind of "
    "file. Meanings: query_id, query_text, passage_id, text, system, rank, score, relevance, answer, "
    "contexts, reference, question, nugget, weight ...",
)
SPLIT_LINES = click.option(
    "--split-lines", is_flag=True, help="Make an entry of each line or bullet in a cell of a table of a bank."
)
REPAIR = click.option(
    "--repair",
    is_flag=True,
    help="Keep the first of repeated lines, and drop lines and passages without a text, instead of stopping "
    "with an error; a message counts them.",
)


def log_summary(lines: Iterable[object]) -> None:
    """Log the summary of a command at INFO."""
    for line in lines:
        log.info("%s", line)


def log_notes(notes: Iterable[str]) -> None:
    """Log notes at WARNING."""
    for note in notes:
        log.warning("%s", note)
