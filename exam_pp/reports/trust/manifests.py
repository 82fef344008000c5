"""Report of a manifest: what made a file."""

from __future__ import annotations

from exam_pp.phases.trust.manifests import Found
from exam_pp.rendering.document import Block, Cell, Paragraph, Report, Table

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
