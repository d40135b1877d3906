"""Compiled programs against the reference evaluator, in this process and without files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from tempoc.base.cost_model import MODEL
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.tensor.source import Input
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.load.load import LoadedProgram, namespace
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic.walk import evaluate as value_of
from tests.support.session.kernels import lengths_in_share
from tests.support.session.long import chosen, in_share

LEVELS = (2,)
BOTH = (0, 2)
"""The levels for tests of what happens before any pass, such as the front end and codegen."""
PLAIN = 24
"""Of so many programs `make test` runs one without optimization as well."""
FIRST = 6
"""Of so many programs `make test` runs one with its first bounds as well: each size is compiled."""
Bounds = Mapping[str, int]


def agree(
    text: str,
    *sizes: Bounds,
    special: bool = False,
    passes: str | None = None,
    regions: bool | None = None,
    bucket: int = MODEL.capacity,
    levels: tuple[int, ...] = LEVELS,
) -> None:
    """All levels say what the evaluator says, for bounds and random data.

    All verifiers run, in `make test` for some programs (`support/session/stages.py`). Many kernels
    take long to compile and are the same for all bounds: -O0 and -O1 run with the largest ones.
    `make test` runs -O2 with the largest, some programs with the first as well, and some at `BOTH`
    levels.
    ``special``: the data holds NaN and infinities. ``passes``: a pipeline instead of the levels.
    ``regions``: whether loops run on the device; by default at -O2. ``bucket``: room for so many
    steps at first.
    """
    if passes is None:
        how = None, regions, bucket
        tried = LEVELS if levels == BOTH and not in_share(text, PLAIN) else levels
        compiled = {f"-O{level}": compile_text(text, level, *how) for level in tried}
    else:
        compiled = {passes: compile_text(text, 2, passes, regions, bucket)}
    graph = next(iter(compiled.values()))[0]
    largest = max(
        sizes, key=lambda bounds: (min(bounds.values(), default=0), prod(bounds.values()))
    )
    for bounds in sizes:
        has_first = bounds is sizes[0] and in_share(f"first bounds of {text}", FIRST)
        if not (chosen["long"] or has_first or bounds is largest):
            continue
        inputs = data(graph, bounds, special)
        exact = cache(partial(evaluate, graph, bounds, inputs, {}, float64=True))
        plain = evaluate(graph, bounds, inputs, {})
        for how, (_, loaded) in compiled.items():
            if how in ("-O0", "-O1") and bounds is not largest:
                continue
            names = {i.name for i in loaded.program.inputs}
            used = as_sources({name: inputs[name] for name in names})
            with lengths_in_share(text):
                found = run_given(loaded, Given(bounds=bounds, inputs=used, params={}), Settings())
            assert set(found.outputs) == set(plain)
            for name, value in plain.items():
                where = f"{name} with {dict(bounds)} by {how}"
                wide = partial(_named, exact, name)
                assert_close(np.asarray(found.outputs[name]), value, wide, where)


def compile_text(
    text: str,
    level: int,
    passes: str | None = None,
    regions: bool | None = None,
    bucket: int = MODEL.capacity,
) -> tuple[Graph, LoadedProgram]:
    """The graph from the front end, and the program with its kernels as functions."""
    options = Options(level=level, passes=passes, verify_each=True, regions=regions, bucket=bucket)
    compilation = Compilation(load_source(Source("m.rt", text)), options)
    emitted = compilation.emitted
    scope = namespace(emitted.kernels, "kernels.py")
    kernels = tuple(scope[k.name] for k in emitted.program.kernels)
    return compilation.graph, LoadedProgram(program=emitted.program, functions=kernels)


def data(graph: Graph, bounds: Bounds, special: bool) -> dict[str, HostArray]:
    """An array for each input."""
    sizes = dict(bounds)
    for bound in graph.universe.bounds:
        if bound.value is not None:
            sizes[bound.name] = value_of(bound.value, sizes)
    found: dict[str, HostArray] = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Input):
            lead = [sizes[graph.universe.dim(d).bound] for d in node.domain.dims]
            shape = [*lead, *(value_of(e, sizes) for e in node.types[0].shape)]
            random = np.random.default_rng([*node.name.encode(), *shape])
            found[node.name] = draw(random, shape, numpy_dtype(node.types[0].dtype), special)
    return found


def draw(
    random: np.random.Generator, shape: list[int], dtype: np.dtype[np.generic], special: bool
) -> HostArray:
    """Numbers of a dtype: small ones, and of those now and then none at all."""
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "iu":
        return random.integers(-5, 6, shape).astype(dtype)
    values = random.uniform(-1, 1, shape).astype(dtype)
    if special:
        odd = random.choice(np.array([np.nan, np.inf, -np.inf], dtype), shape)
        values = np.where(random.random(shape) < 0.3, odd, values)
    return values


def assert_close(
    found: HostArray, plain: HostArray, exact: Callable[[], HostArray], where: str
) -> None:
    """Equal dtypes and shapes; floats close to what either precision of the evaluator says.

    GPUs round products of bfloat16 before parts of them are summed.
    """
    assert (found.dtype, found.shape) == (plain.dtype, plain.shape), where
    if found.dtype == jnp.bfloat16 and jax.default_backend() != "cpu":
        found, plain = found.astype(np.float32), plain.astype(np.float32)
        np.testing.assert_allclose(found, plain, rtol=2**-7, err_msg=where)
    elif found.dtype.kind != "f":
        np.testing.assert_array_equal(found, plain, err_msg=where)
    elif not np.allclose(found, plain, rtol=3e-3, atol=3e-4, equal_nan=True):
        with np.errstate(over="ignore"):
            wide = exact().astype(found.dtype)
        np.testing.assert_allclose(found, wide, rtol=3e-3, atol=3e-4, err_msg=where)


def _named(values: Callable[[], Mapping[str, HostArray]], name: str) -> HostArray:
    return values()[name]


def free_bounds(text: str) -> list[str]:
    """Bounds that a program leaves to the run, in the order of their dimensions."""
    return list(dict.fromkeys(re.findall(r"^dim \w+ < (\w+)(?: until \w+)?$", text, re.MULTILINE)))


def all_equal(text: str, *sizes: int) -> Iterable[Bounds]:
    """For each size, all free bounds of a program at that size."""
    return [dict.fromkeys(free_bounds(text), n) for n in sizes]
