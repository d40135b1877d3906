"""Specializations of a loaded program, cached for later runs.

`Prepared` depends on the bounds and the precision: layouts, jitted kernels, walks. `Specialization`
depends on names, types and shapes of the arguments: that they are valid, and the bounds they imply.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from tempoc.program.analysis.traversal import regions
from tempoc.program.nodes.bounds import BUDGET
from tempoc.program.nodes.gpu_commands import commands_of
from tempoc.program.nodes.nodes import (
    Kernel,
    Program,
    ProgramInput,
    ProgramOutput,
    ProgramParam,
    Region,
)
from tempoc.program.nodes.precision import precision_of
from tempoc.program.nodes.spelling import variable
from tempoc.runtime.data.bindings import SEEDS, Bindings, Given, PointIndex, bind, tensor_name
from tempoc.runtime.data.dtypes import NUMPY
from tempoc.runtime.data.source import TensorSource
from tempoc.runtime.device import backend
from tempoc.runtime.device.backend import DeviceArray
from tempoc.runtime.device.capacity import Capacities, groups
from tempoc.runtime.device.stores import CellArrays, Layout, allocate, given_stores, layout
from tempoc.runtime.execution.outputs import OutputSlice, output_slice
from tempoc.runtime.forecast.budget import check_budget
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.walk.region_calls import Pace
from tempoc.runtime.walk.walk import WalkOptions, WalkText, is_local, stores_read_as_zeros
from tempoc.runtime.walk.write_walk import write_walk


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A program specialized for bounds and a precision of products.

    ``stores`` are the layouts in the order of the program; those with several cells, or that grow,
    are ``keyed``, by number; ``filled`` are the names that inputs and params of the others have in
    walks. Cells of stores in ``zeroed`` start as zeros; ``capacities`` are the sizes of growing
    groups. ``scope`` has the functions that walks call: kernels, allocators of zeros.
    ``is_limited``: the program was compiled for a budget.
    """

    program: Program
    bounds: Mapping[str, int]
    layouts: Mapping[str, Layout]
    kernels: Sequence[Callable[..., Any]]
    regions: Mapping[str, Region]
    stores: tuple[Layout, ...]
    keyed: tuple[tuple[int, Layout], ...]
    filled: Mapping[str, str]
    zeroed: frozenset[str]
    capacities: tuple[tuple[int, ...], ...]
    scope: Mapping[str, Any]
    is_limited: bool
    precision: str
    walks: dict[tuple[frozenset[str], WalkOptions], WalkText] = field(default_factory=dict)
    scopes: dict[WalkText, Mapping[str, Any]] = field(default_factory=dict)
    constants: dict[PointIndex, DeviceArray] = field(default_factory=dict)
    sizes: dict[WalkText, int] = field(default_factory=dict)
    slices: dict[str, OutputSlice] = field(default_factory=dict)
    paces: dict[str, Pace] = field(default_factory=dict)
    fits: set[tuple[frozenset[str], int | None]] = field(default_factory=set)

    def check_budget(self, given: frozenset[str], budget: int | None) -> None:
        """Raises ``RunError`` if the stores of a run exceed the budget; the result is cached."""
        if (given, budget) not in self.fits:
            check_budget(self.program, self.bounds, given, budget)
            self.fits.add((given, budget))

    def constant(self, point: PointIndex) -> DeviceArray:
        """A constant point on the device, cached."""
        if point not in self.constants:
            self.constants[point] = backend.put(np.array(point, np.int32), "i32")
        return self.constants[point]

    def names(self, walk: WalkText) -> Mapping[str, Any]:
        """The names of a walk that have the same value in every run."""
        if walk not in self.scopes:
            points = {name: self.constant(p) for name, p in walk.constants.items()}
            used = frozenset((*walk.code.co_names, "__builtins__"))
            scope = {name: value for name, value in self.scope.items() if name in used}
            self.scopes[walk] = scope | points
        return self.scopes[walk]

    def is_plain(self, walk: WalkText) -> bool:
        """Whether a walk needs no names from a machine, only its inputs and constants."""
        if self.keyed or self.is_limited or backend.compiles_late():
            return False
        defined = {*self.names(walk), *self.filled.values(), *vars(builtins)}
        return defined.issuperset(walk.code.co_names)

    @cached_property
    def takes(self) -> tuple[tuple[str, int, OutputSlice], ...]:
        """For each output its name, the number of its store, and how to read it."""
        numbers = {store.name: i for i, store in enumerate(self.stores)}
        outputs = self.program.outputs
        return tuple((o.name, numbers[o.store], self.take(o)) for o in outputs)

    def given_bytes(
        self, walk: WalkText, placed: Mapping[str, CellArrays], now: Sequence[int] = ()
    ) -> int:
        """The bytes of inputs, params and the seed; the same in every run."""
        if walk not in self.sizes:
            sizes = (len(cells) * self.layouts[s].nbytes(now) for s, cells in placed.items())
            self.sizes[walk] = sum(sizes)
        return self.sizes[walk]

    def take(self, output: ProgramOutput) -> OutputSlice:
        """How to read an output if all bounds are known before the run."""
        if output.name not in self.slices:
            layout = self.layouts[output.store]
            self.slices[output.name] = output_slice(output, layout, self.bounds)
        return self.slices[output.name]

    def has_run(self, given: frozenset[str], options: WalkOptions) -> bool:
        """Whether all kernels of such a run are compiled already."""
        return (given, options) in self.walks and not backend.compiles_late()

    def walk(self, given: frozenset[str], options: WalkOptions) -> WalkText:
        """The walk for a set of given stores, cached."""
        key = given, options
        if key not in self.walks:
            self.walks[key] = write_walk(self.program, self.layouts, self.bounds, given, options)
        return self.walks[key]


def prepare(
    loaded: LoadedProgram, bounds: Mapping[str, int], precision: str | None = None
) -> Prepared:
    """The program specialized for bounds, cached, so that kernels are not traced again.

    ``precision`` of products overrides that of the program.
    """
    precision = precision or precision_of(loaded.program)
    key = "prepared", precision, *bounds.items()
    prepared = loaded.known.get(key)
    if not isinstance(prepared, Prepared):
        program = loaded.program
        growing = groups(program)
        loops = {region.kernel: region for region in regions(program.tree)}
        layouts = {store.name: layout(store, bounds, growing) for store in program.stores}
        stores = tuple(layouts.values())
        kernels = [
            _compiled(f, k, bounds, k.name in loops, precision, commands_of(program, k.name))
            for f, k in zip(loaded.functions, program.kernels, strict=True)
        ]
        numbered = tuple(enumerate(stores))
        makers = {f"zeros{i}": partial(allocate, store) for i, store in numbered}
        # Libraries in C import with the builtins of the function in Python that called them.
        scope = {"array": np.array, "i32": np.dtype(np.int32), "__builtins__": builtins}
        prepared = Prepared(
            program=program,
            bounds=bounds,
            layouts=layouts,
            kernels=kernels,
            regions=loops,
            stores=stores,
            keyed=tuple((i, s) for i, s in numbered if not is_local(s) or s.group >= 0),
            filled={s.name: f"given{i}" for i, s in numbered if is_local(s)},
            zeroed=stores_read_as_zeros(program),
            capacities=Capacities.of(program, bounds).sizes,
            scope={**scope, **makers, **kernels_by_name(kernels)},
            is_limited=BUDGET in dict(program.provenance),
            precision=precision,
        )
        loaded.known[key] = prepared
    return prepared


def kernels_by_name(kernels: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Kernels by their names in walks."""
    return {f"k{i}": kernel for i, kernel in enumerate(kernels)}


def _compiled(
    function: Callable[..., Any],
    kernel: Kernel,
    bounds: Mapping[str, int],
    loop: bool,
    precision: str,
    commands: str,
) -> Callable[..., Any]:
    compiled = backend.compile_region if loop else backend.compile_kernel
    static = {variable(b): bounds[b] for b in kernel.bounds}
    return compiled(function, static, kernel.donated, precision, commands)


class PlainRun(NamedTuple):
    """What a plain run needs: one without statistics, checkpoints or other observers.

    ``is_straight``: every input and param is passed directly to a single call. ``inputs`` are pairs
    of the name and its name in the walk, ``params`` those of tensors.
    """

    prepared: Prepared
    walk: WalkText
    names: Mapping[str, Any]
    is_straight: bool
    inputs: tuple[tuple[str, str], ...]
    params: tuple[tuple[str, str], ...]


@dataclass(slots=True, kw_only=True)
class Specialization:
    """What follows from names, types and shapes of the arguments; holds no data.

    ``params`` are the given ones with the names of their tensors, ``stores`` all stores filled
    before the run. ``plain`` is set after the first run if the walk needs no machine.
    """

    bounds: Mapping[str, int]
    params: Mapping[str, Mapping[PointIndex, str]]
    stores: frozenset[str]
    plain: PlainRun | None = None

    def remember_plain(self, prepared: Prepared, walk: WalkText, given: Bindings) -> None:
        """Let later runs with the same kind of arguments be plain."""
        program = prepared.program
        items: dict[str, tuple[ProgramInput | ProgramParam, TensorSource | None]] = {
            i.name: (i, given.inputs[i.name]) for i in program.inputs
        }
        tensors: dict[str, tuple[ProgramInput | ProgramParam, TensorSource | None]] = {
            self.params[p.name].get((), ""): (p, given.params[p.name].get(()))
            for p in program.params
            if p.name in given.params
        }
        sources = [*items.values(), *tensors.values()]
        are_direct = self.stores == walk.straight == {item.store for item, _ in sources}
        fits = all(s is not None and s.dtype == NUMPY[item.dtype] for item, s in sources)
        inputs, params = (
            tuple((name, prepared.filled[item.store]) for name, (item, _) in some.items())
            for some in (items, tensors)
        )
        names = prepared.names(walk)
        self.plain = PlainRun(prepared, walk, names, are_direct and fits, inputs, params)


def cached_specialization(loaded: LoadedProgram, given: Given) -> Specialization | None:
    """The specialization of an earlier run with the same kind of arguments."""
    cached = loaded.known.get(input_signature(given))
    return cached if isinstance(cached, Specialization) else None


def specialize(
    loaded: LoadedProgram, given: Given, cached: Specialization | None = None
) -> tuple[Bindings, Specialization]:
    """Bind the arguments; with a ``cached`` specialization, without checking them again.

    The checks depend on names, types and shapes only, so their result is the same. Raises
    ``RunError``.
    """
    program = loaded.program
    if cached is None:
        checked = bind(program, given)
        names = {
            p.name: {point: tensor_name(p, point) for point in checked.params[p.name]}
            for p in program.params
            if p.name in checked.params
        }
        stores = given_stores(program, checked)
        specialization = Specialization(bounds=checked.bounds, params=names, stores=stores)
        loaded.known[input_signature(given)] = specialization
        return checked, specialization
    inputs = given.inputs
    if len(inputs) > len(program.inputs):
        inputs = {i.name: inputs[i.name] for i in program.inputs}
    params = {
        name: {point: given.params[n] for point, n in tensors.items()}
        for name, tensors in cached.params.items()
    }
    bindings = Bindings(bounds=cached.bounds, inputs=inputs, params=params, seed=given.seed)
    return bindings, cached


def input_signature(given: Given) -> tuple[object, ...]:
    """The properties of the arguments on which the checks depend: the key of the cache."""
    return (
        tuple([(name, repr(value)) for name, value in given.bounds.items()]),
        tuple([(name, s.dtype, s.shape) for name, s in given.inputs.items()]),
        tuple([(name, s.dtype, s.shape) for name, s in given.params.items()]),
        given.extra,
        given.cast_params,
        given.seed in SEEDS,
    )
