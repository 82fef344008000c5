"""Measurement of ways of grading for `engines.py` and `causal.py`, each in its own process."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean, median
from typing import Any

from exam_pp.llm.base import Dtype, Engine, ModelOptions
from exam_pp.llm_requests import Request
from exam_pp.prompts.rubric import QUESTION_EXTRACTION, QUESTION_SELF_RATED
from scripts.bench.ways import environment

PROMPTS = {"rating": QUESTION_SELF_RATED, "extraction": QUESTION_EXTRACTION}
SPREAD = 0.15
"""A ratio gets no verdict if the times of a side spread by more."""
PUBLISHED_LENGTH = 512
"""Maximum length of prompts and of replies, in tokens."""


_LIBRARIES = ("torch", "transformers", "transformers.models.t5.modeling_t5", "ctranslate2")


@dataclass(frozen=True)
class Way:
    """A way of grading: the published loop (``inner_batch`` prompts per call) or an engine of exam_pp.

    ``batch_tokens`` and ``shares`` (compute the common start of prompts once) are for causal models;
    ``dtype`` and ``choose`` (take the likeliest label) are for GPUs.
    """

    name: str
    beams: int = 5
    inner_batch: int = 0
    engine: Engine = "transformers"
    compute_type: str | None = None
    soft: bool = False
    threads: int = 1
    pipeline: str = "text2text"
    batch_tokens: int | None = None
    shares: bool = True
    dtype: Dtype = "float32"
    choose: bool = False

    @property
    def is_published(self) -> bool:
        """Whether this is the published loop."""
        return self.inner_batch > 0


@dataclass(frozen=True)
class Task:
    """Pairs of passage and question, grouped by passage, and a checkpoint with known replies to them."""

    kind: str
    checkpoint: Path
    pairs: list[tuple[str, str]]

    @classmethod
    def read(cls, folder: Path) -> Task:
        """Read the task that :meth:`save` wrote to a folder."""
        task = json.loads((folder / "task.json").read_text("utf-8"))
        pairs = [(passage, question) for passage, question in task["pairs"]]
        return cls(task["kind"], folder / "checkpoint", pairs)

    def save(self) -> None:
        """Write the task next to its checkpoint."""
        task = {"kind": self.kind, "pairs": self.pairs}
        (self.checkpoint.parent / "task.json").write_text(json.dumps(task), "utf-8")

    @property
    def prompt_tokens(self) -> float:
        """Mean length of the prompts in tokens."""
        from transformers import AutoTokenizer

        tokenizer: Any = AutoTokenizer.from_pretrained(self.checkpoint)
        return fmean(len(tokenizer(self.text(*pair))["input_ids"]) for pair in self.pairs)

    def text(self, passage: str, question: str) -> str:
        """The whole prompt."""
        return "".join(
            part.text for part in PROMPTS[self.kind].render({"context": passage, "question": question})
        )

    def requests(self, soft: bool) -> list[Request]:
        """The requests to a backend."""
        prompt = PROMPTS[self.kind]
        labels = prompt.labels if soft else ()
        return [
            Request(prompt.render({"context": passage, "question": question}), labels)
            for passage, question in self.pairs
        ]


def published_loop(task: Task, way: Way) -> Callable[[int | None], list[str]]:
    """The published loop: passage by passage, with ``inner_batch`` questions per call of ``generate``.

    As in the published code, template and passage of every prompt are tokenised to check the length, and the
    generation pipeline tokenises the whole prompt again.
    """
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(task.checkpoint)
    model: Any = AutoModelForSeq2SeqLM.from_pretrained(task.checkpoint, dtype=torch.float32)
    model = model.eval()
    decoding: dict[str, Any] = {"early_stopping": True} if way.beams > 1 else {"do_sample": False}

    def prompt_of(passage: str, question: str) -> str:
        room = PUBLISHED_LENGTH - len(tokenizer(task.text("", question))["input_ids"])
        assert len(tokenizer(passage)["input_ids"]) <= room, "the benchmark has no prompts that are too long"
        return task.text(passage, question)

    def answer(prompts: Sequence[str]) -> list[str]:
        inputs = tokenizer(list(prompts), return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.inference_mode():
            output = model.generate(**inputs, num_beams=way.beams, max_length=PUBLISHED_LENGTH, **decoding)
        return [str(tokenizer.decode(row, skip_special_tokens=True)).strip() for row in output]

    def run(count: int | None) -> list[str]:
        replies: list[str] = []
        by_passage: dict[str, list[str]] = {}
        for passage, question in task.pairs[:count]:
            by_passage.setdefault(passage, []).append(question)
        for passage, questions in by_passage.items():
            for start in range(0, len(questions), way.inner_batch):
                chunk = questions[start : start + way.inner_batch]
                replies += answer([prompt_of(passage, question) for question in chunk])
        return replies

    return run


def own_engine(task: Task, way: Way) -> Callable[[int | None], list[str]]:
    """An engine of exam_pp; the token cache starts empty every time, as in a run of the program."""
    from exam_pp.llm.encoding import PromptEncoder
    from exam_pp.llm.huggingface import Checkpoint, TransformersEngine
    from exam_pp.llm.seq2seq import Seq2SeqEngine, Seq2SeqLLM

    options = ModelOptions(
        str(task.checkpoint),
        device="cpu",
        engine=way.engine,
        compute_type=way.compute_type,
        num_beams=way.beams,
        threads=way.threads,
    )
    checkpoint = Checkpoint(options)
    if way.engine == "ctranslate2":
        from exam_pp.plugins.ctranslate2.seq2seq import CTranslate2Engine

        engine: Seq2SeqEngine = CTranslate2Engine(options, checkpoint)
    else:
        engine = TransformersEngine(options, checkpoint)
    requests = task.requests(way.soft)

    def run(count: int | None) -> list[str]:
        encoder = PromptEncoder(checkpoint.tokenizer, checkpoint.max_input_tokens)
        llm = Seq2SeqLLM(options, encoder, engine, checkpoint.identity, checkpoint.max_new_tokens)
        replies = dict(llm.generate(requests[:count]))
        return [replies[index].text for index in range(len(replies))]

    return run


def causal_engine(task: Task, way: Way) -> Callable[[int | None], list[str]]:
    """A causal model on an engine of exam_pp."""
    from exam_pp.llm.backends import load_llm
    from exam_pp.llm.causal import CausalLLM

    options = ModelOptions(
        str(task.checkpoint),
        pipeline=way.pipeline,
        device="cpu",
        engine=way.engine,
        compute_type=way.compute_type,
        batch_tokens=way.batch_tokens,
        threads=way.threads,
    )
    llm = load_llm(options)
    if isinstance(llm, CausalLLM) and not way.shares:
        llm._shared_tokens = lambda prompts: 0  # type: ignore[method-assign]
    requests = task.requests(way.soft)

    def run(count: int | None) -> list[str]:
        replies = dict(llm.generate(requests[:count]))
        return [replies[index].text for index in range(len(replies))]

    return run


def ready(task: Task, way: Way) -> Callable[[], dict[str, Any]]:
    """Load and warm up a way; returns the function that measures it."""
    import torch

    torch.set_num_threads(way.threads)
    engine = causal_engine if way.pipeline == "text-generation" else own_engine
    run = (published_loop if way.is_published else engine)(task, way)
    run(8)

    def grade_all() -> dict[str, Any]:
        """CPU seconds of all threads, wall seconds, and the replies."""
        wall, cpu = time.perf_counter(), time.process_time()
        replies = run(None)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return {"cpu": cpu, "wall": wall, "replies": replies}

    return grade_all


def serve(connection: Connection, folder: Path, way: Way) -> None:
    """Measure once per message, until the connection is closed."""
    measure = ready(Task.read(folder), way)
    connection.send("ready")
    with contextlib.suppress(EOFError):
        while True:
            connection.recv()
            connection.send(measure())


@dataclass
class Measured:
    """The results of a way in all rounds; ``clock`` ("cpu" or "wall") selects the time."""

    way: Way
    clock: str = "cpu"
    rounds: list[dict[str, Any]] = field(default_factory=list)

    @property
    def replies(self) -> list[str]:
        """The replies of the last round."""
        replies: list[str] = self.rounds[-1]["replies"]
        return replies

    @property
    def seconds(self) -> float:
        """Median time over the rounds."""
        return median(self._times)

    @property
    def rate(self) -> float:
        """Pairs per second."""
        return len(self.replies) / self.seconds

    @property
    def spread(self) -> float:
        """(slowest - fastest) / median."""
        return (max(self._times) - min(self._times)) / self.seconds

    @property
    def _times(self) -> list[float]:
        return [float(result[self.clock]) for result in self.rounds]

    def same_as(self, other: Measured) -> str:
        """The number of equal replies, as ``EQUAL/ALL``."""
        return f"{self._equal(other)}/{min(len(self.replies), len(other.replies))}"

    def is_same_as(self, other: Measured) -> bool:
        """Whether all replies are equal."""
        return self._equal(other) == min(len(self.replies), len(other.replies))

    def _equal(self, other: Measured) -> int:
        return sum(a == b for a, b in zip(self.replies, other.replies, strict=False))


def verdict_of(value: float, must: float, stretch: float, *sides: Measured) -> str:
    """Whether a value of these measurements meets its target."""
    if any(side.spread > SPREAD for side in sides):
        return "no verdict: spread over 15 %"
    if value >= stretch:
        return "stretch met"
    return "met" if value >= must else "**not met**"


class Worker:
    """A process that measures a way; it is forked from a process with all libraries loaded."""

    def __init__(self, folder: Path, way: Way) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["scripts.bench.engines_worker", *_LIBRARIES])
        self._connection, remote = context.Pipe()
        self._process = context.Process(target=serve, args=(remote, folder, way), daemon=True)
        self._process.start()
        remote.close()
        self._way = way
        self._answer()

    def measure(self) -> dict[str, Any]:
        """Measure a round."""
        self._connection.send("go")
        answer: dict[str, Any] = self._answer()
        return answer

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join()

    def _answer(self) -> Any:
        try:
            return self._connection.recv()
        except EOFError:
            raise SystemExit(f"The process of {self._way.name!r} ended; its message is above.") from None


def measure(folder: Path, ways: Sequence[Way], rounds: int) -> list[Measured]:
    """Measure all ways in turn in every round."""
    results = [Measured(way) for way in ways]
    workers = [Worker(folder, way) for way in ways]
    for _ in range(rounds):
        for worker, result in zip(workers, results, strict=True):
            result.rounds.append(worker.measure())
    for worker in workers:
        worker.close()
    return results


def parser_of(description: str | None, name: str) -> argparse.ArgumentParser:
    """The options of a benchmark of engines."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / f"exam_pp-bench-{name}")
    parser.add_argument("--tasks", default=",".join(PROMPTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--smoke", action="store_true", help="a tiny model and one round, to test the benchmark"
    )
    parser.add_argument("--json", type=Path)
    return parser


def bench(
    arguments: argparse.Namespace,
    make: Callable[[Path, str], Task],
    ways: Sequence[Way],
    show: Callable[[str, Sequence[Measured]], str],
) -> None:
    """Measure the ways on every task, print the results as Markdown, and write JSON.

    ``make`` makes the task of a kind in the work folder, or reads it from there.
    """
    # One thread per process; ways with more threads set their number explicitly.
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    os.environ["EXAM_PP_CACHE"] = str(arguments.work / "cache")
    context, tasks = environment("torch", "transformers", "ctranslate2", "exam_pp"), {}
    print(context)
    for kind in arguments.tasks.split(","):
        task = make(arguments.work, kind)
        chosen = [way for way in ways if kind == "rating" or not way.soft]
        results = measure(task.checkpoint.parent, chosen, 1 if arguments.smoke else arguments.rounds)
        print(f"\n### {kind}, {len(task.pairs)} pairs of {task.prompt_tokens:.0f} tokens\n")
        print(show(kind, results))
        tasks[kind] = [asdict(result) for result in results]
    if arguments.json:
        record = {"environment": context, "tasks": tasks}
        arguments.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
