"""The language model of `examples/llama` with few and small layers, and random weights for it."""

from __future__ import annotations

import numpy as np

SIZES = {"D": 10, "F": 14, "V": 23, "H": 4, "KV": 2, "heads": 6, "L": 2}
BLOCK = "model.layers.{l}."


def shapes(d: int, f: int, v: int, h: int, kv: int, heads: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the parameters by template."""
    return {
        "model.embed_tokens.weight": (v, d),
        "model.norm.weight": (d,),
        "lm_head.weight": (v, d),
        BLOCK + "input_layernorm.weight": (d,),
        BLOCK + "self_attn.q_proj.weight": (heads * h, d),
        BLOCK + "self_attn.k_proj.weight": (kv * h, d),
        BLOCK + "self_attn.v_proj.weight": (kv * h, d),
        BLOCK + "self_attn.o_proj.weight": (d, heads * h),
        BLOCK + "post_attention_layernorm.weight": (d,),
        BLOCK + "mlp.gate_proj.weight": (f, d),
        BLOCK + "mlp.up_proj.weight": (f, d),
        BLOCK + "mlp.down_proj.weight": (d, f),
    }


def weights(layers: int) -> dict[str, np.ndarray]:
    """Random parameters by template; those of layers are stacked."""
    random = np.random.default_rng(7)
    sizes = (SIZES[name] for name in ("D", "F", "V", "H", "KV", "heads"))
    return {
        name: random.standard_normal(((layers,) if "{l}" in name else ()) + shape, np.float32)
        for name, shape in shapes(*sizes).items()
    }


def in_file(stacked: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same as a file holds them: one tensor for each layer."""
    plain = {name: value for name, value in stacked.items() if "{l}" not in name}
    return plain | {
        name.replace("{l}", str(layer)): value[layer]
        for name, value in stacked.items()
        if "{l}" in name
        for layer in range(len(value))
    }
