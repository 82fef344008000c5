"""Stand-ins for models and endpoints that a test has not.

Run as a module, this is the command ``exam-pp`` of shell blocks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatch

from exam_pp.cli.main import main

MODELS = {
    "google/flan-t5-*": "lexical",  # a checkpoint of gigabytes; lexical rates all prompts with scales, too
    "smollm2": "fake",  # takes seconds for a passage; tests/real runs it
    "Qwen/*": "fake",
    "meta-llama/*": "fake",
    "*.gguf": "fake",
    "deepset/*": "fake",
    "sjrhuschlee/*": "fake",
    "cross-encoder/*": "fake",
    "vectara/*": "fake",
}
"""Patterns of checkpoints that cannot be downloaded in a test, to baselines that answer the same prompts."""
ENDPOINTS = ("openai", "openai-completions")
"""Pipelines that call an endpoint: a local server replies."""
OF_CHECKPOINTS = {
    "--model-pipeline": 1, "--positive-class": 1, "--revision": 1, "--device-map": 1,
    "--trust-remote-code": 0,
}  # fmt: skip
"""Options of checkpoints that baselines refuse, to the number of their values."""


def with_stand_ins(words: Sequence[str]) -> list[str]:
    """The arguments of exam-pp with stand-ins for models."""
    if any(word in ENDPOINTS for word in words):
        return _without(words, {"--base-url": 1})
    replaced = [_stand_in(word) for word in words]
    return replaced if replaced == list(words) else _without(replaced, OF_CHECKPOINTS)


def _stand_in(word: str) -> str:
    return next((name for pattern, name in MODELS.items() if fnmatch(word, pattern)), word)


def _without(words: Sequence[str], options: dict[str, int]) -> list[str]:
    kept, skip = [], 0
    for word in words:
        if skip:
            skip -= 1
        elif word in options:
            skip = options[word]
        else:
            kept.append(word)
    return kept


if __name__ == "__main__":
    main(with_stand_ins(sys.argv[1:]))
