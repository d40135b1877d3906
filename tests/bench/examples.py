"""All examples: `-O2` against `-O1`, and against `-O0` where that does not take minutes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tempoc.symbolic.walk import evaluate
from tests.bench.compiled import ROOT, Arrays, Ready, ready
from tests.bench.measure import Row, side_by_side
from tests.support.examples import EXAMPLES, load

FOLDER = ROOT / "examples"
SIZES = {
    "01_fibonacci": 4000,
    "02_moving_average": 4000,
    "03_heat_equation": 300,
    "04_discounted_returns": 1000,
    "05_rnn": 2000,
    "06_lstm": 1000,
    "07_causal_attention": 256,
    "08_windowed_attention": 400,
    "09_edit_distance": 100,
    "10_viterbi": 2000,
    "11_collatz": 1000,
    "12_kalman": 300,
    "13_lbfgs": 30,
    "14_learned_rates": 40,
    "15_s5": 200,
    "16_large_vocabulary": 64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A program with what it is given; ``literal``: also compared with `-O0`."""

    source: Path
    bounds: Mapping[str, int]
    inputs: Arrays = field(default_factory=dict)
    params: Arrays | None = None
    literal: bool = False

    @property
    def name(self) -> str:
        """Its path, and its bounds."""
        sizes = ",".join(f"{k}={v}" for k, v in self.bounds.items())
        return f"{self.source.relative_to(FOLDER).with_suffix('')} {sizes}"

    def at(self, level: int) -> Ready:
        """The program, compiled."""
        found = ready(self.source, f"-O{level}", bounds=self.bounds, inputs=self.inputs)
        params = drawn(found) if self.params is None else self.params
        return replace(found, params=params)


def cases() -> Iterator[Case]:
    """Every program of `examples/` that needs no download."""
    for example in EXAMPLES:
        bounds, inputs, params = example.data(SIZES[example.name])
        given = {name: bounds[name] for name in example.given}
        yield Case(
            source=example.source,
            bounds=given,
            inputs=inputs,
            params=params,
            literal=not example.heavy,
        )
    letters = load(FOLDER / "characters" / "letters.py")
    text = {"text": letters.encode(letters.SONNETS.read_text(encoding="utf-8"))}
    prompt = {"prompt": letters.encode("Shall I")}
    for name, bounds, inputs in (
        ("characters/gru", {"I": 20, "T": 32}, text),
        ("characters/learn", {"I": 10, "T": 48}, text),
        ("characters/recite", {"T": 200}, prompt),
        ("characters/write", {"B": 3, "T": 200}, prompt),
        ("diffusion/moons", {"I": 100, "S": 50}, {}),
        ("rl/reinforce", {"I": 5, "T": 200, "B": 16}, {}),
        ("rl/gym", {"I": 2, "T": 50, "B": 4}, {}),
        ("rl/a2c", {"I": 50, "T": 16, "B": 64}, {}),
        ("rl/ppo", {"I": 5, "T": 128}, {}),
        ("rl/dqn", {"T": 1000}, {}),
        ("rl/breakout", {"I": 5, "T": 32}, {}),
    ):
        yield Case(source=FOLDER / f"{name}.rt", bounds=bounds, inputs=inputs)


def drawn(program: Ready) -> Arrays:
    """Weights that the program does not draw itself."""
    random = np.random.default_rng(0)
    found: Arrays = {}
    for param in program.loaded.program.params:
        if not param.has_default:
            shape = [evaluate(e, program.bounds) for e in param.shape]
            found[param.template] = (random.standard_normal(shape) / 16).astype(np.float32)
    return found


def examples() -> Iterator[Row]:
    """A run after the first one, at two levels of optimization."""
    for case in cases():
        fast, plain = case.at(2), case.at(1)
        yield side_by_side(f"{case.name}, to -O1", fast, plain)
        if case.literal:
            yield side_by_side(f"{case.name}, to -O0", fast, case.at(0), rounds=3)
