"""Reading of replies of endpoints: members of the JSON, and likelihoods of labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

UNSEEN_SHARE = 1e-3
"""Label likelihoods are used only if the labels that the server did not list have less than this share."""

NEGLIGIBLE_LOGPROB = -100.0

Token = tuple[str, list[tuple[str, float]]]
"""A token of a reply, with the likeliest tokens at its place and their log-probabilities."""

Tokens = Callable[[], Iterator[Token]]
"""Returns each token of a reply; raises TypeError or ValueError if the reply has no or odd likelihoods."""


def member(value: Any, *path: str | int) -> Any:
    """The value at this path of keys and positions in a JSON value; None if it does not exist."""
    for step in path:
        container: Any = value if isinstance(value, (dict, list)) else {}
        try:
            value = container[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def chat_tokens(choice: Any) -> Iterator[Token]:
    """The tokens of a chat completion."""
    for token in _list(member(choice, "logprobs", "content")):
        others = _list(member(token, "top_logprobs"))
        yield (
            _text(member(token, "token")),
            [(_text(member(other, "token")), _number(member(other, "logprob"))) for other in others],
        )


def text_tokens(choice: Any) -> Iterator[Token]:
    """The tokens of a completion of plain text."""
    tokens = _list(member(choice, "logprobs", "tokens"))
    likeliest = _list(member(choice, "logprobs", "top_logprobs"))
    for token, others in zip(tokens, likeliest, strict=True):
        if not isinstance(others, dict):
            raise TypeError
        yield _text(token), [(name, _number(logprob)) for name, logprob in others.items()]


def label_logprobs(
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
    except (TypeError, ValueError):
        return ()
    if (token.strip() not in labels) if span is None else (label not in token):
        return ()
    mass = dict.fromkeys(labels, 0.0)
    seen = 0.0
    before, _, after = token.strip().partition(label if span else token.strip())
    for other, logprob in likeliest:
        probability = math.exp(min(logprob, 0.0))  # min() in this order keeps NaN
        seen += probability
        name = other.strip().removeprefix(before).removesuffix(after)
        if name in mass and other.strip() == f"{before}{name}{after}":
            mass[name] += probability
    total = math.fsum(mass.values())
    if not total > 0 or (0.0 in mass.values() and max(0.0, 1 - seen) > UNSEEN_SHARE * total):
        return ()
    return tuple(math.log(p) if p > 0 else NEGLIGIBLE_LOGPROB for p in mass.values())


def first_label_logprobs(tokens: Tokens, labels: Sequence[str]) -> list[float] | None:
    """Log-probabilities of the labels by the first token of the reply; None without likelihoods.

    A token counts for the label that it begins, if it begins only one. Labels without a token have −inf.
    """
    try:
        _, likeliest = _token_at(tokens, 0)
    except (TypeError, ValueError):
        return None
    mass = dict.fromkeys(labels, 0.0)
    for token, logprob in likeliest:
        begun = token.strip()
        fitting = [label for label in labels if begun and label.startswith(begun)]
        names = [begun] if begun in mass else fitting
        if len(names) == 1:
            mass[names[0]] += math.exp(min(logprob, 0.0))
    return [math.log(p) if p > 0 else -math.inf for p in mass.values()]


def _token_at(tokens: Tokens, at: int) -> Token:
    """The token of a reply at this position of its stripped text; raises ValueError after its end."""
    length = 0
    for token, likeliest in tokens():
        length += len(token if length else token.lstrip())
        if length > at:
            return token, likeliest
    raise ValueError


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        raise ValueError from None
