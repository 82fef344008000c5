"""Options that choose the model and how it runs, for every command that loads a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from exam_pp.cli.guard import note_input
from exam_pp.cli.options import model_names, take, together
from exam_pp.cli.ranges import IntRange
from exam_pp.errors import SelectionError

if TYPE_CHECKING:
    from exam_pp.llm import ModelOptions

F = TypeVar("F", bound=Callable[..., Any])

_MODEL_HELP = (
    "Model, such as e5 or lexical; a Hugging Face model, checkpoint folder, GGUF file, model of an endpoint "
    "or baseline (see `exam-pp list models`)."
)


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
            help="Backend of the model; text2text (T5-like), text-generation (decoder-only), "
            "question-answering (extractive), text-classification (scores of answers), sentence-similarity "
            "(encoders of sentences), openai (chat endpoint) or openai-completions (endpoint for plain "
            "text).",
        ),
        click.option(
            "-M",
            "settings",
            multiple=True,
            metavar="KEY=VALUE",
            shell_complete=setting_names,
            callback=_known_settings,
            help="Setting of the model, such as temperature=0.7; may be repeated (see "
            "`exam-pp list settings`).",
        ),
        click.option(
            "--base-url",
            metavar="URL",
            help="URL of the endpoint; such as http://localhost:8000/v1. Its API key is read from "
            "OPENAI_API_KEY.  [default: OPENAI_BASE_URL, else https://api.openai.com/v1]",
        ),
        click.option(
            "--device",
            metavar="DEVICE",
            help="Device of the model; cpu, cuda or cuda:N.  [default: first GPU, else cpu]",
        ),
        click.option("--threads", type=IntRange(1), help="Number of CPU threads.  [default: all cores]"),
    )


def setting_names(_context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The settings of models whose keys begin with ``incomplete``, with their meaning."""
    from exam_pp.phases.grading.settings_files import SETTINGS

    return [
        CompletionItem(f"{key}=", help=meaning)
        for key, meaning in SETTINGS.items()
        if key.startswith(incomplete)
    ]


def _known_settings(
    context: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Check the settings before any work starts, and note the file that one names as an input."""
    if texts:
        from exam_pp.phases.grading.settings_files import typed_settings

        try:
            settings = typed_settings(texts)
        except SelectionError as error:
            raise click.UsageError(str(error), context) from None
        if settings.greedy and settings.temperature > 0:
            raise click.UsageError(
                "-M greedy=true cannot be combined with a temperature above 0; use one of them.", context
            )
        schema = settings.response_format
        if schema is not None and Path(schema).is_file():
            note_input(context, Path(schema), option)
    return texts


def take_model_options(options: dict[str, Any], *, in_process_group: bool = False) -> ModelOptions:
    """Remove the model options from a command's keyword arguments, and return them as an object.

    Raises an error in a process group, unless the command supports it (``in_process_group``).
    """
    from exam_pp.llm import ModelOptions
    from exam_pp.phases.grading.distributed import refuse_process_group
    from exam_pp.phases.grading.settings_files import typed_settings

    if not in_process_group:
        refuse_process_group()
    settings = typed_settings(options.pop("settings"))
    given = {key: getattr(settings, key) for key in settings.model_fields_set - {"model"}}
    if given.pop("greedy", False):
        given["num_beams"] = 1
    given |= {key: tuple(given[key]) for key in ("stop", "cut_points") if key in given}
    names = [field.name for field in fields(ModelOptions) if field.name in options]
    return ModelOptions(**take(options, *names), **given)
