"""Kernels that are compiled once for many lengths: the first exactly, others with padded arrays.

A kernel is compiled for its first length as it is. When it comes for another one, with all other
bounds the same, it is traced for both. If the traces are the same but for numbers that are linear
in the length (`rewriting/lengths`), it is compiled with the length as a number, for arrays that
have rows for more. Later lengths are only traced, to see that they are that function. Arrays are
padded on their way to the kernel, and its results cut.

Rows for more are taken where what they cost is little: as for growing stores (`RunTuning`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.device.alignment import empty
from tempoc.runtime.device.capacity import rounded_to
from tempoc.runtime.rewriting.lengths.form import Form, UnlikeError
from tempoc.runtime.rewriting.lengths.kernels import (
    CompiledFunction,
    TracedKernel,
    arguments_of,
    common_form,
    for_length,
    require_padded,
    traced,
    with_rows,
)
from tempoc.runtime.rewriting.lengths.work import work


class LikeLengths(NamedTuple):
    """A kernel that is one form for these lengths, in arrays for so many rows."""

    bound: str
    form: Form
    most: int
    kernel: CompiledFunction


@dataclass(slots=True)
class ExactKernel:
    """A kernel that was compiled for bounds, and how it is traced."""

    bounds: Mapping[str, int]
    function: CompiledFunction
    arguments: tuple[Any, ...]
    known: TracedKernel | None = None

    def trace(self) -> TracedKernel:
        """What JAX traces, kept."""
        self.known = self.known or traced(self.function, self.arguments)
        return self.known


@dataclass(slots=True)
class KernelOfLengths:
    """One kernel for all bounds: what was compiled exactly, and what for many lengths.

    ``bounds`` are the names of those that are given at run time, ``compiled`` compiles a function.
    """

    bounds: Collection[str]
    compiled: Callable[[CompiledFunction], CompiledFunction]
    tuning: RunTuning
    exact: list[ExactKernel] = field(default_factory=list)
    several: list[LikeLengths] = field(default_factory=list)
    unlike: int = 0

    def kernel(
        self, exact: CompiledFunction, function: CompiledFunction, bounds: Mapping[str, int]
    ) -> CompiledFunction:
        """The kernel for bounds, which decides at its first call how it is compiled.

        ``exact`` compiles the function for these bounds alone.
        """
        now: CompiledFunction

        def first(*arrays: Any) -> Any:
            nonlocal now
            now = self._chosen(exact, function, bounds, arrays)
            return now(*arrays)

        now = first
        return lambda *arrays: now(*arrays)

    def _chosen(
        self,
        exact: CompiledFunction,
        function: CompiledFunction,
        bounds: Mapping[str, int],
        arrays: Sequence[Any],
    ) -> CompiledFunction:
        if self.unlike >= self.tuning.compared_lengths:
            return exact
        try:
            now = ExactKernel(bounds, function, arguments_of(arrays))
        except UnlikeError:
            return exact
        others = [(other, name) for other in self.exact if (name := self._differing(other, bounds))]
        others.sort(key=lambda item: abs(item[0].bounds[item[1]] - bounds[item[1]]))
        for other, name in others:
            with suppress(UnlikeError):
                chosen = self._padded(other, now, name)
                self.unlike = 0
                return chosen
        self.unlike += bool(others)
        self.exact.append(now)
        del self.exact[: -self.tuning.compared_lengths]
        return exact

    def _differing(self, other: ExactKernel, bounds: Mapping[str, int]) -> str:
        """The only bound with another value; empty if there are several."""
        names = [n for n in self.bounds if other.bounds[n] != bounds[n]]
        return names[0] if len(names) == 1 else ""

    def _padded(self, other: ExactKernel, now: ExactKernel, bound: str) -> CompiledFunction:
        before, length = other.bounds[bound], now.bounds[bound]
        trace = now.trace()
        form = common_form(other.trace(), trace, (before, length))
        products = self.tuning.summed_products
        least = work(form, length, length, products)
        spare = max(least // self.tuning.rounded_part, self.tuning.padded_bytes)

        def is_cheap(most: int) -> bool:
            return work(form, most, length, products) - least <= spare

        for like in self.several:
            fits = length <= like.most and is_cheap(like.most)
            if fits and like.bound == bound and like.form == form:
                return for_length(like.kernel, form, length, like.most, empty)
        most = rounded_to(length, is_cheap, self.tuning)
        function = with_rows(form, trace.results, most, now.function)
        require_padded(form, function, now.arguments, most)
        kernel = self.compiled(function)
        self.several.append(LikeLengths(bound, form, most, kernel))
        return for_length(kernel, form, length, most, empty)
