"""Folded parts of an evaluation report: all leaderboards, graders, files and provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from exam_pp.grade_filter import GradeKey
from exam_pp.metrics.correlation import correlate
from exam_pp.phases.analysis.correlation import Correlations
from exam_pp.phases.evaluation.contents import GradedContents, InputFile, versions
from exam_pp.phases.evaluation.leaderboards import Standings
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.rendering.document import Block, Cell, Paragraph, Table
from exam_pp.reports.analysis.correlation import COEFFICIENTS
from exam_pp.reports.evaluation.leaderboards import unmatched_notes
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import listed


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard of the report: its title with the grader, the stem of its files, and its scores.

    ``grader`` is None for manual judgments. ``about`` describes the first measure; empty for known measures.
    """

    title: str
    stem: str
    standings: Standings
    grader: GradeKey | None = None
    about: str = ""

    @property
    def measure(self) -> str:
        """The first measure for readers, without a cutoff if it limits no answer."""
        metric = self.standings.metrics[0]
        return metric.partition("@")[0] if self.standings.evaluation.of_answers else metric

    @property
    def systems(self) -> list[str]:
        """The systems, best first, without the overall system."""
        return [system for system in self.standings.systems if system != OVERALL_SYSTEM]

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """Metric to system to mean score, without the overall system."""
        means: dict[str, dict[str, float]] = {}
        for row in self.standings.rows.values():
            if row.system != OVERALL_SYSTEM:
                means.setdefault(row.metric, {})[row.system] = row.mean
        return means


def bank_names(banks: Iterable[PathLike]) -> dict[PathLike, str]:
    """Bank to its name on the page: the end of its path, from the file name on, that no other bank has."""
    parts = {bank: Path(bank).parts for bank in banks}
    names: dict[PathLike, str] = {}
    for length in range(1, max(map(len, parts.values()), default=0) + 1):
        names = {bank: "/".join(of_path[-length:]) for bank, of_path in parts.items()}
        if len(set(names.values())) == len(names):
            break
    return names


def leaderboard_tables(
    leaderboards: Sequence[Leaderboard], correlations: Mapping[str, Correlations]
) -> list[Block]:
    """A table of the measures of all leaderboards, and one of their scores: a row for each system.

    ``correlations`` is the title of a leaderboard to its correlation with official ranks.
    """
    measured = [(board, metric) for board in leaderboards for metric in board.standings.metrics]
    if not measured:
        return []
    means = [board.means.get(metric, {}) for board, metric in measured]
    systems = dict.fromkeys(system for board in leaderboards for system in board.systems)
    by_measure = {
        (title, item.measure): item.correlation[1:]
        for title, result in correlations.items()
        for item in result.measures
    }
    rows: list[list[Cell]] = []
    for number, ((board, metric), scores) in enumerate(zip(measured, means, strict=True), 1):
        best = max(scores, key=lambda system: scores[system], default=None)
        tau = rank_agreement(means[0], scores) if number > 1 else None
        coefficients = by_measure.get((board.title, metric), [None] * len(COEFFICIENTS))
        score = None if best is None else scores[best]
        rows.append([number, board.title, metric, best, score, tau, *(coefficients if by_measure else ())])
    columns = ["number", "leaderboard", "measure", "best system", "score", "Kendall's τ with 1"]
    notes = ["The files have standard errors, intervals, places, letters and bounds."]
    if correlations:
        first = next(iter(correlations.values()))
        columns += [name.format(first.top) for name in COEFFICIENTS]
        source = Path(first.official.source).name
        notes += [f"{', '.join(columns[6:])}: with the ranks of {source}."]
        notes += unmatched_notes(systems, first.official.ranks, "the leaderboards", source)
    return [
        Table(columns, rows, title="All leaderboards"),
        Table(
            ["system", *(str(row[0]) for row in rows)],
            [[system, *(scores.get(system) for scores in means)] for system in systems],
            title="Scores of all leaderboards, by number",
            hints={row: f"{board.title}: {metric}" for row, (board, metric) in enumerate(measured, 1)},
        ),
        *map(Paragraph, notes),
    ]


def rank_agreement(first: Mapping[str, float], second: Mapping[str, float]) -> float | None:
    """Kendall's τ-b of the scores of the systems that both have; None for fewer than three systems."""
    found = correlate(first, {system: -score for system, score in second.items()})
    return found.kendall if found.systems > 2 else None


def method_notes(leaderboards: Sequence[Leaderboard]) -> list[Block]:
    """The notes of all leaderboards, each once; those that the first one lacks name their leaderboards."""
    titles: dict[str, list[str]] = {}
    for board in leaderboards:
        for note in board.standings.all_notes:
            titles.setdefault(note, []).append(board.title)
    first = leaderboards[0].title if leaderboards else ""
    return [
        Paragraph(note if of[0] == first else f"{listed(of, '; ')}: {note}") for note, of in titles.items()
    ]


def content_tables(
    contents: GradedContents, used: Mapping[GradeKey, str], files: Sequence[tuple[str, str]]
) -> list[Block]:
    """Counts of the inputs, all graders of the file, and the files of the folder.

    ``used`` is the graders of leaderboards with their names there, ``files`` are names with descriptions.
    """
    names = bank_names(contents.entries)
    counts: list[tuple[Cell, Cell]] = [
        ("queries", contents.queries),
        ("passages", contents.passages),
        ("passages with judgments", contents.judged),
        ("systems with rankings", len(contents.systems)),
        *((f"entries of {names[bank]}", number) for bank, number in contents.entries.items()),
    ]
    has_tokens = any(grader.tokens for grader in contents.graders.values())
    rows: list[list[Cell]] = [
        [
            key.model,
            key.prompt_class,
            grader.kind,
            grader.queries,
            grader.passages,
            grader.grades,
            used.get(key, ""),
            *([grader.tokens] if has_tokens else []),
        ]
        for key, grader in contents.graders.items()
    ]
    columns = ["model", "prompt class", "graded", "queries", "passages", "grades", "leaderboards"]
    columns += ["tokens"] if has_tokens else []
    return [
        Table(["evaluated", "number"], counts, title="Contents of the graded file"),
        Table(columns, rows, title="Graders"),
        Table(
            ["file", "content"],
            files,
            title="Files beside this page",
            links={(number, 0): quote(name) for number, (name, _) in enumerate(files)},
        ),
    ]


def links_of_queries(
    query_ids: Sequence[str], column: int, addresses: Mapping[str, str]
) -> dict[tuple[int, int], str]:
    """Row and ``column`` to the address of the query of the row; queries without an address have no link."""
    return {(row, column): addresses[q] for row, q in enumerate(query_ids) if q in addresses}


def made_of(
    command: str,
    files: Sequence[InputFile],
    settings: Mapping[str, Cell],
    leaderboards: Sequence[Leaderboard],
) -> tuple[list[Block], str]:
    """Everything that determines the bytes of a report; the date does not: its tables, and a JSON document.

    ``command`` is the command line, ``settings`` are options with their values, also the default ones. The
    document has the provenance of each leaderboard.
    """
    document = {
        "command": command,
        "inputs": [file._asdict() for file in files],
        "settings": settings,
        "versions": versions(),
        "leaderboards": [
            {
                "title": board.title,
                "file": f"{board.stem}.tsv",
                **(board.standings.provenance.values if board.standings.provenance else {}),
            }
            for board in leaderboards
        ],
    }
    tables: list[Block] = [
        *([Paragraph(f"Command: {command}")] if command else []),
        Table(["input", "path", "bytes", "SHA-256"], files, title="Inputs"),
        Table(["setting", "value"], list(settings.items()), title="Settings"),
        Table(["package", "version"], list(versions().items()), title="Versions"),
    ]
    return tables, json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def left_out_blocks(left_out: Sequence[tuple[str, str, str]]) -> list[Block]:
    """The sections that the report lacks; empty if it has all sections."""
    if not left_out:
        return []
    return [Table(["section", "reason", "to add it"], left_out, title="Left out")]
