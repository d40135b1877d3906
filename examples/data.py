"""Data for the numbered examples.

    python examples/data.py [DIR]     # NN_name.npz are inputs, NN_name.safetensors parameters

Every example has a row in `EXAMPLES`: which bounds it needs for a given size, and how to make its
inputs and parameters for these bounds. The tests take theirs from here too, for all sizes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

Bounds = dict[str, int]
Arrays = dict[str, np.ndarray]
HERE = Path(__file__).resolve().parent


def nothing(bounds: Bounds, random: np.random.Generator) -> Arrays:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One program. `given`: bounds that no input tells; `heavy`: tested with fewer sizes."""

    name: str
    bounds: Callable[[int], Bounds]
    given: tuple[str, ...] = ()
    inputs: Callable[[Bounds, np.random.Generator], Arrays] = nothing
    params: Callable[[Bounds, np.random.Generator], Arrays] = nothing
    largest: int = 40
    heavy: bool = False

    @property
    def source(self) -> Path:
        return HERE / f"{self.name}.rt"

    def data(self, size: int) -> tuple[Bounds, Arrays, Arrays]:
        """Bounds, inputs and parameters; the same for the same size, everywhere."""
        bounds = self.bounds(size)
        random = np.random.default_rng(size)
        return bounds, self.inputs(bounds, random), self.params(bounds, random)


def normal(random: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * random.standard_normal(shape)).astype(np.float32)


def integers(random: np.random.Generator, high: int, *shape: int) -> np.ndarray:
    return random.integers(0, high, shape).astype(np.int32)


def log_probabilities(random: np.random.Generator, *shape: int) -> np.ndarray:
    logits = normal(random, *shape)
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def rnn(bounds: Bounds, random: np.random.Generator) -> Arrays:
    return {
        "input.weight": normal(random, 16, 8, scale=0.3),
        "state.weight": normal(random, 16, 16, scale=0.2),
        "bias": normal(random, 16),
    }


def lstm(bounds: Bounds, random: np.random.Generator) -> Arrays:
    shapes = {"w": (6,), "u": (5,), "b": (), "c": ()}
    return {
        f"{name}.{leaf}": normal(random, gates * 5, *shapes[leaf], scale=0.4)
        for name, gates, leaves in (("forth", 4, "wub"), ("retour", 3, "wubc"))
        for leaf in leaves
    }


def viterbi(bounds: Bounds, random: np.random.Generator) -> Arrays:
    return {
        "start": log_probabilities(random, 3),
        "move": log_probabilities(random, 3, 3),
        "emit": np.ascontiguousarray(log_probabilities(random, 3, 4).T),
    }


def seen(bounds: Bounds, random: np.random.Generator) -> Arrays:
    way = normal(random, bounds["T"], 2).cumsum(0)
    return {"seen": way + normal(random, *way.shape), "valid": random.random(len(way)) < 0.8}


def labelled(bounds: Bounds, random: np.random.Generator) -> Arrays:
    x = normal(random, bounds["N"], 5) * np.array([1, 2, 4, 0.3, 0.1], np.float32)
    odds = x @ np.array([1, -1, 0.5, 2, 3], np.float32)
    return {"x": x, "label": odds + normal(random, bounds["N"]) > 0}


def curve(bounds: Bounds, random: np.random.Generator) -> Arrays:
    x, new_x = (random.uniform(-2, 2, bounds[n]).astype(np.float32) for n in "NM")
    return {"x": x, "y": np.sin(2 * x), "new_x": new_x, "new_y": np.sin(2 * new_x)}


def small_net(bounds: Bounds, random: np.random.Generator) -> Arrays:
    return {
        "start.0.w": normal(random, 10, 1),
        "start.0.b": normal(random, 10),
        "start.1.w": normal(random, 1, 10, scale=0.3),
        "start.1.b": normal(random, 1, scale=0.3),
    }


def s5(bounds: Bounds, random: np.random.Generator) -> Arrays:
    shapes = {"b": (4, 6), "c": (6, 4)}
    parts = {
        f"layer.{name}.{part}": normal(random, *shape, scale=0.4)
        for name, shape in shapes.items()
        for part in ("re", "im")
    }
    return parts | {
        "layer.log_decay": np.full(4, np.log(0.5), np.float32),
        "layer.log_step": random.uniform(-3, -1, 4).astype(np.float32),
        "layer.frequency": np.pi * np.arange(1, 5, dtype=np.float32),
        "layer.d": normal(random, 6),
        "norm.scale": 1 + normal(random, 6, scale=0.1),
        "norm.bias": normal(random, 6, scale=0.1),
    }


def only_t(size: int) -> Bounds:
    return {"T": size}


EXAMPLES = (
    Example(name="01_fibonacci", bounds=lambda n: {"N": n}, given=("N",)),
    Example(
        name="02_moving_average",
        bounds=only_t,
        inputs=lambda b, r: {"x": normal(r, b["T"])},
    ),
    Example(
        name="03_heat_equation",
        bounds=lambda n: {"T": n, "N": n + 2 if n % 2 else n},
        given=("T",),
        inputs=lambda b, r: {"start": normal(r, b["N"])},
    ),
    Example(
        name="04_discounted_returns",
        bounds=only_t,
        inputs=lambda b, r: {"reward": normal(r, b["T"]), "value": normal(r, b["T"])},
    ),
    Example(
        name="05_rnn", bounds=only_t, inputs=lambda b, r: {"x": normal(r, b["T"], 8)}, params=rnn
    ),
    Example(
        name="06_lstm", bounds=only_t, inputs=lambda b, r: {"x": normal(r, b["T"], 6)}, params=lstm
    ),
    Example(
        name="07_causal_attention",
        bounds=only_t,
        inputs=lambda b, r: {"x": normal(r, b["T"], 8)},
        params=lambda b, r: {f"W{name}": normal(r, 8, 8, scale=0.4) for name in "qkv"},
    ),
    Example(
        name="08_windowed_attention",
        bounds=lambda n: {"B": 1 + n % 3, "T": n},
        inputs=lambda b, r: {name: normal(r, b["B"], b["T"], 8) for name in "qkv"},
    ),
    Example(
        name="09_edit_distance",
        bounds=lambda n: {"M": n, "N": (n * 2 + 2) // 3},
        inputs=lambda b, r: {"left": integers(r, 4, b["M"]), "right": integers(r, 4, b["N"])},
    ),
    Example(
        name="10_viterbi",
        bounds=only_t,
        inputs=lambda b, r: {"seen": integers(r, 4, b["T"])},
        params=viterbi,
    ),
    Example(
        name="11_collatz",
        bounds=lambda n: {"T": n},
        given=("T",),
        inputs=lambda b, r: {"start": np.array(6 + b["T"] % 7, np.int32)},
    ),
    Example(
        name="12_kalman",
        bounds=only_t,
        inputs=seen,
        params=lambda b, r: {
            "log_force": np.array(-1, np.float32),
            "log_error": np.array(0.3, np.float32),
        },
        heavy=True,
    ),
    Example(
        name="13_lbfgs",
        bounds=lambda n: {"I": n, "N": 20 + n},
        given=("I",),
        inputs=labelled,
        largest=13,
        heavy=True,
    ),
    Example(
        name="14_learned_rates",
        bounds=lambda n: {"I": (n + 2) // 3, "K": n, "N": 9 + n, "M": 12 + n},
        given=("I", "K"),
        inputs=curve,
        params=small_net,
        largest=20,
        heavy=True,
    ),
    Example(
        name="15_s5",
        bounds=only_t,
        inputs=lambda b, r: {"u": normal(r, b["T"], 6), "target": normal(r, b["T"], 6)},
        params=s5,
        heavy=True,
    ),
    Example(
        name="16_large_vocabulary",
        bounds=only_t,
        inputs=lambda b, r: {"place": normal(r, b["T"], 8), "word": integers(r, 2048, b["T"])},
        params=lambda b, r: {"mix": normal(r, 8, 8), "head": normal(r, 8, 2048)},
        heavy=True,
    ),
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for example in EXAMPLES:
        bounds, inputs, params = example.data(12)
        if inputs:
            np.savez(folder / f"{example.name}.npz", **inputs)
        if params:
            save_file(params, folder / f"{example.name}.safetensors")
        given = " ".join(f"{name}={bounds[name]}" for name in example.given)
        print(f"{example.name}: {given}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "data")
