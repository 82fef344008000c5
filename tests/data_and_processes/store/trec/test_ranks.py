"""Reading official leaderboards."""

from __future__ import annotations

from pathlib import Path

from exam_pp.store.trec.ranks import read_ranks


def test_official_ranks_of_dl20(shared_data: Path) -> None:
    assert len(read_ranks(shared_data / "dl20" / "official_DL20_Leaderboard.json")) == 59
