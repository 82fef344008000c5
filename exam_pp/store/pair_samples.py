"""Reading and writing of files of sampled pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from exam_pp.errors import DataError
from exam_pp.pair_sample import FORMAT, PairSample
from exam_pp.store.files import read_text, write_text
from exam_pp.store.parsing import data_error, parse_json


def read_pair_sample(path: str | Path) -> PairSample:
    """Read a file of sampled pairs.

    Args:
        path: The file; ``-`` is standard input.

    Returns:
        The sample.

    Raises:
        DataError: The file is not in the format, or has a pair twice; the message names the field.
    """
    values = parse_json(read_text(path), path)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise DataError(f'is not a sample of pairs: its key "format" must be {FORMAT!r}.', file=str(path))
    try:
        sample = PairSample.model_validate(values)
    except ValidationError as error:
        raise data_error(error, path) from error
    counts = Counter((pair.query_id, pair.passage_id, pair.entry_id) for pair in sample.pairs)
    for key, count in counts.items():
        if count > 1:
            query_id, passage_id, entry_id = key
            raise DataError(
                f"has passage {passage_id!r} with entry {entry_id!r} of query {query_id!r} {count} "
                "times; keep one of them.",
                file=str(path),
            )
    return sample


def write_pair_sample(sample: PairSample, path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a file of sampled pairs atomically; raises :class:`OutputError` if it would replace an input."""
    text = sample.model_dump_json(by_alias=True, exclude_none=True, indent=1)
    write_text(path, text + "\n", inputs=inputs)
