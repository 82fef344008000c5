"""Exceptions of model libraries as one sentence."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from exam_pp.errors import ExamError, ModelError

log = logging.getLogger(__name__)


@contextmanager
def failures_as_model_error(make: Callable[[BaseException], ModelError]) -> Iterator[None]:
    """Raise the error that ``make`` returns for every exception in the block; with -v, log its traceback.

    Libraries raise exceptions of any class for damaged files, also panics of Rust, which are no Exception.
    """
    try:
        yield
    except ExamError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        log.debug("The model has failed", exc_info=error)
        raise make(error) from error


def reason_of(error: BaseException) -> str:
    """The message of an exception in one line of at most 300 characters."""
    reason = " ".join(str(error).split()).rstrip(".")
    return reason if len(reason) < 300 else reason[:300] + " ..."
