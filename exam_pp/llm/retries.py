"""Retries of calls to an endpoint, and the failures after which a run stops."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from exam_pp.errors import ModelError
from exam_pp.llm_requests import Completion, Request

log = logging.getLogger(__name__)

ATTEMPTS = 8
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds before the second attempt and their upper limit; delays double and sum to about a minute."""

GIVE_UP_AFTER = 20
"""Minimum number of consecutive requests that failed in all attempts, after which the run stops."""


_CHANCE = random.Random()


class AttemptError(Exception):
    """A failure that may be temporary; ``delay`` is the number of seconds that the server asks to wait."""

    def __init__(self, reason: str, delay: float | None = None) -> None:
        super().__init__(reason)
        self.delay = delay


class UnreachableError(AttemptError):
    """No connection: the server is not running, so the request itself is not the cause."""


@dataclass(frozen=True)
class RequestOutcome:
    """A completion; ``refused`` means that the endpoint answered the request without a reply text."""

    completion: Completion
    refused: bool = False


class Retries:
    """The attempts of all requests of a run, and the count of its failures.

    ``timeout``: Seconds for which a run waits for a server without connection.
    """

    def __init__(self, error: Callable[[str], ModelError], timeout: float, give_up_after: int) -> None:
        self.timeout = timeout
        self.ever_reached = False
        self._error = error
        self._give_up_after = max(GIVE_UP_AFTER, give_up_after)
        self._failed_in_a_row = 0
        self._refused_passage: str | None = None
        self._ever_answered = False
        self._unreachable_since: float | None = None

    def reply(
        self, attempt: Callable[[], Completion], on_failure: Callable[[str], None], stopped: threading.Event
    ) -> RequestOutcome:
        """Try a request up to eight times; ``on_failure`` gets the last reason and may raise ModelError."""
        delay, reason, attempts = FIRST_DELAY, "stopped", 0
        while not stopped.is_set():
            try:
                completion = attempt()
            except AttemptError as failure:
                reason = str(failure)
                # The random factor keeps threads from retrying at the same moment.
                pause = max(delay * _CHANCE.uniform(0.75, 1.25), failure.delay or 0.0)
                if isinstance(failure, UnreachableError):
                    pause = min(pause, self._patience(reason))
                else:
                    self._unreachable_since = None
                    attempts += 1
                if attempts == ATTEMPTS:
                    on_failure(reason)
                    break
                stopped.wait(pause)
                delay = min(2 * delay, LONGEST_DELAY)
                continue
            self.ever_reached = True
            self._unreachable_since = None
            return RequestOutcome(completion, refused=completion.error is not None)
        return RequestOutcome(
            Completion(error=f"the endpoint failed {ATTEMPTS} times; the last failure: {reason}")
        )

    def watch(self, request: Request, outcome: RequestOutcome) -> None:
        """Raise ModelError after too many consecutive failures.

        Before the first reply, refusals count once for each passage: a passage that is too long is refused
        for every entry, but an endpoint that refuses many passages does not support our calls. After the
        first reply, a refusal concerns only its request and does not count.
        """
        reason = outcome.completion.error
        self._ever_answered = self._ever_answered or reason is None
        if outcome.refused and not self._ever_answered:
            passage = "".join(part.text for part in request.parts if part.may_be_cut)
            self._failed_in_a_row += passage != self._refused_passage
            self._refused_passage = passage
        else:
            self._failed_in_a_row = 0 if reason is None or outcome.refused else self._failed_in_a_row + 1
        if self._failed_in_a_row >= self._give_up_after:
            raise self._error(f"has failed {self._failed_in_a_row} times in a row ({reason})")

    def _patience(self, reason: str) -> float:
        """Seconds for which a run still waits for a server without connection.

        Raises ModelError after ``timeout`` seconds without connection.
        """
        now, limit = monotonic(), self.timeout
        since = self._unreachable_since  # another thread may reach the server and set None
        if since is None:
            since = self._unreachable_since = now
            log.warning("The endpoint cannot be reached (%s); waiting up to %g s for it.", reason, limit)
        left = since + limit - now
        if left <= 0:
            raise self._error(
                f"has not been reachable for {limit:g} s (-M timeout; {reason}): start the server again and "
                "repeat the command, which continues with the replies so far"
            )
        return left
