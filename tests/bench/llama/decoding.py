"""SmolLM2-135M, token by token, against a jitted step with padded caches (`llama_jax.py`), and
against `transformers` where that is installed (`llama_torch.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from tests.bench.compiled import ROOT, Arrays, Ready, ready
from tests.bench.llama import llama_jax
from tests.bench.measure import Row, per_step
from tests.bench.peers import peer

WEIGHTS = ROOT / "build" / "llama" / "model.safetensors"
PROMPT = [504, 3575, 282, 4649, 314]  # "The capital of France is"


def decoding() -> Iterator[Row]:
    """Seconds for one token of SmolLM2-135M, alone and four texts at once."""
    if not WEIGHTS.is_file():
        print(f"no weights in {WEIGHTS.parent}: `make bench` fetches them", file=sys.stderr)
        return
    program = ready("examples/llama/model.rt", params=load_file(WEIGHTS))
    weights = llama_jax.load(WEIGHTS)
    for batch in (1, 4):
        prompts = [PROMPT] * batch
        inputs = {
            "prompt": np.array(prompts, np.int32),
            "length": np.full(batch, len(PROMPT), np.int32),
        }

        def ours(steps: int, inputs: Arrays = inputs) -> np.ndarray:
            return tokens(program, inputs, steps)

        def theirs(steps: int, prompts: list[list[int]] = prompts) -> np.ndarray:
            return llama_jax.decode(weights, prompts, steps)

        assert np.array_equal(ours(24), theirs(24)), "the two programs disagree"
        mine, other = per_step(ours, theirs, few=16, many=272, rounds=3)
        yield Row(name=f"llama decode, {batch} text(s), per token", ours=mine, theirs=other)
    if (peer_of_torch := peer("llama.llama_torch", "torch", "transformers")) is not None:
        yield from _with_torch(program, peer_of_torch)


def tokens(program: Ready, inputs: Arrays, steps: int) -> np.ndarray:
    """What is decoded after prompts: `i32[B, T]`."""
    return replace(program, inputs=inputs)(T=steps, S=len(PROMPT)).outputs["tok"]


def _with_torch(program: Ready, llama_torch: Any) -> Iterator[Row]:
    """Seconds for one of 256 tokens, to Hugging Face's loop and to what users call."""
    model = llama_torch.load(WEIGHTS)
    inputs = {"prompt": np.array([PROMPT], np.int32), "length": np.array([len(PROMPT)], np.int32)}

    def ours(steps: int) -> np.ndarray:
        return tokens(program, inputs, steps)

    for name in ("decode", "generate"):

        def theirs(steps: int, name: str = name) -> np.ndarray:
            return getattr(llama_torch, name)(model, [PROMPT], steps)

        assert np.array_equal(ours(24), theirs(24)), "the two programs disagree"
        mine, other = per_step(ours, theirs, few=16, many=272, rounds=3)
        yield Row(name=f"llama decode, to torch, `{name}`, per token", ours=mine, theirs=other)
