"""REINFORCE with returns of n steps, up to whole episodes: the schedule, time and memory."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import BUILD, ROOT, Ready, ready
from tests.bench.measure import in_turns
from tests.bench.papers.figures import NOTHING, Experiment, Sample
from tests.bench.papers.games import MANY, peak_bytes
from tests.bench.rl import reinforce_jax
from tests.bench.rl.carts import FOLDER, environment, weights
from tests.bench.rl.reinforce import SOURCE

SCALE = {
    "tiny": (16, 12, (2,), 1, 0.5),
    "small": (512, 250, (1, 5, 25), 3, 0.2),
    "full": (2048, 1000, (1, 5, 25, 125), 5, 0.2),
}
"""Carts, steps, returns, rounds, how far scores may be apart."""
WRITTEN = "min(t+5, T)"
WAYS = {"JAX, whole episodes": reinforce_jax.whole, "JAX, interleaved": reinforce_jax.interleaved}
UNWRITTEN = "nobody interleaves more than a few steps by hand"
LEARNS = re.compile(r"\bloss\.d\.net\S*\[\S+, t\b")
"""A statement of a schedule that learns at a step, not at a tile of all steps."""


def returns(scale: str) -> Iterator[Sample]:
    """Time, memory and schedule with returns of some steps, and with those of whole episodes."""
    carts, steps, counts, rounds, tolerance = SCALE[scale]
    for count in (*counts, steps):
        source = written(count if count < steps else None)
        ours = program(source, carts, steps)
        others = {
            system: pure(how, count, carts, steps)
            for system, how in WAYS.items()
            if how is reinforce_jax.whole or count <= reinforce_jax.STEPS_AHEAD
        }
        lengths = [ours(I=MANY).outputs["score"].mean()]
        lengths += [other(MANY)[1].mean() for other in others.values()]
        np.testing.assert_allclose(lengths, lengths[0], rtol=tolerance)
        runs = [partial(ours, I=MANY), *(partial(other, MANY) for other in others.values())]
        each = [median(taken) / MANY for taken in in_turns(runs, rounds)]
        note = schedule(source)
        for system, seconds in zip(("tempoc", *others), each, strict=True):
            mine = note if system == "tempoc" else ""
            yield Sample(panel="an iteration", system=system, x=count, y=seconds, note=mine)
        yield Sample(panel="memory", system="tempoc", x=count, y=peak_bytes(ours), unit="MB")
        for system, other in others.items():
            size = in_all(other)
            yield Sample(panel="memory", system=system, x=count, y=size, unit="MB")
        for system in [system for system in WAYS if system not in others]:
            for panel, unit in (("an iteration", "s"), ("memory", "MB")):
                yield Sample(
                    panel=panel, system=system, x=count, y=NOTHING, unit=unit, note=UNWRITTEN
                )


def written(count: int | None) -> Path:
    """`reinforce.rt` with returns of so many steps, or of all to come."""
    text = SOURCE.read_text()
    assert WRITTEN in text
    path = BUILD / f"reinforce_{count or 'all'}.rt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(WRITTEN, f"min(t+{count}, T)" if count else "T"))
    return path


def program(source: Path, carts: int, steps: int) -> Ready:
    """Our program, compiled."""
    params = {f"start.{name}": x for name, x in weights(reinforce_jax.shapes()).items()}
    bounds = {"B": carts, "T": steps}
    environment("cartpole")  # its folder is on the path then
    return ready(source, bounds=bounds, params=params, extern_path=[FOLDER])


def pure(how: object, count: int, carts: int, steps: int) -> partial[tuple[np.ndarray, ...]]:
    """One of the programs in JAX: losses and scores of some iterations."""
    w = {name: jnp.array(x) for name, x in weights(reinforce_jax.shapes()).items()}
    way = partial(how, ahead=count)  # type: ignore[arg-type]
    return partial(on_host, w, way, environment("cartpole"), carts, steps)


def on_host(
    w: object, way: object, env: object, carts: int, steps: int, iterations: int
) -> tuple[np.ndarray, ...]:
    key = jax.random.key(0)
    found = reinforce_jax.train(w, key, way, env, iterations, carts, steps)
    return tuple(np.asarray(x) for x in found)


def in_all(run: partial[tuple[np.ndarray, ...]]) -> int:
    """Bytes of arguments, results and temporaries of a run."""
    w, way, env, carts, steps = run.args
    lowered = reinforce_jax.train.lower(w, jax.random.key(0), way, env, MANY, carts, steps)
    found = lowered.compile().memory_analysis()
    parts = found.argument_size_in_bytes, found.output_size_in_bytes, found.temp_size_in_bytes
    return sum(parts)


def schedule(source: Path) -> str:
    """When our program learns, as its schedule says."""
    command = [sys.executable, "-m", "tempoc", "explain", str(source), "--dump-schedule"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return "learns while it plays" if LEARNS.search(text) else "learns after the episode"


RETURNS = Experiment(
    claim="Tempo (SOSP '25), fig. 23: with returns of n steps the learner is scheduled into the "
    "acting loop and little memory is needed; Monte Carlo returns have to swap",
    x="n (the last: all steps)",
    measure=returns,
)
