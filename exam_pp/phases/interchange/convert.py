"""Conversion of files between formats, with counts of dropped fields."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from exam_pp.errors import SelectionError
from exam_pp.formats.base import FORMATS, Format, Source, Target, all_formats, format_of
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.trec import Runs
from exam_pp.phases.interchange.bridges import Bridge, Conversion, bridge_of
from exam_pp.store.files import check_output, write_text
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.answers import Answer

__all__ = ["Conversion", "convert"]


def convert(conversion: Conversion, dropped_fields_output: Path | None = None) -> DroppedFields:
    """Write the target, and return the dropped fields; ``dropped_fields_output`` gets them as JSON.

    Raises :class:`~exam_pp.errors.SelectionError` for formats that cannot be read, written or converted into
    each other, and :class:`~exam_pp.errors.DataError` for an invalid source.
    """
    name = conversion.source_format
    source_format = FORMATS.get(name) if name else format_of(conversion.source, "--from")
    target_format = FORMATS.get(conversion.target_format)
    bridge = _possible(source_format, target_format)
    if conversion.source.is_dir() and source_format.content != "runs":
        raise SelectionError(
            f"{conversion.source} is a folder, but the format {source_format.name} needs a file; "
            "only runs can be read from a folder."
        )
    inputs = conversion.inputs
    if target_format.content != "runs" and not conversion.target.is_dir():
        check_output(conversion.target, inputs)
    if dropped_fields_output is not None:
        check_output(dropped_fields_output, inputs)
        if dropped_fields_output.resolve() == conversion.target.resolve():
            raise SelectionError(
                f"--also dropped-fields and -o name the same file, {dropped_fields_output}; name two files."
            )
    dropped = DroppedFields()
    assert source_format.read is not None
    assert target_format.write is not None
    source: Any = source_format.read(Source(conversion.source, dropped, conversion.method_name))
    value = bridge(source, dropped, conversion)
    if target_format.content == "runs" and conversion.systems:
        value = _runs_of_systems(value, conversion)
    if target_format.content == "answers" and (conversion.systems or conversion.queries):
        value = _answers_of_systems(value, conversion)
    contexts = _contexts(conversion.contexts) if conversion.contexts else {}
    target_format.write(value, Target(conversion.target, dropped, inputs, contexts))
    if dropped_fields_output is not None:
        _write_report(conversion, source_format, dropped, dropped_fields_output)
    return dropped


def _possible(source: Format, target: Format) -> Bridge:
    """The conversion between two formats; raises :class:`SelectionError` if it is impossible."""
    if source.read is None:
        hint = f"; use {source.read_by}" if source.read_by else ""
        raise SelectionError(f"convert cannot read the format {source.name}{hint}.")
    if target.write is None:
        hint = f"; use {target.written_by}" if target.written_by else ""
        raise SelectionError(f"convert cannot write the format {target.name}{hint}.")
    if (bridge := bridge_of(source, target)) is None:
        reachable = [form.name for form in all_formats() if form.write and bridge_of(source, form)]
        raise SelectionError(
            f"{source.name} ({source.content}) cannot be converted to {target.name} ({target.content}); "
            f"possible targets: {', '.join(reachable)}."
        )
    return bridge


def _runs_of_systems(runs: Runs, conversion: Conversion) -> Runs:
    _check_systems(runs, conversion)
    return {system: runs[system] for system in runs if system in conversion.systems}


def _answers_of_systems(answers: Iterable[Answer], conversion: Conversion) -> list[Answer]:
    """The answers of the selected systems, with the texts of their queries."""
    selected = [a for a in answers if not conversion.systems or a.system in conversion.systems]
    _check_systems({answer.system for answer in selected}, conversion)
    texts = conversion.query_texts
    return [
        answer if answer.query_text.strip() else replace(answer, query_text=texts.get(answer.query_id, ""))
        for answer in selected
    ]


def _check_systems(known: Collection[str], conversion: Conversion) -> None:
    for system in conversion.systems:
        if system not in known:
            raise SelectionError(f"{conversion.source} has no rankings or answers of the system {system!r}.")


def _contexts(path: Path) -> dict[str, dict[str, str]]:
    """Read query id to passage id to text."""
    return {
        query.query_id: {passage.passage_id: passage.text for passage in query.passages}
        for query in read_passages(path)
        if query.passages
    }


def _write_report(conversion: Conversion, source: Format, dropped: DroppedFields, path: Path) -> None:
    report = {
        "input": str(conversion.source),
        "from": source.name,
        "output": str(conversion.target),
        "to": conversion.target_format,
        "dropped_fields": dropped.counts,
    }
    write_text(path, json.dumps(report, ensure_ascii=False, indent=2) + "\n", inputs=conversion.inputs)
