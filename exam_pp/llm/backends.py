"""Registry of model backends, and loading of a model from its options."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exam_pp.errors import MissingExtraError, ModelError, UnknownNameError
from exam_pp.judges import CATALOGUE, E5, SMOLLM2
from exam_pp.llm.base import LLM, ModelOptions, failures_as_model_error
from exam_pp.llm.checkpoint_files import find_gguf
from exam_pp.llm.decoding import ENDPOINTS, check_options, check_reply_limit
from exam_pp.plugins import offered
from exam_pp.registry import Registry
from exam_pp.text.wording import closest

if TYPE_CHECKING:
    from exam_pp.llm.checkpoint import ModelCheckpoint

BACKENDS: Registry[Callable[[ModelOptions], LLM]] = Registry("model pipeline", "backends")

_OPENAI_NAME = re.compile(r"(chat)?gpt-[0-9]|o[0-9](-|$)")
_OWN_MODELS = {"fake": "fake", "lexical": "lexical", "random": "random", "constant": "constant", E5: E5}
"""Names of models without a checkpoint, with their backends."""
_PIPELINES_WITHOUT_LISTS = ("text2text", "question-answering", "text-classification", "sentence-similarity")
_PIPELINES_OF_CHECKPOINTS = (*_PIPELINES_WITHOUT_LISTS, "text-generation")


def load_llm(options: ModelOptions) -> LLM:
    """Load the model that the options name. This may load weights, so call it once in a process.

    Raises :class:`exam_pp.errors.UnknownNameError`, :class:`exam_pp.errors.ModelError` and
    :class:`exam_pp.errors.MissingExtraError`.
    """
    refuse_misspelt_name(options)
    check_options(options, has_own_rules=options.model in _OWN_MODELS)
    backend = BACKENDS.get(_OWN_MODELS.get(options.model, options.pipeline))
    if options.pipeline not in _PIPELINES_OF_CHECKPOINTS:
        return backend(options)
    from exam_pp.llm.checkpoint import load_error

    with failures_as_model_error(partial(load_error, options)):
        return backend(options)


def may_be_local(model: str, pipeline: str) -> bool:
    """Whether a model can be a folder or file: it is neither built in nor behind an endpoint."""
    return pipeline not in ENDPOINTS and model not in (*_OWN_MODELS, SMOLLM2)


def check_packages(options: ModelOptions) -> None:
    """Raise :class:`MissingExtraError` for a package that the model needs; imports no package.

    Raises :class:`UnknownNameError` for a misspelt built-in model, so that it is not found out after hours.
    """
    refuse_misspelt_name(options)
    if options.model == E5:
        from exam_pp.llm.packaged_e5 import e5_problem

        if (problem := e5_problem()) is not None:
            raise problem
    if options.model in _OWN_MODELS:
        return
    if options.pipeline in ENDPOINTS:
        if find_spec("openai") is None:
            raise MissingExtraError("An endpoint", "openai")
        return
    if options.model == SMOLLM2:
        find_gguf(SMOLLM2)
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtraError("A local model", "hf")


def can_read_lists(options: ModelOptions) -> bool:
    """Whether the model can answer prompts with lists, which needs a decoder-only model or an endpoint."""
    if options.model in _OWN_MODELS:
        return options.model == "fake"
    return options.pipeline not in _PIPELINES_WITHOUT_LISTS


def can_rate(options: ModelOptions) -> bool:
    """Whether the model can give ratings; extractive models return answers, and pair scorers scores."""
    return options.model in _OWN_MODELS or options.pipeline not in (
        "question-answering",
        "text-classification",
    )


def refuse_misspelt_name(options: ModelOptions) -> None:
    """Raise UnknownNameError for a name that is almost one of the catalogue, or that of an OpenAI model."""
    if options.pipeline in ENDPOINTS:  # servers have names such as smollm2:135m
        return
    model = options.model
    own = [*_OWN_MODELS, SMOLLM2]
    if model in own or Path(model).exists():
        return
    if _OPENAI_NAME.match(model):
        raise UnknownNameError(f"{model!r} is a model of OpenAI: add --model-pipeline openai.")
    close = closest(model, own, 0.75)
    if close is None and "/" not in model:  # the Hub has models of others with such names
        recommended = {info.name.rpartition("/")[2]: info.name for info in CATALOGUE}
        close = recommended.get(closest(model, recommended, 0.85) or "")
    if close:
        raise UnknownNameError(f"No model named {model!r}. Did you mean {close!r}?")


def _seq2seq(options: ModelOptions) -> LLM:
    """Load a T5-like checkpoint with the engine that the options and the installation allow."""
    from exam_pp.llm.encoding import PromptEncoder
    from exam_pp.llm.huggingface import Checkpoint, TransformersEngine
    from exam_pp.llm.seq2seq import Seq2SeqEngine, Seq2SeqLLM

    checkpoint = Checkpoint(options)
    check_reply_limit(options, checkpoint.max_new_tokens)
    encoder = PromptEncoder(checkpoint.tokenizer, checkpoint.max_input_tokens)
    fast: Seq2SeqEngine | None = _of_plugin(checkpoint)
    engine = fast or TransformersEngine(options, checkpoint)
    return Seq2SeqLLM(options, encoder, engine, checkpoint.identity, checkpoint.max_new_tokens)


def _causal(options: ModelOptions) -> LLM:
    """Load a decoder-only checkpoint with the engine that the options and the installation allow."""
    from exam_pp.llm.causal import CausalCheckpoint, CausalLLM
    from exam_pp.llm.chat import longest_reply

    checkpoint = CausalCheckpoint(options)
    check_reply_limit(options, longest_reply(checkpoint.context))
    fast: LLM | None = _of_plugin(checkpoint)
    return fast or CausalLLM(checkpoint)


def _of_plugin(checkpoint: ModelCheckpoint) -> Any:
    """What runs the checkpoint instead of transformers; None if transformers does.

    A plug-in offers ``engine of PIPELINE``: a function of the checkpoint that returns None or, for
    ``text2text``, a :class:`exam_pp.llm.seq2seq.Seq2SeqEngine`, else a :class:`exam_pp.llm.base.LLM`.
    """
    options = checkpoint.options
    engines = offered(f"engine of {options.pipeline}")
    if options.requests_ctranslate2 and not engines:
        raise ModelError("-M engine=ctranslate2 and -M compute_type need the plug-in ctranslate2.")
    return next((fast for each in engines if (fast := each(checkpoint)) is not None), None)


def _load(module: str, name: str, options: ModelOptions) -> LLM:
    """Load a model from its options; only then the module, with its heavy packages, is imported."""
    llm: LLM = getattr(import_module(f"{__package__}.{module}"), name)(options)
    return llm


def _baseline(module: str, name: str, _options: ModelOptions) -> LLM:
    llm: LLM = getattr(import_module(f"{__package__}.{module}"), name)()
    return llm


BACKENDS.add("text2text", _seq2seq)
BACKENDS.add("text-generation", _causal)
for _name, _module, _class in (
    ("question-answering", "extractive", "ExtractiveLLM"),
    (E5, "packaged_e5", "load_e5"),
    ("openai", "endpoint", "EndpointLLM"),
    ("openai-completions", "endpoint", "CompletionsLLM"),
):
    BACKENDS.add(_name, partial(_load, _module, _class))
for _name, _module, _class in (
    ("fake", "fake", "FakeLLM"),
    ("lexical", "lexical", "LexicalLLM"),
    ("random", "baselines", "RandomLLM"),
    ("constant", "baselines", "ConstantLLM"),
):
    BACKENDS.add(_name, partial(_baseline, _module, _class))
