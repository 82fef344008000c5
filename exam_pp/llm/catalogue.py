"""Catalogue of models for ``--model``: bundled grader, chat model, baselines and recommended checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exam_pp.llm.base import SMOLLM2

Role = Literal["bundled", "chat", "baseline", "recommended"]


@dataclass(frozen=True)
class ModelInfo:
    """A model for ``--model``. ``parameters`` is None for models without a checkpoint."""

    name: str
    role: Role
    parameters: int | None
    use: str

    def memory(self, bytes_per_parameter: int) -> float | None:
        """Size of the weights in gigabytes (10⁹ bytes): 4 bytes for a parameter in fp32, 2 in bf16."""
        return None if self.parameters is None else self.parameters * bytes_per_parameter / 1e9


# Parameter counts come from the published checkpoints (Chung et al., "Scaling Instruction-Finetuned Language
# Models", 2022, rounds them to 80M, 250M, 780M, 3B and 11B).
CATALOGUE = (
    ModelInfo("bundled", "bundled", 4_967_360, "small and offline, English, to learn and test on a laptop"),
    ModelInfo(
        SMOLLM2,
        "chat",
        134_515_008,
        "a real chat model to test prompts and pipelines; no judge, its grades are no better than chance",
    ),
    ModelInfo(
        "lexical", "baseline", None, "matching of English words, no neural network; every grader must beat it"
    ),
    ModelInfo("random", "baseline", None, "random ratings, the level of chance"),
    ModelInfo("constant", "baseline", None, "always the middle rating"),
    ModelInfo("google/flan-t5-small", "recommended", 76_961_152, "tests of a pipeline on a CPU; weak grades"),
    ModelInfo("google/flan-t5-base", "recommended", 247_577_856, "small collections on a CPU"),
    ModelInfo(
        "google/flan-t5-large",
        "recommended",
        783_150_080,
        "the grader of the papers; one small GPU, or a CPU with time",
    ),
    ModelInfo("google/flan-t5-xl", "recommended", 2_849_757_184, "one GPU of 16 GB in bf16"),
    ModelInfo("google/flan-t5-xxl", "recommended", 11_135_332_352, "one GPU of 40 GB in bf16"),
)


def is_baseline(model: str) -> bool:
    """Whether a model is a baseline, which other judges must beat."""
    return any(info.role == "baseline" and info.name == model for info in CATALOGUE)
