"""``exam-pp show``: a prompt, a model, a JSON Schema, a manifest, or an example of SQL in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.grading.list import LISTINGS
from exam_pp.cli.options import FILE, InputPath, emit, emit_rendered, format_option, output_option
from exam_pp.judges import MEASURE, ModelInfo, card
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table
from exam_pp.rendering.render import REPORT_FORMATS
from exam_pp.text.wording import listed

if TYPE_CHECKING:
    from exam_pp.prompts import Prompt
    from exam_pp.store.manifests import Found


_KINDS = {
    "prompt": Kind(
        """Print the template of a prompt, with its scale, reading rule, source and version.

        NAME is a prompt of `exam-pp list prompts`; --prompt-file shows your own instead. With --format toml,
        the output is a prompt file, to be changed and used with --prompt-file.

        Examples:

        \b
          exam-pp show prompt self-rated
          exam-pp show prompt nugget-creation --format toml -o my-creation.toml
        """,
        ("prompt_file", "form"),
        {"form": "Text, or toml for a prompt file."},
    ),
    "model": Kind(
        """Show the card of a model: what its grades are worth, and what fools it.

        NAME is a model of `exam-pp list models`; no other model was measured.

        Example:

        \b
          exam-pp show model e5
        """,
        ("form",),
    ),
    "schema": Kind(
        """Print the JSON Schema of a file format.

        NAME is a schema of `exam-pp list schemas`. For JSON lines the schema describes one line, for other
        files the whole document.

        Example:

        \b
          exam-pp show schema bank -o bank.schema.json
        """
    ),
    "manifest": Kind(
        """Show the command, the options, the inputs and the versions that made a file.

        NAME is a file or folder that `exam-pp --manifest COMMAND ...` wrote, or its manifest
        (FILE.manifest.json). The report says whether the file still has the content that the manifest
        describes.

        Example:

        \b
          exam-pp show manifest cover.tsv
        """,
        ("form",),
    ),
    **{name: listing.shown for name, listing in LISTINGS.items()},
}


def _file_of_manifest(context: click.Context, argument: click.Parameter, name: str | None) -> str | None:
    """Check the file that NAME is for a manifest, and note it as an input."""
    if name is not None and context.params.get("kind") == "manifest":
        InputPath(folders=True, manifests=True).convert(name, argument, context)
    return name


@click.command("show", cls=Command, kinds=_KINDS)
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.argument("name", required=False, callback=_file_of_manifest)
@click.option("--prompt-file", type=FILE, help="TOML file with your own prompt, instead of NAME.")
@format_option("toml")
@output_option()
def command(kind: str, name: str | None, prompt_file: Path | None, form: str, output: Path) -> None:
    """Show a prompt, a model, a JSON Schema or the manifest of a file in full.

    Example:

    \b
      exam-pp show prompt self-rated
    """
    formats = {"prompt": ("text", "toml"), "manifest": REPORT_FORMATS, "model": REPORT_FORMATS}.get(
        kind, (form,)
    )
    if form not in formats:
        raise click.UsageError(f"show {kind} has no format {form!r}. Choose one of {listed(formats)}.")
    if kind == "prompt":
        _prompt(name, prompt_file, form, output)
    elif name is None:
        raise click.UsageError(f"show {kind} needs a NAME.")
    elif kind == "model":
        from exam_pp.llm.backends import refuse_misspelt_name
        from exam_pp.llm.base import ModelOptions

        refuse_misspelt_name(ModelOptions(name))
        emit_rendered(card_report(card(name)), form, output)
    elif kind == "manifest":
        _manifest(Path(name), form, output)
    elif kind == "schema":
        from exam_pp.phases.interchange.schemas import schema_text

        emit(schema_text(name), output)
    else:
        emit(LISTINGS[kind].text(name), output)


def _manifest(file: Path, form: str, output: Path) -> None:

    from exam_pp.store.manifests import find_manifest

    found = find_manifest(file)
    emit_rendered(manifest_report(found), form, output, [file, found.place], names_in_files=True)


def _prompt(name: str | None, prompt_file: Path | None, form: str, output: Path) -> None:
    from exam_pp.phases.grading.prompt_files import read_prompt
    from exam_pp.prompts import PROMPTS
    from exam_pp.prompts.custom import prompt_as_file

    if (name is None) == (prompt_file is None):
        raise click.UsageError("show prompt needs either NAME or --prompt-file.")
    prompt = PROMPTS.get(name) if name is not None else read_prompt(prompt_file or Path())
    text = prompt_as_file(prompt) if form == "toml" else _page(prompt, PROMPTS.aliases(prompt.name))
    emit(text, output)


def _page(prompt: Prompt, aliases: tuple[str, ...]) -> str:
    """The facts about a prompt, a blank line, and its template."""
    facts = {
        "prompt": prompt.shown,
        "in files": prompt.name if prompt.short else "",
        "also called": ", ".join(aliases),
        "kind": prompt.kind,
        "scale": prompt.scale,
        "reading": prompt.reading,
        "source": prompt.cite,
        "version": f"{prompt.version} ({prompt.hash})",
    }
    lines = [f"{key + ':':<13}{value}" for key, value in facts.items() if value]
    return "\n".join([*lines, "", prompt.text, ""])


def card_report(info: ModelInfo) -> Report:
    """The card of a model."""
    weights = None if info.role == "similarity" else info.memory(4)  # which are packaged in 4 bits
    facts: dict[str, Cell] = {
        "model": info.name,
        "role": info.role,
        "use": info.use,
        "parameters": info.parameters,
        "GB of weights in fp32": weights,
        "GB of weights in bf16": None if weights is None else weights / 2,
        "fooled by": info.fooled_by,
        "languages": info.languages,
    }
    blocks: list[Block] = [
        Table(("fact", "value"), [(key, value) for key, value in facts.items() if value], decimals=2)
    ]
    if info.measured:
        columns = ("data", "ρ with GPT-4", "quadratic κ with GPT-4", "AUC with judges")
        rows = [
            (each.data, *(None if figure is None else str(figure) for figure in each.figures))
            for each in info.measured
        ]
        blocks.append(Table(columns, rows))
    if info.facts:
        rows = [(each.data, str(each.auc), str(each.kappa or "")) for each in info.facts]
        blocks.append(Table(("facts", "AUC with labels", "κ with labels"), rows))
    if not info.measured:
        blocks.append(Paragraph(f"Not measured: `{MEASURE}` measures judges on your own data."))
    return Report("", blocks)


_STATES = {
    "unchanged": " The file still has the content that the manifest describes.",
    "changed": " The file was changed or written again later: the manifest does not describe its content.",
    "missing": " The file itself is missing.",
    "unknown": "",
}


def manifest_report(found: Found) -> Report:
    """The command with options, inputs, origin of the numbers, and versions."""
    manifest = found.manifest
    options: list[list[Cell]] = [
        [option.name, _value(option.value), "yes" if option.default else ""] for option in manifest.options
    ]
    inputs: list[list[Cell]] = [
        [content.path, content.parameter, content.size, content.sha256, content.note]
        for content in manifest.inputs
    ]
    blocks: list[Block] = [
        Paragraph(f"{found.name} was made by `exam-pp {manifest.command}`.{_STATES[found.state]}"),
        Table(["option", "value", "default"], options, title="Options"),
        Table(["file", "named by", "bytes", "SHA-256", "note"], inputs, title="Inputs"),
    ]
    if manifest.report:
        rows: list[list[Cell]] = [[name, _value(value)] for name, value in manifest.report.items()]
        blocks.append(Table(["field", "value"], rows, title="Provenance of the numbers"))
    versions: list[list[Cell]] = [[name, version] for name, version in manifest.versions]
    blocks.append(Table(["name", "version"], versions, title="Versions"))
    return Report(f"Manifest of {found.name}", blocks)


def _value(value: object) -> Cell:
    if value is None:
        return None
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
