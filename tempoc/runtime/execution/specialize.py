"""Specializations of a loaded program, cached for later runs.

`Prepared` depends on the bounds and the precision: layouts, jitted kernels, code. `Specialization`
depends on names, types and shapes of the arguments: that they are valid, and the bounds they imply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import BUDGET
from tempoc.program.nodes.precision import precision_of
from tempoc.runtime.data.bindings import Bindings, Given, PointIndex, bind, is_seed, tensor_name
from tempoc.runtime.data.dtypes import NUMPY
from tempoc.runtime.data.source import TensorSource
from tempoc.runtime.device import backend
from tempoc.runtime.device.stores import (
    CellArrays,
    Layout,
    given_stores,
    layouts_of,
    require_addressable,
)
from tempoc.runtime.execution.kernels import compiled_kernels, counted_kernels
from tempoc.runtime.execution.outputs import OutputSlice, output_slice
from tempoc.runtime.forecast.budget import check_budget
from tempoc.runtime.load.load import LoadedProgram
from tempoc.runtime.walk.assemble import RunHooks, assemble
from tempoc.runtime.walk.bound_program import BoundProgram
from tempoc.runtime.walk.code import HostCode
from tempoc.runtime.walk.frame import Storage
from tempoc.runtime.walk.region_calls import Pace
from tempoc.runtime.walk.straight import StraightCall, straight_call


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A program specialized for bounds and a precision of products.

    ``layouts`` are those of all stores in the order of the program. ``is_limited``: the program was
    compiled for a budget. ``longer`` are blocks whose lengths have not ended as early as attempted.
    """

    program: prog.Program
    bounds: Mapping[str, int]
    layouts: Mapping[str, Layout]
    kernels: Sequence[Callable[..., Any]]
    is_limited: bool
    precision: str
    codes: dict[tuple[frozenset[str], RunHooks], HostCode] = field(default_factory=dict)
    bound_programs: dict[frozenset[str], BoundProgram] = field(default_factory=dict)
    straight: dict[frozenset[str], StraightCall | None] = field(default_factory=dict)
    sizes: dict[frozenset[str], int] = field(default_factory=dict)
    slices: dict[str, OutputSlice] = field(default_factory=dict)
    paces: dict[str, Pace] = field(default_factory=dict)
    longer: set[str] = field(default_factory=set)
    fits: set[tuple[frozenset[str], int | None]] = field(default_factory=set)

    @cached_property
    def counted(self) -> frozenset[str]:
        """The kernels that are compiled for each number of steps."""
        return counted_kernels(self.program)

    @cached_property
    def storage(self) -> Storage:
        """The stores as frames have them."""
        return Storage.of(self.program, self.layouts, self.bounds)

    def check_budget(self, given: frozenset[str], budget: int | None) -> None:
        """Raises ``RunError`` if the stores of a run exceed the budget; the result is cached."""
        if (given, budget) not in self.fits:
            check_budget(self.program, self.bounds, given, budget)
            self.fits.add((given, budget))

    def given_bytes(self, given: frozenset[str], placed: Mapping[str, CellArrays]) -> int:
        """The bytes of the stores filled before a run, the same in every run, cached."""
        if given not in self.sizes:
            slots = [sizes[0] for sizes in self.storage.capacities]
            sizes = (len(cells) * self.layouts[s].nbytes(slots) for s, cells in placed.items())
            self.sizes[given] = sum(sizes)
        return self.sizes[given]

    def take(self, output: prog.ProgramOutput) -> OutputSlice:
        """How to read an output if all bounds are known before the run."""
        if output.name not in self.slices:
            layout = self.layouts[output.store]
            self.slices[output.name] = output_slice(output, layout, self.bounds)
        return self.slices[output.name]

    def has_run(self, given: frozenset[str], hooks: RunHooks) -> bool:
        """Whether all kernels of such a run are compiled already."""
        return (given, hooks) in self.codes and not self.counted

    def code(self, given: frozenset[str], hooks: RunHooks) -> HostCode:
        """The code for a set of given stores, cached."""
        key = given, hooks
        if key not in self.codes:
            self.codes[key] = self.assemble(given, hooks, self.kernels)
        return self.codes[key]

    def assemble(
        self, given: frozenset[str], hooks: RunHooks, kernels: Sequence[Callable[..., Any]]
    ) -> HostCode:
        """The code with these kernels."""
        return assemble(self.bound_program(given), kernels, backend, hooks)

    def bound_program(self, given: frozenset[str]) -> BoundProgram:
        """The program for a set of given stores, cached with what follows from them."""
        if given not in self.bound_programs:
            self.bound_programs[given] = BoundProgram(
                program=self.program, bounds=self.bounds, layouts=self.layouts, given=given
            )
        return self.bound_programs[given]

    def straight_call(self, given: frozenset[str]) -> StraightCall | None:
        """The run as a single call without observers, cached; ``None`` if it is not one."""
        if given not in self.straight:
            known = self.bound_program(given), self.kernels, self.storage.capacities
            self.straight[given] = None if self.is_limited else straight_call(*known)
        return self.straight[given]


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
        layouts = layouts_of(program, bounds)
        require_addressable(layouts.values())
        prepared = Prepared(
            program=program,
            bounds=bounds,
            layouts=layouts,
            kernels=compiled_kernels(loaded, bounds, layouts, precision),
            is_limited=BUDGET in dict(program.provenance),
            precision=precision,
        )
        loaded.known[key] = prepared
    return prepared


class DirectRun(NamedTuple):
    """A run that is a single call.

    ``arguments`` are inputs and tensors of params: the name, whether it is a param, and the number
    of the operand; ``None`` if they cannot all be passed as they are.
    """

    prepared: Prepared
    call: StraightCall
    arguments: tuple[tuple[str, bool, int], ...] | None


@dataclass(slots=True, kw_only=True)
class Specialization:
    """What follows from names, types and shapes of the arguments; holds no data.

    ``params`` are the given ones with the names of their tensors, ``stores`` all stores filled
    before the run. ``direct`` is set after the first run if it was a single call.
    """

    bounds: Mapping[str, int]
    params: Mapping[str, Mapping[PointIndex, str]]
    stores: frozenset[str]
    direct: DirectRun | None = None

    def remember_direct(self, prepared: Prepared, call: StraightCall, given: Bindings) -> None:
        """Let later runs with the same kind of arguments be one call."""
        program = prepared.program
        items: list[
            tuple[str, bool, prog.ProgramInput | prog.ProgramParam, TensorSource | None]
        ] = [(i.name, False, i, given.inputs[i.name]) for i in program.inputs]
        items += [
            (self.params[p.name].get((), ""), True, p, given.params[p.name].get(()))
            for p in program.params
            if p.name in given.params
        ]
        fits = all(
            s is not None and s.dtype == NUMPY[item.dtype] and prepared.layouts[item.store].is_plain
            for _, _, item, s in items
        )
        arguments = None
        if fits and self.stores == call.straight == {item.store for _, _, item, _ in items}:
            numbers = {store: k for k, store in enumerate(call.operands)}
            arguments = tuple((name, is_param, numbers[i.store]) for name, is_param, i, _ in items)
        self.direct = DirectRun(prepared, call, arguments)


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
        is_seed(given.seed),
    )
