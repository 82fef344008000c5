"""The log on standard error."""

from __future__ import annotations

import io
import logging
import sys

import click
import pytest

from exam_pp.cli.logs import start_log
from exam_pp.errors import StoppedError


class _Stopping(io.StringIO):
    """A stream that SIGTERM reaches while its first message is written."""

    stopped = False

    def write(self, text: str, /) -> int:
        if not self.stopped:
            self.stopped = True
            raise StoppedError("stopped by SIGTERM.")
        return super().write(text)


def test_sigterm_in_the_middle_of_a_message_stops_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    monkeypatch.setattr(sys, "stderr", _Stopping())
    with click.Context(click.Command("x")) as context:
        start_log(context)
        with pytest.raises(StoppedError):
            logging.getLogger("exam_pp.test").warning("a message")
