"""Compiled programs: in a process of their own, as a user runs them, or in this one, warm."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import jax
import numpy as np

from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.ready import Ready as Often, ready as often
from tempoc.runtime.run import RunResult, Settings, run_given

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
Arrays = dict[str, np.ndarray]


def compile_program(source: str | Path, name: str, *options: str) -> Path:
    """Compile a program of the checkout into `build/bench/NAME`."""
    out = BUILD / name
    out.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tempoc", "compile", str(source), "-o", str(out), *options]
    subprocess.run(command, check=True, cwd=ROOT)
    return out


def all_bits() -> None:
    """Let JAX compute products of float32 with all their bits, as our programs do."""
    jax.config.update("jax_default_matmul_precision", "highest")


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A compiled program in this process, with all that it is given.

    Its kernels are traced and compiled by the first run; the later ones are warm. What it prints
    and saves goes nowhere.
    """

    out: Path
    loaded: LoadedProgram
    bounds: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    params: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __call__(self, **bounds: int) -> RunResult:
        """Run, with some bounds instead of its own."""
        given = Given(
            bounds={**self.bounds, **bounds},
            inputs=as_sources(self.inputs),
            params=as_sources(self.params),
        )
        return run_given(self.loaded, given, Settings(show=lambda shown, values: None))

    @cached_property
    def often(self) -> Often:
        """As a user calls it again and again, with other inputs each time."""
        return often(self.out, self.bounds, self.params)


def ready(
    source: str | Path,
    *options: str,
    bounds: Mapping[str, int] | None = None,
    inputs: Mapping[str, np.ndarray] | None = None,
    params: Mapping[str, np.ndarray] | None = None,
    extern_path: Sequence[Path] = (),
) -> Ready:
    """A program of the checkout, compiled with some options."""
    out = compiled_once(str(source), options)
    return Ready(
        out=out,
        loaded=load(out, extern_path),
        bounds=bounds or {},
        inputs=inputs or {},
        params=params or {},
    )


@cache
def compiled_once(source: str, options: Sequence[str]) -> Path:
    """A program of the checkout, compiled; programs do not change while benchmarks run."""
    about = hashlib.sha256(repr((source, options)).encode()).hexdigest()[:8]
    return compile_program(source, f"{Path(source).stem}.{about}", *options)


def agree(ours: Callable[[], Mapping[str, np.ndarray]], theirs: Mapping[str, np.ndarray]) -> None:
    """Raise if two programs that are compared do not compute the same."""
    found = ours()
    for name, wanted in theirs.items():
        np.testing.assert_allclose(found[name], wanted, rtol=2e-3, atol=2e-4, err_msg=name)
