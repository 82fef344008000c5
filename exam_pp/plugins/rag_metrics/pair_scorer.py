"""Scores of pairs of source and claim by sequence classification, for the pipeline ``text-classification``.

The score is the probability of a named class, such as ``entailment`` of models for natural language inference
(Honovich et al., "TRUE: Re-evaluating Factual Consistency Evaluation", 2022) or ``consistent`` of Vectara's
hallucination evaluation model (HHEM). Higher means that the claim is more consistent with the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exam_pp._version import __version__
from exam_pp.errors import ModelError
from exam_pp.llm.backends import BACKENDS
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.batched import EncoderLLM
from exam_pp.llm.checkpoint import ModelCheckpoint, identity, longest_input
from exam_pp.llm.encoding import Encoded, clean
from exam_pp.llm_requests import CLAIM_SLOT, SOURCE_SLOT, Completion, Request
from exam_pp.text.wording import listed

DECIMALS = 4
"""Decimals of a score. Rounding makes scores independent of the batches of requests."""

UNLIMITED_TOKENS = 2048
"""Default limit of models with relative positions: about the 8,192 characters of Open RAG Eval."""

_COMMIT = re.compile(r"[0-9a-f]{40}")
_TEMPLATE_SLOTS = ("{text1}", "{text2}")
"""Placeholders of source and claim in the ``prompt`` of the configuration of HHEM."""


class PairCheckpoint(ModelCheckpoint):
    """A checkpoint with a head for sequence classification.

    With ``trust_remote_code``, its own code may run; the model of the Hub is then pinned to a commit. The
    tokenizer of HHEM is that of the model that its configuration names as ``foundation``.
    """

    def __init__(self, options: ModelOptions) -> None:
        self.tokenizer_identity: dict[str, str] = {}
        pinned = Path(options.model).is_dir() or _COMMIT.fullmatch(options.revision or "")
        if options.trust_remote_code and not pinned:
            given = (
                f"not {options.revision!r}" if options.revision else "because the code of a branch can change"
            )
            raise ModelError(
                f"--trust-remote-code needs the commit of {options.model!r} as -M revision, all 40 digits, "
                f"{given}."
            )
        super().__init__(options)

    @property
    def runs_remote_code(self) -> bool:
        """Whether custom code in the files of the checkpoint may run."""
        return self.options.trust_remote_code

    @property
    def has_remote_code(self) -> bool:
        """Whether the checkpoint brings the code of its model."""
        return "AutoModelForSequenceClassification" in (getattr(self.config, "auto_map", None) or {})

    def _check_pipeline(self) -> None:
        if not (self.runs_remote_code and self.has_remote_code):
            super()._check_pipeline()

    def _load_tokenizer(self) -> Any:
        try:
            return super()._load_tokenizer()
        except ModelError:
            foundation = getattr(self.config, "foundation", None)
            if not (self.runs_remote_code and isinstance(foundation, str)):
                raise
        path, revision = self.path, self.revision
        of_foundation = {f"tokenizer_{key}": value for key, value in identity(foundation, None).items()}
        self.tokenizer_identity = {"tokenizer": foundation, **of_foundation}
        self.path, self.revision = foundation, self.tokenizer_identity.get("tokenizer_revision")
        try:
            return super()._load_tokenizer()
        finally:
            self.path, self.revision = path, revision

    def positive_class(self) -> tuple[str, int]:
        """Name and index of the class whose probability is the score.

        Raises :class:`ModelError` if the options do not name a class of the checkpoint.
        """
        names = {int(index): str(name) for index, name in (self.config.id2label or {}).items()}
        classes = f"its classes are {listed(list(names.values()))}"
        wanted = self.options.positive_class
        if wanted is None:
            raise ModelError(
                f"The model {self.options.model!r} classifies texts: `exam-pp grade` scores claims with it, "
                f"and needs -M positive_class, the name of the class of consistent claims: {classes}."
            )
        matches = [index for index, name in names.items() if name == wanted] or [
            index for index, name in names.items() if name.casefold() == wanted.casefold()
        ]
        if len(matches) != 1:
            raise ModelError(f"The model {self.options.model!r} has no class {wanted!r}: {classes}.")
        return names[matches[0]], matches[0]


@dataclass(frozen=True, slots=True)
class EncodedPair(Encoded):
    """An encoded pair: the arguments of the model, and the number of removed tokens of the claim."""

    inputs: dict[str, list[int]] = field(default_factory=dict)
    claim_tokens_cut: int = 0


class ClassifierPairScorer(EncoderLLM[EncodedPair]):
    """A model for sequence classification, which replies with the probability of its positive class.

    If a pair is too long, the source is shortened at its end, to half of the room for both texts at least;
    then the claim is shortened. Both numbers of removed tokens are recorded. Checkpoints without a head for
    sequence classification raise :class:`exam_pp.errors.ModelError`.
    """

    _checkpoint: PairCheckpoint

    def __init__(self, options: ModelOptions) -> None:
        checkpoint = PairCheckpoint(options)
        self._class, self._index = checkpoint.positive_class()
        self._limit = longest_input(checkpoint, UNLIMITED_TOKENS)
        self._template = _template(checkpoint)
        super().__init__(checkpoint)
        if (
            self._tokenizer.pad_token_id is None
        ):  # decoder-only classifiers find the last token before padding
            self._tokenizer.pad_token = self._tokenizer.eos_token
        if getattr(checkpoint.config, "pad_token_id", None) is None:
            self._model.config.pad_token_id = self._tokenizer.pad_token_id

    @property
    def positive_class(self) -> str:
        """The name of the class whose probability is the score."""
        return self._class

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the scores, in a fixed order of keys."""
        return {
            **self._checkpoint.identity,
            **self._checkpoint.tokenizer_identity,
            "pipeline": self._options.pipeline,
            **self._placed.provenance(),
            "positive_class": self._class,
            **({"remote_code": True} if self._checkpoint.has_remote_code else {}),
            "max_input_tokens": self._limit,
            "exam_pp": __version__,
        }

    def encode(self, requests: Sequence[Request]) -> list[EncodedPair]:
        """Encode source and claim of each request."""
        return [self._encode(request) for request in requests]

    def _encode(self, request: Request) -> EncodedPair:
        source, claim = request.slot(SOURCE_SLOT), request.slot(CLAIM_SLOT)
        if source is None or claim is None:
            raise ModelError(
                f"The model {self.name!r} scores claims against their sources and does not answer prompts: "
                "use it with `exam-pp grade`, without --prompt and --prompt-file."
            )
        source, claim = clean(source), clean(claim)
        inputs = self._inputs(source, claim)
        if len(inputs["input_ids"]) <= self._limit:
            return EncodedPair(inputs["input_ids"], inputs=inputs)
        return self._shortened(source, claim, len(inputs["input_ids"]))

    def _inputs(self, source: str, claim: str) -> dict[str, list[int]]:
        texts = [source, claim]
        if self._template is not None:
            first, second = _TEMPLATE_SLOTS
            before, after = self._template.split(first, 1)
            texts = [before + source + after.replace(second, claim)]
        encoding = self._tokenizer(*texts, verbose=False)
        names = self._tokenizer.model_input_names
        return {name: encoding[name] for name in names if name in encoding}

    def _shortened(self, source: str, claim: str, length: int) -> EncodedPair:
        """The pair with both texts shortened to fit; a cut text may need a token more, so cut again."""
        source_ends, claim_ends = self._token_ends(source), self._token_ends(claim)
        room = len(source_ends) + len(claim_ends) - (length - self._limit)
        while room >= 2:
            kept_source = max(min(len(source_ends), room // 2), room - len(claim_ends))
            kept_claim = min(len(claim_ends), room - kept_source)
            inputs = self._inputs(
                _head(source, source_ends[:kept_source]), _head(claim, claim_ends[:kept_claim])
            )
            over = len(inputs["input_ids"]) - self._limit
            if over <= 0:
                cut = len(source_ends) - kept_source
                return EncodedPair(inputs["input_ids"], cut, None, inputs, len(claim_ends) - kept_claim)
            room -= over
        return EncodedPair([], error=f"a context of {self._limit} tokens leaves no room for source and claim")

    def _token_ends(self, text: str) -> list[int]:
        """The end of each token of a text, in characters."""
        offsets = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)[
            "offset_mapping"
        ]
        return [end for _, end in offsets]

    def _run(self, encoded: Sequence[EncodedPair]) -> list[Completion]:
        with self._torch.inference_mode():
            batch = self._padded([dict(pair.inputs) for pair in encoded])
            logits = self._model(**batch).logits.float()
            finite = logits.isfinite().all(-1).tolist()
            scores = self._probabilities(logits)[:, self._index].tolist()
        return [
            Completion(f"{score:.{DECIMALS}f}", claim_tokens_cut=pair.claim_tokens_cut)
            if valid
            else Completion(error=self._placed.overflow)
            for pair, score, valid in zip(encoded, scores, finite, strict=True)
        ]

    def _probabilities(self, logits: Any) -> Any:
        """Probabilities of the classes: each alone for a single class or several labels, else together."""
        several = getattr(self._checkpoint.config, "problem_type", None) == "multi_label_classification"
        return logits.sigmoid() if several or logits.shape[-1] == 1 else logits.softmax(-1)


def _head(text: str, ends: Sequence[int]) -> str:
    """The text up to the last of these ends of tokens."""
    return text[: ends[-1]] if ends else ""


def _template(checkpoint: PairCheckpoint) -> str | None:
    """The template of source and claim in the configuration of HHEM; None for all other checkpoints."""
    template = getattr(checkpoint.config, "prompt", None)
    if checkpoint.has_remote_code and isinstance(template, str):
        positions = [template.find(slot) for slot in _TEMPLATE_SLOTS]
        if 0 <= positions[0] < positions[1]:
            return template
    return None


BACKENDS.add("text-classification", ClassifierPairScorer)
