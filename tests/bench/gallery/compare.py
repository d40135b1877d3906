"""Programs of many kinds beside the jitted JAX that an experienced person would write instead.

    python -m tests.bench.gallery [--list] [NAME ...]

Each is a pair of files, `NAME.rt` and `NAME.py` with its data and its twin. A pair is first checked
to compute the same; then both run in turns, warm, as programs that are called often: ours prepared
with `ready`, the twin under `jax.jit`. `tests/bench/gallery/test_gallery.py` checks them at small
sizes, without timing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays, compile_program
from tests.bench.measure import Row, clock, in_turns

FOLDER = Path(__file__).parent
Sizes = Mapping[str, int]
Tensors = Mapping[str, jax.Array]
BOUND = 1.5
"""What is slower than its twin by more than this is a cliff, to be mended or explained."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A program and its twin in JAX.

    `data` makes the inputs and the parameters for sizes; `twin` makes the function for sizes, which
    takes all data by name and returns all outputs by name. `sizes` are those that are timed,
    `small` those of the test. `make test` runs pairs that are ``in_tests``, a few of each kind, and
    `make test-long` all. Sizes in `constants` are given with `-D`, the others as bounds.
    """

    data: Callable[[Sizes], tuple[Arrays, Arrays]]
    twin: Callable[[Sizes], Callable[[Tensors], Tensors]]
    sizes: Sizes
    small: Sizes
    in_tests: bool = False
    constants: Sequence[str] = ()
    tolerance: float = 2e-3
    rounds: int = 9
    options: Sequence[str] = field(default=())

    def bounds(self, sizes: Sizes) -> dict[str, int]:
        return {name: size for name, size in sizes.items() if name not in self.constants}

    def defines(self, sizes: Sizes) -> list[str]:
        return [word for name in self.constants for word in ("-D", f"{name}={sizes[name]}")]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Both sides of a pair, ready to be called: each call returns its outputs on the host."""

    ours: Callable[[], Arrays]
    theirs: Callable[[], Arrays]


def names() -> list[str]:
    """All pairs, as FOLDER/NAME."""
    return [
        path.relative_to(FOLDER).with_suffix("").as_posix()
        for path in sorted(FOLDER.glob("*/*.rt"))
    ]


def pair(name: str) -> Pair:
    """The pair of FOLDER/NAME; raises ModuleNotFoundError where there is none."""
    found = importlib.import_module(f"tests.bench.gallery.{name.replace('/', '.')}").PAIR
    assert isinstance(found, Pair)
    return found


def prepared(name: str, sizes: Sizes, compiled: Callable[..., Path] = compile_program) -> Prepared:
    """Compile a pair for sizes, by default in a process; nothing has run yet."""
    from tempoc.runtime.ready import ready

    about = pair(name)
    inputs, params = about.data(sizes)
    words = [*about.defines(sizes), *about.options]
    source = (FOLDER / name).with_suffix(".rt")
    out = compiled(source, f"gallery.{name.replace('/', '.')}", *words)
    often = ready(out, about.bounds(sizes), params)
    device = {key: jnp.asarray(value) for key, value in {**inputs, **params}.items()}
    twin = jax.jit(about.twin(sizes))

    def theirs() -> Arrays:
        return {key: np.asarray(value) for key, value in twin(device).items()}

    def ours() -> Arrays:
        return {key: np.asarray(value) for key, value in often(inputs).items()}

    return Prepared(ours=ours, theirs=theirs)


def check(name: str, both: Prepared) -> None:
    """Raise AssertionError unless both sides compute the same."""
    tolerance = pair(name).tolerance
    ours, theirs = both.ours(), both.theirs()
    assert sorted(ours) == sorted(theirs), f"{name}: {sorted(ours)} and {sorted(theirs)}"
    for key, wanted in theirs.items():
        np.testing.assert_allclose(
            ours[key], wanted, rtol=tolerance, atol=tolerance / 10, err_msg=f"{name}: {key}"
        )


def compared(chosen: Sequence[str] = ()) -> Iterator[Row]:
    """Seconds of the first call, compilation by XLA included, and of a warm one, for each pair."""
    # What JAX keeps on disk of earlier runs is the twin alone, once tempoc has changed.
    jax.config.update("jax_enable_compilation_cache", False)
    for name in chosen or names():
        about = pair(name)
        both = prepared(name, about.sizes)
        first = [clock(both.ours), clock(both.theirs)]
        check(name, both)
        ours, theirs = in_turns([both.ours, both.theirs], about.rounds, warm=True)
        yield Row(name=name, ours=median(ours), theirs=median(theirs))
        yield Row(name=f"{name}, first call", ours=first[0], theirs=first[1])
