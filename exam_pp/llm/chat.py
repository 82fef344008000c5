"""Prompts for decoder-only models, as chat messages if the tokenizer has a chat template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from exam_pp.errors import ModelError
from exam_pp.llm.encoding import PromptEncoder, clean
from exam_pp.llm_requests import THINKING_TAGS, Part, Request

_MARK = "the reply of the assistant"
"""A text whose position in a rendered chat template shows what the template writes before and after it."""

PROMPT_DATE = date(2024, 7, 26)
"""The fixed date for chat templates that contain the current date, so that replies do not depend on the day.
It is the default of Llama's templates."""


def as_messages(parts: Iterable[Part]) -> list[dict[str, str]]:
    """Make chat messages; consecutive parts with the same role become one message."""
    return [
        {"role": role, "content": "".join(part.text for part in of_role)}
        for role, of_role in groupby(parts, key=lambda part: part.role)
    ]


def longest_reply(context: int) -> int:
    """Maximal number of tokens in a reply of a model with a context of ``context`` tokens."""
    return context // 2


def plain_text(model: str, parts: Iterable[Part]) -> str:
    """The prompt for a model without a chat template, with a blank line between the turns of a repair.

    Raises :class:`ModelError` for a prompt with a system part.
    """
    parts = tuple(parts)
    if any(part.role == "system" for part in parts):
        raise ModelError(
            f"The prompt has a part for the role 'system', but the model {model!r} has no chat template: use "
            "a chat model or another prompt."
        )
    return Request(parts).text


class CausalEncoder(PromptEncoder):
    """Encodes requests for a model with a context of ``context`` tokens, and decodes its replies.

    A prompt leaves room for the reply: ``reply_tokens`` (default: those of the request) and the thinking
    tokens, but at most half of the context. ``stops`` are the token ids that end a reply. ``opening_tag`` is
    the tag that begins the thinking text if the chat template writes it at the end of every prompt, else
    empty. Raises :class:`ModelError` if thinking text would be read as a reply.
    """

    def __init__(
        self,
        model: str,
        tokenizer: Any,
        context: int,
        max_tokens: int | None,
        stops: Iterable[int],
        thinking_tokens: int = 0,
        reply_tokens: int | None = None,
    ) -> None:
        self._model = model
        self._context = context
        self._thinking_tokens = thinking_tokens
        self._reply_tokens = reply_tokens
        self._special = _special_tokens(tokenizer)
        self._hidden = _special_ids(tokenizer) - _thinking_tags(tokenizer)
        self.is_chat = bool(getattr(tokenizer, "chat_template", None))
        self._template = _with_fixed_date(tokenizer.get_chat_template()) if self.is_chat else ""
        self.names_date = self._template.startswith(_FIXED_DATE)
        super().__init__(tokenizer, max_tokens or context)
        self._joins_ids = False
        self.stops = frozenset([*stops, *self._turn_end()])
        self.opening_tag = self._opening_tag()
        self._check_thinking()

    def decode(self, rows: Iterable[Iterable[int]]) -> list[str]:
        """Decode rows of token ids without special tokens, except the tags around thinking text."""
        texts: list[str] = self._tokenizer.batch_decode(
            [[i for i in row if i not in self._hidden] for row in rows],
            skip_special_tokens=False,
            clean_up_tokenization_spaces=False,
        )
        return texts

    def new_tokens(self, request: Request) -> int:
        """Maximal number of tokens in the reply, including thinking text."""
        limit = self._reply_tokens or request.max_new_tokens
        return min(limit + self._thinking_tokens, self.max_reply_tokens)

    @property
    def max_reply_tokens(self) -> int:
        """Maximal number of tokens in any reply."""
        return longest_reply(self._context)

    def _limit(self, request: Request) -> int:
        return min(self.max_tokens, self._context - self.new_tokens(request))

    def _clean(self, text: str) -> str:
        """Insert a space into special tokens of a passage, which would end the turn."""
        text = clean(text)
        return self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)

    def _whole(self, parts: list[Part]) -> list[int]:
        if self.is_chat:
            ids: list[int] = self._tokenizer(self._render(parts), add_special_tokens=False)["input_ids"]
            return ids
        ids = super()._whole([Part(plain_text(self._model, parts))])
        if ids and ids[-1] == self._tokenizer.eos_token_id and parts:
            ids = ids[:-1]  # some tokenizers append an end-of-sequence token, which cannot be continued
        return ids or [self._first_token()]

    def _first_token(self) -> int:
        """The token for an empty prompt, because a model needs at least one token to continue."""
        token = self._tokenizer.bos_token_id
        return int(self._tokenizer.eos_token_id or 0) if token is None else int(token)

    def _render(self, parts: Sequence[Part], **options: Any) -> str:
        """Render the prompt with the chat template, which switches thinking on or off.

        If the template does not support the system role (as Gemma's), the system text is put at the beginning
        of the user's message.
        """
        from jinja2.exceptions import TemplateError

        messages = as_messages(parts) or [{"role": "user", "content": ""}]
        try:
            return self._apply(messages, **options)
        except TemplateError as error:
            if [message["role"] for message in messages[:2]] == ["system", "user"]:
                try:
                    return self._apply(_without_system(messages), **options)
                except TemplateError:
                    pass  # the system role is not the cause, so the first error is reported
            raise ModelError(
                f"The chat template of the model {self._model!r} cannot render this prompt: {error}"
            ) from error

    def _apply(self, messages: list[dict[str, str]], **options: Any) -> str:
        text: str = self._tokenizer.apply_chat_template(
            messages,
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=bool(self._thinking_tokens),
            thinking=bool(self._thinking_tokens),  # the name in DeepSeek's and Granite's templates
            **options,
        )
        return text

    def _turn_end(self) -> list[int]:
        """The special token that the template writes after a reply, such as ``<|im_end|>``."""
        if not self.is_chat:
            return []
        turns = [Part("question"), Part(_MARK, role="assistant")]
        try:
            text = self._render(turns, continue_final_message=False)
        except ModelError:
            return []
        after = text[text.rindex(_MARK) + len(_MARK) :] if _MARK in text else ""
        ids = self._tokenizer(after.lstrip(), add_special_tokens=False)["input_ids"][:1]
        return [i for i in ids if i in self._tokenizer.all_special_ids or i in _added(self._tokenizer)]

    def _opening_tag(self) -> str:
        if not self.is_chat:
            return ""
        tail = self._render([Part(_MARK)]).rpartition(_MARK)[2]
        return next((begin for begin, end in THINKING_TAGS if tail.rfind(begin) > tail.rfind(end)), "")

    def _check_thinking(self) -> None:
        """Raise ModelError if thinking text would be read as a reply."""
        if self._thinking_tokens and not self.is_chat:
            raise ModelError(
                f"-M thinking_tokens cannot be used with the model {self._model!r}: it has no chat template."
            )
        if self.opening_tag and not self._thinking_tokens:
            raise ModelError(
                f"The model {self._model!r} thinks before every reply: add -M thinking_tokens, such as "
                "-M thinking_tokens=4096."
            )
        if "<|channel|>" in self._template:  # gpt-oss
            raise ModelError(
                f"The model {self._model!r} writes thinking text and replies to channels, which are not "
                "supported here: serve it behind an endpoint (--model-pipeline openai)."
            )


# Templates get the date from transformers' strftime_now; this macro replaces it.
_FIXED_DATE = "".join(
    [
        "{%- macro strftime_now(format) -%}{{ format",
        *(f'|replace("%{code}", "{PROMPT_DATE.strftime("%" + code)}")' for code in "YymdBbAaHIMSpj"),
        " }}{%- endmacro %}\n",
    ]
)


def _with_fixed_date(template: str) -> str:
    return _FIXED_DATE + template if "strftime_now" in template else template


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    system, user, *rest = messages
    return [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *rest]


def _added(tokenizer: Any) -> dict[int, Any]:
    added: dict[int, Any] = tokenizer.added_tokens_decoder
    return added


def _special_ids(tokenizer: Any) -> set[int]:
    return {i for i, token in _added(tokenizer).items() if token.special} | set(tokenizer.all_special_ids)


def _thinking_tags(tokenizer: Any) -> set[int]:
    marks = {mark for pair in THINKING_TAGS for mark in pair}
    return {i for i, token in _added(tokenizer).items() if token.content in marks}


def _special_tokens(tokenizer: Any) -> re.Pattern[str]:
    """Match special tokens of three characters or more; shorter ones are plain text in some vocabularies."""
    tokens = {token.content for token in _added(tokenizer).values() if token.special}
    tokens |= set(tokenizer.all_special_tokens)
    long = sorted((token for token in tokens if len(token) > 2), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, long)) or r"(?!)")
