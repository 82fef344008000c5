"""Fake model for documentation and tests: ``--model fake``."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain
from typing import Any

from exam_pp.llm.baselines import (
    ASSIGNMENTS,
    VERDICTS,
    Baseline,
    answer_scale,
    criteria_of,
    criteria_reply,
)
from exam_pp.llm_requests import Completion, Request
from exam_pp.text.sentences import plain_sentences

Script = Callable[[Request], Completion | str]


class FakeLLM(Baseline):
    """A model that replies by a script, or by the share of the entry's words that the passage contains.

    ``script`` maps a request to its reply; ``calls`` counts the requests. Without a script:

    * ratings are ``round(5 × share)``; labels (yes/no, assignments, citation support) divide the share;
    * free text is the passage's first sentence that shares a word with the entry, or "unanswerable";
    * criteria of an answer divide the share of the query's words that the answer contains;
    * an answer is verified as correct if it shares a word with the gold answer;
    * a generated test bank has an entry for each word of the query;
    * generated queries are about the longest words of a document's sentences;
    * a generated answer names the query, or has the first sentences of contexts that share a word with it;
    * of two answers, the one with more words of the query wins, and equal numbers are a tie;
    * nuggets are first sentences of segments that share a word with the query, and such nuggets are vital.
    """

    batch_size = 16

    def __init__(self, script: Script | None = None, name: str = "fake") -> None:
        self.name = name
        self.calls = 0
        self._script = script or lexical_reply

    def provenance(self) -> dict[str, Any]:
        """Return the engine's name, the only setting of a fake model."""
        return {"engine": "fake"}

    def reply(self, request: Request) -> Completion:
        """Return the script's reply."""
        self.calls += 1
        reply = self._script(request)
        return reply if isinstance(reply, Completion) else Completion(reply)


def lexical_reply(request: Request) -> str:
    """The reply of a fake model without a script."""
    query = request.slot("query")
    if criteria := criteria_of(request):
        return criteria_reply(criteria, _share(query or "", request.slot("answer") or ""))
    nuggets = request.slot("nuggets")
    if query is not None and nuggets is not None:
        return json.dumps(_nugget_list(request, query, json.loads(nuggets)))
    if query is not None and request.slot("context") is None and request.slot("answer_a") is None:
        if request.text.endswith(("Article:", "Web page:", "Answer:")):
            return f"This is an answer about {query}"
        return _test_bank(request.slot("subtopic") or query, '"questions"' in request.text)
    if query is not None and request.slot("answer_a") is not None:
        return _better_answer(request, query)
    if query is None and request.slot("question") is None and '"questions"' in request.text:
        return _queries(request.slot("context") or "", int(request.slot("count") or 10))
    gold, answer = request.slot("correct_answer"), request.slot("answer")
    if gold is not None and answer is not None:
        return "yes" if _words(gold) & _words(answer) else "no"
    passage = request.slot("context") or ""
    if query is not None and not request.labels and passage.startswith("[1] "):
        return _cited_answer(query, passage)
    entry = next((part.text for part in request.parts if part.slot not in (None, "context")), "")
    entry = request.slot("nugget") or entry
    if labels := request.labels or (answer_scale(request) if request.slot("claim") else ()):
        return labels[round(_share(entry, passage) * (len(labels) - 1))]
    shared = _words(entry) & _words(passage)
    candidates = passage.replace("!", ".").replace("?", ".").split(".")
    return next((s.strip() for s in candidates if _words(s) & shared), "unanswerable")


def _nugget_list(request: Request, query: str, nuggets: list[str]) -> list[str]:
    """The nuggets after a window of passages, or labels: importance without a passage, else assignment."""
    passage = request.slot("context")
    if passage is None:
        return ["vital" if _words(nugget) & _words(query) else "okay" for nugget in nuggets]
    if request.slot("length") is None:
        labels = ASSIGNMENTS if "partial_support" in request.text else (ASSIGNMENTS[0], ASSIGNMENTS[-1])
        return [labels[round(_share(nugget, passage) * (len(labels) - 1))] for nugget in nuggets]
    firsts = [
        plain_sentences(line.partition("] ")[2])[:1] for line in passage.splitlines() if line.startswith("[")
    ]
    new = [
        " ".join(first.split()[:12]) for first in chain.from_iterable(firsts) if _words(first) & _words(query)
    ]
    return list(dict.fromkeys([*nuggets, *new]))


def _better_answer(request: Request, query: str) -> str:
    """The label of the answer with more words of the query."""
    shares = [_share(query, request.slot(slot) or "") for slot in ("answer_a", "answer_b")]
    better = 2 if shares[0] == shares[1] else shares.index(max(shares))
    return (answer_scale(request) or VERDICTS)[better]


def _cited_answer(query: str, contexts: str) -> str:
    """The first sentence of each context that shares a word with the query, with its number."""
    numbered = (line.partition("] ") for line in contexts.splitlines())
    firsts = [(mark, plain_sentences(text)[:1]) for mark, _, text in numbered]
    cited = [f"{first} {mark}]" for mark, texts in firsts for first in texts if _words(first) & _words(query)]
    return " ".join(cited)


def _share(entry: str, passage: str) -> float:
    words = _words(entry)
    return len(words & _words(passage)) / len(words) if words else 0.0


def _test_bank(topic: str, questions: bool) -> str:
    """A test bank in JSON with an entry for each word of the topic."""
    words = sorted(_words(topic)) or [topic]
    if questions:
        return json.dumps({"questions": [f"What is known about {word}?" for word in words]})
    return json.dumps({"nuggets": words})


def _queries(document: str, count: int) -> str:
    """Questions about a document in JSON: one for each of its first sentences, on its two longest words."""
    subjects = (
        sorted(_words(sentence), key=lambda word: (-len(word), word))
        for sentence in plain_sentences(document)
    )
    questions = [f"What is known about {' and '.join(words[:2])}?" for words in subjects if words]
    return json.dumps({"questions": questions[:count]})


def _words(text: str) -> set[str]:
    """The lower-cased words of at least four letters."""
    return {
        word for word in "".join(c if c.isalnum() else " " for c in text.lower()).split() if len(word) > 3
    }
