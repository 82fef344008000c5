"""Qrels and run files of trec_eval, and texts of passages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from exam_pp.errors import DataError, SelectionError
from exam_pp.formats.base import Format, Source, Target, make_reader, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import Fit, Sample, fits, most
from exam_pp.results import Qrel, RunLine
from exam_pp.store.csv_cells import plain_name
from exam_pp.store.files import folder_output, is_stream, safe_name
from exam_pp.store.numbers import is_integer, is_number
from exam_pp.store.tables import PASSAGE_ID, QRELS, RUNS, TEXTS, are_numbers_by_id, inner_list, is_table
from exam_pp.store.trec.runs import (
    TrecColumns,
    are_results,
    is_qrels_header,
    is_short_judgment,
    method_of,
    qrels_rows,
    read_qrels,
    read_run,
    run_files,
    short_columns,
    warn_of_skipped_files,
    write_qrels,
    write_run,
)
from exam_pp.store.trec.texts import read_texts

Runs = Mapping[str, Sequence[RunLine]]


def _is_plain(text: str) -> bool:
    """Whether a text is an integer, and no id such as 00."""
    return is_integer(text) and text == str(int(text))


def _are_qrels(sample: Sample) -> bool:
    rows = [row for text in sample.texts if (row := text.split())]
    rows = [row for row in rows if not row[0].startswith("#")] or rows
    if is_qrels_header(rows[0] if rows else ()) or (sample.has(QRELS) and not sample.has(RUNS)):
        return True
    # Results of AutoJudge have topics in the second column, and scores. Topics differ, iterations do not.
    has_iterations = len({row[1] for row in rows if len(row) == 4}) == 1
    is_grade = is_number if has_iterations else is_integer
    are_short = bool(rows) and all(is_short_judgment(row) and _is_plain(row[2]) for row in rows)
    return (
        most(len(row) == 4 and is_grade(row[3]) and is_integer(row[1]) for row in rows)
        or (are_short and short_columns(rows) is None)
        or {type(number) for number in _json_numbers(sample)} == {int}
        or bool(inner_list(sample.object, QRELS) and not inner_list(sample.object, RUNS))
    )


def _json_numbers(sample: Sample) -> list[int | float]:
    """The numbers of a JSON object ``{query: {passage: number}}``: grades if all are whole, else scores."""
    by_query = sample.object if sample.is_document and are_numbers_by_id(sample.object) else {}
    return [number for of_query in by_query.values() for number in of_query.values()]


def _is_run(sample: Sample) -> bool:
    """Whether the lines have six fields; the reader raises an error for fields after the tag."""
    is_table = sample.is_titled and sample.is_tabbed  # a table may have numbers in the same columns
    are_lines = most(len(row) > 5 for row in sample.fields) and are_results(sample.fields) and not is_table
    is_short = short_columns(sample.fields) is not None or float in map(type, _json_numbers(sample))
    return sample.is_folder or sample.has(RUNS) or are_lines or is_short


def _count_second_columns(path: Path, dropped: DroppedFields) -> None:
    """Count second columns other than 0."""
    columns = [] if is_table(path, QRELS) else [fields[1:2] for _, fields in qrels_rows(path)]
    dropped.add("second columns other than 0", sum(column not in (["0"], ["Q0"]) for column in columns))


def _read_runs(source: Source) -> Runs:
    """Read runs by system; if files name the systems, different tags are counted as dropped."""
    runs: dict[str, list[RunLine]] = {}
    warn_of_skipped_files(source.path)
    for file in run_files(source.path):
        by_file = source.method_name == "stem" and not is_table(file, RUNS)
        for line in read_run(file, method="tag", one_system=by_file):
            name = method_of(file) if by_file else line.system
            source.dropped.add("run tags that differ from the file name", name != line.system)
            runs.setdefault(name, []).append(line._replace(system=name))
    if not runs:
        raise DataError("has no results.", file=str(source.path))
    return runs


def _write_runs(runs: Runs, target: Target) -> None:
    """Write a folder of files, or a file if there is one system and the target has an extension."""
    is_output = is_stream(target.path)
    if len(runs) > 1 and is_output:
        raise SelectionError(f"Standard output has no place for {len(runs)} runs; name a folder with -o.")
    column = TrecColumns()
    if is_output or (len(runs) == 1 and target.path.suffix and not target.path.is_dir()):
        (lines,) = runs.values()
        write_run(lines, target.path, inputs=target.inputs, column=column)
    else:
        with folder_output(target.path, target.inputs) as work:
            for system in runs:
                write_run(runs[system], work / run_file_name(system), column=column)
    target.dropped.add("blanks in ids", len(column.changed))


def _write_qrels(qrels: Iterable[Qrel], target: Target) -> None:
    column = TrecColumns()
    write_qrels(qrels, target.path, inputs=target.inputs, column=column)
    target.dropped.add("blanks in ids", len(column.changed))


def run_file_name(system: str) -> str:
    """The system's name as a file name that cannot leave its folder; reversed by URL unquoting."""
    return safe_name(system) + ".run"


def _are_texts(sample: Sample) -> Fit:
    """Whether a table has a passage id and a text, and none of a query, which other formats have."""
    if not sample.has(TEXTS) or "query_id" in RUNS.used(sample.names):
        return Fit.NOT
    has_id = plain_name(TEXTS.used(sample.names)["passage_id"]) in map(plain_name, PASSAGE_ID)
    return Fit.LOOSE if has_id else Fit.FAINT


register(
    Format(
        "texts", "texts", "texts of passages as a table", _are_texts,
        lambda path: read_texts(path, None), "text", read_by="import --texts", written_by="",
    ),
    Format(
        "qrels", "qrels", "qrels of trec_eval", fits(_are_qrels, Fit.STRONG), read_qrels, "judgment",
        read=make_reader(read_qrels, _count_second_columns), write=_write_qrels,
    ),
    Format(
        "run", "runs", "TREC run, or a folder of runs", fits(_is_run, Fit.STRONG), read=_read_runs,
        write=_write_runs,
    ),
)  # fmt: skip
