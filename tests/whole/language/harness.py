"""Programs with a NumPy oracle each, run three ways: evaluated, compiled plainly, and optimized."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tempoc.codegen.program.signature import signature
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.program.nodes.nodes import Program
from tempoc.runtime.data.bindings import Given, bind
from tempoc.runtime.data.dense import dense_inputs, dense_params
from tempoc.runtime.data.dtypes import NUMPY
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.symbolic.expr import Const
from tempoc.symbolic.walk import evaluate as value_at
from tests.support.session.kernels import lengths_in_share
from tests.support.session.long import chosen

Array = Any
Arrays = dict[str, Array]
Make = Callable[..., Array]
KINDS = {"V": "f", "u": "i"}
COARSE = {"bfloat16": 2e-2, "float16": 2e-3}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A program, what it must give, and the bounds to try.

    `oracle` gets bounds, inputs and params by name (dots become underscores) and returns the
    outputs by name, or the only one. `given` replaces generated data. `dtypes` are exact.
    """

    name: str
    text: str
    bounds: tuple[Mapping[str, int], ...]
    oracle: Callable[..., Any]
    defines: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, Make] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)


def case(
    cases: list[Case],
    text: str,
    *bounds: Mapping[str, int],
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes an oracle into a case of its name and adds it to `cases`."""

    def add(oracle: Callable[..., Any]) -> Callable[..., Any]:
        name = oracle.__name__
        cases.append(Case(name=name, text=text, bounds=bounds or ({},), oracle=oracle, **more))
        return oracle

    return add


def check(case: Case, folder: Path, turn: int) -> None:
    """Every way to run the case gives what the oracle says.

    That is at -O2, and in every 24th ``turn`` at -O0, where each operator is a kernel, which
    takes XLA long, else at -O1: of these `make test` runs one in 24, the long run all. -O2 has
    the largest bounds, in every eighth turn, and in the long run always, the first ones too.
    """
    plain = 1 if turn % 24 else 0
    levels = (plain, 2) if chosen["long"] or turn % 12 == 0 else (2,)
    file = folder / "model.rt"
    file.write_text(case.text)
    for level in levels:
        options = Options(level=level, defines=dict(case.defines))
        compilation = Compilation.from_path(str(file), options)
        compilation.write(str(folder / f"out{level}"))
    graph = compilation.graph
    program = signature(graph)
    smallest = chosen["long"] or turn % 8 == 0
    most = max(case.bounds, key=lambda bounds: sum(bounds.values()))
    for number, bounds in enumerate(case.bounds):
        given = data(case, program, bounds, number)
        wanted = expected(case, bounds, given)
        inputs = {i.name: given[i.name] for i in program.inputs}
        weights = {k: v for k, v in given.items() if k not in inputs}
        sources = as_sources(inputs), as_sources(weights)
        bindings = bind(program, Given(bounds=bounds, inputs=sources[0], params=sources[1]))
        parts = bindings.bounds, dense_inputs(bindings), dense_params(program, bindings)
        exact = dict(evaluate(graph, *parts, float64=True))
        same(exact, wanted, f"eval at {dict(bounds)}", 1e-6)
        # Kernels take long to compile; unfused ones are the same for all bounds.
        first = (2,) if number == 0 and smallest else ()
        tried = levels if bounds is most else first
        plain = dict(evaluate(graph, *parts)) if tried else {}
        for level in tried:
            with lengths_in_share(case.text):
                found = dict(run(folder / f"out{level}", bounds, inputs, weights).outputs)
            same(found, wanted, f"-O{level} at {dict(bounds)}", 2e-4)
            assert {k: v.dtype for k, v in found.items()} == {k: v.dtype for k, v in plain.items()}
            for name, dtype in case.dtypes.items():
                assert str(found[name].dtype) == dtype, f"{name} is {found[name].dtype}"


def expected(case: Case, bounds: Mapping[str, int], given: Arrays) -> Arrays:
    """What the oracle says, by name."""
    names = inspect.signature(case.oracle).parameters
    values: dict[str, Any] = {**bounds}
    for key, value in given.items():
        exact = value.astype(np.float64) if value.dtype.kind not in "iub" else value
        values[key.replace(".", "_")] = exact
    with np.errstate(all="ignore"):
        result = case.oracle(**{n: values[n] for n in names})
    return result if isinstance(result, dict) else {"y": result}


def data(case: Case, program: Program, bounds: Mapping[str, int], seed: int) -> Arrays:
    """Arrays for all inputs and params, unless the case makes them; None stands for absent."""
    random = np.random.default_rng(seed)
    known = dict(bounds)
    for name, value in ((b.name, b.value) for b in program.bounds):
        if isinstance(value, Const):
            known[name] = value.value
    found: Arrays = {}
    dims = dict(program.dims)
    for i in program.inputs:
        if i.name not in case.given:
            shape = [known[dims[d]] for d in i.dims] + [value_at(e, known) for e in i.shape]
            found[i.name] = noise(random, tuple(shape), i.dtype)
    for key, make in case.given.items():
        arguments = {n: v for n, v in known.items() if n in inspect.signature(make).parameters}
        found[key] = np.asarray(make(**arguments))
    return found


def noise(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Small numbers of a dtype."""
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype in ("i8", "u8", "i32", "i64", "u32"):
        low = 0 if dtype in ("u8", "u32") else -4
        return random.integers(low, 6, shape).astype(NUMPY[dtype])
    return random.standard_normal(shape).astype(NUMPY[dtype])


def same(found: Arrays, wanted: Arrays, how: str, tolerance: float) -> None:
    """Equal names, shapes, kinds of numbers, and values."""
    assert list(found) == list(wanted), how
    for name, value in wanted.items():
        right = np.asarray(value)
        left = np.asarray(found[name])
        assert left.shape == right.shape, f"{name} {how}: {left.shape} is not {right.shape}"
        kinds = {KINDS.get(a.dtype.kind, a.dtype.kind) for a in (left, right)}
        assert len(kinds) == 1, f"{name} {how}: {left.dtype} is not {right.dtype}"
        close = max(tolerance, COARSE.get(str(left.dtype), 0.0))
        values = left.astype(np.float64), right.astype(np.float64)
        np.testing.assert_allclose(*values, rtol=close, atol=close / 4, err_msg=f"{name} {how}")
