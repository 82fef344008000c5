"""The options that say which model answers, and how: one home for every command that loads one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exam_pp.cli.options import take, together
from exam_pp.cli.ranges import NumberRange

if TYPE_CHECKING:
    from exam_pp.llm import ModelOptions

F = TypeVar("F", bound=Callable[..., Any])

_MODEL_HELP = "Hugging Face name, checkpoint folder, or: bundled, lexical, fake (see `exam-pp list models`)."
_ENGINES = ["auto", "transformers", "ctranslate2"]
_DTYPES = ["auto", "float32", "bfloat16", "float16"]


def model_options(*, required: bool = True) -> Callable[[F], F]:
    """Adds the options; :func:`take_model_options` turns what the command receives into an object."""
    return together(
        click.option("--model", required=required, help=_MODEL_HELP),
        click.option(
            "--model-pipeline",
            "pipeline",
            default="text2text",
            show_default=True,
            help="Kind of model: text2text, text-generation, question-answering or openai (an endpoint).",
        ),
        click.option("--revision", help="Revision of a Hugging Face model."),
        click.option("--engine", type=click.Choice(_ENGINES), default="auto", show_default=True),
        click.option(
            "--compute-type", help="CTranslate2 type: float32, int8, bfloat16 ...  [default: by device]"
        ),
        click.option("--device", help="cpu, cuda, cuda:1 ...  [default: the first GPU, else the CPU]"),
        click.option(
            "--device-map",
            type=click.Choice(["auto"]),
            help="Spread a model that is larger than one GPU over all of them (transformers only).",
        ),
        click.option("--dtype", type=click.Choice(_DTYPES), default="auto", show_default=True),
        click.option(
            "--batch-tokens", type=click.IntRange(1), help="Padded tokens of a batch.  [default: by device]"
        ),
        click.option("--threads", type=click.IntRange(1), help="CPU threads.  [default: all]"),
        click.option(
            "--greedy",
            is_flag=True,
            help="Greedy decoding instead of the published beams of 5 (other pipelines: always greedy).",
        ),
        click.option(
            "--thinking-tokens",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Room for a chat model or an endpoint to think aloud before it replies.",
        ),
        click.option("--base-url", help="Endpoint for the pipeline openai, e.g. http://localhost:8000/v1."),
        click.option(
            "--timeout",
            type=NumberRange(min=0, min_open=True),
            default=120.0,
            show_default=True,
            help="Seconds that an endpoint may take for a reply.",
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(1),
            default=16,
            show_default=True,
            help="Requests that an endpoint gets at a time.",
        ),
    )


def take_model_options(options: dict[str, Any], *, in_process_group: bool = False) -> ModelOptions:
    """Remove the model's options from what a command received, and return them as an object.

    A command that is not meant for a team of processes is refused there.
    """
    from exam_pp.llm import ModelOptions
    from exam_pp.phases.grading.distributed import refuse_process_group

    if not in_process_group:
        refuse_process_group()
    names = [field.name for field in fields(ModelOptions) if field.name in options]
    return ModelOptions(num_beams=1 if options.pop("greedy") else None, **take(options, *names))
