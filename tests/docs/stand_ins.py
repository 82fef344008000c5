"""Stand-ins for models that a test has not; run as a module, this is the command ``exam-pp`` of shell blocks.

Commands keep their options, and files get the names of the models; only the loading is replaced.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

from exam_pp.cli.main import main
from exam_pp.llm.backends import BACKENDS
from exam_pp.llm.base import LLM, ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm.lexical import LexicalLLM

Load = Callable[[ModelOptions], LLM]


def _lexical(load: Load, options: ModelOptions) -> LLM:
    """For checkpoints such as google/flan-t5-large, which have gigabytes: ratings from shared words."""
    if Path(options.model).is_dir():
        return load(options)
    model = LexicalLLM()
    model.name = options.model
    return model


def _fake(load: Load, options: ModelOptions) -> LLM:
    """For chat models, endpoints, extractive models and classifiers: fake replies to all prompts."""
    return load(options) if Path(options.model).is_dir() else FakeLLM(name=options.model)


STAND_INS: dict[str, Callable[[Load, ModelOptions], LLM]] = {
    "text2text": _lexical,
    "text-generation": _fake,
    "question-answering": _fake,
    "text-classification": _fake,
    "openai": _fake,
    "openai-completions": _fake,
}
"""Model pipelines to what is loaded in place of their models."""


@contextmanager
def stand_ins() -> Iterator[None]:
    """Replace the loading of models."""
    loaders = {name: partial(load, BACKENDS.get(name)) for name, load in STAND_INS.items()}
    with patch.dict(BACKENDS._values, loaders):
        yield


if __name__ == "__main__":
    with stand_ins():
        main(sys.argv[1:])
