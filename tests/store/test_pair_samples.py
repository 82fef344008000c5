"""Files of sampled pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError
from exam_pp.pair_sample import PairSample, SampledPair
from exam_pp.store.pair_samples import read_pair_sample, write_pair_sample

SAMPLE = PairSample(
    model="m",
    prompt_class="P",
    by="rating",
    seed=3,
    cutoff=20,
    population=40,
    pairs=[
        SampledPair(query_id="q1", passage_id="p1", entry_id="e1", probability=0.25),
        SampledPair(query_id="q1", passage_id="p1", entry_id="direct", probability=1),
    ],
)


def test_a_sample_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_pair_sample(SAMPLE, tmp_path / "pairs.json")
    assert read_pair_sample(tmp_path / "pairs.json") == SAMPLE


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"format": "another"}, "format"),
        ({"by": "chance"}, "by"),
        ({"pairs": [{"query_id": "q", "passage_id": "p", "id": "e", "probability": 0}]}, "probability"),
        ({"pairs": [{"query_id": "q", "passage_id": "p", "id": "e", "probability": "0.5"}]}, "probability"),
        ({"pairs": [{"query_id": "q", "passage_id": "p", "id": "e", "probability": True}]}, "probability"),
        ({"pairs": [{"query_id": "q", "passage_id": "p", "id": "e", "probability": 0.5}] * 2}, "2 times"),
    ],
)
def test_a_broken_sample_is_an_error_that_names_the_field(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(json.loads(SAMPLE.model_dump_json(by_alias=True)) | change))
    with pytest.raises(DataError, match=named) as error:
        read_pair_sample(path)
    assert error.value.file == str(path)
