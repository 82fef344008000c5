"""Llama-style checkpoints with known answers to a list of prompts.

As in ``keyed_model.py``, the weights are random and the output layer is solved by ridge regression on the
model's hidden states, so that decoding has realistic lengths and known results.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CONTEXT = 640
TINY = {
    "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "initializer_range": 0.2, "max_position_embeddings": CONTEXT,
}  # fmt: skip
SMALL = {
    "hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 8, "num_attention_heads": 8,
    "num_key_value_heads": 4, "initializer_range": 0.05, "max_position_embeddings": 1024,
}  # fmt: skip
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_LOGIT = 14.0


def byte_tokenizer(
    texts: Iterable[str], chat: bool, vocabulary: int = 1200, context: int = CONTEXT
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer as in Llama 3 and Qwen; chat models end a turn with ``<|im_end|>``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
        model_max_length=context,
    )
    if chat:
        fast.chat_template = CHAT_TEMPLATE
    return fast


Messages = list[dict[str, str]]


def rendered(tokenizer: Any, text: str | Messages) -> list[int]:
    """The token ids of a prompt or of chat messages, as in the pipeline of transformers."""
    if tokenizer.chat_template is None:
        ids: list[int] = tokenizer(text)["input_ids"]
        return ids
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": text}] if isinstance(text, str) else text,
        tokenize=False,
        add_generation_prompt=True,
    )
    return list(tokenizer(prompt, add_special_tokens=False)["input_ids"])


def save_llama(
    folder: Path,
    tokenizer: Any,
    prompts: Sequence[str | Messages],
    answers: Sequence[str],
    flat: float = 1.0,
    shape: dict[str, Any] = TINY,
) -> None:
    """Write a Llama that replies to each prompt with its answer; ``flat`` scales its logits."""
    torch.manual_seed(5)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>" if tokenizer.chat_template else "<|endoftext|>")
    config = LlamaConfig(
        **shape, vocab_size=len(tokenizer), bos_token_id=None, eos_token_id=tokenizer.eos_token_id,
        pad_token_id=None, tie_word_embeddings=False,
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
    logits = torch.zeros(len(targets), len(tokenizer), dtype=torch.float64)
    logits[torch.arange(len(targets)), torch.tensor(targets)] = _LOGIT
    gram = features.T @ features
    ridge = 1e-6 * gram.diagonal().mean() * torch.eye(len(gram), dtype=torch.float64)
    solved = torch.linalg.solve(gram + ridge, features.T @ logits).T.float().contiguous()
    model.lm_head.weight = torch.nn.Parameter(solved * flat, requires_grad=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
