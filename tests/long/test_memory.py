"""The memory that large files need."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path

from exam_pp.store.banks.bank_json import read_bank
from tests.test_test_bank import line, question


def test_a_packed_bank_needs_the_memory_of_its_file(tmp_path: Path) -> None:
    def peak(queries: int) -> int:
        path = tmp_path / "bank.jsonl"
        with path.open("w") as stream:
            for number in range(queries):
                items = [question(f"q{number}", f"{item:032}") for item in range(20)]
                stream.write(json.dumps(line(f"q{number}", items)) + "\n")
        gc.collect()  # garbage of other tests would be freed at any time
        tracemalloc.start()
        bank = read_bank(path, packed=True)
        assert sum(len(query.entries) for query in bank) == 20 * queries
        memory = tracemalloc.get_traced_memory()[1] - path.stat().st_size
        tracemalloc.stop()
        return memory

    peak(100)  # imports and caches of the first use
    few, many = peak(100), peak(400)
    assert many < 2 * few, "objects of all entries would take ten times as much"
