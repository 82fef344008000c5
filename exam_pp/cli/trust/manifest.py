"""``exam-pp manifest``: what made a file."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Group
from exam_pp.cli.options import ManifestPath, emit_rendered, format_option, output_option


@click.group("manifest", cls=Group)
def command() -> None:
    """Show what made a file."""


@command.command()
@click.argument("file", type=ManifestPath(folders=True))
@format_option()
@output_option()
def show(file: Path, form: str, output: Path) -> None:
    """Show the command, the options, the inputs and the versions that made FILE.

    FILE is a file or folder that `exam-pp --manifest COMMAND ...` wrote, or its manifest
    (FILE.manifest.json). The report says whether the file still has the content that the manifest describes.

    Example:

    \b
      exam-pp manifest show cover.tsv
    """
    from exam_pp.phases.trust.manifests import find_manifest
    from exam_pp.reports.trust.manifests import manifest_report

    found = find_manifest(file)
    emit_rendered(manifest_report(found), form, output, [file, found.place])
