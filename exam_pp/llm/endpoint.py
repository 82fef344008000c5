"""OpenAI-compatible chat endpoints, such as a vLLM server, for the pipeline ``openai``.

The API key comes from the environment variable ``OPENAI_API_KEY``; it is never logged or written to files.
"""

from __future__ import annotations

import logging
import math
import os
import random
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from email.utils import parsedate_to_datetime
from itertools import islice
from time import monotonic, time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from exam_pp import __version__
from exam_pp.errors import MissingExtraError, ModelError
from exam_pp.llm.base import LLM, Batch, ModelOptions
from exam_pp.llm.batch_plan import batches_in_order
from exam_pp.llm.chat import as_messages
from exam_pp.llm.decoding import recorded_decoding, response_format
from exam_pp.llm.encoding import choice as choose
from exam_pp.llm.encoding import clean
from exam_pp.requests import THINKING_TAGS, Completion, Part, Request

log = logging.getLogger(__name__)

KEY = "OPENAI_API_KEY"
BATCH_SIZE = 16
"""Number of replies that are returned, and therefore saved, together."""

ATTEMPTS = 8
FIRST_DELAY, LONGEST_DELAY = 0.5, 30.0
"""Seconds before the second attempt and their upper limit; delays double and sum to about a minute."""

LONGEST_RETRY_AFTER = 300.0
"""Maximal delay in seconds that a server may request with Retry-After."""

GIVE_UP_AFTER = 20
"""Minimum number of consecutive requests that failed in all attempts, after which the run stops."""

LONGEST_REPLY = 4096
"""Maximal number of tokens in a reply; prompts request fewer."""

TOP_LOGPROBS = 20
UNSEEN_SHARE = 1e-3
"""Label likelihoods are used only if the labels that the server did not list have less than this share."""

NEGLIGIBLE_LOGPROB = -100.0
_ARGUMENTS = {"sampling_seed": "seed"}
"""Names of decoding options in calls, where they differ."""
_CHOICE_NAMES = ("structured_outputs", "guided_choice")
LONGEST_CHOICE = 16
"""Maximal number of tokens of a reply that is limited to labels."""
_PROBE = Request((Part("Reply with the digit 1, or with the JSON object {}."),), max_new_tokens=64)
"""A request that every model can answer, to find out whether a server refuses all requests.

With ``--response-format json``, OpenAI refuses prompts without the word JSON.
"""
_CONNECTION_FAILURES = ("ConnectError", "ConnectTimeout")
_TAGS = [tag for pair in THINKING_TAGS for tag in pair]
_RETRIED = {408, 409, 425, 429}
_HINTS = {
    401: f"set the environment variable {KEY} to a valid key",
    403: f"the key in {KEY} has no access to this model",
    404: "check --base-url (it usually ends in /v1) and --model",
}


def load_endpoint(options: ModelOptions) -> LLM:
    """Make a model behind an endpoint, without a call; raises :class:`ModelError` for invalid options."""
    return EndpointLLM(options)


class _AttemptError(Exception):
    """A failure that may be temporary; ``delay`` is the number of seconds that the server asks to wait."""

    def __init__(self, reason: str, delay: float | None = None) -> None:
        super().__init__(reason)
        self.delay = delay


class _UnreachableError(_AttemptError):
    """No connection: the server is not running, so the request itself is not the cause."""


class _Outcome(NamedTuple):
    """A completion; ``refused`` means that the endpoint answered the request without a reply text."""

    completion: Completion
    refused: bool = False


class EndpointLLM:
    """A chat-completions endpoint with ``concurrency`` simultaneous calls and retries with growing delays.

    A request that fails in all attempts gets a completion with an error. An invalid key, an unknown model, an
    endpoint that refuses every request, and an endpoint that cannot be reached (during the run: for
    ``timeout`` seconds) raise :class:`ModelError`.
    """

    _expected = "a chat completion"

    def __init__(self, options: ModelOptions) -> None:
        try:
            import openai
        except ImportError as error:
            raise MissingExtraError("An endpoint", "openai") from error
        self.name = options.model
        self._options = options
        self._openai = openai
        self._url = options.base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        _check_url(self._url)
        self._key = _read_key()
        self._is_openai = urlsplit(self._url).hostname == "api.openai.com"
        if self._is_openai and not self._key:
            raise ModelError(f"--base-url is missing. To use api.openai.com, set {KEY}.")
        for library in ("httpx", "httpx2"):  # these log every call with its whole URL
            logging.getLogger(library).setLevel(logging.WARNING)
        self._decoding = recorded_decoding(options)
        self._extra = self._extra_arguments()
        self._supports_logprobs = self._supports_choice = True
        self._failed_in_a_row = 0
        self._refused_passage: str | None = None
        self._ever_reached = self._ever_answered = False
        self._ever_accepted = False
        self._probing = threading.Lock()
        self._unreachable_since: float | None = None

    def provenance(self) -> dict[str, Any]:
        """The known settings that determine the replies, without credentials."""
        url = urlsplit(self._url)
        return {
            "pipeline": self._options.pipeline,
            "engine": "openai",
            "base_url": f"{url.scheme}://{url.netloc}{url.path}",
            **({} if self._options.choose else self._limits),
            **self._decoding,
            **self._options.thinking,
            "exam_pp": __version__,
        }

    @property
    def _limits(self) -> dict[str, Any]:
        return {"temperature": 0, **({} if self._options.max_tokens else {"max_new_tokens": LONGEST_REPLY})}

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Batches of a fixed size in the order of the requests."""
        return batches_in_order(len(requests), BATCH_SIZE)

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Yield each reply when it arrives; calls of later batches start as soon as there is a free slot."""
        order = (
            index for batch in (self.batches(requests) if batches is None else batches) for index in batch
        )
        stopped = threading.Event()
        running: dict[Future[_Outcome], int] = {}
        with self._client() as client, ThreadPoolExecutor(self._options.concurrency, "endpoint") as pool:
            try:
                while True:
                    for index in islice(order, self._options.concurrency - len(running)):
                        running[pool.submit(self._reply, client, requests[index], stopped)] = index
                    if not running:
                        return
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        index, outcome = running.pop(future), future.result()
                        self._watch(requests[index], outcome)
                        yield index, outcome.completion
            finally:
                stopped.set()  # ends threads that wait for their next attempt

    def _client(self) -> Any:
        try:
            # Local servers often need no key, but the client requires a value.
            return self._openai.OpenAI(
                base_url=self._url,
                api_key=self._key or "none",
                timeout=self._options.timeout,
                max_retries=0,
                http_client=self._openai.DefaultHttpxClient(event_hooks={"response": [self._limit_body]}),
            )
        except (ImportError, ValueError, OSError) as error:
            # The text of a ValueError contains the proxy's address, which may include a password.
            reason = (
                "an address is not valid" if isinstance(error, ValueError) else " ".join(str(error).split())
            )
            raise ModelError(
                "The proxies or certificates of the environment cannot be used (HTTP_PROXY, HTTPS_PROXY, "
                f"ALL_PROXY, SSL_CERT_FILE ...): {reason.rstrip('.')}."
            ) from error

    def _limit_body(self, response: Any) -> None:
        """Apply the timeout to the whole body, because every chunk restarts the client's own timeout."""
        read, end = response.iter_raw, monotonic() + self._options.timeout

        def limited(chunk_size: int | None = None) -> Iterator[bytes]:
            for chunk in read(chunk_size):
                if monotonic() > end:
                    raise TimeoutError
                yield chunk

        response.iter_raw = limited

    def _watch(self, request: Request, outcome: _Outcome) -> None:
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
        if self._failed_in_a_row >= max(GIVE_UP_AFTER, self._options.concurrency):
            raise self._error(f"has failed {self._failed_in_a_row} times in a row ({reason})")

    def _error(self, problem: str) -> ModelError:
        return ModelError(f"The endpoint {self.provenance()['base_url']} {problem}.")

    def _reply(self, client: Any, request: Request, stopped: threading.Event) -> _Outcome:
        """Send one request, with retries after temporary failures."""
        delay, reason, attempts = FIRST_DELAY, "stopped", 0
        while not stopped.is_set():
            try:
                completion = self._attempt(client, request)
            except _AttemptError as failure:
                reason = str(failure)
                # The random factor keeps threads from retrying at the same moment.
                pause = max(delay * random.uniform(0.75, 1.25), failure.delay or 0.0)
                if isinstance(failure, _UnreachableError):
                    pause = min(pause, self._patience(reason))
                else:
                    self._unreachable_since = None
                    attempts += 1
                if attempts == ATTEMPTS:
                    if not self._accepts_short_request(client):
                        raise self._error(
                            f"has failed for every request ({reason}): check --model {self.name}"
                        ) from None
                    break
                stopped.wait(min(LONGEST_RETRY_AFTER, pause))
                delay = min(2 * delay, LONGEST_DELAY)
                continue
            self._ever_reached = True
            self._unreachable_since = None
            return _Outcome(completion, refused=completion.error is not None)
        return _Outcome(Completion(error=f"the endpoint failed {ATTEMPTS} times; the last failure: {reason}"))

    def _patience(self, reason: str) -> float:
        """Seconds for which a run still waits for a server without connection.

        Raises ModelError after ``timeout`` seconds without connection.
        """
        now, limit = monotonic(), self._options.timeout
        if self._unreachable_since is None:
            self._unreachable_since = now
            log.warning("The endpoint cannot be reached (%s); waiting up to %g s for it.", reason, limit)
        left = self._unreachable_since + limit - now
        if left <= 0:
            raise self._error(
                f"has not been reachable for {limit:g} s (--timeout; {reason}): start the server again and "
                "repeat the command, which continues with the replies so far"
            )
        return left

    def _attempt(self, client: Any, request: Request) -> Completion:
        api = self._openai
        wants_logprobs = bool(request.labels) and self._supports_logprobs
        try:
            answer = self._create(client, self._arguments(request, wants_logprobs))
        except api.APIStatusError as error:
            return self._after_status_error(client, request, error, wants_logprobs)
        except (api.APIConnectionError, TimeoutError) as error:  # including the client's timeouts
            raise self._connection_failure(error) from error
        except (api.APIError, ValueError, TypeError) as error:  # the body is not a JSON object
            raise self._not_a_completion() from error
        self._ever_accepted = True
        return self._read(answer, request, wants_logprobs)

    def _connection_failure(self, error: Exception) -> _AttemptError:
        """The failure of an attempt, or ModelError if no connection was ever made."""
        is_timeout = isinstance(error, (self._openai.APITimeoutError, TimeoutError))
        reason = self._hide_key(str(error.__cause__ or error))
        if type(error.__cause__).__name__ not in _CONNECTION_FAILURES:
            if is_timeout:
                return _AttemptError(f"no reply within {self._options.timeout:g} s (--timeout)")
            return _AttemptError(f"connection failed ({reason})")
        # A server that was never there is more likely a wrong address than a restart.
        if not self._ever_reached:
            raise self._error(f"cannot be reached ({reason}): check that the server is running") from None
        return _UnreachableError(reason)

    def _arguments(self, request: Request, wants_logprobs: bool) -> dict[str, Any]:
        longest = self._options.max_tokens or min(request.max_new_tokens, LONGEST_REPLY)
        if self._chooses(request):
            longest = LONGEST_CHOICE
        return {
            "model": self.name,
            **self._prompt(request),
            "temperature": self._decoding.get("temperature", 0),
            self._limit_name: longest + self._options.thinking_tokens,
            **self._extra,
            **(self._logprobs_arguments() if wants_logprobs else {}),
            **(self._choice_arguments(request.labels) if self._chooses(request) else {}),
        }

    def _chooses(self, request: Request) -> bool:
        return self._options.choose and bool(request.labels)

    def _choice_arguments(self, labels: Sequence[str]) -> dict[str, Any]:
        """The arguments that limit a reply to the labels, with the new and the old name of vLLM.

        Most other servers ignore unknown arguments; OpenAI refuses them.
        """
        if self._is_openai or not self._supports_choice:
            return {}
        return {"extra_body": {"structured_outputs": {"choice": [*labels]}, "guided_choice": [*labels]}}

    def _extra_arguments(self) -> dict[str, Any]:
        """The arguments of all calls for the decoding options that were given."""
        arguments = {_ARGUMENTS.get(name, name): value for name, value in self._decoding.items()}
        for own in ("temperature", "max_tokens", "choose"):
            arguments.pop(own, None)
        if self._options.response_format is not None:
            arguments["response_format"] = response_format(self._options)
        return arguments

    def _create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Call the endpoint."""
        return client.chat.completions.create(**arguments)

    def _prompt(self, request: Request) -> dict[str, Any]:
        """The argument with the prompt."""
        messages = as_messages(request.parts)
        return {"messages": [message | {"content": clean(message["content"])} for message in messages]}

    @property
    def _limit_name(self) -> str:
        """The argument with the maximal number of tokens.

        Some of OpenAI's models support only the newer name, many other servers only the older one.
        """
        return "max_completion_tokens" if self._is_openai else "max_tokens"

    def _logprobs_arguments(self) -> dict[str, Any]:
        """The arguments that request likelihoods."""
        return {"logprobs": True, "top_logprobs": TOP_LOGPROBS}

    def _not_a_completion(self) -> _AttemptError:
        return _AttemptError(f"the reply is not {self._expected}")

    def _read(self, answer: Any, request: Request, has_logprobs: bool) -> Completion:
        """Read text and label likelihoods of a reply; raises :class:`_AttemptError` for other replies.

        Servers return thinking text in a separate field or before the text. In the latter case, a text that
        was cut off without a closing tag is all thinking text, and gets an opening tag.
        """
        try:
            choice = answer.choices[0]
            text, finish, reasoning = self._fields(choice)
        except (AttributeError, IndexError, TypeError) as error:
            raise self._not_a_completion() from error
        if text is not None and not isinstance(text, str):
            raise self._not_a_completion()
        # A model may run out of tokens while thinking; its empty reply would be read as a grade.
        if (
            text is None
            or finish == "content_filter"
            or (not text.strip() and (finish == "length" or reasoning))
        ):
            return Completion(error=f"the endpoint's reply has no text (finish reason: {clean(str(finish))})")
        text = clean(text).strip()
        if self._chooses(request):
            return self._choice(choice, text, request.labels)
        thinks = self._options.thinking_tokens > 0
        if thinks and finish == "length" and not reasoning and not any(tag in text for tag in _TAGS):
            text = THINKING_TAGS[0][0] + text
        if not (has_logprobs and request.labels):
            return Completion(text)
        span = None if request.search is None else request.search.find(text)
        if request.search is not None and span is None:
            return Completion(text)
        logprobs = _label_logprobs(lambda: self._tokens(choice), request.labels, text, span)
        return Completion(text, label_logprobs=logprobs, definition="number")

    def _choice(self, choice: Any, text: str, labels: Sequence[str]) -> Completion:
        """The completion with the likeliest label, by the likelihoods of the first token, else by the reply.

        Raises :class:`ModelError` if the endpoint neither returns likelihoods nor limits its replies.
        """
        likelihoods = _first_label_logprobs(lambda: self._tokens(choice), labels)
        if likelihoods is not None and (chosen := choose(labels, likelihoods, "choice")) is not None:
            logprobs = _label_logprobs(
                lambda: self._tokens(choice), labels, chosen.text, (0, len(chosen.text))
            )
            return Completion(chosen.text, label_logprobs=logprobs, definition="choice")
        if text in labels:
            return Completion(text)
        if likelihoods is None:
            raise self._error(
                "supports neither likelihoods (logprobs) nor replies from a list (structured outputs), so "
                "--choose cannot be used"
            )
        return Completion(error=f"the endpoint lists no label among its {TOP_LOGPROBS} likeliest tokens")

    def _fields(self, choice: Any) -> tuple[Any, Any, Any]:
        """The text, the finish reason and the thinking text of a reply."""
        message = choice.message
        reasoning = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
        return message.content, choice.finish_reason, reasoning

    def _tokens(self, choice: Any) -> Iterator[tuple[str, list[tuple[str, float]]]]:
        """Each token of the reply with the likeliest tokens at its place and their log-probabilities."""
        for token in choice.logprobs.content:
            yield token.token, [(other.token, other.logprob) for other in token.top_logprobs]

    def _after_status_error(
        self, client: Any, request: Request, error: Any, wants_logprobs: bool
    ) -> Completion:
        """Return a completion with an error, or raise ModelError or :class:`_AttemptError`, by the status.

        If the endpoint refuses ``logprobs``, the request is sent again without them.
        """
        status = error.status_code
        reason = self._hide_key(_message(error))
        if status in _HINTS or getattr(error, "code", None) == "insufficient_quota":
            hint = f": {_HINTS[status]}" if status in _HINTS else ""
            raise self._error(
                f"returns status {status} ({reason}) for the model {self.name!r}{hint}"
            ) from None
        if status in _RETRIED or status >= 500:
            raise _AttemptError(
                f"status {status} ({reason})", _retry_after(error.response.headers)
            ) from error
        if self._chooses(request) and any(name in reason for name in _CHOICE_NAMES) and self._supports_choice:
            self._supports_choice = False
            return self._attempt(client, request)
        if wants_logprobs and "logprobs" in reason:
            if self._supports_logprobs:
                log.warning("The endpoint does not return likelihoods; there will be no soft grades.")
            self._supports_logprobs = False
            return self._attempt(client, request)
        if self._accepts_short_request(client) is False:
            raise self._error(
                f"refuses every request with status {status} ({reason}): check --model {self.name} and the "
                "options for replies"
            ) from None
        return Completion(error=f"the endpoint refused the request with status {status} ({reason})")

    def _accepts_short_request(self, client: Any) -> bool | None:
        """Whether the server accepts requests at all; None if a short request fails for another reason.

        A short request is sent only if no request was accepted so far. It separates refusals of long prompts
        from those of every request: some servers refuse a wrong name of the model like an invalid prompt.
        """
        with self._probing:
            if not self._ever_accepted:
                try:
                    self._create(client, self._arguments(_PROBE, wants_logprobs=False))
                except self._openai.APIStatusError as error:
                    return None if error.status_code in _RETRIED or error.status_code >= 500 else False
                except (self._openai.OpenAIError, TimeoutError, ValueError, TypeError):
                    return None
            self._ever_accepted = True
            return True

    def _hide_key(self, text: str) -> str:
        """Remove the key from a message of the server, which may quote it."""
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join(clean(text).split())[:300]


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is not valid
        is_valid = False
    if not is_valid:
        raise ModelError(f"--base-url must be a URL such as http://localhost:8000/v1, not {url!r}.")
    if "@" in parts.netloc:
        raise ModelError(f"--base-url must not contain credentials; set the key in {KEY}.")


def _read_key() -> str:
    """The stripped key, empty if the variable is not set.

    Raises :class:`ModelError` for characters that a header cannot contain, because the client's error would
    quote the key.
    """
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ModelError(f"The key in {KEY} contains characters that are not allowed in a key; set it again.")
    return key


def _message(error: Any) -> str:
    """The error message in the body of a response, in the formats that servers use."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    text = (inner.get("message") if isinstance(inner, dict) else inner) or body.get("message")
    return str(text or body.get("detail") or error.response.reason_phrase or "unknown reason").rstrip(".")


def _retry_after(headers: Any) -> float | None:
    """Seconds from the Retry-After header, which is a number or a date; None if missing or invalid."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except ValueError:
        return None


Tokens = Callable[[], Iterator[tuple[str, list[tuple[str, float]]]]]
"""Returns each token of a reply, with the likeliest tokens at its place and their log-probabilities."""


def _label_logprobs(
    tokens: Tokens, labels: Sequence[str], text: str, span: tuple[int, int] | None
) -> tuple[float, ...]:
    """Log-probabilities of the labels where the label of the reply stands; empty if they are unknown.

    ``span`` is the label in the stripped ``text``; None: the first token that is not blank, if it is a label.
    They are known only if a single token holds the label, and the labels that the server does not list have a
    negligible share.
    """
    label = text if span is None else text[slice(*span)]
    try:
        token, likeliest = _token_at(tokens, span[0] if span else 0)
        if (token.strip() not in labels) if span is None else (label not in token):
            return ()
        mass = dict.fromkeys(labels, 0.0)
        seen = 0.0
        before, _, after = token.strip().partition(label if span else token.strip())
        for other, logprob in likeliest:
            probability = math.exp(min(float(logprob), 0.0))  # min() in this order keeps NaN
            seen += probability
            name = other.strip().removeprefix(before).removesuffix(after)
            if name in mass and other.strip() == f"{before}{name}{after}":
                mass[name] += probability
    except (AttributeError, TypeError, ValueError, StopIteration):
        return ()
    total = math.fsum(mass.values())
    if not total > 0 or (0.0 in mass.values() and max(0.0, 1 - seen) > UNSEEN_SHARE * total):
        return ()
    return tuple(math.log(p) if p > 0 else NEGLIGIBLE_LOGPROB for p in mass.values())


def _token_at(tokens: Tokens, at: int) -> tuple[str, list[tuple[str, float]]]:
    """The token of a reply at this position of its stripped text; raises StopIteration after its end."""
    text = ""
    for token, likeliest in tokens():
        text = (text + token).lstrip()
        if len(text) > at:
            return token, likeliest
    raise StopIteration


def _first_label_logprobs(tokens: Tokens, labels: Sequence[str]) -> list[float] | None:
    """Log-probabilities of the labels by the first token of the reply; None without likelihoods.

    A token counts for the label that it begins, if it begins only one. Labels without a token have −inf.
    """
    try:
        _, likeliest = _token_at(tokens, 0)
        mass = dict.fromkeys(labels, 0.0)
        for token, logprob in likeliest:
            begun = token.strip()
            fitting = [label for label in labels if begun and label.startswith(begun)]
            names = [begun] if begun in mass else fitting
            if len(names) == 1:
                mass[names[0]] += math.exp(min(float(logprob), 0.0))
    except (AttributeError, TypeError, ValueError, StopIteration):
        return None
    return [math.log(p) if p > 0 else -math.inf for p in mass.values()]
