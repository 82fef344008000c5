"""Validate: banks, edits, runs, qrels, queries, leaderboards and answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import ValidationError

from exam_pp.edits import Edits
from exam_pp.errors import DataError, ExamError
from exam_pp.phases.banks.statistics import lint
from exam_pp.phases.evaluation.score_files import read_all_scores
from exam_pp.phases.validation.checks import Findings
from exam_pp.phases.validation.rankings import Place, check_ranks
from exam_pp.results import RunLine
from exam_pp.store.banks.bank_csv import read_bank_csv
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.banks.edits import file_sha256, read_edits
from exam_pp.store.csv_cells import Cells, Layout, read_cells
from exam_pp.store.files import atomic_output, is_stream, read_bytes, read_lines
from exam_pp.store.interchange.autojudge import read_autojudge
from exam_pp.store.interchange.autojudge_eval import read_evaluation
from exam_pp.store.interchange.candidates import read_candidates
from exam_pp.store.interchange.genq import read_genq
from exam_pp.store.interchange.kinds import FileKind
from exam_pp.store.interchange.nugget_assignments import read_assignments
from exam_pp.store.interchange.nugget_metrics import read_nugget_metrics
from exam_pp.store.interchange.nuggetizer import read_nuggetizer
from exam_pp.store.interchange.open_rag_eval import GENERATIONS, generations_of, read_results
from exam_pp.store.interchange.ragelo import (
    ANSWERS,
    DOCUMENTS,
    QUERIES,
    REASONINGS,
    answers_of,
    passages_of,
    queries_of,
    reasonings_of,
)
from exam_pp.store.interchange.ragelo_games import GAMES, games_of, read_game_lines
from exam_pp.store.interchange.squad import read_squad
from exam_pp.store.interchange.tqa import read_tqa
from exam_pp.store.interchange.umbrela import read_judge_rows
from exam_pp.store.parsing import parse_json, sentence
from exam_pp.store.passages.raw_json import repeated_key
from exam_pp.store.trec.answers import read_answers
from exam_pp.store.trec.queries import read_queries
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.runs import method_of, read_qrels, read_run, run_files, warn_of_left_out_runs
from exam_pp.store.trec.score_rows import read_score_rows
from exam_pp.test_bank import BankLine, TestBank
from exam_pp.wording import counted

_MOST_BAD_LINES = 100
"""After so many lines that cannot be read, a file is given up."""


def read_in_spite_of_errors(
    path: Path, read: Callable[[Path], Iterable[Any]], findings: Findings, kind: str
) -> list[Any]:
    """What a reader gives of a file whose bad lines are blanked one by one, each a finding.

    Readers stop at the first bad line; line numbers stay true, as readers pass over blank lines.
    """
    bad: set[int] = set()
    with TemporaryDirectory(prefix="exam-pp-") as folder:
        readable = path
        while True:
            try:
                return list(read(readable))
            except DataError as error:
                if not (error.line is None and bad):  # "holds no ...": because all lines were bad
                    check = "unreadable" if "cut off" in error.words else "format"
                    findings.add(check, str(path), error.line, error.field or "", error.words)
                if error.line is None or error.line in bad or is_stream(path):
                    return []
                if len(bad) == _MOST_BAD_LINES:
                    words = f"has more than {_MOST_BAD_LINES} such lines; what follows was not checked"
                    findings.add("unreadable", str(path), error.line, "", words)
                    return []
                bad.add(error.line)
                readable = Path(folder) / path.name
                _write_without(path, bad, readable)
            except ExamError as error:
                findings.add("format", str(path), None, "", f"as {kind}: {error}")
                return []


def check_repeated_keys(path: Path, findings: Findings) -> None:
    """Note JSON objects with a key twice, of which readers see the last alone.

    What is no JSON is passed over, and a stream, which cannot be read a second time.
    """
    if is_stream(path):
        return

    def note(line: int | None, value: bytes) -> bool:
        try:
            twice = repeated_key(value)
        except (ValueError, RecursionError):
            return False
        if twice is not None:
            words = f"the key {twice!r} stands twice in one object"
            findings.add("duplicate-key", str(path), line, "", words)
        return True

    lines = read_lines(path)
    first = next(lines, (0, b""))
    if first[1][:1] not in (b"{", b"["):
        return
    if note(*first) or not note(None, bytes(read_bytes(path))):  # one document of many lines, or JSON lines
        for number, value in lines:
            note(number, value)


def _write_without(path: Path, bad: set[int], copy: Path) -> None:
    """A copy in which the bad lines, and those that were blank, are blank."""
    with atomic_output(copy) as stream:
        next_line = 1
        for number, line in read_lines(path):
            stream.write(b"\n" * (number - next_line))
            stream.write(b"\n" if number in bad else line + b"\n")
            next_line = number + 1


def check_bank(path: Path, findings: Findings) -> str:
    """Check a test bank: every line and field, then what `exam-pp bank lint` looks for."""
    file = str(path)
    check_repeated_keys(path, findings)
    lines: list[BankLine] = []
    places: dict[tuple[str, str], int] = {}
    query_lines: dict[str, int] = {}
    for number, text in read_lines(path):
        line = _bank_line(text, file, number, findings)
        if line is None:
            continue
        lines.append(line)
        query_lines.setdefault(line.query_id, number)
        for item in line.items:
            places.setdefault((line.query_id, item.entry_id), number)
    if not lines and not findings.has(file):
        findings.add("empty", file, None, "", "holds no bank")
    bank = TestBank.from_lines(lines)
    for problem in lint(bank):
        where = f"query {problem.query_id}" if problem.query_id in bank.queries else ""
        line_number = query_lines.get(problem.query_id)
        if problem.entry_id is not None:
            line_number = places.get((problem.query_id, problem.entry_id), line_number)
            where += f", {problem.entry_id}"
        findings.add("bank", file, line_number, where, problem.problem, problem.severity)
    entries = sum(len(line.items) for line in lines)
    return f"{counted(len(bank.queries), 'query')}, {counted(entries, 'entry')}"


def _bank_line(text: bytes, file: str, number: int, findings: Findings) -> BankLine | None:
    try:
        value = parse_json(text, file, number)
        if isinstance(value, dict) and "items" not in value and "questions" in value:
            value = {**value, "items": value["questions"]}
        return BankLine.model_validate(value)
    except DataError as error:
        findings.add("format", file, number, "", error.words)
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            names = [part for part in problem["loc"] if part not in ("question", "nugget")]
            place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in names)
            findings.add("format", file, number, place, sentence(problem))
    return None


def check_edits(path: Path, findings: Findings, banks: Mapping[Path, TestBank]) -> str:
    """Check an edits file; with banks, also whether it is about one of them."""
    file = str(path)
    check_repeated_keys(path, findings)
    try:
        edits = read_edits(path)
    except DataError as error:
        if isinstance(error.__cause__, ValidationError):
            for problem in error.__cause__.errors(include_url=False, include_input=False):
                place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in problem["loc"])
                findings.add("format", file, None, place, sentence(problem))
        else:
            findings.add("format", file, error.line, error.field or "", error.words)
        return "edits"
    if banks:
        _check_edited_banks(edits, file, findings, banks)
    changes = counted(len(edits.bank), "change of a bank", "changes of a bank")
    return f"{counted(len(edits.ratings), 'rating')}, {changes}"


def _check_edited_banks(edits: Edits, file: str, findings: Findings, banks: Mapping[Path, TestBank]) -> None:
    if edits.bank_sha256 is not None and edits.bank_sha256 not in {file_sha256(path) for path in banks}:
        findings.add("other-file", file, None, "bank_sha256", "is the digest of another bank")
    known = {(q.query_id, key) for bank in banks.values() for q in bank for key in q.entries}
    for number, rating in enumerate(edits.ratings, 1):
        if (rating.query_id, rating.entry_id) not in known:
            words = f"{rating.entry_id} is no entry of the query {rating.query_id}"
            findings.add("unknown-entry", file, None, f"ratings.{number}", words)
    for number, edit in enumerate(edits.bank, 1):
        if edit.op == "reword" and edit.entry_id is not None:
            known.add((edit.query_id, edit.entry_id))
        elif edit.entry_id is not None and (edit.query_id, edit.entry_id) not in known:
            words = f"{edit.entry_id} is no entry of the query {edit.query_id}"
            findings.add("unknown-entry", file, None, f"bank.{number}", words)


def check_runs(path: Path, findings: Findings) -> str:
    """Check a run file, or all of a folder."""
    queries: set[str] = set()
    systems: dict[str, str] = {}
    count = 0
    warn_of_left_out_runs(path)
    for run in run_files(path):
        lines: list[RunLine] = read_in_spite_of_errors(run, _with_tags, findings, "run")
        count += len(lines)
        queries.update(line.query_id for line in lines)
        if not lines and not findings.has(str(run)):
            findings.add("empty", str(run), None, "", "holds no results")
        if len(tags := {line.system for line in lines}) > 1:
            words = f"holds {len(tags)} tags; its lines count as one system, {method_of(run)}"
            findings.add("wrong-id", str(run), None, "", words, "warning")
        before = systems.setdefault(method_of(run), str(run))
        if before != str(run):
            findings.add("wrong-id", str(run), None, "", f"has the name of the system in {before}")
        _check_ranks_of_run(str(run), lines, findings)
    held = (counted(len(systems), "system"), counted(len(queries), "query"), counted(count, "line"))
    return ", ".join(held)


def _with_tags(path: Path) -> Iterable[RunLine]:
    return read_run(path, method="tag", one_system=True)


def _check_ranks_of_run(file: str, lines: Sequence[RunLine], findings: Findings) -> None:
    places: dict[str, list[Place]] = defaultdict(list)
    for line in lines:
        places[line.query_id].append(Place(line.rank, line.score, line.passage_id))
    for query_id, ranked in places.items():
        for check, words in check_ranks({method_of(Path(file)): ranked}):
            findings.add(check, file, None, f"query {query_id}", words)


def check_qrels(path: Path, findings: Findings) -> str:
    """Check qrels: every line, contradictions and repetitions."""
    qrels = read_in_spite_of_errors(path, read_qrels, findings, "qrels")
    pairs: Counter[tuple[bytes, ...]] = Counter()
    for number, line in read_lines(path):
        fields = line.split()
        if len(fields) == 4:
            key = (fields[0], fields[2], fields[3])
            pairs[key] += 1
            if pairs[key] == 2:
                words = f"is judged {fields[3].decode('utf-8', 'replace')} several times"
                where = (
                    f"query {fields[0].decode('utf-8', 'replace')}, {fields[2].decode('utf-8', 'replace')}"
                )
                findings.add("duplicate-judgment", str(path), number, where, words)
    queries = {qrel.query_id for qrel in qrels}
    return f"{counted(len(queries), 'query')}, {counted(len(qrels), 'judgment')}"


def _table(made: Callable[[Cells, Path], Iterable[Any]], layout: Layout) -> Callable[[Path], Iterable[Any]]:
    return lambda path: made(read_cells(path, layout), path)


_READERS: Mapping[FileKind, tuple[Callable[[Path], Iterable[Any]], str]] = {
    **dict.fromkeys(("queries-json", "queries-tsv", "queries-jsonl", "topics"), (read_queries, "query")),
    **dict.fromkeys(("official-json", "official-tsv"), (read_ranks, "system")),
    **dict.fromkeys(("leaderboard", "published-cover", "trec-eval"), (read_all_scores, "score")),
    "scores-jsonl": (read_score_rows, "score"),
    "autojudge-eval": (read_evaluation, "score"),
    "autojudge-tot": (partial(read_evaluation, order="tot"), "score"),
    **dict.fromkeys(("rag24", "rag25", "ragtime", "plain-answers"), (read_answers, "answer")),
    "bank-csv": (read_bank_csv, "entry"),
    "genq": (read_genq, "facet"),
    "nuggetizer": (read_nuggetizer, "query"),
    "nuggetizer-assignments": (read_assignments, "answer"),
    "nuggetizer-metrics": (read_nugget_metrics, "score"),
    "umbrela": (read_judge_rows, "judgment"),
    "candidates": (read_candidates, "query"),
    "autojudge-bank": (read_autojudge, "query"),
    "ragelo-queries": (_table(queries_of, QUERIES), "query"),
    "ragelo-documents": (_table(passages_of, DOCUMENTS), "query"),
    "ragelo-answers": (_table(answers_of, ANSWERS), "answer"),
    "ragelo-reasonings": (_table(reasonings_of, REASONINGS), "document"),
    "ragelo-games": (_table(games_of, GAMES), "game"),
    "ragelo-games-jsonl": (read_game_lines, "game"),
    "open-rag-eval": (_table(generations_of, GENERATIONS), "answer"),
    "open-rag-eval-scores": (lambda path: read_results(path, path.name)[0], "score"),
    "tqa": (read_tqa, "lesson"),
    "squad2": (read_squad, "paragraph"),
}


def check_by_reading(path: Path, kind: FileKind, findings: Findings) -> str:
    """Check a file by reading it, past every line that cannot be read."""
    read, noun = _READERS[kind]
    check_repeated_keys(path, findings)
    found = read_in_spite_of_errors(path, read, findings, kind)
    return counted(len(found), noun)


def named_banks(paths: Sequence[Path]) -> dict[Path, TestBank]:
    """The banks that files are compared with; these have to be readable."""
    return {path: read_bank(path) for path in paths}
