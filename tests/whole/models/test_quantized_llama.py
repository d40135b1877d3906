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
    pytest.mark.slow,
    pytest.mark.usefixtures("with_runner"),
    pytest.mark.skipif(
        not (HOME / "model.safetensors").is_file(), reason="`make build/llama/model.safetensors`"
    ),
]
HEADS, KV, HEAD = 9, 3, 64
Array = np.ndarray[Any, Any]


class Model:
    """One text, position by position, with the keys and values of all layers so far."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.layers = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("model.layers"))
        self.cache: list[list[tuple[Array, Array]]] = [[] for _ in range(self.layers)]

    def times(self, name: str, x: Array) -> Array:
        return (self.weights[f"{name}.weight"] @ x) * self.weights[f"{name}.weight_scale"]

    def normed(self, name: str, x: Array) -> Array:
        mean = np.mean(x * x, keepdims=True, dtype=np.float32)
        return x / np.sqrt(mean + np.float32(1e-5)) * self.weights[f"{name}.weight"]

    def turned(self, x: Array, position: int) -> Array:
        angle = np.float32(position * 100000.0 ** (-np.arange(HEAD // 2) / (HEAD // 2)))
        low, high = np.split(x, 2, -1)
        sin, cos = np.sin(angle), np.cos(angle)
        return np.concatenate([low * cos - high * sin, high * cos + low * sin], -1)

    def best(self, token: int, position: int) -> int:
        """The most likely token after this one."""
        table = "model.embed_tokens"
        x = self.weights[f"{table}.weight"][token] * self.weights[f"{table}.weight_scale"][token]
        for number in range(self.layers):
            x = self.layer(number, x, position)
        return int(np.argmax(self.times(table, self.normed("model.norm", x))))

    def layer(self, number: int, x: Array, position: int) -> Array:
        at = f"model.layers.{number}."
        n = self.normed(f"{at}input_layernorm", x)
        q, k, v = (self.times(f"{at}self_attn.{name}_proj", n).reshape(-1, HEAD) for name in "qkv")
        self.cache[number].append((self.turned(k, position), v))
        keys, values = (np.stack(part) for part in zip(*self.cache[number], strict=True))
        grouped = self.turned(q, position).reshape(KV, HEADS // KV, HEAD)
        scores = np.einsum("kgd,skd->kgs", grouped, keys) / np.float32(HEAD**0.5)
        likely = np.exp(scores - scores.max(-1, keepdims=True))
        likely /= likely.sum(-1, keepdims=True)
        mixed = np.einsum("kgs,skd->kgd", likely, values).reshape(-1)
        z = x + self.times(f"{at}self_attn.o_proj", mixed)
        m = self.normed(f"{at}post_attention_layernorm", z)
        gate, up = (self.times(f"{at}mlp.{name}_proj", m) for name in ("gate", "up"))
        return z + self.times(f"{at}mlp.down_proj", gate / (1 + np.exp(-gate)) * up)


def decoded(weights: dict[str, Array], prompt: list[int], count: int) -> list[int]:
    """So many tokens after a prompt."""
    model, ids = Model(weights), [*prompt]
    for position in range(len(prompt) + count - 1):
        best = model.best(ids[position], position)
        if position >= len(prompt) - 1:
            ids.append(best)
    return ids[len(prompt) :]


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
