"""Tables of the available models and prompts."""

from __future__ import annotations

from collections.abc import Iterable

from exam_pp.llm.catalogue import ModelInfo
from exam_pp.prompts.base import Prompt
from exam_pp.rendering.document import Paragraph, Report, Table

_MEMORY = (
    "The memory is that of the weights. Grading needs more, depending on the size of the batch "
    "(--batch-tokens). T5 models can overflow in fp16: use fp32 or bf16. --model also accepts any other "
    "sequence-to-sequence model of the Hugging Face hub, local folders, and GGUF files of chat models."
)


def models_report(models: Iterable[ModelInfo]) -> Report:
    """Models with their roles and the memory of their weights."""
    columns = ("model", "role", "parameters", "GB in fp32", "GB in bf16", "use")
    rows = [
        (info.name, info.role, info.parameters, info.memory(4), info.memory(2), info.use) for info in models
    ]
    return Report("", [Table(columns, rows, decimals=2), Paragraph(_MEMORY)])


def prompts_report(prompts: Iterable[Prompt]) -> Report:
    """Prompts with their kinds, scales and sources."""
    rows = [(prompt.name, prompt.kind, prompt.scale, prompt.cite) for prompt in prompts]
    return Report("", [Table(("prompt", "kind", "reply", "source"), rows)])
