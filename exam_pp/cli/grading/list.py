"""``exam-pp list``: what can be named in ``--model`` and ``--prompt-class``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.groups import Group
from exam_pp.cli.options import emit, format_option, output_option

_MEMORY = (
    "Memory is that of the weights; grading needs more on top, which grows with the batch (--batch-tokens). "
    "T5 models can overflow in fp16: use fp32 or bf16. Any other sequence-to-sequence model of the "
    "Hugging Face hub, or a local folder, can be named as well."
)


@click.group("list", cls=Group)
def command() -> None:
    """List prompts and models."""


@command.command("models")
@format_option()
@output_option()
def models_command(form: str, output: Path) -> None:
    """Models for --model: bundled, baselines without a network, and recommended ones with their memory."""
    from exam_pp.llm.catalogue import CATALOGUE
    from exam_pp.rendering.document import Paragraph, Report, Table
    from exam_pp.rendering.render import render

    columns = ("model", "role", "parameters", "GB in fp32", "GB in bf16", "use")
    rows = [
        (info.name, info.role, info.parameters, info.memory(4), info.memory(2), info.use)
        for info in CATALOGUE
    ]
    emit(render(Report("", [Table(columns, rows, decimals=1), Paragraph(_MEMORY)]), form), output)


@command.command("prompts")
@format_option()
@output_option()
def prompts_command(form: str, output: Path) -> None:
    """Prompts for --prompt-class: what each one grades, its scale, and where its words are from."""
    from exam_pp.prompts import PROMPTS
    from exam_pp.rendering.document import Report, Table
    from exam_pp.rendering.render import render

    prompts = [PROMPTS.get(name) for name in PROMPTS]
    rows = [
        (
            prompt.name,
            prompt.kind,
            prompt.scale,
            prompt.cite,
        )
        for prompt in prompts
    ]
    emit(render(Report("", [Table(("prompt", "kind", "reply", "source"), rows)]), form), output)
