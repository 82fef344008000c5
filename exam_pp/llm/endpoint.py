"""OpenAI-compatible endpoints, such as a vLLM server, for ``openai`` and ``openai-completions``.

The pipeline ``openai`` sends chat messages. ``openai-completions`` sends the prompt as plain text to
``/v1/completions``, without a chat template: for base models, and for ``gpt-3.5-turbo-instruct``.

The API key comes from the environment variable ``OPENAI_API_KEY``; it is never logged or written to files.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import islice
from queue import SimpleQueue
from typing import Any, TypeVar

from exam_pp._version import __version__
from exam_pp.errors import ModelError
from exam_pp.llm.base import Batch, ModelOptions
from exam_pp.llm.batch_plan import batches_in_order
from exam_pp.llm.chat import as_messages, plain_text
from exam_pp.llm.decoding import DECODING, recorded_decoding, response_format
from exam_pp.llm.encoding import choice as choose
from exam_pp.llm.encoding import clean
from exam_pp.llm.endpoint_replies import (
    Token,
    chat_tokens,
    first_label_logprobs,
    label_logprobs,
    member,
    text_tokens,
)
from exam_pp.llm.retries import AttemptError, RequestOutcome, Retries, UnreachableError
from exam_pp.llm.transport import (
    KEY,
    BadReplyError,
    RedirectError,
    StatusError,
    Transport,
    address,
    message_of,
    parse_body,
)
from exam_pp.llm_requests import THINKING_TAGS, Completion, Part, Request
from exam_pp.signals import STOP

T = TypeVar("T")
R = TypeVar("R")


def in_threads(work: Callable[[T], R], items: Iterator[T], count: int) -> Iterator[tuple[T, R]]:
    """Yield each item with its result as soon as it is known; up to ``count`` items are worked on at a time.

    An exception of ``work`` is raised here. SIGTERM and Ctrl-C end the wait at once. The threads are daemons,
    because a connection or a look-up of a name cannot be interrupted.
    """
    tasks: SimpleQueue[T | None] = SimpleQueue()
    results: SimpleQueue[tuple[T, Callable[[], R]]] = SimpleQueue()

    def serve() -> None:
        while (item := tasks.get()) is not None:
            results.put((item, _outcome(work, item)))

    running = threads = 0
    try:
        while True:
            for item in islice(items, count - running):
                tasks.put(item)
                running += 1
            while threads < running:
                threading.Thread(target=serve, name="endpoint", daemon=True).start()
                threads += 1
            if not running:
                return
            with STOP.at_once():
                item, result = results.get()
            running -= 1
            yield item, result()
    finally:
        for _ in range(threads):
            tasks.put(None)


def _outcome(work: Callable[[T], R], item: T) -> Callable[[], R]:
    """A function that returns the result, or raises the exception of the work."""
    try:
        result = work(item)
    except BaseException as error:  # noqa: BLE001 - raised in the main thread
        failure = error

        def fail() -> R:
            raise failure

        return fail
    return lambda: result


log = logging.getLogger(__name__)

BATCH_SIZE = 16
"""Number of replies that are returned, and therefore saved, together."""

LONGEST_REPLY = 4096
"""Maximal number of tokens in a reply; prompts request fewer."""

LONGEST_TEXT, LONGEST_TOKEN = 100_000, 16
"""Maximal number of characters of a reply, and of further ones for each token of thinking."""

_TEMPLATE_TOKENS = 64

TOP_LOGPROBS = 20
_OPENAI_TOP_LOGPROBS = 5
"""The maximum of api.openai.com for completions."""
# Arguments that a refusal may name, the arguments to which parts belong, and settings with another name.
_NAMED = re.compile(
    r"(?<!\w)(?:temperature|top_p|seed|presence_penalty|frequency_penalty|max_(?:completion_)?tokens|stop"
    r"|reasoning_effort|response_format|logprobs|top_logprobs|structured_outputs|guided_choice)(?!\w)"
)
_PARTS = {"top_logprobs": "logprobs", "structured_outputs": "extra_body", "guided_choice": "extra_body"}
_SETTINGS = {"seed": "sampling_seed", "max_completion_tokens": "max_tokens"}
_RECORDED = frozenset(
    ("temperature", "top_p", "seed", "presence_penalty", "frequency_penalty", "response_format")
)
_WITHOUT = {
    "logprobs": "The endpoint does not return likelihoods; there will be no soft grades.",
    "max_tokens": "The endpoint limits replies with max_completion_tokens in place of max_tokens.",
}
LONGEST_CHOICE = 16
"""Maximal number of tokens of a reply that is limited to labels."""
_PROBE = Request((Part("Reply with the digit 1, or with the JSON object {}."),), max_new_tokens=64)
"""A request that every model can answer, to find out whether a server refuses all requests.

With ``-M response_format=json``, OpenAI refuses prompts without the word JSON.
"""
_CONNECTION_FAILURES = ("ConnectError", "ConnectTimeout")
_TIMEOUTS = ("TimeoutError", "ReadTimeout", "WriteTimeout", "PoolTimeout")
_TAGS = [tag for pair in THINKING_TAGS for tag in pair]
_RETRIED = {408, 409, 425, 429}
_HINTS = {
    401: f"set the environment variable {KEY} to a valid key",
    403: f"the key in {KEY} has no access to this model",
    404: "check --base-url (it usually ends in /v1) and --model",
    501: "the server at --base-url does not have this interface",
}


class EndpointLLM:
    """A chat-completions endpoint with ``concurrency`` simultaneous calls and retries with growing delays.

    Invalid options raise :class:`ModelError`, without a call. With ``any_server``, URL and key are not needed
    before the first request.

    A request that fails in all attempts gets a completion with an error. An invalid key, an unknown model, an
    endpoint that refuses every request, and an endpoint that cannot be reached (during the run: for
    ``timeout`` seconds) raise :class:`ModelError`.
    """

    _expected = "a chat completion"
    _path = "chat/completions"
    _optional = _RECORDED | {"logprobs", "extra_body", "max_tokens"}

    def __init__(self, options: ModelOptions) -> None:
        self.name = options.model
        self._options = options
        self._retries = Retries(self._error, options.timeout, options.concurrency)
        self._decoding = recorded_decoding(options)
        self._extra = self._extra_arguments()
        self._accepted: frozenset[str] = frozenset()
        self._left_out: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._warned: set[str] = set()
        self.token_limit, self.tokens_used = options.max_tokens_total, 0
        self._is_out_of_tokens = False
        if not options.any_server:
            self._transport  # noqa: B018 - the first use checks URL and key

    @cached_property
    def _transport(self) -> Transport:
        return Transport(self._options)

    def provenance(self) -> dict[str, Any]:
        """The known settings that determine the replies, without credentials."""
        return {
            "pipeline": self._options.pipeline,
            "engine": "openai",
            **({} if self._options.any_server else {"base_url": address(self._transport.url)}),
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
        reserved: dict[int, int] = {}
        order = self._affordable(requests, self.batches(requests) if batches is None else batches, reserved)
        stopped = threading.Event()
        with self._transport.client(stopped) as client:
            if self._is_first("server"):
                server = address(self._transport.url)
                log.info("Prompts, with queries and passages, go to the server %s.", server)

            def work(index: int) -> RequestOutcome:
                return self._reply(client, requests[index], stopped)

            try:
                for index, outcome in in_threads(work, order, self._options.concurrency):
                    self._retries.watch(requests[index], outcome)
                    reserved.pop(index, None)
                    self.tokens_used += sum(outcome.completion.tokens)
                    yield index, outcome.completion
            finally:
                stopped.set()  # ends threads that wait for their next attempt
        if self._is_out_of_tokens and self.token_limit:
            raise ModelError(
                f"{self.tokens_used:,} tokens are used, and the next requests could pass the "
                f"{self.token_limit:,} of --max-tokens-total. All replies are kept: repeat the command with "
                "a higher limit to continue."
            )

    def _affordable(
        self, requests: Sequence[Request], batches: Iterable[Batch], reserved: dict[int, int]
    ) -> Iterator[int]:
        """The requests of each batch, until one could pass the limit; ``reserved`` is for open requests."""
        for batch in batches:
            # A token has at least one byte; the template of the model adds some.
            most = {
                index: len(clean(requests[index].text).encode())
                + _TEMPLATE_TOKENS
                + self._longest(requests[index])
                for index in batch
            }
            if self.token_limit:
                open_ones = sum(reserved.values()) + sum(most.values())
                self._is_out_of_tokens = self.tokens_used + open_ones > self.token_limit
                if self._is_out_of_tokens:
                    return
                reserved |= most
            yield from batch

    def call(self, request: Request) -> dict[str, Any]:
        """The path and the body of the call for a request, as a line of a batch file has them."""
        body = self._arguments(request, self._left_out)
        body |= body.pop("extra_body", {})
        return {"url": f"/v1/{self._path}", "body": body}

    def read_call(self, status: int, body: Any, request: Request) -> Completion | str:
        """The completion of a call that a batch has made, or the reason to ask again."""
        try:
            if status < 300:
                return self._completion(body, request, has_logprobs=True)
        except AttemptError as error:
            return str(error)
        said = self._hide(message_of(body)) if isinstance(body, dict) else ""
        reason = f"status {status} ({said or 'unknown reason'})"
        if status in _HINTS or status in _RETRIED or status >= 500:
            return reason
        return Completion(error=f"the endpoint refused the request with {reason}")

    def _error(self, problem: str) -> ModelError:
        return ModelError(f"The endpoint {address(self._transport.url)} {problem}.")

    def _reply(self, client: Any, request: Request, stopped: threading.Event) -> RequestOutcome:
        """Send one request, with retries after temporary failures."""

        def check_others(reason: str) -> None:
            if not self._accepts_short_request(client):
                raise self._error(f"has failed for every request ({reason}): check --model {self.name}")

        return self._retries.reply(lambda: self._attempt(client, request), check_others, stopped)

    def _attempt(self, client: Any, request: Request, trial: frozenset[str] = frozenset()) -> Completion:
        """Send a request without the arguments that the server refused, and without those on trial."""
        left_out = self._left_out | trial
        arguments = self._arguments(request, left_out)
        try:
            answer = self._call(client, arguments)
        except StatusError as error:
            return self._after_status_error(client, request, error, arguments, trial)
        except RedirectError as error:
            raise self._error(f"redirects requests to {error}: name that server with --base-url") from None
        except BadReplyError as error:
            raise AttemptError(str(error)) from None
        self._leave_out(trial)
        self._accepted |= arguments.keys()
        completion = self._completion(answer, request, "logprobs" in arguments)
        not_sent = sorted(_SETTINGS.get(name, name) for name in left_out & _RECORDED)
        return replace(completion, not_sent=tuple(not_sent)) if not_sent else completion

    def _leave_out(self, arguments: frozenset[str]) -> None:
        """Send no more requests with these arguments; the log says so once."""
        with self._lock:
            new, self._left_out = arguments - self._left_out, self._left_out | arguments
        for name in sorted(new - {"extra_body"}):
            refused = (
                f"The endpoint refuses the setting {_SETTINGS.get(name, name)}; its own default applies."
            )
            log.warning("%s", _WITHOUT.get(name, refused))

    def _call(self, client: Any, arguments: dict[str, Any]) -> Any:
        """The JSON value of the reply to a call.

        Raises :class:`BadReplyError`, :class:`AttemptError` and :class:`ModelError`.
        """
        self._transport.begin()
        try:
            data = self._create(client, arguments).content
        except Exception as error:
            # The client wraps some errors; its code for odd responses may also raise any other error.
            cause = error.__cause__ or error
            if isinstance(cause, BadReplyError):
                raise cause from None
            raise self._connection_failure(cause) from error
        try:
            return parse_body(data)
        except BadReplyError as error:
            raise BadReplyError(f"the reply is not {self._expected}: {error}") from None

    def _connection_failure(self, cause: BaseException) -> AttemptError:
        """The failure of an attempt, or ModelError if no connection was ever made."""
        reason = self._hide(str(cause))
        names = {kind.__name__ for kind in type(cause).__mro__}
        if names.isdisjoint(_CONNECTION_FAILURES):
            if not names.isdisjoint(_TIMEOUTS):
                return AttemptError(f"no reply within {self._options.timeout:g} s (-M timeout)")
            return AttemptError(f"connection failed ({reason})")
        # A server that was never there is more likely a wrong address than a restart.
        if not self._retries.ever_reached:
            raise self._error(f"cannot be reached ({reason}): check that the server is running") from None
        return UnreachableError(reason)

    def _longest(self, request: Request) -> int:
        """The largest number of tokens of a reply."""
        longest = self._options.max_tokens or min(request.max_new_tokens, LONGEST_REPLY)
        return (LONGEST_CHOICE if self._chooses(request) else longest) + self._options.thinking_tokens

    def _arguments(self, request: Request, left_out: Set[str]) -> dict[str, Any]:
        # Some of OpenAI's models support only the newer name, many other servers only the older one.
        is_new = "max_tokens" in left_out or (self._transport.is_openai and "max_tokens" in self._optional)
        limit_name = "max_completion_tokens" if is_new else "max_tokens"
        settings = {
            "temperature": self._decoding.get("temperature", 0),
            limit_name: self._longest(request),
            **self._extra,
            **(self._choice_arguments(request.labels) if self._chooses(request) else {}),
        }
        return {
            "model": self.name,
            **self._prompt(request),
            **{name: value for name, value in settings.items() if name not in left_out},
            **(self._logprobs_arguments() if request.labels and "logprobs" not in left_out else {}),
        }

    def _chooses(self, request: Request) -> bool:
        return self._options.choose and bool(request.labels)

    def _choice_arguments(self, labels: Sequence[str]) -> dict[str, Any]:
        """The arguments that limit a reply to the labels, with the new and the old name of vLLM.

        Most other servers ignore unknown arguments; OpenAI refuses them.
        """
        if self._transport.is_openai:
            return {}
        return {"extra_body": {"structured_outputs": {"choice": [*labels]}, "guided_choice": [*labels]}}

    def _extra_arguments(self) -> dict[str, Any]:
        """The arguments of all calls for the decoding options that were given."""
        arguments = {
            "seed" if name == "sampling_seed" else name: value for name, value in self._decoding.items()
        }
        for own in ("temperature", "max_tokens", "choose"):
            arguments.pop(own, None)
        if self._options.response_format is not None:
            arguments["response_format"] = response_format(self._options)
        return arguments

    def _create(self, client: Any, arguments: dict[str, Any]) -> Any:
        """Call the endpoint; returns a response with its ``content``."""
        return client.chat.completions.with_raw_response.create(**arguments)

    def _prompt(self, request: Request) -> dict[str, Any]:
        """The argument with the prompt."""
        messages = as_messages(request.parts)
        return {"messages": [message | {"content": clean(message["content"])} for message in messages]}

    def _logprobs_arguments(self) -> dict[str, Any]:
        """The arguments that request likelihoods."""
        return {"logprobs": True, "top_logprobs": TOP_LOGPROBS}

    def _completion(self, answer: Any, request: Request, has_logprobs: bool) -> Completion:
        """The completion with the tokens that the endpoint counts."""
        counts = [member(answer, "usage", name) for name in ("prompt_tokens", "completion_tokens")]
        known = all(type(count) is int and count >= 0 for count in counts)
        return replace(self._read(answer, request, has_logprobs), tokens=tuple(counts) if known else ())

    def _read(self, answer: Any, request: Request, has_logprobs: bool) -> Completion:
        """Read text and label likelihoods of a reply; raises :class:`AttemptError` for other replies.

        Servers return thinking text in a separate field or before the text. In the latter case, a text that
        was cut off without a closing tag is all thinking text, and gets an opening tag.
        """
        choice = member(answer, "choices", 0)
        text, finish, reasoning = self._fields(choice)
        # A model may run out of tokens while thinking; its empty reply would be read as a grade.
        if (
            text is None
            or finish == "content_filter"
            or (not text.strip() and (finish == "length" or reasoning))
        ):
            return Completion(
                error=f"the endpoint's reply has no text (finish reason: {self._hide(str(finish))})"
            )
        if len(text) > (longest := LONGEST_TEXT + LONGEST_TOKEN * self._options.thinking_tokens):
            raise AttemptError(f"the reply has more than {longest:,} characters")
        received = clean(text).strip()
        text = self._transport.secrets.mask(received)
        if text != received:
            if self._is_first("secrets"):
                log.warning("The endpoint returned the key or a password; replies have *** in its place.")
            return Completion(text)
        if self._chooses(request):
            return self._choice(choice, text, request.labels)
        thinks = self._options.thinking_tokens > 0
        if thinks and finish == "length" and not reasoning and not any(tag in text for tag in _TAGS):
            text = THINKING_TAGS[0][0] + text
        if not (has_logprobs and request.labels):
            return Completion(text)
        return self._with_likelihoods(choice, text, request)

    def _with_likelihoods(self, choice: Any, text: str, request: Request) -> Completion:
        """The completion with the likelihoods of the labels, as far as the endpoint lists them."""
        self._check_likelihoods(choice)
        span = None if request.search is None else request.search.find(text)
        if request.search is not None and span is None:
            return Completion(text)
        logprobs = label_logprobs(lambda: self._tokens(choice), request.labels, text, span)
        return Completion(text, label_logprobs=logprobs, definition="number")

    def _check_likelihoods(self, choice: Any) -> None:
        """Warn once if the endpoint ignores the request for likelihoods."""
        if member(choice, "logprobs") is None and self._is_first("likelihoods"):
            log.warning(
                "The endpoint ignores the request for likelihoods (logprobs); replies without them have no "
                "soft grades."
            )

    def _is_first(self, topic: str) -> bool:
        """Whether this is the first warning about a topic."""
        with self._lock:
            is_first = topic not in self._warned
            self._warned.add(topic)
        return is_first

    def _choice(self, choice: Any, text: str, labels: Sequence[str]) -> Completion:
        """The completion with the likeliest label, by the likelihoods of the first token, else by the reply.

        Raises :class:`ModelError` if the endpoint neither returns likelihoods nor limits its replies.
        """
        likelihoods = first_label_logprobs(lambda: self._tokens(choice), labels)
        if likelihoods is not None and (chosen := choose(labels, likelihoods, "choice")) is not None:
            logprobs = label_logprobs(
                lambda: self._tokens(choice), labels, chosen.text, (0, len(chosen.text))
            )
            return Completion(chosen.text, label_logprobs=logprobs, definition="choice")
        if text in labels:
            self._check_likelihoods(choice)
            return Completion(text)
        if likelihoods is None:
            raise self._error(
                "supports neither likelihoods (logprobs) nor replies from a list (structured outputs), so "
                "--reply chosen cannot be used"
            )
        return Completion(error=f"the endpoint lists no label among its {TOP_LOGPROBS} likeliest tokens")

    def _fields(self, choice: Any) -> tuple[str | None, Any, Any]:
        """The text, the finish reason and the thinking text of a reply; raises :class:`AttemptError`."""
        message = member(choice, "message")
        reasoning = member(message, "reasoning_content") or member(message, "reasoning")
        return self._text(message, "content"), member(choice, "finish_reason"), reasoning

    def _text(self, value: Any, key: str) -> str | None:
        """A text of a reply, which may be missing; raises :class:`AttemptError` for other values."""
        text = member(value, key)
        if not isinstance(value, dict) or not (text is None or isinstance(text, str)):
            raise AttemptError(f"the reply is not {self._expected}")
        return text

    def _tokens(self, choice: Any) -> Iterator[Token]:
        """Each token of the reply with the likeliest tokens at its place and their log-probabilities."""
        return chat_tokens(choice)

    def _after_status_error(
        self,
        client: Any,
        request: Request,
        error: StatusError,
        arguments: dict[str, Any],
        trial: frozenset[str],
    ) -> Completion:
        """Return a completion with an error, or raise ModelError or :class:`AttemptError`, by the status.

        If the endpoint refuses arguments that a request can do without, it is sent again without them.
        """
        status, reason = error.status, self._hide(str(error))
        if status in _HINTS or error.code == "insufficient_quota":
            hint = f": {_HINTS[status]}" if status in _HINTS else ""
            raise self._error(
                f"returns status {status} ({reason}) for the model {self.name!r}{hint}"
            ) from None
        if status in _RETRIED or status >= 500:
            raise AttemptError(f"status {status} ({reason})", error.delay) from error
        named = frozenset(_PARTS.get(name, name) for name in _NAMED.findall(f"{error.param} {error}"))
        if "schema" in reason.lower():  # a mistake in the schema, which only the user can correct
            named -= {"response_format"}
        if not named & trial:
            self._leave_out(trial)
        if refused := named & self._optional & arguments.keys() - self._accepted:
            return self._attempt(client, request, trial | refused)
        settings = {
            _SETTINGS.get(name, name) for name in named & {*arguments, *trial} & {*DECODING, *_SETTINGS}
        }
        remedy = " and ".join(f"-M {name}" for name in sorted(settings))
        if self._accepts_short_request(client) is False:
            raise self._error(
                f"refuses every request with status {status} ({reason}): check --model {self.name} and "
                f"{remedy or 'the options for replies'}"
            ) from None
        refusal = f"the endpoint refused the request with status {status} ({reason})"
        return Completion(error=f"{refusal}: change or leave out {remedy}" if remedy else refusal)

    def _accepts_short_request(self, client: Any) -> bool | None:
        """Whether the server accepts requests at all; None if a short request fails for another reason.

        A short request is sent only if no request was accepted so far. It separates refusals of long prompts
        from those of every request: some servers refuse a wrong name of the model like an invalid prompt.
        """
        with self._lock:
            if not self._accepted:
                arguments = self._arguments(_PROBE, self._left_out)
                try:
                    self._call(client, arguments)
                except StatusError as error:
                    return None if error.status in _RETRIED or error.status >= 500 else False
                except (BadReplyError, AttemptError):
                    return None
                self._accepted |= arguments.keys()
            return True

    def _hide(self, text: str) -> str:
        """A message of the server in one line without secrets, which it may quote."""
        return " ".join(self._transport.secrets.mask(clean(text)).split())[:300]


class CompletionsLLM(EndpointLLM):
    """A completions endpoint, which continues a prompt.

    As for local base models, a reply that grades ends with its first line, and a prompt with a system part
    raises :class:`exam_pp.errors.ModelError`.
    """

    _expected = "a completion"
    _path = "completions"
    _optional = EndpointLLM._optional - {"max_tokens"}

    def _create(self, client: Any, arguments: dict[str, Any]) -> Any:
        return client.completions.with_raw_response.create(**arguments)

    def _prompt(self, request: Request) -> dict[str, Any]:
        return {"prompt": clean(plain_text(self.name, request.parts))}

    def _logprobs_arguments(self) -> dict[str, Any]:
        return {"logprobs": _OPENAI_TOP_LOGPROBS if self._transport.is_openai else TOP_LOGPROBS}

    def _read(self, answer: Any, request: Request, has_logprobs: bool) -> Completion:
        # The line is cut here, because models may begin with a line break, at which a server would stop.
        reply = super()._read(answer, request, has_logprobs)
        return replace(reply, text=reply.text.split("\n", 1)[0].rstrip()) if request.one_line else reply

    def _fields(self, choice: Any) -> tuple[str | None, Any, Any]:
        return self._text(choice, "text"), member(choice, "finish_reason"), None

    def _tokens(self, choice: Any) -> Iterator[Token]:
        return text_tokens(choice)
