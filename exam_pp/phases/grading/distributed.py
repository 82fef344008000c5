"""Several processes that grade one file together: started by ``accelerate launch`` or ``torchrun``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from exam_pp.errors import MissingExtraError, ProcessGroupError, SelectionError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.conversion import available_cores

T = TypeVar("T")

_PATIENCE = timedelta(hours=6)
"""A process that dies is noticed at once; one that is merely slow may take this long for a window."""


class ProcessGroup:
    """The processes of a grading. This one is alone; its methods are those of every team.

    ``rank`` 0 reads and writes the files that users see. All processes must make the same calls in the
    same order. ``local_rank`` and ``local_size`` are about the processes of this machine.
    """

    rank = 0
    size = 1
    local_rank = 0
    local_size = 1

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes the output and talks to the user."""
        return self.rank == 0

    def broadcast(self, value: T) -> T:
        """The value of rank 0."""
        return value

    def gather(self, value: T) -> list[T]:
        """The values of all processes by rank, for all of them."""
        return [value]

    def place(self, model: ModelOptions) -> ModelOptions:
        """The options with this process's own GPU and share of the CPU's cores, where none are named."""
        return model


ALONE = ProcessGroup()


class TorchProcessGroup(ProcessGroup):
    """Processes that talk through torch.distributed (gloo: objects, not tensors of a GPU).

    Methods raise :class:`ProcessGroupError` when another process has gone.
    """

    def __init__(self) -> None:
        try:
            import torch.distributed as dist  # noqa: PLC0415 - an optional package that is slow to import
        except ImportError as error:
            raise MissingExtraError("Grading with several processes", "hf") from error
        self._dist = dist
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.local_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        with self._together():
            dist.init_process_group("gloo", timeout=_PATIENCE)

    def broadcast(self, value: T) -> T:
        """The value of rank 0."""
        box = [value]
        with self._together():
            self._dist.broadcast_object_list(box, src=0)
        return box[0]

    def gather(self, value: T) -> list[T]:
        """The values of all processes by rank, for all of them."""
        values: list[T | None] = [None] * self.size
        with self._together():
            self._dist.all_gather_object(values, value)
        return values  # type: ignore[return-value]  # every place has been filled

    def place(self, model: ModelOptions) -> ModelOptions:
        """The options with this process's own GPU and share of the CPU's cores, where none are named."""
        import torch  # noqa: PLC0415 - an optional package that is slow to import

        if model.device_map and self.local_size > 1:
            raise SelectionError(
                "--device-map spreads one model over all GPUs of a machine: start one process a machine."
            )
        gpus = torch.cuda.device_count()
        if gpus and model.device in (None, "cuda") and not model.device_map:
            model = replace(model, device=f"cuda:{self.local_rank % gpus}")
        if model.threads is None:
            model = replace(model, threads=max(1, available_cores() // self.local_size))
        return model

    def close(self) -> None:
        """Leave the team."""
        self._dist.destroy_process_group()

    @contextmanager
    def _together(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ConnectionError) as error:
            raise ProcessGroupError(
                f"Another process of this grading has gone ({_first_line(error)}): what was answered is "
                "kept; start the same command again to continue."
            ) from error


@contextmanager
def process_group_from_environment() -> Iterator[ProcessGroup]:
    """The team that a launcher announces in the environment; without one, this process alone."""
    if not _is_announced():
        yield ALONE
        return
    group = TorchProcessGroup()
    yield group
    # After an error the end of the process tells the others.
    group.close()


def refuse_process_group() -> None:
    """Raise :class:`SelectionError` in a process of a team, for work that is not shared: all would do all."""
    if _is_announced():
        raise SelectionError(
            "Only `exam-pp grade` shares its work among processes: start this command without "
            "`accelerate launch` or torchrun."
        )


def _is_announced() -> bool:
    size = int(os.environ.get("WORLD_SIZE") or 1)
    return size > 1 and {"RANK", "MASTER_ADDR"} <= os.environ.keys()


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__
