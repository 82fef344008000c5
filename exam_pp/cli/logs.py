"""Log messages on standard error, and the options -q and -v, which every command accepts."""

from __future__ import annotations

import logging
import sys
from typing import TextIO

import click

from exam_pp.errors import StoppedError
from exam_pp.reports.evaluation.short_names import with_short_names
from exam_pp.text.wording import in_one_line

_LIBRARIES = ("httpx", "huggingface_hub", "transformers", "filelock", "urllib3", "openai", "absl")
"""Libraries that log every request or download, which would hide the messages of exam_pp."""
_LEVEL = f"{__name__}.level"


class _EscapingFormatter(logging.Formatter):
    """Escapes control characters: ids and file names in messages may contain any character.

    Only messages of libraries, and tracebacks, have several lines. With ``timed``, as in the log file of a
    cluster job, a message starts with the local time.
    """

    def __init__(self, *, timed: bool) -> None:
        super().__init__("%(asctime)s %(message)s" if timed else "%(message)s", "%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(in_one_line, super().format(record).split("\n")))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - name of the base class
        """The message without its traceback."""
        message = super().formatMessage(record)
        return in_one_line(with_short_names(message)) if record.name.startswith("exam_pp") else message


class _NotTwice(logging.Filter):
    """Drops repeated messages about files, since a command may read a file more than once."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is not of a phase or reader, or its message is new."""
        if not record.name.startswith(("exam_pp.phases.", "exam_pp.store.", "exam_pp.studies.")):
            return True
        message = record.getMessage()
        is_new = message not in self._seen
        self._seen.add(message)
        return is_new


class _Handler(logging.StreamHandler[TextIO]):
    """Writes messages to standard error. SIGTERM in the middle of a message stops the command, too."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - name of the base class
        error = sys.exc_info()[1]
        if isinstance(error, StoppedError):
            raise error
        super().handleError(record)


def start_log(context: click.Context) -> None:
    """Write log messages to standard error, at the level that -q or -v has chosen."""
    level = context.meta.get(_LEVEL, logging.INFO)
    verbose = level == logging.DEBUG
    handler = _Handler()
    handler.addFilter(_NotTwice())
    handler.setFormatter(_EscapingFormatter(timed=not sys.stderr.isatty()))
    logging.basicConfig(level=max(level, logging.INFO), handlers=[handler], force=True)
    logging.getLogger("exam_pp").setLevel(logging.DEBUG if verbose else logging.NOTSET)
    for library in _LIBRARIES:
        logging.getLogger(library).setLevel(logging.INFO if verbose else logging.ERROR)


def _set_level(context: click.Context, option: click.Parameter, chosen: bool) -> None:
    if not chosen or context.resilient_parsing:
        return
    context.meta[_LEVEL] = logging.WARNING if option.name == "quiet" else logging.DEBUG
    start_log(context)


def log_options() -> list[click.Option]:
    """The options -q and -v, which change the level of the log at once."""
    return [
        click.Option(
            ["-q", "--quiet"], is_flag=True, expose_value=False, callback=_set_level,
            help="Log only warnings and errors.",
        ),
        click.Option(
            ["-v", "--verbose"], is_flag=True, expose_value=False, callback=_set_level,
            help="Log more: files, times, and messages of other libraries.",
        ),
    ]  # fmt: skip
