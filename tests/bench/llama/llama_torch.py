"""SmolLM2-135M as a torch user runs it: `transformers`, eager, float32, greedy with its cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from tests.bench.llama import llama_jax


def load(path: Path) -> LlamaForCausalLM:
    """The model; all of its configuration is written out, so that nothing is downloaded."""
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=llama_jax.WIDTH,
        intermediate_size=1536,
        num_hidden_layers=llama_jax.LAYERS,
        num_attention_heads=llama_jax.HEADS,
        num_key_value_heads=llama_jax.KV,
        max_position_embeddings=8192,
        rms_norm_eps=llama_jax.EPSILON,
        rope_parameters={"rope_type": "default", "rope_theta": llama_jax.THETA},
        tie_word_embeddings=True,
        dtype="float32",
    )
    model = LlamaForCausalLM(config).eval()
    lacking = model.load_state_dict(load_file(path), strict=False)
    assert not lacking.unexpected_keys and lacking.missing_keys in ([], ["lm_head.weight"])
    model.tie_weights()
    return model


@torch.no_grad()
def decode(model: LlamaForCausalLM, prompts: list[list[int]], steps: int) -> np.ndarray:
    """`steps` tokens for each prompt, its own included, all prompts of one length.

    The loop that `generate` runs, without what that does for other ways of decoding.
    """
    found = torch.tensor(prompts)
    cache, given = DynamicCache(config=model.config), found
    while found.shape[1] < steps:
        logits = model(input_ids=given, past_key_values=cache, use_cache=True).logits
        given = logits[:, -1].argmax(-1, keepdim=True)
        found = torch.cat([found, given], 1)
    return found.numpy()


def generate(model: LlamaForCausalLM, prompts: list[list[int]], steps: int) -> np.ndarray:
    """The same by `generate`."""
    given = torch.tensor(prompts)
    more = steps - given.shape[1]
    found = model.generate(
        given,
        attention_mask=torch.ones_like(given),
        do_sample=False,
        min_new_tokens=more,
        max_new_tokens=more,
        pad_token_id=0,
    )
    return found.numpy()
