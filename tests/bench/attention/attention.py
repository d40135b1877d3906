"""Attention to all places before, some keys at a time: how long it takes, and its peak memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median

import jax
import numpy as np

from tests.bench.attention.attention_jax import loss, online, whole
from tests.bench.compiled import BUILD, Arrays, compile_program, ready
from tests.bench.measure import Row, in_turns, peak

PLAIN, LEARNED = "tests/bench/attention/attention.rt", "tests/bench/attention/attention_loss.rt"
COUNT, KEYS, FEW, MANY = 4096, 512, 1024, 4096


def attention() -> Iterator[Row]:
    """Seconds and megabytes for 4096 places, against all scores and against a scan over tiles."""
    data = drawn(COUNT)
    arrays = [jax.numpy.array(data[name]) for name in "qkv"]
    for name, source, forms in (
        ("attention", PLAIN, (whole, online(KEYS))),
        ("attention, gradients", LEARNED, (loss(whole), loss(online(KEYS)))),
    ):
        mine, uncut = (
            ready(source, *options, bounds={"T": COUNT}, inputs=data)
            for options in (("--tile", str(KEYS)), ())
        )
        jitted = [jax.jit(f) for f in forms]
        wanted, *others = (jax.tree.leaves(f(*arrays)) for f in jitted)
        for found in (*others, *([*p().outputs.values()] for p in (mine, uncut))):
            for value, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(value, other, rtol=2e-3, atol=2e-4)
        actions = [mine, uncut, *(lambda f=f: jax.block_until_ready(f(*arrays)) for f in jitted)]
        taken, before, at_once, scanned = map(median, in_turns(actions, rounds=5))
        yield Row(name=f"{name}, to all scores", ours=taken, theirs=at_once)
        yield Row(name=f"{name}, to a scan", ours=taken, theirs=scanned)
        yield Row(name=f"{name}, to no tiles", ours=taken, theirs=before)
    yield from memory()


def memory() -> Iterator[Row]:
    """The most memory of processes that find gradients, at two lengths."""
    tiled = compile_program(LEARNED, "attention.tiled", "--tile", str(KEYS))
    uncut = compile_program(LEARNED, "attention.uncut")
    given, made = BUILD / "attention.npz", BUILD / "attention.made.npz"
    for count in (FEW, MANY):
        np.savez(given, **drawn(count))
        options = ["--input", str(given), "--output", str(made)]
        mine, other = (peak([sys.executable, str(out), *options]) for out in (tiled, uncut))
        peer = "tests.bench.attention.attention_jax"
        command = [sys.executable, "-m", peer, str(given), str(made)]
        at_once, scanned = (peak([*command, str(tile)]) for tile in (0, KEYS))
        for name, theirs in (("all scores", at_once), ("a scan", scanned), ("no tiles", other)):
            yield Row(name=f"{count} places, to {name}", ours=mine, theirs=theirs, unit="MB")


def drawn(count: int) -> Arrays:
    """Queries, keys and values."""
    random = np.random.default_rng(0)
    return {name: random.standard_normal((count, 64)).astype(np.float32) for name in "qkv"}
