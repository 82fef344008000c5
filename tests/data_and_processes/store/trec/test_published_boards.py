"""Published leaderboards with lines around tables, tables of correlations, and scores of queries in CSV."""

from __future__ import annotations

from pathlib import Path

from exam_pp.formats.scores import read_all_scores


def test_a_published_leaderboard_with_lines_around_it(shared_data: Path, tmp_path: Path) -> None:
    """The published scores of DL 2020, as the published tables are laid out."""
    source = shared_data / "dl20" / "dl20-qrels.csv"
    table = source.read_text().replace("run_id,", "method,", 1).replace(",", "\t")
    (tmp_path / "board.tsv").write_text(
        f"qrel_file = dl20\n\n{table}spearman_correlation =0.97\nmin_rating\t5\n"
    )
    assert read_all_scores(tmp_path / "board.tsv") == read_all_scores(source)
