"""The log of the live workbench: nothing acknowledged is lost, nothing damaged is accepted."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from time import perf_counter

import pytest

from exam_pp.errors import DataError, OutputError
from exam_pp.plugins.serve.log import Log, folded
from exam_pp.store.edits import read_edits

HEADER = {"judge": "e5", "bank_sha256": "b" * 64}
PATH = Path("live/log.jsonl")


def rating(n: int, value: int = 3, key: str = "e:p", op: str = "rate") -> dict[str, object]:
    return {"n": n, "op": op, "query_id": "q", "passage_id": "p", "id": "e", "rating": value, "key": key}


def write(log: Log, *changes: dict[str, object], by: str = "ann", client: str = "c") -> int:
    return log.append(log.new(by, client, changes))


@pytest.fixture
def log() -> Log:
    return Log.open(PATH, HEADER)


def test_a_change_is_on_the_disk_once_however_often_it_is_sent(log: Log) -> None:
    assert write(log, rating(1), rating(2, 5, "e:r")) == 2
    assert write(log, rating(1), rating(2, 5, "e:r")) == 2
    assert write(log, rating(1), rating(1), client="another") == 3
    assert len(PATH.read_text().splitlines()) == 4
    assert PATH.stat().st_mode & 0o777 == 0o600
    log.close()
    again = Log.open(PATH, HEADER)
    assert [event.n for event in again.events] == [1, 2, 1]
    assert write(again, rating(2, 5, "e:r")) == 3


def test_the_log_is_an_edits_file(log: Log) -> None:
    write(log, rating(1, 3), rating(2, 4), rating(3, 1, "e:r"))
    write(log, rating(1, 2), client="b", by="ben")
    write(log, {"n": 4, "op": "unrate", "query_id": "q", "passage_id": "r", "id": "e", "key": "e:r"})
    write(log, {"n": 5, "op": "add", "query_id": "q", "text": "Why?", "weight": 2})
    write(
        log, {"n": 6, "op": "preview", "change": {"op": "add", "query_id": "q", "text": "How?"}, "moved": 1}
    )
    write(log, {"n": 7, "op": "preview", "change": {"op": "add", "query_id": "q", "text": "When?"}})
    write(log, {"n": 8, "op": "add", "query_id": "q", "text": "When?"})
    edits = read_edits(PATH)
    assert [(each.by, each.rating, each.resolves) for each in edits.ratings] == [
        ("ann", 4, False), ("ben", 2, False),
    ]  # fmt: skip
    assert edits.is_by_content
    assert edits.bank_sha256 == "b" * 64
    assert [(each.op, each.text, each.by, each.weight) for each in edits.bank] == [
        ("add", "Why?", "ann", 2.0), ("add", "When?", "ann", None), ("discard", "How?", "ann", None),
    ]  # fmt: skip


def test_undone_changes_stay_and_do_not_count(log: Log) -> None:
    write(log, rating(1, 3), rating(2, 4), {"n": 3, "op": "undo", "of": 2})
    assert [each.rating for each in read_edits(PATH).ratings] == [3]
    write(log, {"n": 4, "op": "undo", "of": 1})
    assert read_edits(PATH).ratings == []
    assert log.seq == 4


def test_the_last_resolution_counts(log: Log) -> None:
    write(log, rating(1, 5))
    write(log, rating(1, 2), by="ben", client="b")
    write(log, rating(1, 3, op="resolve"), by="cid", client="c2")
    write(log, rating(2, 4, op="resolve"), by="ben", client="b")
    ratings = {each.by: (each.rating, each.resolves) for each in read_edits(PATH).ratings}
    assert ratings == {"ann": (5, False), "ben": (4, True), "cid": (3, False)}


def test_a_comment_leaves_a_resolution_and_another_rating_does_not(log: Log) -> None:
    write(log, rating(1, 5))
    write(log, rating(2, 2, op="resolve"))
    write(log, {**rating(3, 2), "comment": "the last line says so"})
    (resolved,) = read_edits(PATH).ratings
    assert (resolved.rating, resolved.resolves, resolved.comment) == (2, True, "the last line says so")
    write(log, rating(4, 3))
    assert [(each.rating, each.resolves) for each in read_edits(PATH).ratings] == [(3, False)]


def test_ten_thousand_resolutions_are_no_more_work_than_ratings(log: Log) -> None:
    """Each resolves a pair of its own, after somebody has rated it."""
    rated = [rating(n, key=f"{n}:p") for n in range(10_000)]
    log._remember(log.new("ann", "c", rated))
    started = perf_counter()
    folded(log.events, None)
    of_ratings = perf_counter() - started
    log._remember(log.new("ben", "c2", [{**each, "op": "resolve"} for each in rated]))
    started = perf_counter()
    edits = folded(log.events, None)
    assert perf_counter() - started < 20 * of_ratings
    assert sum(each.resolves for each in edits.ratings) == 10_000


@pytest.mark.parametrize("name", sorted(HEADER))
def test_a_log_of_something_else_is_refused_and_closed(log: Log, name: str) -> None:
    log.close()
    with pytest.raises(OutputError, match=f"is of another {name.partition('_')[0]}: move it away"):
        Log.open(PATH, HEADER | {name: "other"})
    Log.open(PATH, HEADER).close()


def test_a_torn_last_line_is_set_aside(log: Log) -> None:
    write(log, *(rating(n) for n in range(1, 6)))
    log.close()
    whole = PATH.read_bytes()
    lines = whole.splitlines(keepends=True)
    random = Random(7)
    for cut in [1, 2, *(random.randrange(len(lines[-1])) for _ in range(30))]:
        PATH.write_bytes(whole[:-cut])
        assert len(read_edits(PATH).ratings) == 1, "a reader does not need the server"
        opened = Log.open(PATH, HEADER)
        assert opened.seq == (4 if cut else 5)
        assert PATH.with_suffix(".torn").read_bytes() == lines[-1][:-cut]
        assert write(opened, rating(5)) == 5
        opened.close()
        assert len(PATH.read_bytes().splitlines()) == 6


def test_other_damage_is_refused_with_its_line(log: Log) -> None:
    write(log, *(rating(n) for n in range(1, 6)))
    log.close()
    whole = PATH.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    random = Random(7)
    for _ in range(75):
        at = random.randrange(last)
        damaged = bytearray(whole)
        damaged[at] ^= 1 << random.randrange(8)
        PATH.write_bytes(damaged)
        if b"exam_pp.live.v1" in damaged[:100]:
            with pytest.raises(DataError, match=r"log\.jsonl(, line|: is not UTF-8)"):
                read_edits(PATH)
        with pytest.raises(DataError, match=r"line \d"):
            Log.open(PATH, HEADER)
    lines = whole.splitlines(keepends=True)
    PATH.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    with pytest.raises(DataError, match="line 3: is not the next change"):
        Log.open(PATH, HEADER)
    PATH.write_bytes(whole)
    Log.open(PATH, HEADER).close()


def test_a_wrong_field_writes_nothing(log: Log) -> None:
    with pytest.raises(DataError, match="rating"):
        write(log, rating(1), {**rating(2), "rating": "high"})
    assert log.seq == 0
    assert len(PATH.read_text().splitlines()) == 1


def test_a_full_disk_loses_nothing(log: Log) -> None:
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
        written = 0
        for n in range(1, 60):
            with suppress(OutputError):
                written = write(log, rating(n))
        with pytest.raises(OutputError, match="cannot be written"):
            write(log, rating(60))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert 0 < written < 59
    assert log.seq == written
    assert write(log, rating(60)) == written + 1, "goes on when there is space"
    log.close()
    assert Log.open(PATH, HEADER).seq == written + 1


WRITER = """
import sys
from pathlib import Path
from exam_pp.plugins.serve.log import Log
log = Log.open(Path("live/log.jsonl"), {"judge": "e5", "bank_sha256": "b" * 64})
for n in range(log.seq + 1, 10**6):
    change = {"n": n, "op": "rate", "query_id": "q", "passage_id": "p", "id": "e", "rating": 3, "key": str(n)}
    sys.stdout.write(f"{log.append(log.new('ann', 'c', [change]))}\\n")
    sys.stdout.flush()
"""


def test_kills_lose_nothing(repository: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(repository)}
    acknowledged = 0
    for kill in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER], stdout=subprocess.PIPE, env=env, text=True
        ) as p:
            assert p.stdout is not None
            for _ in range(3 + 7 * kill):
                acknowledged = int(p.stdout.readline())
            p.kill()
            acknowledged = max([acknowledged, *map(int, p.stdout.read().split("\n")[:-1])])
    log = Log.open(PATH, HEADER)
    assert log.seq in (acknowledged, acknowledged + 1)
    assert [event.item.key for event in log.events] == [str(n) for n in range(1, log.seq + 1)]
    json.loads(PATH.read_text().splitlines()[-1])
