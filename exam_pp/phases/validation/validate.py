"""Checks of files in all formats: their lines, and what several files of an evaluation have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from exam_pp.data_model import is_canary
from exam_pp.errors import CorruptFileError, DataError, ExamError, SelectionError, StoppedError
from exam_pp.formats.base import FORMATS, Source, all_formats, format_of
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.judges import LEXICAL
from exam_pp.phases.evaluation.result import check_names
from exam_pp.phases.evaluation.unjudged import ids_of_both, joining_rule, unjudged_notes
from exam_pp.phases.validation.checks import Findings, ranking_problems
from exam_pp.phases.validation.graded_file import check_graded
from exam_pp.results import RunLine
from exam_pp.splicing import duplicate_key
from exam_pp.store.files import read_bytes, read_lines, without_lines
from exam_pp.store.problems import MOST_KEPT, collecting
from exam_pp.store.tables import RUNS, is_table
from exam_pp.store.trec.answers import Answer
from exam_pp.store.trec.runs import (
    TrecColumns,
    method_of,
    read_qrels,
    read_rankings,
    read_run,
    run_files,
    title_query,
    warn_of_skipped_files,
)
from exam_pp.text.keys import id_by_text, ids_by_text
from exam_pp.text.stemming import STOP_WORDS, tokens
from exam_pp.text.wording import counted


def checkable_formats() -> list[str]:
    """Return the names of the formats that can be checked."""
    return [form.name for form in all_formats() if form.records or form.name in OWN_CHECKS]


def validate(
    files: Sequence[Path], *, kind: str | None = None, limit: int = 0, judge: str | None = None
) -> Findings:
    """Check the format and consistency of files.

    ``kind``: Name of the format of all files; None to detect it by the content of each file. ``judge``: The
    model that is to grade, if it is known. Returns the findings; an invalid line does not stop the check of
    the following lines.
    """
    findings = Findings(limit)
    for path in files:
        format_name = kind or "?"
        contents = ""
        try:
            if kind is None and not path.is_dir() and not any(read_lines(path)):
                findings.add("empty", str(path), None, "", "is empty")
                continue
            form = FORMATS.get(kind) if kind else format_of(path)
            format_name = form.name
            if own := OWN_CHECKS.get(form.name):
                contents = own(path, findings)
            else:
                assert form.records is not None, "validate accepts only formats with records"
                check_duplicate_keys(path, findings)
                dropped = DroppedFields()
                read = form.read if form.noun in ("answer", "query") else None
                records_of = form.records if read is None else partial(_records, read, dropped)
                records = read_around_errors(path, records_of, findings, form.name)
                contents = "; ".join([counted(len(records), form.noun), *dropped.lines()])
                texts = {getattr(of, "query_id", ""): getattr(of, "query_text", "") for of in records}
                findings.query_texts[form.content == "answers"] |= texts
                if form.content in ("bank", "queries", "qrels"):
                    findings.queries[form.content, str(path)].update(
                        getattr(record, "query_id", "") for record in records
                    )
                for answer in (record for record in records if isinstance(record, Answer)):
                    text = " ".join(part.text for part in answer.parts)
                    findings.sees(answer.query_id, [answer.system], answer.references, text)
                    for docid in answer.unlisted:
                        findings.add(
                            "citation", str(path), answer.line, f"query {answer.query_id}",
                            f"the citation {docid} is no reference of the answer",
                        )  # fmt: skip
        except DataError as error:
            findings.add("unreadable", str(path), error.line, error.field or "", error.problem)
        finally:
            findings.checked(str(path), format_name, contents)
    _check_all(findings, judge)
    return findings


def _check_all(findings: Findings, judge: str | None) -> None:
    """Add findings on the judgments, names, queries and texts of all files together."""
    valid = [(file, name) for file, name, _ in findings.files if not findings.has(file, "error")]
    labels = [label for file, name in valid if name == "qrels" for label in read_qrels(file)]
    for run in (run for path, name in valid if labels and name == "run" for run in run_files(path)):
        if not findings.has(str(run), "error"):
            for note in unjudged_notes(labels, read_rankings(run).items()):
                findings.add("unjudged", str(run), None, "", note)
    described = {
        content: set().union(*(ids for (of, _), ids in findings.queries.items() if of == content))
        for content in ("queries", "bank")
    }
    titles = described["queries"] | described["bank"]
    of_answers = findings.query_texts[True]
    by_text = ids_by_text(of_answers) | ids_by_text(findings.query_texts[False])
    joined = {key: id_by_text(key, text, titles, by_text) for key, text in of_answers.items()}
    systems = {
        system: {title_query(joined.get(query_id, query_id), titles, guess=False) for query_id in of}
        for system, of in sorted(findings.systems.items())
        if not is_canary(system)
    }
    answered = set().union(*systems.values())
    try:
        check_names(answered, systems)
        column = TrecColumns()
        for noun, names in (("query", answered), ("system", systems), ("passage", findings.passages)):
            for name in sorted(names):
                column(noun, name)
    except (DataError, SelectionError) as error:
        findings.add("name", "", None, "", str(error))
    for (content, file), given in findings.queries.items():
        apart = answered - given
        is_error = content == "bank" and apart == answered
        if apart and given and (is_error or joining_rule(apart, given)):
            message = ids_of_both(apart, given - answered or given, "the systems", f"the {content}")
            findings.add("query-ids", file, None, "", message, "error" if is_error else None)
    for ids in described.values():
        answered = answered & ids or answered
    for system, of in systems.items():
        if lacking := answered - of:
            share = f"{len(lacking)} of {len(answered)} queries ({100 * len(lacking) / len(answered):.0f} %)"
            message = f"{system} lacks {share}, such as {min(lacking)}"
            findings.add("missing-queries", "", None, system, message)
    if judge in (None, LEXICAL) and not _are_english(findings.texts):
        message = (
            f"the texts do not look like English, and the judge {LEXICAL} knows word endings and stop words "
            "of English alone"
        )
        findings.add("language", "", None, "", message)


def _are_english(texts: Iterable[str]) -> bool:
    """Whether most letters are Latin, and stop words are frequent: a third, in other languages a tenth."""
    words = [word for text in texts for word in tokens(text)]
    others = sum(letter > "\u024f" for word in words for letter in word)
    stop_words = sum(word in STOP_WORDS for word in words)
    return 2 * others <= sum(map(len, words)) and (len(words) < 50 or stop_words >= 0.12 * len(words))


def _records(read: Callable[[Source], Iterable[Any]], dropped: DroppedFields, path: Path) -> Iterable[Any]:
    return read(Source(path, dropped))


def read_around_errors(
    path: Path, read: Callable[[Path], Iterable[Any]], findings: Findings, format_name: str
) -> list[Any]:
    """Return the records of a file without its invalid lines, each of which becomes a finding.

    A reader that collects the problems of lines is done at once. Others stop at the first invalid line, so
    the file is read again without it.
    """
    bad: set[int] = set()
    problems: list[DataError] = []
    while True:
        try:
            with without_lines(path, bad), collecting() as problems:
                records = list(read(path))
            _add_problems(path, problems, findings)
            return records
        except DataError as error:
            if problems:
                _add_problems(path, problems, findings)
                return []
            corrupt = isinstance(error, CorruptFileError)
            # Without its invalid lines a file may be empty; that error is not a further finding.
            if corrupt or not (error.line is None and bad):
                check = "unreadable" if corrupt else "format"
                findings.add(check, str(path), error.line, error.field or "", error.problem)
            if error.line is None or error.line in bad:
                return []
            if len(bad) == MOST_KEPT:
                problem = f"has more than {MOST_KEPT} invalid lines; later lines are not checked"
                findings.add("unreadable", str(path), error.line, "", problem)
                return []
            bad.add(error.line)
        except StoppedError:
            raise
        except ExamError as error:
            findings.add("format", str(path), None, "", f"cannot be read as {format_name}: {error}")
            return []


def _add_problems(path: Path, problems: Sequence[DataError], findings: Findings) -> None:
    for problem in problems:
        findings.add("format", str(path), problem.line, problem.field or "", problem.problem)


def check_duplicate_keys(path: Path, findings: Findings) -> None:
    """Add a finding for each JSON object with a duplicate key; readers use the last value.

    Skips values that are not JSON.
    """

    def check(line: int | None, value: bytes) -> bool:
        try:
            key = duplicate_key(value)
        except (ValueError, RecursionError):
            return False
        if key is not None:
            findings.add("duplicate-key", str(path), line, "", f"has the key {key!r} twice in one object")
        return True

    lines = read_lines(path)
    first = next(lines, (0, b""))
    if first[1][:1] not in (b"{", b"["):
        return
    if check(*first) or not check(None, bytes(read_bytes(path))):  # a JSON document, or JSON lines
        for number, value in lines:
            check(number, value)


def check_runs(path: Path, findings: Findings) -> str:
    """Check a run file, or the run files of a folder; returns a summary of the contents."""
    read = partial(read_run, method="tag", one_system=True)
    queries: set[str] = set()
    systems: dict[str, str] = {}
    count = 0
    warn_of_skipped_files(path)
    for run in run_files(path):
        lines: list[RunLine] = read_around_errors(run, read, findings, "run")
        count += len(lines)
        queries.update(line.query_id for line in lines)
        if not lines and not findings.has(str(run)):
            findings.add("empty", str(run), None, "", "has no lines of a run")
        has_names = is_table(run, RUNS)
        names = dict.fromkeys(line.system for line in lines) if has_names else [method_of(run)]
        if not has_names and len(tags := {line.system for line in lines}) > 1:
            message = (
                f"has {len(tags)} tags; without --method-name tag all lines count as one system, "
                f"{method_of(run)}"
            )
            findings.add("wrong-id", str(run), None, "", message, "warning")
        for name in names:
            first = systems.setdefault(name, str(run))
            if first != str(run):
                findings.add("wrong-id", str(run), None, "", f"has the same system name as {first}")
        rankings: dict[str, list[RunLine]] = defaultdict(list)
        for line in lines:
            system = line.system if has_names else method_of(run)
            rankings[f"{system}, query {line.query_id}"].append(line)
            findings.sees(line.query_id, [system], [line.passage_id])
        for check, message in ranking_problems(rankings):
            findings.add(check, str(run), None, "", message)
    contents = (counted(len(systems), "system"), counted(len(queries), "query"), counted(count, "line"))
    return ", ".join(contents)


OWN_CHECKS: Mapping[str, Callable[[Path, Findings], str]] = {"graded": check_graded, "run": check_runs}
"""Format to its checks; files of all other formats are checked by reading them."""
