"""``exam-pp list``: names for options and arguments of other commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command, Kind, Listing
from exam_pp.cli.options import emit_rendered, format_option, output_option
from exam_pp.judges import CATALOGUE, MEASURE
from exam_pp.plugins import plugins
from exam_pp.rendering.document import Paragraph, Report, Table

LISTINGS: dict[str, Listing] = {
    name: import_module(module).LISTING for plugin in plugins() for name, module in plugin.listings.items()
}
_KINDS = {
    "prompts": Kind(
        """List prompts for --prompt, with their kind, scale, source and name in files.

        `exam-pp show prompt NAME` prints the text of a prompt.

        Example:

        \b
          exam-pp list prompts
        """
    ),
    "measures": Kind(
        """List the measures of graded entries, with what a grade earns and an entry weighs.

        `exam-pp evaluate` computes them, and measures of runs by their names in ir-measures and trec_eval.

        Example:

        \b
          exam-pp list measures
        """
    ),
    "models": Kind(
        """List models for --model, with their size and what their grades are worth.

        The list holds the packaged judges, the baselines without a neural network, and recommended models of
        Hugging Face. --model also accepts other models. `exam-pp show model NAME` shows a card in full.

        Example:

        \b
          exam-pp list models
        """
    ),
    "settings": Kind(
        """List the settings of a model for -M KEY=VALUE, with their defaults.

        Files that describe models, such as those of panels, have the same keys.

        Example:

        \b
          exam-pp list settings
        """
    ),
    "formats": Kind(
        """List the file formats, and the conversions between them.

        `exam-pp convert` reads and writes them, if the table does not name another command.

        Example:

        \b
          exam-pp list formats
        """
    ),
    "schemas": Kind(
        """List the file formats that have a JSON Schema.

        `exam-pp show schema NAME` prints the schema.

        Example:

        \b
          exam-pp list schemas
        """
    ),
    **{name: listing.listed for name, listing in LISTINGS.items()},
}


@click.command("list", cls=Command, kinds=_KINDS, chosen_by="what")
@click.argument("what", type=click.Choice(list(_KINDS)))
@format_option()
@output_option()
def command(what: str, form: str, output: Path) -> None:
    """List prompts, measures, models and their settings, formats and schemas of files.

    Example:

    \b
      exam-pp list prompts
    """
    emit_rendered(_REPORTS[what](), form, output, names_in_files=True)


def _prompts() -> Report:
    """Prompts with their kinds, scales, sources and names in files."""
    from exam_pp.prompts import PROMPTS

    prompts = sorted(map(PROMPTS.get, PROMPTS), key=lambda prompt: prompt.shown)
    rows = [(prompt.shown, prompt.kind, prompt.scale, prompt.cite, prompt.name) for prompt in prompts]
    return _table(("prompt", "kind", "reply", "source", "name in files"), rows)


_COVER = (
    ("Cover(min_grade=M)@K", "Share of the entries that a passage within the cutoff covers."),
    ("nCover(min_grade=M)@K", "Cover, as a share of the entries that any graded passage covers."),
    ("SoftCover(min_grade=M)@K", "Mean of the highest probability of covering an entry (--soft)."),
)


def _measures() -> Report:
    """The measures of graded entries with their commands."""
    from exam_pp.banks import ASSIGNMENT_LABELS, CONTRADICT, LABEL_RATINGS
    from exam_pp.metrics.measures import MEASURES

    rows = [(name, "evaluate cover", "from --min-grade on 1", "of the bank", about) for name, about in _COVER]
    for measure in MEASURES.values():
        labels = (*ASSIGNMENT_LABELS, CONTRADICT)
        earned = {label: measure.earned(LABEL_RATINGS[label]) for label in labels}
        weights = "of the bank" if measure.words is None else _numbers(measure.words)
        rows.append((measure.name, "evaluate rubric", _numbers(earned), weights, measure.meaning))
    return _table(("measure", "command", "credit", "weight", "meaning"), rows)


def _numbers(values: Mapping[Any, float]) -> str:
    """Names with their numbers; the number of all others is last."""
    return ", ".join(
        f"{'other' if name is None else name} {value:g}" for name, value in values.items() if value
    )


_CARDS = (
    "ρ and κ (quadratic) are those with GPT-4's grades of single passages, AUC is that with human judgments "
    "(for e5, ρ and AUC are those of its cosines); empty cells are not measured. "
    f"`{MEASURE}` measures judges on your own data, and `exam-pp show model NAME` shows the whole card: the "
    "memory, the data, the intervals and what fools the judge. --model also accepts any other model of the "
    "Hugging Face hub, local folders, and GGUF files of chat models."
)


def _models() -> Report:
    """Models with their roles and what their grades are worth."""
    columns = ("model", "role", "parameters", "ρ", "κ", "AUC", "use")
    rows = []
    for info in CATALOGUE:
        figures = (None, None, None) if info.agreement is None else info.agreement.figures
        values = (None if figure is None else figure.value for figure in figures)
        rows.append((info.name, info.role, info.parameters, *values, info.use))
    return Report("", [Table(columns, rows, decimals=3), Paragraph(_CARDS)])


def _settings() -> Report:
    """Settings of models with their defaults."""
    from exam_pp.phases.grading.settings_files import SETTINGS, setting_defaults

    defaults = setting_defaults()
    rows = [(key, _default(defaults[key]), meaning) for key, meaning in SETTINGS.items()]
    return _table(("setting", "default", "meaning"), rows)


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value in (None, []) else f"{value:g}" if isinstance(value, float) else str(value)


def conversion_rows() -> list[tuple[str, str, str | None, str | None, str]]:
    """Content, name, reader, writer and description of every format.

    Reader and writer are ``"yes"`` for ``exam-pp convert``, or the command to use instead.
    """
    from exam_pp.formats.base import all_formats

    formats = [f for f in all_formats() if f.read or f.write or f.read_by or f.written_by]
    contents = list(dict.fromkeys(form.content for form in formats))
    return [
        (
            form.content,
            form.name,
            "yes" if form.read else form.read_by,
            "yes" if form.write else form.written_by,
            form.about,
        )
        for form in sorted(formats, key=lambda form: contents.index(form.content))
    ]


def _formats() -> Report:
    """The formats, and the conversions between contents."""
    from exam_pp.phases.interchange.bridges import BRIDGES

    bridges = "; ".join(f"{source} to {target}" for source, target in BRIDGES)
    text = f"Formats with the same content can be converted to each other. Other conversions: {bridges}."
    columns = ("content", "format", "in", "out", "description")
    return Report("", [Table(columns, conversion_rows()), Paragraph(text)])


def _schemas() -> Report:
    from exam_pp.phases.interchange.schemas import schemas

    known = schemas()
    return _table(("schema", "describes"), [(name, known.get(name).about) for name in known])


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Report:
    return Report("", [Table(columns, rows)])


_REPORTS: Mapping[str, Callable[[], Report]] = {
    "prompts": _prompts,
    "measures": _measures,
    "models": _models,
    "settings": _settings,
    "formats": _formats,
    "schemas": _schemas,
    **{name: listing.report for name, listing in LISTINGS.items()},
}
