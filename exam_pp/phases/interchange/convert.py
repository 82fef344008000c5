"""Conversion of files between formats, with counts of dropped fields."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_pp.errors import SelectionError
from exam_pp.formats.base import FORMATS, Format, Source, Target, all_formats, format_of
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.phases.interchange.answer_units import Unit
from exam_pp.phases.interchange.bridges import BRIDGES, BridgeOptions
from exam_pp.store.files import check_output, write_text
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.trec.queries import read_query_texts
from exam_pp.store.trec.runs import MethodName, run_files


@dataclass(frozen=True)
class Conversion:
    """A conversion of ``source`` to ``target``.

    ``source_format`` is detected from the content if None. ``unit`` is the part of an answer that becomes a
    passage, and ``measure`` the measure of official ranks. ``contexts`` is a passages file with the
    paragraphs for SQuAD2 or the passages for Open RAG Eval. ``queries`` is a file of query texts, for answers
    without them. ``bom`` writes CSV for spreadsheets with a byte order mark.
    """

    source: Path
    target: Path
    target_format: str
    source_format: str | None = None
    unit: Unit = "sentence"
    measure: str | None = None
    method_name: MethodName = "stem"
    contexts: Path | None = None
    queries: Path | None = None
    bom: bool = False

    @property
    def inputs(self) -> list[Path]:
        """All input files."""
        files = run_files(self.source) if self.source.is_dir() else [self.source]
        return [*files, *(path for path in (self.contexts, self.queries) if path is not None)]


def convert(conversion: Conversion, dropped_fields_output: Path | None = None) -> DroppedFields:
    """Write the target, and return the dropped fields; ``dropped_fields_output`` gets them as JSON.

    Raises :class:`~exam_pp.errors.SelectionError` for formats that cannot be read, written or converted into
    each other, and :class:`~exam_pp.errors.DataError` for an invalid source.
    """
    name = conversion.source_format
    source_format = FORMATS.get(name) if name else format_of(conversion.source, "--from")
    target_format = FORMATS.get(conversion.target_format)
    _check_possible(source_format, target_format)
    if conversion.source.is_dir() and source_format.content != "runs":
        raise SelectionError(
            f"{conversion.source} is a folder, but the format {source_format.name} needs a file; "
            "only runs can be read from a folder."
        )
    inputs = conversion.inputs
    if not conversion.target.is_dir():
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
    value: Any = source_format.read(Source(conversion.source, dropped, conversion.method_name))
    if source_format.content != target_format.content:
        bridge = BRIDGES[source_format.content, target_format.content]
        value = bridge(value, dropped, BridgeOptions(conversion.source, conversion.unit, conversion.measure))
    contexts = _contexts(conversion.contexts) if conversion.contexts else {}
    texts = read_query_texts(conversion.queries) if conversion.queries else {}
    target_format.write(value, Target(conversion.target, dropped, inputs, contexts, texts, conversion.bom))
    if dropped_fields_output is not None:
        _write_report(conversion, source_format, dropped, dropped_fields_output)
    return dropped


def _check_possible(source: Format, target: Format) -> None:
    if source.read is None:
        hint = f"; use {source.read_by}" if source.read_by else ""
        raise SelectionError(f"convert cannot read the format {source.name}{hint}.")
    if target.write is None:
        hint = f"; use {target.written_by}" if target.written_by else ""
        raise SelectionError(f"convert cannot write the format {target.name}{hint}.")
    if source.content != target.content and (source.content, target.content) not in BRIDGES:
        reachable = [form.name for form in all_formats() if _is_possible(source, form)]
        raise SelectionError(
            f"{source.name} ({source.content}) cannot be converted to {target.name} ({target.content}); "
            f"possible targets: {', '.join(reachable)}."
        )


def _is_possible(source: Format, target: Format) -> bool:
    same = source.content == target.content
    return target.write is not None and (same or (source.content, target.content) in BRIDGES)


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
