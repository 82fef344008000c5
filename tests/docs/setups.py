"""Files that pages presume, and what people do between the commands of a page.

A page gets the files that it shows itself (see ``shown_files`` in ``pages.py``), and those of its Setup.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.edits import BankEdit, Edits, HumanRating
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.banks.edits import file_sha256, write_edits
from exam_pp.store.passages.graded_file import read_passages
from tests.docs.pages import shown_files


@dataclass(frozen=True)
class Setup:
    """The preparation of a page.

    ``files`` are names of ``tests/example_files.py``; ``NAME=EXAMPLE`` copies an example to another name.
    ``before`` maps a part of a command to a function that is called before the block with this command.
    """

    files: str = ""
    prepare: Callable[[], object] = lambda: None
    before: Mapping[str, Callable[[], object]] = field(default_factory=dict)


def prepare(page: str, text: str, examples: Path) -> Setup:
    """Write the files that a page presumes into the working directory."""
    setup = SETUPS.get(page, Setup())
    for name in setup.files.split():
        target, _, source = name.partition("=")
        _copy(examples / (source or target), Path(target))
    for name, content in shown_files(text):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")
    setup.prepare()
    return setup


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target)
    elif target.suffix == ".gz" and source.suffix != ".gz":
        import gzip

        target.write_bytes(gzip.compress(source.read_bytes(), mtime=0))
    else:
        shutil.copy(source, target)


def edits_of(graded: str, bank: str, reviewer: str = "ana", name: str = "edits.json") -> Callable[[], None]:
    """A reviewer rates two passages for the first bank entry of their query, and rewords the entry."""

    def write() -> None:
        query = next(read_passages(graded))
        entry = next(iter(read_bank(bank).entries(query.query_id)))
        rated = [
            HumanRating.model_validate(
                {"query_id": query.query_id, "passage_id": passage.passage_id, "id": entry, "rating": 1}
            )
            for passage in query.passages[:2]
        ]
        new = {"op": "reword", "query_id": query.query_id, "id": entry, "text": "What else is there to know?"}
        edits = Edits(
            format="exam_pp.edits.v1",
            graded_sha256=file_sha256(graded),
            bank_sha256=file_sha256(bank),
            reviewer=reviewer,
            ratings=rated,
            bank=[BankEdit.model_validate(new)],
        )
        write_edits(edits, name)

    return write


def edits_of_two_reviewers() -> None:
    for reviewer in ("ana", "bo"):
        edits_of("graded.jsonl.gz", "bank.jsonl", reviewer, f"edits-{reviewer}.json")()


def labels_of_drawn_pairs() -> None:
    """A reviewer rates all drawn pairs with 4."""
    sample = json.loads(Path("pairs.json").read_text(encoding="utf-8"))
    rated = [
        HumanRating.model_validate(
            {key: pair[key] for key in ("query_id", "passage_id", "id")} | {"rating": 4}
        )
        for pair in sample["pairs"]
    ]
    digest = file_sha256("graded.jsonl.gz")
    edits = Edits(format="exam_pp.edits.v1", graded_sha256=digest, reviewer="ana", ratings=rated)
    write_edits(edits, "labels-ana.json")


SETUPS = {
    "docs/how-to/verification.md": Setup(
        "nuggets.jsonl answers.jsonl.gz citations.jsonl.gz",
        before={
            "apply-edits graded.jsonl.gz": edits_of("graded.jsonl.gz", "data/demo/questions.jsonl"),
            "apply-edits answers.jsonl.gz": edits_of("answers.jsonl.gz", "nuggets.jsonl"),
        },
    ),
    "docs/reference/data-model.md": Setup("graded.jsonl.gz"),
    "docs/start/laptop-review.md": Setup(
        before={
            "apply-edits graded.jsonl.gz edits-ana.json": edits_of_two_reviewers,
            "labels-ana.json": labels_of_drawn_pairs,
        },
    ),
}
"""Page to its preparation; other pages need none."""
