"""FLAN-T5-shaped checkpoints with known answers to a list of prompts, without downloads.

The weights are random; the output layer is solved by ridge regression on the model's decoder states, so that
each prompt gets its answer and decoding has realistic lengths. The tokenizer is a unigram model like that of
T5, trained on the project's documents; it has no piece for a leading "0", so that the label "0" is two
pieces, as in FLAN-T5.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = {"d_model": 512, "d_kv": 64, "d_ff": 1024, "num_layers": 8, "num_heads": 6}
TINY = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
_LOGIT = 14.0

log = logging.getLogger(__name__)


def make_tokenizer(texts: Iterable[str], vocabulary: int = 8000) -> PreTrainedTokenizerFast:
    """A T5-style unigram tokenizer: pad 0, eos 1, unk 2; words are split at white space."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    special = ["<pad>", "</s>", "<unk>"]
    letters = [chr(c) for c in range(33, 127)]
    trainer = trainers.UnigramTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        unk_token="<unk>",
        initial_alphabet=letters,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer = _without_piece(tokenizer, "▁0")
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=512,
    )


def _without_piece(tokenizer: Tokenizer, piece: str) -> Tokenizer:
    """The tokenizer without ``piece``, and with the digits 1 to 9 as pieces.

    The trainer's order and the last digits of its scores differ from run to run: pieces are sorted here.
    """
    import json

    state = json.loads(tokenizer.to_str())
    special, trained = state["model"]["vocab"][:3], state["model"]["vocab"][3:]
    pieces = sorted([text, round(score, 1)] for text, score in trained if text != piece)
    vocabulary = [*special, *pieces]
    known = {entry[0] for entry in vocabulary}
    vocabulary += [[f"▁{digit}", -8.0] for digit in "123456789" if f"▁{digit}" not in known]
    vocabulary += [["▁", -9.0]] if "▁" not in known else []
    state["model"]["vocab"] = vocabulary
    return Tokenizer.from_str(json.dumps(state))


def project_texts() -> list[str]:
    """Lines to train the tokenizer: the project's documents, code and demo passages."""
    files = [*sorted(REPOSITORY.glob("docs/**/*.md")), *sorted(REPOSITORY.glob("exam_pp/**/*.py"))]
    files += [REPOSITORY / "data" / "demo" / "passages.tsv", REPOSITORY / "README.md"]
    return [line for file in files if file.exists() for line in file.read_text("utf-8").splitlines() if line]


def make_model(
    tokenizer: Any,
    shape: dict[str, int],
    *,
    seed: int = 0,
    tied: bool = False,
    dtype: torch.dtype = torch.float32,
) -> T5ForConditionalGeneration:
    """A model of this shape with random weights, gated-gelu and a separate output layer like FLAN-T5."""
    torch.manual_seed(seed)
    config = T5Config(
        **shape,
        vocab_size=(len(tokenizer) + 127) // 128 * 128,
        num_decoder_layers=shape["num_layers"],
        feed_forward_proj="gated-gelu",
        tie_word_embeddings=tied,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
        dropout_rate=0.0,
    )
    return T5ForConditionalGeneration(config).to(dtype).eval()


def key_answers(
    model: T5ForConditionalGeneration,
    tokenizer: Any,
    prompts: Sequence[str],
    answers: Sequence[str],
    batch: int = 16,
) -> None:
    """Solve the output layer so that each prompt gets its answer (in place)."""
    states, targets = [], []
    with torch.inference_mode():
        for start in range(0, len(prompts), batch):
            inputs = tokenizer(
                list(prompts[start : start + batch]), return_tensors="pt", padding=True, truncation=True,
                max_length=512, return_token_type_ids=False,
            )  # fmt: skip
            rows = [tokenizer(answer)["input_ids"] for answer in answers[start : start + batch]]
            width = max(map(len, rows))
            labels = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
            decoder = model.prepare_decoder_input_ids_from_labels(labels)
            hidden = model(
                **inputs, decoder_input_ids=decoder, output_hidden_states=True
            ).decoder_hidden_states[-1]
            states.append(hidden[labels >= 0].double())
            targets.append(labels[labels >= 0])
    features, labels = torch.cat(states), torch.cat(targets)
    logits = torch.zeros(len(labels), model.config.vocab_size, dtype=torch.float64)
    logits[torch.arange(len(labels)), labels] = _LOGIT
    gram = features.T @ features
    ridge = 1e-8 * gram.diagonal().mean() * torch.eye(len(gram), dtype=torch.float64)
    solution = torch.linalg.solve(gram + ridge, features.T @ logits)
    weight = solution.T.to(model.lm_head.weight.dtype).contiguous()
    # A new parameter instead of new data, because recent transformers tie the output layer to the embeddings.
    model.lm_head.weight = torch.nn.Parameter(weight, requires_grad=False)


def grader_answers(count: int, kind: str, texts: Sequence[str], seed: int = 0) -> list[str]:
    """Replies like those of a grader: digits and 10 % text, or 1 to 20 words of a passage."""
    chance = random.Random(seed)
    if kind == "rating":
        return [
            " ".join(texts[i].split()[:3]) if chance.random() < 0.1 else chance.choice("000123345")
            for i in range(count)
        ]
    return [" ".join(texts[i].split()[:length]) for i, length in enumerate(_lengths(count, chance))]


def _lengths(count: int, chance: random.Random) -> list[int]:
    return [chance.choice((1, 2, 3, 5, 8, 12, 20)) for _ in range(count)]
