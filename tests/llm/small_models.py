"""Small Llama-style, BERT-style and T5-style checkpoints for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForQuestionAnswering,
)

from scripts.bench.keyed_llama import CONTEXT, byte_tokenizer, rendered, save_llama
from scripts.bench.keyed_model import TINY, make_tokenizer

__all__ = [
    "CONTEXT",
    "byte_tokenizer",
    "rendered",
    "save_bert_classifier",
    "save_bert_qa",
    "save_llama",
    "save_t5_qa",
]


def save_bert_qa(folder: Path, texts: Iterable[str]) -> None:
    torch.manual_seed(7)
    tokenizer, config = _bert(texts)
    BertForQuestionAnswering(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_bert_classifier(
    folder: Path, texts: Iterable[str], classes: Sequence[str], *, layers: int = 2
) -> None:
    torch.manual_seed(7)
    tokenizer, config = _bert(texts)
    config.num_hidden_layers = layers
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: index for index, name in enumerate(classes)}
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _bert(texts: Iterable[str]) -> tuple[PreTrainedTokenizerFast, BertConfig]:
    """A word-piece tokenizer with the words of the texts, and the configuration of a small BERT."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    normalizer = normalizers.BertNormalizer(lowercase=True)
    split = pre_tokenizers.BertPreTokenizer()
    # A trainer breaks ties as it likes, so that every run would have another model.
    words = Counter(
        word for text in texts for word, _ in split.pre_tokenize_str(normalizer.normalize_str(text))
    )
    letters = sorted({letter for word in words for letter in word})
    frequent = [word for word, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))]
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *frequent]
    vocabulary = {piece: number for number, piece in enumerate(list(dict.fromkeys(pieces))[:1500])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, split
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", mask_token="[MASK]", model_max_length=128,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip
    config = BertConfig(
        vocab_size=len(fast), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=128, initializer_range=0.5,
    )  # fmt: skip
    return fast, config


def save_t5_qa(folder: Path, texts: Iterable[str], cls: str | None = "<cls>") -> None:
    """Save a T5 with a span head and a tokenizer that has the token ``cls`` but does not insert it."""
    torch.manual_seed(11)
    tokenizer = make_tokenizer(texts, 1500)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.model_max_length = 128
    tokenizer.model_input_names = ["input_ids", "attention_mask"]
    if cls is not None:
        tokenizer.add_special_tokens({"cls_token": cls})
    config = T5Config(
        **TINY, vocab_size=len(tokenizer), decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
        feed_forward_proj="gated-gelu", initializer_factor=3.0,
    )  # fmt: skip
    T5ForQuestionAnswering(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
