"""Floating-point operations that grading needs, and peaks of GPUs in bfloat16.

Every weight matrix takes two operations for each of its weights and each token; attention takes four for each
dimension of the queries and each earlier token, in every layer. Nothing else counts: no look-up of
embeddings, no norms. The output layer counts for the tokens of replies only, a start that all prompts of a
decoder-only model share does not count, and neither does padding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

PEAKS = {
    "GH200": 989.0,
    "H200 NVL": 835.0,
    "H200": 989.0,
    "H100 PCIe": 756.0,
    "H100 NVL": 835.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "L40": 181.0,
    "L4": 121.0,
    "A6000": 154.8,
    "A40": 149.7,
    "A10G": 70.0,
    "A10": 125.0,
    "RTX 4090": 165.2,
    "RTX 3090": 71.0,
}
"""TFLOPS of dense matrix products in bfloat16, from data sheets, by words of the device's name; the first
match counts."""


def peak_of(device_name: str) -> float | None:
    """The peak of a GPU in TFLOPS; None for GPUs that are not in the table."""
    return next((peak for part, peak in PEAKS.items() if re.search(rf"\b{part}\b", device_name)), None)


@dataclass(frozen=True)
class Work:
    """The weights that tokens of prompts and of replies pass in a model, and the width of its attention.

    Args:
        prompt: The number of weights for each token of a prompt.
        reply: The number of weights for each token of a reply, without the output layer.
        output: The number of weights of the output layer.
        attention: The dimensions of all heads of all layers (of the encoder, if there is one).
        is_encoder_decoder: Whether tokens of a prompt also attend to later tokens.
    """

    prompt: int
    reply: int
    output: int
    attention: int
    is_encoder_decoder: bool

    def of(self, prompt: int, reply: int, beams: int = 1, shared: int = 0) -> float:
        """The operations for a prompt and its reply.

        Args:
            prompt: The number of tokens of the prompt.
            reply: The number of tokens of the reply, including the one that ends it.
            beams: The beam size: each beam decodes a reply of this length.
            shared: The number of tokens at the start of the prompt that are the same in all prompts.
        """
        if self.is_encoder_decoder:
            # Every step reads the whole prompt and the earlier tokens of the reply.
            contexts = reply * prompt + reply * (reply + 1) / 2
            steps, reading = reply, 4.0 * self.attention * prompt**2
            shared = 0
        else:
            # The last token of the prompt generates the first token of the reply.
            steps = reply - 1
            contexts = steps * prompt + steps * (steps + 1) / 2
            reading = 4.0 * self.attention * (prompt * (prompt + 1) - shared * (shared + 1)) / 2
        decoding = 2.0 * (self.reply * steps + self.output * reply) + 4.0 * self.attention * contexts
        return 2.0 * self.prompt * (prompt - shared) + reading + beams * decoding


def work_of(model: Any) -> Work:
    """The work of a T5-like or decoder-only model without mixture of experts."""
    import torch

    config = model.config
    output = model.get_output_embeddings()
    sizes = {
        name: module.weight.numel()
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not output
    }
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    if not config.is_encoder_decoder:
        size = sum(sizes.values())
        width = getattr(config, "head_dim", None) or config.hidden_size // heads
        return Work(size, size, output.weight.numel(), layers * heads * width, False)
    # The decoder computes keys and values of the prompt's tokens once.
    prompt = sum(size for name, size in sizes.items() if _reads_prompt(name))
    rest = sum(sizes.values()) - prompt
    return Work(prompt, rest, output.weight.numel(), layers * heads * config.d_kv, True)


def _reads_prompt(name: str) -> bool:
    return name.startswith("encoder.") or name.endswith(("EncDecAttention.k", "EncDecAttention.v"))
