"""Prompts for models that continue text: as chat messages where the tokenizer has a template for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from typing import Any

from exam_pp.errors import ModelError
from exam_pp.llm.encoding import PromptEncoder, clean
from exam_pp.messages import THOUGHT_MARKS, Part, Request

_MARK = "the reply of the assistant"

PROMPT_DATE = date(2024, 7, 26)
"""The day that templates which name one get to know: replies must not change overnight. It is the one that
Llama's templates name where they are told none."""


def as_messages(parts: Iterable[Part]) -> list[dict[str, str]]:
    """Chat messages: consecutive parts of a role are one message."""
    return [
        {"role": role, "content": "".join(part.text for part in of_role)}
        for role, of_role in groupby(parts, key=lambda part: part.role)
    ]


class CausalEncoder(PromptEncoder):
    """Encodes requests for a model of ``context`` tokens, and knows how its replies end.

    A prompt leaves room for its reply: ``max_new_tokens`` and the model's thoughts, but not more than half of
    the context. ``stops`` are the token ids that end a reply; ``opened`` is the mark at the end of every
    prompt behind which the model is to think, or empty. Raises :class:`ModelError` where thoughts would be
    read as replies.
    """

    def __init__(
        self,
        model: str,
        tokenizer: Any,
        context: int,
        max_tokens: int | None,
        stops: Iterable[int],
        thinking_tokens: int = 0,
    ) -> None:
        self._model = model
        self._context = context
        self._thinking_tokens = thinking_tokens
        self._special = _special_tokens(tokenizer)
        self._hidden = _special_ids(tokenizer) - _thought_marks(tokenizer)
        self.is_chat = bool(getattr(tokenizer, "chat_template", None))
        self._template = _undated(tokenizer.get_chat_template()) if self.is_chat else ""
        self.names_date = self._template.startswith(_FIXED_DATE)
        super().__init__(tokenizer, max_tokens or context)
        self._joins = False
        self.stops = frozenset([*stops, *self._turn_end()])
        self.opened = self._opened()
        self._check_thinking()

    def decode(self, rows: Iterable[Iterable[int]]) -> list[str]:
        """The text without special tokens, except those around thoughts."""
        texts: list[str] = self._tokenizer.batch_decode(
            [[i for i in row if i not in self._hidden] for row in rows],
            skip_special_tokens=False,
            clean_up_tokenization_spaces=False,
        )
        return texts

    def new_tokens(self, request: Request) -> int:
        """How long the reply may be, with the thoughts before it."""
        return min(request.max_new_tokens + self._thinking_tokens, self.most_new_tokens)

    @property
    def most_new_tokens(self) -> int:
        """How long any reply may be."""
        return self._context // 2

    def line_ends(self) -> frozenset[int]:
        """The tokens that are nothing but line breaks."""
        found = (
            self._tokenizer(text, add_special_tokens=False)["input_ids"][-1:] for text in ("a\n", "a\n\n")
        )
        return frozenset(i for ids in found for i in ids if self._tokenizer.decode([i]).strip(" ") in _BREAKS)

    def _limit(self, request: Request) -> int:
        return min(self.max_tokens, self._context - self.new_tokens(request))

    def _clean(self, text: str) -> str:
        """A passage that spells out a special token must not end the turn: a space breaks it."""
        text = clean(text)
        return self._special.sub(lambda match: f"{match[0][0]} {match[0][1:]}", text)

    def _whole(self, parts: list[Part]) -> list[int]:
        if self.is_chat:
            ids: list[int] = self._tokenizer(self._render(parts), add_special_tokens=False)["input_ids"]
            return ids
        if other := {part.role for part in parts} - {"user"}:
            raise ModelError(
                f"The prompt has a part for the role {min(other)!r}, but the model {self._model!r} has no "
                "chat template: use a model that is tuned for chat, or another prompt."
            )
        ids = super()._whole(parts)
        if ids and ids[-1] == self._tokenizer.eos_token_id and parts:
            ids = ids[:-1]  # some tokenizers end every text, and then there is nothing to continue
        return ids or [self._first_token()]

    def _first_token(self) -> int:
        """What an empty prompt begins with: a model needs one token to continue."""
        token = self._tokenizer.bos_token_id
        return int(self._tokenizer.eos_token_id or 0) if token is None else int(token)

    def _render(self, parts: Sequence[Part], **options: Any) -> str:
        """The prompt in the model's format. Models that can think aloud are asked to answer at once.

        Where a template knows no system (Gemma's, for example), the user says those words first.
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
                    pass  # the system was not the trouble: the first error says what is
            raise ModelError(
                f"The chat template of the model {self._model!r} does not take this prompt: {error}"
            ) from error

    def _apply(self, messages: list[dict[str, str]], **options: Any) -> str:
        text: str = self._tokenizer.apply_chat_template(
            messages,
            chat_template=self._template,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=bool(self._thinking_tokens),
            thinking=bool(self._thinking_tokens),  # what DeepSeek's and Granite's call it
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

    def _opened(self) -> str:
        if not self.is_chat:
            return ""
        tail = self._render([Part(_MARK)]).rpartition(_MARK)[2]
        return next((begin for begin, end in THOUGHT_MARKS if tail.rfind(begin) > tail.rfind(end)), "")

    def _check_thinking(self) -> None:
        """Refuse what would have thoughts read as replies."""
        if self._thinking_tokens and not self.is_chat:
            raise ModelError(
                f"The model {self._model!r} has no chat template, so it does not think: leave out "
                "--thinking-tokens."
            )
        if self.opened and not self._thinking_tokens:
            raise ModelError(
                f"The model {self._model!r} thinks aloud before every reply: give it room with "
                "--thinking-tokens, such as 4096."
            )
        if "<|channel|>" in self._template:  # gpt-oss
            raise ModelError(
                f"The model {self._model!r} thinks and replies in channels, which are not told apart here: "
                "serve it behind an endpoint (--model-pipeline openai)."
            )


# Templates ask transformers' strftime_now for the date. Here a macro answers instead.
_FIXED_DATE = "".join(
    [
        "{%- macro strftime_now(format) -%}{{ format",
        *(f'|replace("%{code}", "{PROMPT_DATE.strftime("%" + code)}")' for code in "YymdBbAaHIMSpj"),
        " }}{%- endmacro %}\n",
    ]
)


def _undated(template: str) -> str:
    return _FIXED_DATE + template if "strftime_now" in template else template


def _without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    system, user, *rest = messages
    return [{"role": "user", "content": f"{system['content']}\n\n{user['content']}"}, *rest]


_BREAKS = {"\n", "\n\n"}


def _added(tokenizer: Any) -> dict[int, Any]:
    added: dict[int, Any] = tokenizer.added_tokens_decoder
    return added


def _special_ids(tokenizer: Any) -> set[int]:
    return {i for i, token in _added(tokenizer).items() if token.special} | set(tokenizer.all_special_ids)


def _thought_marks(tokenizer: Any) -> set[int]:
    marks = {mark for pair in THOUGHT_MARKS for mark in pair}
    return {i for i, token in _added(tokenizer).items() if token.content in marks}


def _special_tokens(tokenizer: Any) -> re.Pattern[str]:
    """All special tokens; those of one or two characters are ordinary text in some vocabularies."""
    words = {token.content for token in _added(tokenizer).values() if token.special}
    words |= set(tokenizer.all_special_tokens)
    long = sorted((word for word in words if len(word) > 2), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, long)) or r"(?!)")
