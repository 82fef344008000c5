"""Extractive question answering with models tuned on SQuAD2, for the pipeline ``question-answering``.

The answer is the span of the passage with the highest sum of start and end scores, unless "no answer"
scores higher by more than a threshold (Rajpurkar et al., "Know What You Don't Know", 2018; Devlin et al.,
"BERT", 2019, section 4.3). Long passages are read in overlapping windows.

"No answer" is scored at the classification token. T5-like models tuned on SQuAD2, such as
``sjrhuschlee/flan-t5-large-squad2``, have this token as ``<cls>``, and their makers ask to put it before the
question, because the tokenizer does not insert it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exam_pp._version import __version__
from exam_pp.errors import ModelError
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.baselines import UNANSWERABLE
from exam_pp.llm.batched import EncoderLLM
from exam_pp.llm.checkpoint import ModelCheckpoint
from exam_pp.llm.encoding import Encoded, clean
from exam_pp.llm_requests import Completion, Request

if TYPE_CHECKING:
    import torch

MAX_WINDOW, STRIDE = 384, 128
"""Length of a window and overlap of windows in tokens, as in SQuAD fine-tuning."""

MAX_ANSWER_TOKENS = 30
NULL_THRESHOLD = 0.0
"""Required difference between "no answer" and the best span; 0 as in reports on SQuAD2 checkpoints."""

_T5_LIKE = {"t5", "mt5", "umt5", "longt5", "switch_transformers"}
"""Model types whose tokenizers do not insert a classification token."""


@dataclass(frozen=True, slots=True)
class EncodedWindow(Encoded):
    """The encoded windows of a question and a passage; ``ids`` are the ids of all windows in a row.

    ``inputs`` are the model's arguments for each window. ``spans`` are the character ranges of the tokens in
    the passage, None for other tokens. ``null`` is the position of the classification token.
    """

    passage: str = ""
    inputs: tuple[dict[str, list[int]], ...] = ()
    spans: tuple[tuple[tuple[int, int] | None, ...], ...] = ()
    null: int = 0


class ExtractiveLLM(EncoderLLM[EncodedWindow]):
    """An encoder with a span head, which replies with a span of the passage or with "unanswerable".

    Raises :class:`exam_pp.errors.ModelError` for other models.
    """

    def __init__(self, options: ModelOptions) -> None:
        checkpoint = ModelCheckpoint(options)
        self._adds_cls = _adds_cls(options, checkpoint)
        super().__init__(checkpoint)
        longest = getattr(checkpoint.config, "max_position_embeddings", None) or MAX_WINDOW
        longest = min(longest, self._tokenizer.model_max_length, MAX_WINDOW)
        self._window = min(longest, options.max_input_tokens or longest)

    def provenance(self) -> dict[str, Any]:
        """Return all facts that determine the replies, in a fixed order of keys."""
        return {
            **self._checkpoint.identity,
            "pipeline": self._options.pipeline,
            **self._placed.provenance(),
            **self._no_answer_at,
            "null_threshold": NULL_THRESHOLD,
            "max_answer_tokens": MAX_ANSWER_TOKENS,
            "max_input_tokens": self._window,
            "stride": STRIDE,
            "exam_pp": __version__,
        }

    @property
    def _no_answer_at(self) -> dict[str, str]:
        """The place of "no answer" for provenance; empty for the place that the tokenizer sets."""
        if self._adds_cls:
            return {"no_answer_at": "cls"}
        return {"no_answer_at": "first"} if self._options.no_answer_at == "first" else {}

    def encode(self, requests: Sequence[Request]) -> list[EncodedWindow]:
        """Encode question and passage of each request as overlapping windows."""
        return [self._encode(request) for request in requests]

    def _encode(self, request: Request) -> EncodedWindow:
        question, passage = request.slot("question"), request.slot("context")
        if question is None or passage is None or request.labels:
            raise ModelError(
                f"The model {self.name!r} extracts answers from passages: use a prompt for that, such as "
                "answer."
            )
        question, passage = clean(question).strip(), clean(passage)
        if self._adds_cls:
            question = f"{self._tokenizer.cls_token}{question}"
        question_tokens = len(self._tokenizer(question, "", verbose=False)["input_ids"])
        room = self._window - question_tokens
        if room < 1 + min(STRIDE, self._window // 4):
            return EncodedWindow(
                [], error=f"the question leaves no room for the passage in {self._window} tokens"
            )
        encoding = self._tokenizer(
            question,
            passage,
            truncation="only_second",
            max_length=self._window,
            stride=min(STRIDE, room // 2),
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        names = self._tokenizer.model_input_names
        windows = range(len(encoding["input_ids"]))
        inputs = tuple({name: encoding[name][w] for name in names if name in encoding} for w in windows)
        spans = tuple(
            tuple(
                (offset[0], offset[1]) if part == 1 else None
                for offset, part in zip(encoding["offset_mapping"][w], encoding.sequence_ids(w), strict=True)
            )
            for w in windows
        )
        ids = [token for window in encoding["input_ids"] for token in window]
        first = inputs[0]["input_ids"]
        null = 0
        if self._options.no_answer_at != "first" and self._tokenizer.cls_token_id in first:
            null = first.index(self._tokenizer.cls_token_id)
        return EncodedWindow(ids, passage=passage, inputs=inputs, spans=spans, null=null)

    def _run(self, encoded: Sequence[EncodedWindow]) -> list[Completion]:
        rows = [(window, prompt) for prompt in encoded for window in range(len(prompt.inputs))]
        with self._torch.inference_mode():
            batch = self._padded([prompt.inputs[window] for window, prompt in rows])
            output = self._model(**batch)
            starts, ends = output.start_logits.float(), output.end_logits.float()
            best = self._best_spans(starts, ends, [prompt.spans[window] for window, prompt in rows])
            nulls = [
                (starts[row, at] + ends[row, at]).item()
                for row, at in enumerate(self._null_at(rows, batch["input_ids"].shape[1]))
            ]
        results = iter(zip(best, nulls, strict=True))
        return [self._answer(prompt, [next(results) for _ in prompt.inputs]) for prompt in encoded]

    def _null_at(self, rows: Sequence[tuple[int, EncodedWindow]], width: int) -> list[int]:
        """The column of the classification token, which scores "no answer", in each padded row."""
        pads_left = self._tokenizer.padding_side == "left"
        return [
            prompt.null + (width - len(prompt.inputs[window]["input_ids"]) if pads_left else 0)
            for window, prompt in rows
        ]

    def _best_spans(
        self,
        starts: torch.Tensor,
        ends: torch.Tensor,
        spans: Sequence[Sequence[tuple[int, int] | None]],
    ) -> list[tuple[float, tuple[int, int]]]:
        """Score and character range of the best span in each window; the score is −inf without any span."""
        torch, (rows, width) = self._torch, starts.shape
        pads_left = self._tokenizer.padding_side == "left"
        of_passage = torch.zeros(rows, width, dtype=torch.bool)
        for row, window in enumerate(spans):
            shift = width - len(window) if pads_left else 0
            for at, span in enumerate(window):
                of_passage[row, at + shift] = span is not None and span[0] < span[1]
        outside = ~of_passage.to(starts.device)
        starts, ends = starts.masked_fill(outside, -torch.inf), ends.masked_fill(outside, -torch.inf)
        ends = torch.nn.functional.pad(ends, (0, MAX_ANSWER_TOKENS - 1), value=-torch.inf)
        scores = starts.unsqueeze(-1) + ends.unfold(1, MAX_ANSWER_TOKENS, 1)
        top, where = scores.flatten(1).max(-1)
        best = []
        for row, (score, index) in enumerate(zip(top.tolist(), where.tolist(), strict=True)):
            start, length = divmod(index, MAX_ANSWER_TOKENS)
            shift = width - len(spans[row]) if pads_left else 0
            first = spans[row][start - shift] if score > -torch.inf else None
            last = spans[row][start - shift + length] if score > -torch.inf else None
            best.append((score, (first[0], last[1]) if first and last else (0, 0)))
        return best

    def _answer(
        self, prompt: EncodedWindow, windows: Sequence[tuple[tuple[float, tuple[int, int]], float]]
    ) -> Completion:
        """The best span of all windows, compared with the lowest "no answer" score of all windows."""
        score, (start, end) = max(span for span, _ in windows)
        null = min(null for _, null in windows)
        text = prompt.passage[start:end].strip()
        return Completion(text if text and null - score <= NULL_THRESHOLD else UNANSWERABLE)


def _adds_cls(options: ModelOptions, checkpoint: ModelCheckpoint) -> bool:
    """Whether to put the classification token before the question.

    Raises :class:`ModelError` if the options request a token that the tokenizer lacks.
    """
    tokenizer = checkpoint.tokenizer
    if options.no_answer_at == "first":
        return False
    if tokenizer.cls_token_id is None:
        if options.no_answer_at == "cls":
            raise ModelError(
                f"-M no_answer_at=cls cannot be used with the model {options.model!r}: its tokenizer has no "
                "classification token."
            )
        return False
    if tokenizer.cls_token_id in tokenizer("a", "a")["input_ids"]:
        return False
    return options.no_answer_at == "cls" or checkpoint.config.model_type in _T5_LIKE
