"""Work folder of a command with several steps: files of finished steps, which are not computed again."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from exam_pp.errors import DataError, OutputError
from exam_pp.llm.base import ModelOptions
from exam_pp.phases.grading.grading_run import Advance
from exam_pp.prompts import Prompt
from exam_pp.store.files import check_ends, read_file, size_and_sha256, write_text
from exam_pp.store.inputs import forget
from exam_pp.store.trec.queries import IRDS

log = logging.getLogger(__name__)

_HARDWARE = ("device", "device_map", "batch_tokens", "threads", "timeout", "concurrency", "max_tokens_total")
"""Options of a model that do not change its replies in ways that matter, so that steps stay complete."""

Progress = Callable[[str], AbstractContextManager[Advance]]
"""Makes the progress bar of a step from its title."""


def no_progress(_title: str) -> AbstractContextManager[Advance]:
    """Progress that is not shown."""
    return nullcontext(lambda _steps, _total: None)


class Steps:
    """The files of the steps, and the record of finished steps.

    A step is complete if its record has the hashes of its inputs, its options and its output as they are now.

    ``folder``: The work folder, which is made if it does not exist.
    """

    def __init__(self, folder: Path, progress: Progress = no_progress) -> None:
        self.folder = make_folder(folder)
        self._progress = progress
        self._record = folder / "steps.json"
        self._finished = self._read()

    def run(
        self,
        name: str,
        output: str,
        inputs: Sequence[Path],
        options: Mapping[str, Any],
        work: Callable[[Path, Advance], Iterable[str]],
    ) -> Path:
        """Return the output of a step, which is computed unless it is complete."""
        path = self.folder / output
        check_ends(path)
        key = _key(name, inputs, options)
        if path.exists() and self._finished.get(output) == {"key": key, "sha256": _sha256(path)}:
            log.info("%s: complete, not computed again.", name)
            return path
        log.info("%s: %s", name, path)
        forget(path)  # an outdated output was read above, and is no input of the command
        with self._progress(name) as advance:
            lines = list(work(path, advance))
        for line in lines:
            log.info("%s: %s", name, line)
        self._finished[output] = {"key": key, "sha256": _sha256(path)}
        write_text(self._record, json.dumps(self._finished, indent=2) + "\n")
        return path

    def remove(self) -> None:
        """Remove the files of finished steps and their record, and the folder if it is empty then."""
        for name in self._finished:
            if Path(name).name == name:  # a damaged record may name files outside the folder
                (self.folder / name).unlink(missing_ok=True)
        self._record.unlink(missing_ok=True)
        self.remove_if_empty()

    def remove_if_empty(self) -> bool:
        """Remove the folder if it is empty; returns whether it was."""
        try:
            self.folder.rmdir()
        except OSError:
            return False
        return True

    def _read(self) -> dict[str, dict[str, str]]:
        if not self._record.exists():
            return {}
        text = read_file(self._record)
        forget(self._record)  # this command writes it, too
        try:
            return msgspec.json.decode(text, type=dict[str, dict[str, str]])
        except (msgspec.DecodeError, RecursionError) as error:
            raise DataError(
                "is damaged; remove it to compute all steps again.", file=str(self._record)
            ) from error


def make_folder(folder: Path) -> Path:
    """Make a folder if it does not exist; raises :class:`OutputError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder {folder} cannot be created: {error.strerror}.") from error
    return folder


def decisive(model: ModelOptions) -> dict[str, Any]:
    """The options of a model without those of the hardware, and without a URL that is not recorded."""
    ignored = {*_HARDWARE, "any_server"} | ({"base_url"} if model.any_server else set())
    return {key: value for key, value in asdict(model).items() if key not in ignored}


def asked(model: ModelOptions, *prompts: Prompt | None) -> dict[str, Any]:
    """The options of a step that asks a model: those that change its output."""
    return {
        "model": decisive(model),
        "prompts": [prompt and [prompt.name, prompt.hash] for prompt in prompts],
    }


def _key(name: str, inputs: Sequence[Path], options: Mapping[str, Any]) -> str:
    files = [str(path) if is_data_set(path) else _sha256(path) for path in inputs]
    facts = [name, files, options]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def is_data_set(path: Path) -> bool:
    """Whether a path names the queries of a data set, such as ``irds:NAME``, and no file."""
    return str(path).startswith(IRDS)


def _sha256(path: Path) -> str:
    return size_and_sha256(path)[1]
