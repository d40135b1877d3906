"""SmolLM2-135M with weights of 8 bits gives the tokens of a NumPy model of the same arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tempoc.cli.main import status
from tests.support.examples import ROOT, load
from tests.whole.models.test_llama import HOME, rows

pytestmark = [
    pytest.mark.long("a variant of the model"),
    pytest.mark.usefixtures("with_runner"),
    pytest.mark.skipif(
        not (HOME / "model.safetensors").is_file(), reason="`make build/llama/model.safetensors`"
    ),
]
HEADS, KV, HEAD = 9, 3, 64
Array = np.ndarray[Any, Any]


class Model:
    """One text, a few positions at a time, with the keys and values of all layers so far."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.layers = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("model.layers"))
        self.keys = [np.zeros((0, KV, HEAD), np.float32)] * self.layers
        self.values = list(self.keys)

    def times(self, name: str, x: Array) -> Array:
        return (x @ self.weights[f"{name}.weight"].T) * self.weights[f"{name}.weight_scale"]

    def normed(self, name: str, x: Array) -> Array:
        mean = np.mean(x * x, -1, keepdims=True, dtype=np.float32)
        return x / np.sqrt(mean + np.float32(1e-5)) * self.weights[f"{name}.weight"]

    def turned(self, x: Array, positions: Array) -> Array:
        rates = 100000.0 ** (-np.arange(HEAD // 2) / (HEAD // 2))
        angle = (positions[:, None, None] * rates).astype(np.float32)
        low, high = np.split(x, 2, -1)
        sin, cos = np.sin(angle), np.cos(angle)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)

    def best(self, tokens: list[int]) -> int:
        """The most likely token after these, which follow those of earlier calls."""
        table = "model.embed_tokens"
        scale = self.weights[f"{table}.weight_scale"][tokens, None]
        x = self.weights[f"{table}.weight"][tokens] * scale
        positions = len(self.keys[0]) + np.arange(len(tokens))
        for number in range(self.layers):
            x = self.layer(number, x, positions)
        return int(np.argmax(self.times(table, self.normed("model.norm", x[-1]))))

    def layer(self, number: int, x: Array, positions: Array) -> Array:
        at = f"model.layers.{number}."
        n = self.normed(f"{at}input_layernorm", x)
        q, k, v = (
            self.times(f"{at}self_attn.{name}_proj", n).reshape(len(x), -1, HEAD) for name in "qkv"
        )
        keys = np.concatenate([self.keys[number], self.turned(k, positions)])
        values = np.concatenate([self.values[number], v])
        self.keys[number], self.values[number] = keys, values
        grouped = self.turned(q, positions).reshape(len(x), KV, HEADS // KV, HEAD)
        scores = np.einsum("nkgd,skd->nkgs", grouped, keys) / np.float32(HEAD**0.5)
        later = np.arange(len(keys)) > positions[:, None]
        scores = np.where(later[:, None, None], np.float32(-np.inf), scores)
        likely = np.exp(scores - scores.max(-1, keepdims=True))
        likely /= likely.sum(-1, keepdims=True)
        mixed = np.einsum("nkgs,skd->nkgd", likely, values).reshape(len(x), -1)
        z = x + self.times(f"{at}self_attn.o_proj", mixed)
        m = self.normed(f"{at}post_attention_layernorm", z)
        gate, up = (self.times(f"{at}mlp.{name}_proj", m) for name in ("gate", "up"))
        return z + self.times(f"{at}mlp.down_proj", gate / (1 + np.exp(-gate)) * up)


def decoded(weights: dict[str, Array], prompt: list[int], count: int) -> list[int]:
    """So many tokens after a prompt."""
    model = Model(weights)
    ids = [model.best(prompt)]
    while len(ids) < count:
        ids.append(model.best(ids[-1:]))
    return ids


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The quantized checkpoint, and the program compiled beside it."""
    folder = tmp_path_factory.mktemp("llama-8bit")
    load(ROOT / "examples" / "llama" / "quantize.py").quantize(HOME, folder)
    source = ROOT / "examples" / "llama" / "quantized.rt"
    assert status(["compile", str(source), "-o", str(folder / "out")]) == 0
    return folder


def test_the_tokens_of_numpy(home: Path) -> None:
    pytest.importorskip("tokenizers")
    chat = load(ROOT / "examples" / "llama" / "chat.py")
    weights = load_file(home / "model.safetensors")
    assert (
        sum(w.nbytes for w in weights.values()) < 0.26 * (HOME / "model.safetensors").stat().st_size
    )
    weights = {name: value.astype(np.float32) for name, value in weights.items()}
    prompts = [prompt for prompt, _ in rows(0)]
    expected = [decoded(weights, prompt, 6) for prompt in prompts]
    assert chat.decode(home / "out", home / "model.safetensors", prompts, 6) == expected
    assert chat.decode(home / "out", home / "model.safetensors", prompts[:1], 6) == expected[:1]
