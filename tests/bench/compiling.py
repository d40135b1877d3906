"""How long `tempoc compile` takes, start of Python included, without XLA."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from tests.bench.compiled import ROOT, compile_program
from tests.bench.measure import Row, in_turns

# What others import, and tables of data, are no programs.
PARTS = ("characters/transformer.rt",)


def programs() -> dict[str, Path]:
    """All programs of `examples/`, by their path there."""
    folder = ROOT / "examples"
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.rt"))}
    return {name: path for name, path in found.items() if name not in PARTS}


def compiling() -> Iterator[Row]:
    """A row for each example."""
    for name, path in programs().items():
        out = f"compiling/{name.removesuffix('.rt').replace('/', '.')}"
        (times,) = in_turns([partial(compile_program, path, out)], rounds=3)
        yield Row(name=f"compile {name.removesuffix('.rt')}", ours=median(times))
