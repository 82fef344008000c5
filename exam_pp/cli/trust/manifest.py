"""``exam-pp manifest``: what made a file, and why two files differ."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from exam_pp.cli.command import Group
from exam_pp.cli.options import ManifestPath, emit_rendered, format_option, output_option

DIFFERS = 3
"""Exit code of ``manifest diff`` if something differs."""
_FILE = ManifestPath(folders=True)


@click.group("manifest", cls=Group)
def command() -> None:
    """Show what made a file, and why two numbers differ."""


@command.command()
@click.argument("file", type=_FILE)
@format_option()
@output_option()
def show(file: Path, form: str, output: Path) -> None:
    """Show the command, the options, the inputs with their history, and the versions that made FILE.

    FILE is a file or folder that a command of exam-pp wrote, or its manifest (FILE.manifest.json). The
    report says whether the file still has the content that the manifest describes. The history names the
    commands that made the inputs, as far as their manifests are there.

    Example:

    \b
      exam-pp manifest show cover.tsv
    """
    from exam_pp.phases.trust.manifests import find_manifest, history
    from exam_pp.reports.trust.manifests import manifest_report

    found = find_manifest(file)
    emit_rendered(manifest_report(found, history(found)), form, output, [file, found.place])


@command.command()
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
@format_option()
@output_option()
def diff(first: Path, second: Path, form: str, output: Path) -> None:
    """Explain why two files differ: by their inputs, options, graders, versions and seeds.

    FIRST and SECOND are files or folders that commands of exam-pp wrote, or manifests. If commands read
    different inputs, the manifests of these inputs are compared, too, down to the first step that differs.
    The exit code is 0 if nothing recorded differs, and 3 if something differs or if a file was changed
    after its manifest was written.

    Example:

    \b
      exam-pp manifest diff cover.tsv cover-again.tsv
    """
    from exam_pp.phases.trust.manifests import compare_manifests
    from exam_pp.reports.trust.manifests import differences_report

    result = compare_manifests(first, second)
    emit_rendered(differences_report(result), form, output, [first, second])
    if result.differences or result.changed:
        sys.exit(DIFFERS)
