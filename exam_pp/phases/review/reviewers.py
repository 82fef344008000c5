"""Names of reviewers, as model names of their grades and games."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exam_pp.data_model import HUMAN
from exam_pp.errors import DataError, SelectionError
from exam_pp.store.edits import Edits


def check_one_file(reviewer: str | None, edits: Sequence[Path]) -> None:
    """Raise SelectionError if a name is given for several edits files, which may be by several people."""
    if reviewer is not None and len(edits) > 1:
        raise SelectionError(
            f"--reviewer would give the work of {len(edits)} EDITS files to {reviewer!r}, whoever made "
            "it. Apply each file alone with its --reviewer, or leave --reviewer out."
        )


def human_model(name: str) -> str | None:
    """The model name ``human:NAME`` of a person, with or without the prefix; None for an empty name."""
    name = " ".join(name.split()).removeprefix(HUMAN).strip()
    return HUMAN + name if name else None


def reviewer_name(reviewer: str | None, edits: Edits, path: Path) -> str:
    """The model name ``human:NAME``: of ``reviewer``, else of the reviewer in the edits file.

    Raises :class:`DataError` if both are empty.
    """
    name = human_model(reviewer or edits.reviewer)
    if name is None:
        raise DataError("is empty; name the reviewer with --reviewer.", file=str(path), field="reviewer")
    return name
