"""Tables of the available models, their settings, and prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from exam_pp.llm.catalogue import ModelInfo
from exam_pp.prompts.base import Prompt
from exam_pp.rendering.document import Paragraph, Report, Table

_MEMORY = (
    "The memory is that of the weights. Grading needs more, depending on the size of the batch "
    "(-M batch_tokens). T5 models can overflow in fp16: use fp32 or bf16. --model also accepts any other "
    "sequence-to-sequence model of the Hugging Face hub, local folders, and GGUF files of chat models."
)


def models_report(models: Iterable[ModelInfo]) -> Report:
    """Models with their roles and the memory of their weights."""
    columns = ("model", "role", "parameters", "GB in fp32", "GB in bf16", "use")
    rows = [
        (info.name, info.role, info.parameters, info.memory(4), info.memory(2), info.use) for info in models
    ]
    return Report("", [Table(columns, rows, decimals=2), Paragraph(_MEMORY)])


def settings_report(meanings: Mapping[str, str], defaults: Mapping[str, Any]) -> Report:
    """Settings of models with their defaults."""
    rows = [(key, _default(defaults[key]), meaning) for key, meaning in meanings.items()]
    return Report("", [Table(("setting", "default", "meaning"), rows)])


def _default(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value in (None, []) else f"{value:g}" if isinstance(value, float) else str(value)


def prompts_report(prompts: Iterable[Prompt]) -> Report:
    """Prompts with their kinds, scales and sources."""
    rows = [(prompt.name, prompt.kind, prompt.scale, prompt.cite) for prompt in prompts]
    return Report("", [Table(("prompt", "kind", "reply", "source"), rows)])
