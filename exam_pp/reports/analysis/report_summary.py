"""Parts of an evaluation report that are about the whole: summary, graders, weak spots, provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_pp.grade_filter import GradeKey
from exam_pp.phases.analysis.correlation import Correlations
from exam_pp.phases.evaluation.contents import GradedContents, InputFile, WeakSpots
from exam_pp.phases.evaluation.leaderboards import Standings, SystemUncertainty
from exam_pp.phases.evaluation.result import PathLike
from exam_pp.phases.evaluation.verdict import verdict
from exam_pp.provenance import combined
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.reports.analysis.correlation import COEFFICIENTS
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.text.wording import counted

_BEST = 3
_MANY_LEADERBOARDS = 5
"""The summary has the ``_BEST`` first systems of a leaderboard; of many leaderboards, only the first one."""
_SPOTS = 10
"""Maximum number of rows of a list of weak spots."""


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard of the report: its title with the grader, the stem of its files, and its scores."""

    title: str
    stem: str
    standings: Standings

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


def summary_blocks(
    contents: GradedContents,
    leaderboards: Sequence[Leaderboard],
    correlations: Mapping[str, Correlations],
) -> list[Block]:
    """Counts of the inputs, the best systems of each leaderboard, and its correlation with official ranks.

    ``correlations`` is the title of a leaderboard to its correlation.
    """
    names = bank_names(contents.entries)
    used, known = sum(grader.selected for grader in contents.graders.values()), len(contents.graders)
    facts: list[tuple[Cell, Cell]] = [
        ("queries", contents.queries),
        ("passages", contents.passages),
        ("passages with judgments", contents.judged),
        ("systems", len({name for board in leaderboards for name in board.systems})),
        ("graders", used if used == known else f"{used} of {known} selected"),
        *((f"entries of {names[bank]}", number) for bank, number in contents.entries.items()),
    ]
    said = verdict(leaderboards[0].standings) if leaderboards else None
    number = _BEST if len(leaderboards) < _MANY_LEADERBOARDS else 1
    best = [row for leaderboard in leaderboards for row in _best(leaderboard, number)]
    columns = ["leaderboard", "measure", "system", "score", "interval", "interval of ranks"]
    blocks: list[Block] = [
        Heading("Summary"),
        *([Paragraph(said.sentence)] if said is not None else []),
        Table(["evaluated", "number"], facts),
        Table(
            columns,
            best,
            title=f"Best systems: the first {'' if number == 1 else f'{number} '}of each leaderboard",
        ),
    ]
    if correlations:
        rows: list[list[Cell]] = [
            [title, result.measures[0].measure, *result.measures[0].correlation[:4]]
            for title, result in correlations.items()
        ]
        header = ["leaderboard", "measure", "systems", *COEFFICIENTS[:3]]
        blocks.append(Table(header, rows, title="Correlation with the official ranks"))
    # The thresholds of judgments are on another scale than those of grades.
    return [*blocks, *_made_by([board for board in leaderboards if board.stem != "judgments"])]


def _best(leaderboard: Leaderboard, number: int) -> list[list[Cell]]:
    standings = leaderboard.standings
    metric = standings.metrics[0]
    rows: list[list[Cell]] = []
    for system in leaderboard.systems[:number]:
        interval = standings.uncertainty.systems.get((system, metric), SystemUncertainty())
        row = standings.rows.get((system, metric))
        rows.append(
            [
                leaderboard.title,
                metric,
                system,
                None if row is None else row.mean,
                "" if interval.low is None else f"[{interval.low:.3f}, {interval.high:.3f}]",
                _range(interval.first, interval.last),
            ]
        )
    return rows


def _range(first: int | None, last: int | None) -> str:
    return "" if first is None else f"{first}" if first == last else f"{first}–{last}"


def grader_blocks(contents: GradedContents, used: Mapping[GradeKey, str]) -> list[Block]:
    """A table of all graders of the file; ``used`` is the graders of leaderboards with their names there."""
    rows: list[list[Cell]] = [
        [
            key.model,
            key.prompt_class,
            grader.kind,
            grader.queries,
            grader.passages,
            grader.grades,
            used.get(key, ""),
        ]
        for key, grader in contents.graders.items()
    ]
    columns = ["model", "prompt class", "graded", "queries", "passages", "grades", "leaderboards"]
    return [Heading("Graders"), Table(columns, rows)]


def weak_spot_blocks(spots: WeakSpots, leaderboard: Leaderboard, addresses: Mapping[str, str]) -> list[Block]:
    """Queries with low scores, the lowest query of each system, and rarely covered entries.

    ``leaderboard`` is that of the scores. ``addresses`` is query id to its address on the review page; ids
    without an address have no link.
    """
    queries, systems, entries = spots.queries[:_SPOTS], spots.systems, spots.entries[:_SPOTS]
    uncovered = sum(entry.covering == 0 for entry in spots.entries)
    entries_of_all = counted(len(spots.entries), "graded entry")
    note = f"By {spots.metric} of {leaderboard.title}. {uncovered} of {entries_of_all} "
    note += f"{'is' if uncovered == 1 else 'are'} covered by no passage."
    if addresses:
        note += " Links open the query on the review page, review.html, which must be in the same folder."
    tables = [
        Table(
            ["query", "text", f"mean {spots.metric}", "best system", "best score"],
            queries,
            title=f"Queries with the lowest mean score (of {len(spots.queries)})",
            links=_links([query.query_id for query in queries], 0, addresses),
        ),
        Table(
            ["system", "lowest query", spots.metric, "mean of all systems"],
            systems,
            title="Lowest query of each system",
            links=_links([system.query_id for system in systems], 1, addresses),
        ),
        Table(
            ["query", "entry id", "entry", "graded passages", "covering passages"],
            entries,
            title=f"Entries with the smallest share of covering passages (of {len(spots.entries)})",
            links=_links([entry.query_id for entry in entries], 0, addresses),
        ),
    ]
    shown = [table for table in tables if table.rows]
    made_by = _made_by([leaderboard])
    return [Heading("Queries and entries to read"), *shown, Paragraph(note), *made_by]


def _made_by(leaderboards: Sequence[Leaderboard]) -> list[Block]:
    provenance = combined(leaderboard.standings.provenance for leaderboard in leaderboards)
    return [Paragraph(provenance.sentence)] if provenance is not None else []


def _links(query_ids: Sequence[str], column: int, addresses: Mapping[str, str]) -> dict[tuple[int, int], str]:
    return {(row, column): addresses[q] for row, q in enumerate(query_ids) if q in addresses}


@dataclass(frozen=True)
class EvaluationProvenance:
    """Everything that determines the bytes of an evaluation report; the date does not.

    ``command`` is the command line, ``settings`` are options with their values, also the default ones.
    """

    command: str
    files: Sequence[InputFile]
    versions: Mapping[str, str]
    settings: Mapping[str, Cell]
    leaderboards: Sequence[Leaderboard]

    @property
    def blocks(self) -> list[Block]:
        """The section of the report."""
        return [
            Heading("Provenance"),
            *([Paragraph(f"Command: {self.command}")] if self.command else []),
            Table(["input", "path", "bytes", "SHA-256"], self.files, title="Inputs"),
            Table(["setting", "value"], list(self.settings.items()), title="Settings"),
            Table(["package", "version"], list(self.versions.items()), title="Versions"),
        ]

    @property
    def json(self) -> str:
        """The same as a JSON document, with the provenance of each leaderboard."""
        document = {
            "command": self.command,
            "inputs": [file._asdict() for file in self.files],
            "settings": dict(self.settings),
            "versions": dict(self.versions),
            "leaderboards": [
                {
                    "title": board.title,
                    "file": f"{board.stem}.tsv",
                    **(board.standings.provenance.values if board.standings.provenance else {}),
                }
                for board in self.leaderboards
            ],
        }
        return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def left_out_blocks(left_out: Sequence[tuple[str, str, str]]) -> list[Block]:
    """The sections that the report lacks; empty if it has all sections."""
    if not left_out:
        return []
    return [Heading("Left out"), Table(["section", "reason", "to add it"], left_out)]
