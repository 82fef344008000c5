"""Convert files between formats, and say what could not be carried."""

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
    """What is converted. ``source_format`` None: told by the content.

    ``unit`` is what of an answer becomes a passage, ``measure`` what official ranks are made of, and
    ``contexts`` a passages file with the paragraphs of SQuAD2, or the passages of Open RAG Eval; ``queries``
    a file with the texts of queries, for answers that do not say them.
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

    @property
    def inputs(self) -> list[Path]:
        """Every file that is read."""
        files = run_files(self.source) if self.source.is_dir() else [self.source]
        return [*files, *(path for path in (self.contexts, self.queries) if path is not None)]


def convert(conversion: Conversion, dropped_fields_output: Path | None = None) -> DroppedFields:
    """Write the target; returns what was left out, which ``dropped_fields_output`` gets as JSON.

    Raises :class:`~exam_pp.errors.SelectionError` for formats that cannot be read, written or converted into
    each other, and what reading raises.
    """
    named = conversion.source_format
    source_format = FORMATS.get(named) if named else format_of(conversion.source, "--from")
    target_format = FORMATS.get(conversion.target_format)
    _check_possible(source_format, target_format)
    if conversion.source.is_dir() and source_format.content != "runs":
        raise SelectionError(
            f"{conversion.source} is a folder: only runs are read as one, not {source_format.name}."
        )
    inputs = conversion.inputs
    if not conversion.target.is_dir():
        check_output(conversion.target, inputs)
    if dropped_fields_output is not None:
        check_output(dropped_fields_output, inputs)
        if dropped_fields_output.resolve() == conversion.target.resolve():
            raise SelectionError(
                f"{dropped_fields_output} is the output, and cannot be the report of dropped fields too."
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
    target_format.write(value, Target(conversion.target, dropped, inputs, contexts, texts))
    if dropped_fields_output is not None:
        _write_report(conversion, source_format, dropped, dropped_fields_output)
    return dropped


def _check_possible(source: Format, target: Format) -> None:
    if source.read is None:
        by = f"; {source.read_by} reads it" if source.read_by else ""
        raise SelectionError(f"convert does not read {source.name}{by}.")
    if target.write is None:
        by = f"; {target.written_by} writes it" if target.written_by else ""
        raise SelectionError(f"convert does not write {target.name}{by}.")
    if source.content != target.content and (source.content, target.content) not in BRIDGES:
        reachable = [form.name for form in all_formats() if _is_possible(source, form)]
        raise SelectionError(
            f"{source.name} ({source.content}) cannot become {target.name} ({target.content}); it can become "
            f"{', '.join(reachable)}."
        )


def _is_possible(source: Format, target: Format) -> bool:
    same = source.content == target.content
    return target.write is not None and (same or (source.content, target.content) in BRIDGES)


def _contexts(path: Path) -> dict[str, dict[str, str]]:
    """Query id to its passages' texts by their ids."""
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
        "left out": dropped.counts,
    }
    write_text(path, json.dumps(report, ensure_ascii=False, indent=2) + "\n", inputs=conversion.inputs)
