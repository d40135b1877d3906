"""The comparisons themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from tests.bench import llama_jax
from tests.bench.measure import BUILD, ROOT, Row, compile_program, in_turns, per_step, run_program

WEIGHTS = ROOT / "build" / "llama" / "model.safetensors"
PROMPT = [504, 3575, 282, 4649, 314]  # "The capital of France is"


def compiling() -> Iterator[Row]:
    """Seconds of `tempoc compile`, start of Python included."""
    llama = "examples/llama/model.rt"
    actions = {
        f"compile llama, {layers} layers": partial(
            compile_program, llama, "layers", "-D", f"L={layers}"
        )
        for layers in (2, 30)
    }
    actions["compile rnn"] = partial(compile_program, "examples/05_rnn.rt", "rnn")
    for name, times in zip(actions, in_turns(list(actions.values()), rounds=5), strict=True):
        yield Row(name=name, ours=median(times))


def llama() -> Iterator[Row]:
    """Seconds for one token of SmolLM2-135M, alone and four texts at once."""
    if not WEIGHTS.is_file():
        print(f"no weights in {WEIGHTS.parent}: `make bench` fetches them", file=sys.stderr)
        return
    out = compile_program("examples/llama/model.rt", "llama")
    weights = llama_jax.load(WEIGHTS)
    for batch in (1, 4):
        prompts = [PROMPT] * batch
        inputs = {
            "prompt": np.array(prompts, np.int32),
            "length": np.full(batch, len(PROMPT), np.int32),
        }

        def ours(steps: int, inputs: dict[str, np.ndarray] = inputs) -> np.ndarray:
            return run_program(out, inputs, WEIGHTS, T=steps)["tok"]

        def theirs(steps: int, prompts: list[list[int]] = prompts) -> np.ndarray:
            return llama_jax.decode(weights, prompts, steps)

        assert np.array_equal(ours(24), theirs(24)), "the two programs disagree"
        mine, other = per_step(ours, theirs, few=16, many=80, rounds=3)
        yield Row(name=f"llama decode, {batch} text(s), per token", ours=mine, theirs=other)


def rnn() -> Iterator[Row]:
    """Seconds for a step of a tanh network, 2048 steps, width 256."""
    width, few, many = 256, 256, 256 + 2048
    random = np.random.default_rng(0)
    weights = {
        name: (random.standard_normal(shape) / 16).astype(np.float32)
        for name, shape in (
            ("input.weight", (width, width)),
            ("state.weight", (width, width)),
            ("bias", (width,)),
        )
    }
    out = compile_program("examples/05_rnn.rt", "rnn", "-D", f"D={width}", "-D", f"H={width}")
    file = BUILD / "rnn.safetensors"
    save_file(weights, file)
    xs = random.standard_normal((many, width)).astype(np.float32)
    device = {name: jnp.array(value) for name, value in weights.items()}

    @jax.jit
    def scan(w: dict[str, jax.Array], xs: jax.Array) -> jax.Array:
        def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            h = jnp.tanh(w["input.weight"] @ x + w["state.weight"] @ h + w["bias"])
            return h, h

        return jax.lax.scan(step, jnp.zeros(width), xs)[1]

    def ours(steps: int) -> np.ndarray:
        return run_program(out, {"x": xs[:steps]}, Path(file))["h"]

    def theirs(steps: int) -> np.ndarray:
        return np.asarray(scan(device, jnp.array(xs[:steps])))

    np.testing.assert_allclose(ours(few), theirs(few), rtol=1e-3, atol=1e-4)
    mine, other = per_step(ours, theirs, few=few, many=many, rounds=5)
    yield Row(name="tanh rnn 256, 2048 steps, per step", ours=mine, theirs=other)
