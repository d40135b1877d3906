"""What runs of a program have in common, made once: sizes, kernels and walks for the same bounds.

Also what was made of given data of the same names, types and shapes: that these are right, and the
bounds that follow from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tempoc.program.nodes import Kernel, Output, Program, Region
from tempoc.program.parts import regions
from tempoc.runtime import backend
from tempoc.runtime.backend import DeviceArray
from tempoc.runtime.bindings import SEEDS, Bindings, Given, Point, bind, points, tensor_name
from tempoc.runtime.load import Loaded
from tempoc.runtime.outputs import Taking, taking
from tempoc.runtime.rooms import groups
from tempoc.runtime.source import Source
from tempoc.runtime.stores import Layout, allocate, layout
from tempoc.runtime.turns import Pace
from tempoc.runtime.walk import Walk, Wishes, wanted_stores
from tempoc.runtime.walker import write_walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A program for some bounds.

    ``wanted`` are the stores whose cells start as zeros; ``makers`` make these, by names of walks.
    """

    program: Program
    bounds: Mapping[str, int]
    layouts: Mapping[str, Layout]
    kernels: Sequence[Callable[..., Any]]
    regions: Mapping[str, Region]
    wanted: frozenset[str]
    makers: Mapping[str, Callable[[], DeviceArray]]
    walks: dict[tuple[frozenset[str], Wishes], Walk] = field(default_factory=dict)
    constants: dict[Point, DeviceArray] = field(default_factory=dict)
    takings: dict[str, Taking] = field(default_factory=dict)
    paces: dict[str, Pace] = field(default_factory=dict)

    def constant(self, point: Point) -> DeviceArray:
        """A point that is the same in every run, on the device."""
        if point not in self.constants:
            self.constants[point] = backend.put(np.array(point, np.int32), "i32")
        return self.constants[point]

    def take(self, output: Output) -> Taking:
        """How to take an output where all bounds are known before the run."""
        if output.name not in self.takings:
            layout = self.layouts[output.store]
            self.takings[output.name] = taking(output, layout, self.bounds)
        return self.takings[output.name]

    def has_run(self, given: frozenset[str], wishes: Wishes) -> bool:
        """Whether all kernels are compiled that a run calls."""
        return (given, wishes) in self.walks and not backend.compiles_late()

    def walk(self, given: frozenset[str], wishes: Wishes) -> Walk:
        """The walk where these stores are given."""
        key = given, wishes
        if key not in self.walks:
            self.walks[key] = write_walk(self.program, self.layouts, self.bounds, given, wishes)
        return self.walks[key]


def prepare(loaded: Loaded, bounds: Mapping[str, int]) -> Prepared:
    """All that runs with these bounds need; tracing kernels again would take long."""
    key = "prepared", *bounds.items()
    found = loaded.known.get(key)
    if not isinstance(found, Prepared):
        program = loaded.program
        growing = groups(program)
        loops = {region.kernel: region for region in regions(program.tree)}
        layouts = {store.name: layout(store, bounds, growing) for store in program.stores}
        found = Prepared(
            program=program,
            bounds=bounds,
            layouts=layouts,
            kernels=[
                _compiled(f, k, bounds, k.name in loops)
                for f, k in zip(loaded.functions, program.kernels, strict=True)
            ],
            regions=loops,
            wanted=wanted_stores(program),
            makers={
                f"zeros{i}": partial(allocate, layouts[store.name])
                for i, store in enumerate(program.stores)
            },
        )
        loaded.known[key] = found
    return found


def _compiled(
    function: Callable[..., Any], kernel: Kernel, bounds: Mapping[str, int], loop: bool
) -> Callable[..., Any]:
    compiled = backend.compile_region if loop else backend.compile_kernel
    return compiled(function, {b: bounds[b] for b in kernel.bounds}, kernel.donated)


def bound(loaded: Loaded, given: Given) -> Bindings:
    """What is given, checked. Raises ``RunError``.

    All checks are about names, types and shapes: what has passed them once passes them again.
    """
    key = "given", *_signature(given)
    found = loaded.known.get(key)
    if not isinstance(found, Bindings):
        made = bind(loaded.program, given)
        # Data is not kept alive here.
        loaded.known[key] = Bindings(bounds=made.bounds, inputs={}, params={})
        return made
    program = loaded.program
    inputs = {i.name: given.inputs[i.name] for i in program.inputs}
    params: dict[str, Mapping[Point, Source]] = {}
    for p in program.params:
        names = {point: tensor_name(p, point) for point in points(p, program, found.bounds)}
        if not p.has_default or any(n in given.params for n in names.values()):
            params[p.name] = {point: given.params[n] for point, n in names.items()}
    return Bindings(bounds=found.bounds, inputs=inputs, params=params, seed=given.seed)


def _signature(given: Given) -> tuple[object, ...]:
    """All of what is given that the checks look at."""
    kinds = (
        tuple((name, s.dtype, s.shape) for name, s in sources.items())
        for sources in (given.inputs, given.params)
    )
    values = tuple((name, repr(value)) for name, value in given.bounds.items())
    return (values, *kinds, given.extra, given.cast_params, given.seed in SEEDS)
