"""Llama-style and BERT-style checkpoints that answer given prompts with given answers, made on the spot.

As in ``scripts/bench/keyed_model.py`` the weights are random and the output layer is solved by ridge
regression on the model's own states, so that decoding has realistic lengths and known results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

CONTEXT = 640
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_LOGIT = 14.0


def byte_tokenizer(texts: Iterable[str], chat: bool) -> PreTrainedTokenizerFast:
    """Byte-level BPE as Llama 3 and Qwen have it; chat models end a turn with ``<|im_end|>``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1200,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        model_max_length=CONTEXT,
    )
    if chat:
        fast.chat_template = CHAT_TEMPLATE
    return fast


Messages = list[dict[str, str]]


def rendered(tokenizer: Any, text: str | Messages) -> list[int]:
    """The ids of a user's prompt, or of chat messages, as transformers' own pipeline makes them."""
    if tokenizer.chat_template is None:
        ids: list[int] = tokenizer(text)["input_ids"]
        return ids
    words = tokenizer.apply_chat_template(
        [{"role": "user", "content": text}] if isinstance(text, str) else text,
        tokenize=False,
        add_generation_prompt=True,
    )
    return list(tokenizer(words, add_special_tokens=False)["input_ids"])


def save_llama(
    folder: Path, tokenizer: Any, prompts: Sequence[str | Messages], answers: Sequence[str], flat: float
) -> None:
    """A Llama of two layers that replies to each prompt with its answer; ``flat`` scales its logits."""
    torch.manual_seed(5)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>" if tokenizer.chat_template else "<|endoftext|>")
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=256, intermediate_size=256, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=CONTEXT, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=None, tie_word_embeddings=False,
        initializer_range=0.2,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    states, targets = [], []
    with torch.inference_mode():
        for prompt, answer in zip(prompts, answers, strict=True):
            head = rendered(tokenizer, prompt)
            tail = [*tokenizer(answer, add_special_tokens=False)["input_ids"], end]
            hidden = model.model(torch.tensor([head + tail])).last_hidden_state[0, len(head) - 1 : -1]
            states.append(hidden.double())
            targets += tail
    features = torch.cat(states)
    wanted = torch.zeros(len(targets), len(tokenizer), dtype=torch.float64)
    wanted[torch.arange(len(targets)), torch.tensor(targets)] = _LOGIT
    gram = features.T @ features
    ridge = 1e-6 * gram.diagonal().mean() * torch.eye(len(gram), dtype=torch.float64)
    solved = torch.linalg.solve(gram + ridge, features.T @ wanted).T.float().contiguous()
    model.lm_head.weight = torch.nn.Parameter(solved * flat, requires_grad=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_bert_qa(folder: Path, texts: Iterable[str]) -> None:
    """A BERT of two layers with a head for spans."""
    torch.manual_seed(7)
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
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
    BertForQuestionAnswering(config).eval().save_pretrained(folder)
    fast.save_pretrained(folder)
