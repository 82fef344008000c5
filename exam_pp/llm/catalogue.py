"""Models worth naming to a newcomer: what comes with the package, and what to use for real work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["bundled", "baseline", "recommended"]


@dataclass(frozen=True)
class ModelInfo:
    """A model for ``--model``. ``parameters`` is None where there is nothing to load."""

    name: str
    role: Role
    parameters: int | None
    use: str

    def memory(self, bytes_per_parameter: int) -> float | None:
        """Gigabytes (10⁹ bytes) of its weights: 4 bytes a parameter in fp32, 2 in bf16."""
        return None if self.parameters is None else self.parameters * bytes_per_parameter / 1e9


# Parameter counts are those of the published checkpoints (Chung et al., "Scaling Instruction-Finetuned
# Language Models", 2022, rounds them to 80M, 250M, 780M, 3B and 11B).
CATALOGUE = (
    ModelInfo(
        "bundled", "bundled", 4_967_360, "tiny, offline, seconds on a laptop: to learn and test the workbench"
    ),
    ModelInfo(
        "lexical", "baseline", None, "matches words, no neural network: the score that every judge must beat"
    ),
    ModelInfo("random", "baseline", None, "random ratings: what chance reaches"),
    ModelInfo("constant", "baseline", None, "the middle rating always: what no opinion reaches"),
    ModelInfo("google/flan-t5-small", "recommended", 76_961_152, "trying a pipeline on a CPU; weak grades"),
    ModelInfo("google/flan-t5-base", "recommended", 247_577_856, "small collections on a CPU"),
    ModelInfo(
        "google/flan-t5-large",
        "recommended",
        783_150_080,
        "the papers' grader: one small GPU, or a patient CPU",
    ),
    ModelInfo("google/flan-t5-xl", "recommended", 2_849_757_184, "one GPU of 16 GB in bf16"),
    ModelInfo("google/flan-t5-xxl", "recommended", 11_135_332_352, "one GPU of 40 GB in bf16"),
)
