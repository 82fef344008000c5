"""Converted checkpoints are made once, by one process at a time."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from exam_pp.llm.conversion_cache import make_once


def test_processes_that_start_together_convert_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def slowly(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.2)
        (folder / "model.bin").write_bytes(b"weights")

    target = tmp_path / "cache" / "abc"
    with ThreadPoolExecutor(4) as pool:
        folders = {done.result() for done in [pool.submit(make_once, target, slowly, "") for _ in range(4)]}
    assert folders == {target}
    assert len(made) == 1
    assert (target / "model.bin").read_bytes() == b"weights"


def test_files_of_killed_conversions_are_removed_after_a_day(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    old, young = cache / ".abc.old", cache / ".abc.young"
    for folder in (old, young):
        folder.mkdir(parents=True)
    days_ago = time.time() - 3 * 24 * 60 * 60
    os.utime(old, (days_ago, days_ago))
    folder = make_once(cache / "abc", lambda _folder: None, "")
    assert sorted(cache.iterdir()) == sorted([young, folder])
