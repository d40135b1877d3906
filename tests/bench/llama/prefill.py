"""A prompt of SmolLM2-135M in one batched pass, against the same network on whole arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from safetensors.numpy import load_file

from tests.bench.compiled import Ready, ready
from tests.bench.llama import llama_jax
from tests.bench.llama.decoding import WEIGHTS
from tests.bench.measure import Row, per_step

SOURCE = "examples/llama/model.rt"
FEW, MANY, STEPS = 32, 512, 64


def prefill() -> Iterator[Row]:
    """Seconds for a token of a prompt; the second row is the prompt token by token, at -O1."""
    if not WEIGHTS.is_file():
        print(f"no weights in {WEIGHTS.parent}: `make bench` fetches them", file=sys.stderr)
        return
    tree, params = llama_jax.load(WEIGHTS), load_file(WEIGHTS)
    words = np.random.default_rng(0).integers(100, 40000, (1, MANY), np.int32)
    ours, slow = (ready(SOURCE, level, params=params) for level in ("-O2", "-O1"))

    def following(program: Ready, size: int) -> np.ndarray:
        """The token that follows a prompt of some length."""
        inputs = {"prompt": words[:, :size], "length": np.array([size], np.int32)}
        found = replace(program, inputs=inputs)(S=size, T=size + 1)
        return found.outputs["tok"][:, -1]

    def at_once(size: int) -> np.ndarray:
        return following(ours, size)

    def by_hand(size: int) -> np.ndarray:
        return llama_jax.prefill(tree, words[:, :size])

    assert np.array_equal(at_once(MANY), by_hand(MANY)), "the two programs disagree"
    mine, other = per_step(at_once, by_hand, few=FEW, many=MANY, rounds=3)
    yield Row(name=f"llama prompt of {MANY}, per token", ours=mine, theirs=other)
    mine, other = per_step(at_once, lambda n: following(slow, n), few=FEW, many=STEPS, rounds=3)
    yield Row(name=f"llama prompt of {STEPS}, against -O1", ours=mine, theirs=other)
