"""Leaderboard of a tournament, with win matrix and biases of the judge, and the files of its folder."""

from __future__ import annotations

from pathlib import Path

from exam_pp.phases.rag.tournament import Tournament
from exam_pp.rendering.document import Block, Heading, Link, Paragraph, Report
from exam_pp.rendering.render import render
from exam_pp.reports.tournaments.biases import biases_report
from exam_pp.reports.tournaments.ratings import ratings_report
from exam_pp.store.files import folder_output, write_text


def tournament_report(result: Tournament) -> Report:
    """The leaderboard, the games and the win matrix."""
    return ratings_report(result.ratings.standings, {"": result.ratings})


def write_tournament(result: Tournament, folder: Path, command: str = "") -> Path:
    """Write the leaderboard as TSV, and a page with all comparisons as HTML and Markdown.

    Args:
        result: The tournament.
        folder: The folder to write; other files in it are kept.
        command: The command line, for the page.

    Returns:
        The path of the HTML page.

    Raises:
        OutputError: A file cannot be written.
    """
    board = result.ratings
    table = ratings_report(board.standings, {}, formatted=False)
    ratings = ratings_report(board.standings, {"": board}, {"": result.pairs})
    files: list[Block] = [Heading("Files")]
    for path, content in ((result.passages, "answers and documents"), (result.games, "games")):
        name = f"{path.name}: {content}"
        files.append(Link(name, path.name) if path.parent == folder else Paragraph(name))
    files.append(Link("leaderboard.tsv: the leaderboard", "leaderboard.tsv"))
    if command:
        files.append(Paragraph(f"Command: {command}"))
    page = Report(
        "Tournament",
        [*ratings.content, Heading("Biases of the judge"), *biases_report(result.biases).content, *files],
    )
    with folder_output(folder, [path for _, path in result.sources.files]) as work:
        write_text(work / "leaderboard.tsv", render(table, "tsv"))
        write_text(work / "report.md", render(page, "md"))
        write_text(work / "index.html", render(page, "html"))
    return folder / "index.html"
