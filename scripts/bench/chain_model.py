"""Language models of any shape with replies of known lengths, made on the device for measurements of speed.

The weights are random. The output layer lets every token have one successor, so that a reply is one of a few
given chains of tokens and ends where its chain ends, also in bfloat16 and for every beam. The prompt selects
the chain, so that replies differ between prompts and the ways of a benchmark can be compared by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch

_SUCCESSOR_LOGIT = 40.0
"""Far above the logarithm of the size of a vocabulary, so that a successor has a probability of nearly 1."""
_CHOICE_LOGIT = 2.0
"""Standard deviation of the logits by which a prompt selects its chain."""
_NOISE = 0.1
"""Standard deviation that the layers together add to an embedding of standard deviation 1."""
_CONTEXT_NOISE = 4.0
"""The same for attention to the prompt, before its average over hundreds of tokens, which makes it small.
It must stay large enough that prompts differ by more than the rounding of bfloat16."""
_CALIBRATION = 64
"""Number of prompts on which the choice of chains is scaled."""


def make_model(config: Any, device: str, dtype: torch.dtype, seed: int = 0) -> Any:
    """A model of a config with random weights in ``dtype``, directly on the device."""
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    loader = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    with torch.device(device):
        model = loader.from_config(config, dtype=dtype).eval().requires_grad_(False)
    torch.manual_seed(seed)
    layers = 2 * config.num_hidden_layers
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            module.weight.normal_(0, _gain(name, config, layers) * module.in_features**-0.5)
        elif isinstance(module, torch.nn.Embedding) and module.num_embeddings == config.vocab_size:
            module.weight.normal_()
    return model


def _gain(name: str, config: Any, layers: int) -> float:
    """The factor of a weight matrix beside 1 / sqrt(inputs), which keeps the variance."""
    kind = name.rsplit(".", 1)[-1]
    if kind == "q" and config.is_encoder_decoder:
        return float(config.d_kv**-0.5)  # T5 does not scale its scores
    if kind not in ("o", "wo", "o_proj", "down_proj"):
        return 1.0
    reads_prompt = kind == "o_proj" or "EncDecAttention" in name
    return float((_CONTEXT_NOISE if reads_prompt else _NOISE) * layers**-0.5)


@torch.inference_mode()
def set_replies(model: Any, prompts: Sequence[list[int]], chains: Sequence[list[int]]) -> None:
    """Let the model reply to each prompt with one of the chains of token ids (in place).

    A token may occur in several chains if it has the same successor in all. The prompts are examples; those
    of a decoder-only model must end with the same token.
    """
    if model.config.is_encoder_decoder:
        start = int(model.config.decoder_start_token_id)
    else:
        (start,) = {prompt[-1] for prompt in prompts}
    successors = {pair for chain in chains for pair in pairwise(chain)}
    before = sorted({start, *(token for token, _ in successors)})
    embedding = model.get_input_embeddings().weight
    size = embedding.shape[1]
    if len(before) >= size:
        raise ValueError(f"{len(before)} tokens with successors need more than {size} dimensions.")
    random = torch.randn(size, len(before), device=embedding.device)
    directions = dict(zip(before, torch.linalg.qr(random).Q.T, strict=True))
    for token, direction in directions.items():
        embedding[token] = (direction * size**0.5).to(embedding.dtype)

    scale = _SUCCESSOR_LOGIT * size**-0.5
    output = torch.zeros(model.config.vocab_size, size, device=embedding.device)
    for token, successor in successors:
        output[successor] += scale * directions[token]
    firsts = sorted({chain[0] for chain in chains})
    states = torch.stack([_last_state(model, prompt, start) for prompt in prompts[:_CALIBRATION]])
    mean = states.mean(0)
    choices = torch.randn(len(firsts), len(states), device=embedding.device) @ (states - mean)
    # The mean of the prompts and the tokens of the chains have no effect on the choice. Otherwise all prompts
    # would select the same chain, and a chain could be selected within another one.
    neutral = torch.linalg.qr(torch.stack([mean, *directions.values()]).T).Q
    choices -= choices @ neutral @ neutral.T
    choices *= _CHOICE_LOGIT / (states @ choices.T).std(0).clamp(min=1e-6)[:, None]
    output[firsts] += scale * directions[start] + choices
    # A new parameter instead of new data, because recent transformers tie the output layer to the embeddings.
    model.lm_head.weight = torch.nn.Parameter(output.to(embedding.dtype), requires_grad=False)


def _last_state(model: Any, prompt: list[int], start: int) -> torch.Tensor:
    """The state from which the model generates the first token of its reply."""
    ids = torch.tensor([prompt], device=model.device)
    if not model.config.is_encoder_decoder:
        state: torch.Tensor = model.base_model(input_ids=ids).last_hidden_state[0, -1].float()
        return state
    states = model(
        input_ids=ids, decoder_input_ids=ids.new_tensor([[start]]), output_hidden_states=True
    ).decoder_hidden_states[-1]
    last: torch.Tensor = states[0, -1].float()
    return last
