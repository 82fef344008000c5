"""Process groups that grade one file together, started by ``accelerate launch`` or ``torchrun``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from exam_pp.banks import TestBank
from exam_pp.data_model import QueryView
from exam_pp.errors import MissingExtraError, ProcessGroupError, SelectionError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.cores import available_cores

T = TypeVar("T")

_TIMEOUT = timedelta(hours=6)
"""Longest wait for a slow process at the end of a window. A process that dies is detected at once."""


class ProcessGroup:
    """A process group of a single process, and the interface of all process groups.

    The process of ``rank`` 0 writes the output. All processes must make the same calls in the same order.
    ``local_rank`` and ``local_size`` count the processes of this machine.
    """

    rank = 0
    size = 1
    local_rank = 0
    local_size = 1

    @property
    def leads(self) -> bool:
        """Whether this process has rank 0: it writes the output and logs messages."""
        return self.rank == 0

    def broadcast(self, value: T) -> T:
        """Return the value of rank 0 in every process."""
        return value

    def gather(self, value: T) -> list[T]:
        """Return the values of all processes, by rank, in every process."""
        return [value]

    def split(self, shares: Sequence[T]) -> T:
        """Return the share of this process: there is one for each, by rank."""
        return shares[0]

    def assign_device(self, model: ModelOptions) -> ModelOptions:
        """Return the options with GPU and threads of this process, if the options leave them open."""
        return model


SINGLE_PROCESS = ProcessGroup()
"""The process group of a single process."""


class LaunchedGroup(ProcessGroup):
    """The processes of ``accelerate launch`` or ``torchrun``, held together by Accelerate.

    They exchange Python objects over gloo also where there are GPUs: it notices at once that a process has
    ended. Methods raise :class:`ProcessGroupError` then.
    """

    def __init__(self) -> None:
        try:
            from accelerate import PartialState, utils  # noqa: PLC0415 - an optional package, slow to import
        except ImportError as error:
            raise MissingExtraError("Grading with several processes", "hf") from error
        self.local_size = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        os.environ.setdefault("OMP_NUM_THREADS", str(self._threads()))  # else Accelerate sets it and warns
        with self._translated_errors():
            self._state = PartialState(cpu=True, backend="gloo", timeout=_TIMEOUT)
        self._utils = utils
        self.rank, self.size = self._state.process_index, self._state.num_processes
        self.local_rank = self._state.local_process_index

    def broadcast(self, value: T) -> T:
        """Return the value of rank 0 in every process."""
        with self._translated_errors():
            return self._utils.broadcast_object_list([value])[0]  # type: ignore[no-any-return]

    def gather(self, value: T) -> list[T]:
        """Return the values of all processes, by rank, in every process."""
        with self._translated_errors():
            return self._utils.gather_object([value])  # type: ignore[no-any-return]

    def split(self, shares: Sequence[T]) -> T:
        """Return the share of this process."""
        with self._state.split_between_processes(list(shares)) as own:
            return own[0]  # type: ignore[no-any-return]

    def assign_device(self, model: ModelOptions) -> ModelOptions:
        """Return the options with GPU and threads of this process, if the options leave them open."""
        import torch  # noqa: PLC0415 - an optional package that is slow to import

        if model.device_map and self.local_size > 1:
            raise SelectionError(
                "-M device_map spreads a model over all GPUs of a machine. Start one process per machine."
            )
        gpus = torch.cuda.device_count()
        if gpus and model.device in (None, "cuda") and not model.device_map:
            model = replace(model, device=f"cuda:{self.local_rank % gpus}")
        if model.threads is None:
            model = replace(model, threads=self._threads())
        return model

    def _threads(self) -> int:
        return max(1, available_cores() // self.local_size)

    def close(self) -> None:
        """Leave the process group."""
        self._state.destroy_process_group()

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, ConnectionError) as error:
            raise ProcessGroupError(
                f"Another process of this grading has ended ({_first_line(error)}). All replies so far are "
                "kept; repeat the command to continue."
            ) from error


@contextmanager
def process_group_from_environment() -> Iterator[ProcessGroup]:
    """The process group of the launcher's environment variables, or :data:`SINGLE_PROCESS` without them."""
    if not _is_launched():
        yield SINGLE_PROCESS
        return
    group = LaunchedGroup()
    yield group
    # No finally: after an error the other processes detect the end of this process.
    group.close()


def refuse_process_group() -> None:
    """Raise :class:`SelectionError` in a process group, because every process would do all the work."""
    if _is_launched():
        raise SelectionError(
            "Only `exam-pp grade` supports several processes. Run this command without `accelerate launch` "
            "or torchrun."
        )


def _is_launched() -> bool:
    size = int(os.environ.get("WORLD_SIZE") or 1)
    return size > 1 and {"RANK", "MASTER_ADDR"} <= os.environ.keys()


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__


_CHARACTERS_AROUND = 600
"""Estimated length of the instructions and the question in a prompt, in characters."""


def assign_shards(weights: Sequence[float], shards: int) -> list[list[int]]:
    """Split the indices of ``weights`` into ``shards`` ascending lists of about equal total weight.

    Each index goes to the lightest shard, heaviest index first (Graham, Bounds on Multiprocessing Timing
    Anomalies, 1969: at most 4/3 of the optimum). The result is deterministic.
    """
    lists: list[list[int]] = [[] for _ in range(shards)]
    loads = [0.0] * shards
    for index in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        lightest = min(range(shards), key=lambda s: (loads[s], len(lists[s])))
        lists[lightest].append(index)
        loads[lightest] += weights[index]
    return [sorted(indices) for indices in lists]


@dataclass(frozen=True)
class Shard:
    """Shard ``index`` (from 1) of ``count``."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a text such as ``"3/8"``; raises :class:`SelectionError`."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= shard.index <= shard.count:
            raise SelectionError(f"--shard must be I/N with I from 1 to N, such as 3/8, not {text!r}.")
        return shard

    def positions(self, queries: Iterable[QueryView], bank: TestBank) -> frozenset[int]:
        """The positions (from 0) of the queries in the shard.

        Every query is in exactly one of the shards of the same file and bank. Shards are balanced by the
        estimated length of all prompts.
        """
        weights = [
            sum(len(passage.text) + _CHARACTERS_AROUND for passage in query.passages)
            * max(1, len(bank.entries(query.query_id)))
            for query in queries
        ]
        return frozenset(assign_shards(weights, self.count)[self.index - 1])
