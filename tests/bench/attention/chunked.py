"""Peak memory of a loss over a large vocabulary, tile by tile, in processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from safetensors.numpy import save_file

from tempoc.driver.pipelines import O2
from tempoc.pipeline.spec import show_pipeline
from tests.bench.compiled import BUILD, Arrays, compile_program
from tests.bench.measure import Row, peak

SOURCE = "tests/bench/attention/chunked.rt"
TILE, FEW, MANY = 1024, 2, 32


def chunked() -> Iterator[Row]:
    """Megabytes at 2 and at 32 tiles of 1024 places with 4096 words."""
    tiled = compile_program(SOURCE, "chunked", "--tile", str(TILE))
    without = show_pipeline([step for step in O2 if step.name != "tile"])
    whole = compile_program(SOURCE, "chunked.whole", "--passes", without)
    peaks: dict[tuple[str, int], float] = {}
    for tiles in (FEW, MANY):
        data = drawn(tiles * TILE)
        given, weights = BUILD / "chunked.npz", BUILD / "chunked.safetensors"
        np.savez(given, **data)
        save_file({"head": data["head"]}, weights)
        np.savez(BUILD / "chunked_inputs.npz", place=data["place"], word=data["word"])
        found: dict[str, Arrays] = {}
        for name, out in (("tiled", tiled), ("whole", whole)):
            made = BUILD / f"chunked.{name}.npz"
            options = ["--input", str(BUILD / "chunked_inputs.npz"), "--params", str(weights)]
            command = [sys.executable, str(out), *options, "--output", str(made)]
            peaks[name, tiles] = peak(command)
            found[name] = dict(np.load(made))
        made = BUILD / "chunked.jax.npz"
        command = [sys.executable, "-m", "tests.bench.attention.chunked_jax", str(given), str(made)]
        peaks["jax", tiles] = peak([*command, str(TILE)])
        for results in found.values():
            for name, wanted in np.load(made).items():
                np.testing.assert_allclose(results[name], wanted, rtol=2e-3, atol=2e-4)
    for tiles in (FEW, MANY):
        other = peaks["jax", tiles]
        yield Row(name=f"{tiles} tiles", ours=peaks["tiled", tiles], theirs=other, unit="MB")
        yield Row(name=f"{tiles}, uncut", ours=peaks["whole", tiles], theirs=other, unit="MB")
    few, many = (peaks["tiled", tiles] for tiles in (FEW, MANY))
    yield Row(name=f"{MANY} tiles, to {FEW} tiles", ours=many, theirs=few, unit="MB")


def drawn(count: int) -> Arrays:
    """Places, words and weights."""
    random = np.random.default_rng(0)
    return {
        "place": random.standard_normal((count, 64)).astype(np.float32),
        "word": random.integers(0, 4096, count).astype(np.int32),
        "head": (random.standard_normal((64, 4096)) / 8).astype(np.float32),
    }
