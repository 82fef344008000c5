"""Reports of manifests: what made a file, and why two files differ."""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.manifest import NamedContent
from exam_pp.phases.trust.manifests import Comparison, Difference, Found, Step
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table

_STATES = {
    "unchanged": "The file still has the content that the manifest describes.",
    "changed": "The file was changed or written again later: the manifest does not describe its content.",
    "missing": "The file itself is missing.",
}
_DIGEST = 12
_MOST_SENTENCES = 8
_INDENT = "\u2003"
"""An em space, which all formats keep."""


def manifest_report(found: Found, steps: Iterable[Step]) -> Report:
    """The command with options, graders and versions of a file, and the history of its inputs."""
    manifest = found.manifest
    blocks: list[Block] = [
        Paragraph(f"{found.name} was made by `exam-pp {manifest.command}`. {_STATES[found.state]}"),
        Table(
            ["option", "value", "default"],
            [
                [option.name, _value(option.value), "yes" if option.default else ""]
                for option in manifest.options
            ],
            title="Options",
        ),
        _history(found, steps),
    ]
    graders: list[list[Cell]] = [
        [asked.model, prompt, digest]
        for asked in manifest.asked
        for prompt, digest in (asked.prompts or {"": ""}).items()
    ]
    if graders:
        blocks.append(Table(["model", "prompt class", "prompt hash"], graders, title="Asked models"))
    if manifest.report:
        rows: list[list[Cell]] = [[name, _value(value)] for name, value in manifest.report.items()]
        blocks.append(Table(["field", "value"], rows, title="Provenance of the numbers"))
    versions: list[list[Cell]] = [[name, version] for name, version in manifest.versions]
    blocks.append(Table(["name", "version"], versions, title="Versions"))
    return Report(f"Manifest of {found.name}", blocks)


def _history(found: Found, steps: Iterable[Step]) -> Table:
    """The file and its inputs as a tree, in which inputs are indented below what they made."""
    rows: list[list[Cell]] = []
    for step in steps:
        content: NamedContent = step.content or found.manifest.output
        parameter = "" if step.content is None else step.content.parameter or ""
        path = found.name if step.content is None else content.path
        digest = "" if content.sha256 is None else content.sha256[:_DIGEST]
        rows.append(
            [_INDENT * step.depth + path, parameter, step.command, content.size, digest, step.problem]
        )
    columns = ["file", "named by", "made by", "bytes", "SHA-256", "note"]
    return Table(columns, rows, title="History")


def differences_report(result: Comparison) -> Report:
    """The recorded differences between two files, as sentences and as a table."""
    names = f"{result.first.name} and {result.second.name}"
    blocks: list[Block] = [Paragraph(_summary(result, names))]
    blocks += [Paragraph(row.sentence) for row in result.differences[:_MOST_SENTENCES]]
    blocks += map(Paragraph, dict.fromkeys(result.notes))
    if result.differences:
        blocks.append(
            Table(
                ["differs", "step", "name", "first", "second"],
                [_row(row) for row in result.differences],
                title="Recorded differences",
            )
        )
    return Report(f"Why {names} differ", blocks)


def _summary(result: Comparison, names: str) -> str:
    if result.same_bytes:
        made = (
            "although something in their making differs"
            if result.differences
            else "and nothing recorded differs"
        )
        when = " when their manifests were written" if result.changed else ""
        return f"{names} had the same bytes{when}, {made}."
    if result.differences:
        return f"{names} differ. The causes, most important first:"
    return (
        f"Nothing recorded differs, but {names} do: the replies of a model can change between runs, and an "
        "input without a digest can have changed."
    )


def _row(row: Difference) -> list[Cell]:
    return [row.kind, row.step, row.name, row.first, row.second]


def _value(value: object) -> Cell:
    if value is None:
        return None
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
