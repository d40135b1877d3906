"""Gradients with values made again instead of kept: peak memory, and what it costs in time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from tests.bench.compiled import BUILD, Arrays, compile_program, ready
from tests.bench.measure import Row, in_turns, peak
from tests.bench.training import training_jax
from tests.bench.training.recompute_jax import slopes

SOURCE = "tests/bench/training/recompute.rt"
STEPS, SHORT = 2048, 1024
WAYS = ("kept", "cheap", "all")


def recompute() -> Iterator[Row]:
    """Megabytes of processes and seconds, 4 layers of width 128, texts of 2048 and 1024."""
    random = np.random.default_rng(0)
    net = {
        name: (random.standard_normal(shape) / 16 + name.endswith("scale")).astype(np.float32)
        for name, shape in training_jax.shapes().items()
    }
    letters = random.integers(0, training_jax.V, (1, STEPS + 1)).astype(np.int32)
    texts = {"letter": letters[:, :-1], "next": letters[:, 1:]}
    yield from memory(net, texts)
    yield from time(net, {name: x[:, :SHORT] for name, x in texts.items()})


def options(way: str) -> tuple[str, ...]:
    """Of the compilation."""
    return () if way == "kept" else ("--recompute", way)


def memory(net: Arrays, texts: Arrays) -> Iterator[Row]:
    """The most memory of processes that find all gradients once."""
    given, weights = BUILD / "recompute.npz", BUILD / "recompute.safetensors"
    BUILD.mkdir(parents=True, exist_ok=True)
    np.savez(given, **texts)
    save_file({f"net.{name}": x for name, x in net.items()}, weights)
    theirs, found = {}, {}
    for how in ("plain", "checkpoint"):
        made = BUILD / f"recompute.{how}.npz"
        peer = "tests.bench.training.recompute_jax"
        command = [sys.executable, "-m", peer, str(given), str(weights)]
        theirs[how] = peak([*command, str(made), how])
        found[how] = dict(np.load(made))
    for way in WAYS:
        out, made = compile_program(SOURCE, f"recompute.{way}", *options(way)), BUILD / "made.npz"
        data = ["--input", str(given), "--params", str(weights), "--output", str(made)]
        ours = peak([sys.executable, str(out), *data])
        for name, value in np.load(made).items():
            np.testing.assert_allclose(value, found["plain"][name], rtol=1e-2, atol=1e-4)
        for how, size in theirs.items():
            yield Row(name=f"{STEPS} letters, {way}, to {how}", ours=ours, theirs=size, unit="MB")


def time(net: Arrays, texts: Arrays) -> Iterator[Row]:
    """Seconds for all gradients, warm."""
    params = {f"net.{name}": x for name, x in net.items()}
    mine = [ready(SOURCE, *options(way), inputs=texts, params=params) for way in WAYS]
    arrays = [{name: jnp.array(x) for name, x in net.items()}, *map(jnp.array, texts.values())]
    jitted = [slopes(how) for how in ("plain", "checkpoint")]
    actions = [*mine, *(lambda f=f: jax.block_until_ready(f(*arrays)) for f in jitted)]
    *ours, plain, again = map(median, in_turns(actions, rounds=3))
    for way, taken in zip(WAYS, ours, strict=True):
        yield Row(name=f"{SHORT} letters, {way}, to plain", ours=taken, theirs=plain)
    yield Row(name=f"{SHORT} letters, {WAYS[-1]}, to checkpoint", ours=ours[-1], theirs=again)
