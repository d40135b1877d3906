"""A kernel of a program for any bounds: its function, and what it is given."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.spelling import variable
from tempoc.runtime.data.bounds import bound_values
from tempoc.runtime.device import backend
from tempoc.runtime.device.capacity import CapacityGroup
from tempoc.runtime.device.stores import Layout, fitting, layout
from tempoc.runtime.rewriting.lengths.kernels import (
    CompiledFunction,
    GivenArrays,
    TracedKernel,
    traced,
    with_shapes,
)
from tempoc.runtime.rewriting.lengths.sizes import UnlikeError
from tempoc.runtime.rewriting.usual_branches import has_usual_branches, with_usual_branches
from tempoc.symbolic.walk import evaluate


class KernelAt(NamedTuple):
    """A kernel for bounds with its usual branches, and what it is given: shapes and dtypes.

    It returns its results and whether they are right, a boolean or none where they always are.
    """

    function: CompiledFunction
    arguments: GivenArrays

    def trace(self) -> TracedKernel:
        """As JAX traces it."""
        return traced(self.function, self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundKernel:
    """A kernel for any bounds; ``results``, then ``more``, and ``operands`` are its stores."""

    program: prog.Program
    kernel: prog.Kernel
    function: Callable[..., Any]
    results: tuple[Buffer, ...]
    more: int
    operands: tuple[Buffer, ...]
    growing: tuple[CapacityGroup, ...]
    precision: str

    def at(self, bounds: Mapping[str, int], arguments: GivenArrays) -> KernelAt:
        """The kernel for bounds, where growing stores have the capacity that these arguments have.

        Raises ``UnlikeError`` for bounds that the program does not take.
        """
        values, results, given = self._layouts(bounds)
        static = {variable(name): values[name] for name in self.kernel.bounds}

        def fitted(function: CompiledFunction) -> CompiledFunction:
            checked = fitting(function, results, self.more)
            exact = functools.update_wrapper(partial(checked, **static), checked)
            return backend.precise(exact, self.precision)

        # The first argument are coordinates and numbers.
        shapes = [None, *(partial(_shape, store) for store in given)]
        if has_usual_branches(self.function, self.kernel.donated):
            function = with_usual_branches(self.function, fitted)
        else:
            function = _always_right(fitted(self.function))
        return KernelAt(function, with_shapes(arguments, shapes))

    def sizes(self, bounds: Mapping[str, int]) -> tuple[object, ...]:
        """All that the kernel has from bounds, but for growing stores.

        Raises ``UnlikeError`` for bounds that the program does not take.
        """
        values, results, given = self._layouts(bounds)
        shapes = [None if store.group >= 0 else store.shape for store in (*results, *given)]
        return tuple([evaluate(e, values) for e in self.kernel.static]), tuple(shapes)

    def _layouts(
        self, bounds: Mapping[str, int]
    ) -> tuple[dict[str, int], list[Layout], list[Layout]]:
        try:
            values = bound_values(self.program, bounds)
            results = [layout(store, values, self.growing) for store in self.results]
            given = [layout(store, values, self.growing) for store in self.operands]
        except RunError as error:
            raise UnlikeError from error
        return values, results, given


def _always_right(function: CompiledFunction) -> CompiledFunction:
    @functools.wraps(function)
    def right(*arrays: Any) -> Any:
        return function(*arrays), ()

    return right


def _shape(store: Layout, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a cell, where it grows that of one there is."""
    if store.group < 0:
        return store.shape
    k = store.growing
    return (*store.shape[:k], shape[k], *store.shape[k + 1 :])
