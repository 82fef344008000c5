"""Random bit flips in files that exam_pp writes and reads back: no damage may be taken for the original."""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from random import Random

from exam_pp.errors import ExamError
from exam_pp.llm.conversion_cache import make_once
from exam_pp.requests import Completion
from exam_pp.store.passages.journal import Journal


def _replies() -> dict[str, Completion]:
    """Replies whose digits and texts differ, so that a changed bit gives another plausible reply."""
    return {
        f"{7 * number:016x}/{11 * number:032x}": Completion(
            str(number % 6) * (1 + number % 3), None if number % 9 else f"failure {number}", (-0.5, -1.25)
        )
        for number in range(400)
    }


def flip_journal(folder: Path, times: int, seed: int = 1) -> Counter[str]:
    """Flip a bit of a journal this many times, each time in a good journal, and read its replies.

    Returns:
        Counts of ``"accepted"`` (other replies than those that were written), ``"refused"`` (an error),
        ``"asked again"`` (missing replies), and ``"unchanged"``. Other exceptions are raised.
    """
    path, replies, rng = folder / "replies.journal", _replies(), Random(seed)
    with Journal(path) as journal:
        journal.add(replies)
    good, outcomes = path.read_bytes(), Counter[str]()
    logging.getLogger("exam_pp.store.passages.journal").setLevel(logging.ERROR)
    for number in range(times):
        damaged = bytearray(good)
        damaged[rng.randrange(len(good))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            with Journal(path) as journal:
                read = journal.all_replies() if number % 2 else journal.get(replies)
        except ExamError:
            outcomes["refused"] += 1
            continue
        if read.items() <= replies.items():
            outcomes["unchanged" if len(read) == len(replies) else "asked again"] += 1
        else:
            outcomes["accepted"] += 1
    logging.getLogger("exam_pp.store.passages.journal").setLevel(logging.NOTSET)
    return outcomes


def flip_conversion(folder: Path, times: int, seed: int = 1) -> Counter[str]:
    """Flip a bit of a converted checkpoint, or of its seal, this many times, and ask for the checkpoint.

    Returns:
        Counts of ``"accepted"`` (the damaged checkpoint is used) and ``"made again"``.
    """
    target, rng, outcomes = folder / "cache" / "model", Random(seed), Counter[str]()
    content = {"model.bin": rng.randbytes(400), "config.json": b'{"layers": 2}', "vocabulary.txt": b"a\nb\n"}

    def make(part: Path) -> None:
        for name, data in content.items():
            (part / name).write_bytes(data)

    logging.getLogger("exam_pp.llm.conversion_cache").setLevel(logging.ERROR)
    for _ in range(times):
        files = sorted(make_once(target, make, "Converting").iterdir())
        file = rng.choice(files)
        damaged = bytearray(file.read_bytes())
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        again = make_once(target, make, "Converting")
        intact = all((again / name).read_bytes() == data for name, data in content.items())
        outcomes["made again" if intact else "accepted"] += 1
    logging.getLogger("exam_pp.llm.conversion_cache").setLevel(logging.NOTSET)
    return outcomes
