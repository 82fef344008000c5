"""Files of sampled pairs: every draw is read again, and every change of a file is an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError
from exam_pp.plugins.trust.pair_sample import Block, PairSample, SampledBy, SampledPair, drawn_number
from exam_pp.plugins.trust.pair_sample_files import read_pair_sample, write_pair_sample

Change = Callable[[dict[str, Any]], object]


def sample_of(by: SampledBy) -> PairSample:
    """A draw from 40 pairs of two queries; by ``rating``, one passage has the probability 1."""
    population = {
        query: [
            Block(passages=[f"p{number}" for number in range(5)], entries=["a", "b", "c", "d"]),
            Block(passages=["ungraded"], entries=[]),
        ]
        for query in ("q1", "007")
    }
    sample = PairSample(
        model="m", prompt_class="P", by=by, seed=3, cutoff=20, population=population,
        lowest_probability=0.25, pairs=[],
    )  # fmt: skip
    for query_id, passage_id, entry_id in sample.could_be_drawn():
        probability = 1.0 if by == "rating" and passage_id == "p0" else 0.25
        if drawn_number(by, 3, query_id, passage_id, entry_id) < probability:
            pair = {"query_id": query_id, "passage_id": passage_id, "entry_id": entry_id}
            sample.pairs.append(SampledPair(**pair, probability=probability))
    return sample


@pytest.mark.parametrize("by", ["even", "rating", "entry"])
def test_a_sample_comes_back_as_it_was_written(tmp_path: Path, by: SampledBy) -> None:
    sample = sample_of(by)
    assert sample.size == 40
    assert 0 < len(sample.pairs) < 40
    write_pair_sample(sample, tmp_path / "pairs.json")
    assert read_pair_sample(tmp_path / "pairs.json") == sample


def all_probabilities(value: float) -> Change:
    def change(values: dict[str, Any]) -> None:
        values["lowest_probability"] = value
        for pair in values["pairs"]:
            pair["probability"] = value

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda values: values.update(format="exam_pp.pair-sample.v1", population=40), 'its key "format"'),
        (lambda values: values.update(by="chance"), "by: "),
        (lambda values: values.update(cutoff=0), "cutoff: .* greater than or equal to 1"),
        (lambda values: values.update(population=40), "population: .* dictionary"),
        (lambda values: values.pop("population"), "population: is missing"),
        (lambda values: values["population"].pop("007"), "is not in the population; draw the pairs again"),
        (
            lambda values: values["population"]["q1"][0]["passages"].append("p9"),
            "seed: does not draw these pairs with these probabilities .passage 'p9' with entry '.' of",
        ),
        (lambda values: values.update(seed=4), "seed: does not draw these pairs with .* pairs again with"),
        (lambda values: values["pairs"].pop(), "seed: does not draw these pairs"),
        (
            lambda values: values["pairs"][0].update(probability=0),
            "pairs.1.probability: input should be gr",
        ),
        (
            lambda values: values["pairs"][0].update(probability=1e-300),
            "pairs.1.probability: input should be gr",
        ),
        (lambda values: values["pairs"][0].update(probability="0.5"), "pairs.1.probability: input should be"),
        (lambda values: values["pairs"][0].update(probability=True), "pairs.1.probability: input should be"),
        (lambda values: values["pairs"][0].update(probability=1e-8), "pairs.1.probability: contradicts low"),
        (lambda values: values["pairs"][0].update(probability=0.5), "pairs.1.probability: contradicts low"),
        (all_probabilities(0.05), "seed: does not draw these pairs"),
        (all_probabilities(0.5), "seed: does not draw these pairs"),
        (lambda values: values["pairs"].append(values["pairs"][0]), "2 times"),
    ],
)
def test_a_changed_sample_is_an_error_that_names_the_field(
    tmp_path: Path, change: Change, named: str
) -> None:
    values = json.loads(sample_of("even").model_dump_json(by_alias=True))
    change(values)
    path = tmp_path / "pairs.json"
    path.write_text(json.dumps(values))
    with pytest.raises(DataError, match=named) as error:
        read_pair_sample(path)
    assert error.value.file == str(path)
