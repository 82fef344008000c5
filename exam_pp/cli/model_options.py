"""Options that choose the model and how it runs, for every command that loads a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exam_pp.cli.completion import model_names
from exam_pp.cli.options import take, together
from exam_pp.cli.ranges import IntRange, NumberRange

if TYPE_CHECKING:
    from exam_pp.llm import ModelOptions

F = TypeVar("F", bound=Callable[..., Any])

_MODEL_HELP = (
    "Hugging Face model, checkpoint folder, GGUF file, model of an endpoint, bundled, or a baseline such as "
    "lexical (see `exam-pp list models`)."
)
_ENGINES = ["auto", "transformers", "ctranslate2"]
_EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]
_NO_ANSWER_AT = ["auto", "cls", "first"]
_DTYPES = ["auto", "float32", "bfloat16", "float16"]


def model_options(*, required: bool = True) -> Callable[[F], F]:
    """Add the model options; :func:`take_model_options` turns the received values into an object."""
    return together(
        click.option(
            "--model", required=required, shell_complete=model_names, metavar="MODEL", help=_MODEL_HELP
        ),
        click.option(
            "--model-pipeline",
            "pipeline",
            default="text2text",
            show_default=True,
            metavar="NAME",
            help="Backend of the model: text2text (T5-like), text-generation (decoder-only), "
            "question-answering (extractive), text-classification (scores of answers), openai (chat "
            "endpoint) or openai-completions (endpoint for plain text).",
        ),
        click.option("--revision", metavar="NAME", help="Branch, tag or commit of a Hugging Face model."),
        _hardware_options,
        click.option(
            "--greedy",
            is_flag=True,
            help="Greedy decoding instead of the published beam search with 5 beams (for text2text; other "
            "backends are always greedy).",
        ),
        click.option(
            "--thinking-tokens",
            type=IntRange(0),
            default=0,
            show_default=True,
            help="Tokens for thinking before each reply, with text-generation and openai; 0 switches "
            "thinking "
            "off.",
        ),
        _endpoint_options,
        _decoding_options,
    )


def _hardware_options(function: F) -> F:
    """Add the options for the library, the device and the memory of local models."""
    return together(
        click.option(
            "--engine",
            type=click.Choice(_ENGINES),
            default="auto",
            show_default=True,
            help="Library that runs the checkpoint; auto is CTranslate2 for T5-like models if possible, else "
            "transformers.",
        ),
        click.option(
            "--compute-type",
            metavar="TYPE",
            help="Type in which CTranslate2 computes, such as float32, bfloat16 or int8.  [default: that of "
            "--dtype]",
        ),
        click.option(
            "--device",
            metavar="DEVICE",
            help="Device of the model: cpu, cuda or cuda:N.  [default: the first GPU, else cpu]",
        ),
        click.option(
            "--device-map",
            type=click.Choice(["auto"]),
            help="Spread a model that is too large for one GPU over all GPUs (transformers only).",
        ),
        click.option(
            "--dtype",
            type=click.Choice(_DTYPES),
            default="auto",
            show_default=True,
            help="Precision of the weights; auto is bfloat16 on GPUs that support it, else float32. "
            "--compute-type overrides it for CTranslate2.",
        ),
        click.option(
            "--batch-tokens",
            type=IntRange(1),
            help="Maximum number of tokens in a batch, with padding.  [default: depends on the device]",
        ),
        click.option("--threads", type=IntRange(1), help="Number of CPU threads.  [default: all cores]"),
    )(function)


def _endpoint_options(function: F) -> F:
    """Add the options of endpoints."""
    return together(
        click.option(
            "--base-url",
            metavar="URL",
            help="URL of the endpoint, such as http://localhost:8000/v1; its API key is read from "
            "OPENAI_API_KEY.  [default: OPENAI_BASE_URL, else https://api.openai.com/v1]",
        ),
        click.option(
            "--timeout",
            type=NumberRange(min=0, min_open=True),
            default=120.0,
            show_default=True,
            help="Seconds to wait for a reply of an endpoint before the request is repeated, and for a "
            "connection before the run stops.",
        ),
        click.option(
            "--concurrency",
            type=IntRange(1),
            default=16,
            show_default=True,
            help="Number of simultaneous requests to an endpoint.",
        ),
        click.option(
            "--max-reply-mb",
            type=NumberRange(min=0, min_open=True),
            default=16.0,
            show_default=True,
            help="Maximum size of a reply of an endpoint in megabytes; larger ones are failures.",
        ),
        click.option(
            "--allow-redirects",
            is_flag=True,
            help="Follow redirects of an endpoint to another server, which grades record; by default the run "
            "stops.",
        ),
    )(function)


def _decoding_options(function: F) -> F:
    """Add the options for sampling and penalties, and the form of replies."""
    return together(
        click.option(
            "--temperature",
            type=NumberRange(min=0),
            default=0,
            show_default=True,
            help="Temperature of sampling; 0 takes the likeliest reply. Endpoints, and local models with "
            "transformers.",
        ),
        click.option(
            "--top-p",
            type=NumberRange(min=0, max=1, min_open=True),
            help="Sample from the likeliest tokens with this probability.  [default: all tokens; for "
            "endpoints, that of the server]",
        ),
        click.option(
            "--sampling-seed",
            type=int,
            help="Seed of sampling.  [default: 0; for endpoints, that of the server]",
        ),
        click.option(
            "--presence-penalty",
            type=NumberRange(min=-2, max=2),
            help="Penalty for tokens that the reply contains (endpoints).  [default: that of the server]",
        ),
        click.option(
            "--frequency-penalty",
            type=NumberRange(min=-2, max=2),
            help="Penalty for each occurrence of a token in the reply (endpoints).  [default: that of the "
            "server]",
        ),
        click.option(
            "--max-tokens",
            type=IntRange(1),
            help="Maximum number of tokens in a reply, without thinking.  [default: that of the prompt]",
        ),
        _reply_options,
    )(function)


def _reply_options(function: F) -> F:
    """Add the options for the end and the form of replies."""
    return together(
        click.option(
            "--stop",
            multiple=True,
            metavar="TEXT",
            help="Text at which a reply ends (endpoints; repeatable).",
        ),
        click.option(
            "--reasoning-effort",
            type=click.Choice(_EFFORTS),
            help="How much a model reasons before a reply (openai).  [default: that of the server]",
        ),
        click.option(
            "--response-format",
            metavar="text|json|FILE",
            help="Form of the replies (openai): text, json, or that of a file with a JSON Schema.  [default: "
            "that of the server]",
        ),
        click.option(
            "--no-answer-at",
            type=click.Choice(_NO_ANSWER_AT),
            default="auto",
            show_default=True,
            help='Token at which question-answering models score "no answer": cls puts the classification '
            "token before the question, first is the first token; auto is cls for T5-like models that have "
            "this token.",
        ),
    )(function)


def take_model_options(options: dict[str, Any], *, in_process_group: bool = False) -> ModelOptions:
    """Remove the model options from a command's keyword arguments, and return them as an object.

    Raises an error in a process group, unless the command supports it (``in_process_group``), and for
    ``--greedy`` with a temperature.
    """
    from exam_pp.llm import ModelOptions
    from exam_pp.phases.grading.distributed import refuse_process_group

    if not in_process_group:
        refuse_process_group()
    if options["greedy"] and options["temperature"] > 0:
        raise click.UsageError("--greedy cannot be combined with --temperature above 0; use one of them.")
    names = [field.name for field in fields(ModelOptions) if field.name in options]
    return ModelOptions(num_beams=1 if options.pop("greedy") else None, **take(options, *names))
