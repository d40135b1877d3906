"""Kernels that are compiled once for many lengths: the first exactly, others with padded arrays.

A kernel is compiled for its first bounds as it is. When it comes for others, it is traced for them
and for larger ones. If the traces are the same but for numbers that the bounds give, and that grow
by as much for each step of one (`rewriting/lengths`), it is compiled with these bounds as numbers,
for arrays that have rows for more. For later bounds it is only traced, to see that it is that
function. Arrays are padded on their way to the kernel, and its results cut.

Rows for more are taken where what they cost is little: as for growing stores (`RunTuning`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.device.alignment import empty
from tempoc.runtime.device.capacity import rounded_to
from tempoc.runtime.execution.bound_kernel import BoundKernel, KernelAt
from tempoc.runtime.execution.bound_moves import BoundGroup, BoundMoves, Bounds, of_equal
from tempoc.runtime.rewriting.lengths.form import Form
from tempoc.runtime.rewriting.lengths.kernels import (
    CompiledFunction,
    GivenArrays,
    Shapes,
    TracedKernel,
    arguments_of,
    common_form,
    copied_arrays,
    for_length,
    is_at,
    numbers_of,
    on_device,
    require_padded,
    shapes_of,
    with_rows,
)
from tempoc.runtime.rewriting.lengths.numbers import KnownNumbers
from tempoc.runtime.rewriting.lengths.padding import require
from tempoc.runtime.rewriting.lengths.sizes import Lengths, Probes, UnlikeError
from tempoc.runtime.rewriting.lengths.work import Workload, operator_count


class PaddedCall(NamedTuple):
    """A kernel on padded arrays for some lengths, in bytes that are made: see ``work``.

    A call makes so many ``more`` than one of a kernel for these lengths alone, which takes as long
    to compile as it does to make ``compiled``.
    """

    call: CompiledFunction
    more: int
    compiled: int


class LikeLengths(NamedTuple):
    """A kernel that is one form for these bounds, in arrays for so many rows.

    ``names`` are the bounds of each length, ``fixed`` all others on which the kernel depends.
    """

    names: tuple[BoundGroup, ...]
    fixed: Bounds
    form: Form
    structures: tuple[Any, Any]
    most: Lengths
    kernel: CompiledFunction

    def lengths(self, bounds: Bounds) -> Lengths | None:
        """The lengths for bounds; ``None`` if those of a length are not equal, or others differ."""
        values = [{bounds[name] for name in group} for group in self.names]
        if any(len(v) > 1 for v in values) or any(bounds[n] != v for n, v in self.fixed.items()):
            return None
        return tuple(v.pop() for v in values)

    def at(self, lengths: Lengths, more: int, tuning: RunTuning) -> PaddedCall:
        """The kernel for these lengths."""
        compiled = operator_count(self.form) * tuning.compiled_bytes
        copied = copied_arrays(self.form, lengths, self.most) * tuning.padded_array_bytes
        call = for_length(self.kernel, self.form, lengths, self.most, empty)
        return PaddedCall(call, more + copied, compiled)


@dataclass(slots=True)
class KernelOfLengths:
    """One kernel for all bounds: what was compiled for many.

    ``bounds`` are the names of those that are given at run time. ``compiled`` compiles a function,
    of which a text says all that is not in the text of kernels. ``last`` are the bounds of the call
    before on padded arrays, or of a first one, ``varied`` those that have changed since the first
    call. What calls for bounds made more counts ``repeated`` times as much if these are the last.
    """

    bounds: Collection[str]
    source: BoundKernel
    compiled: Callable[[CompiledFunction, str], CompiledFunction]
    tuning: RunTuning
    repeated: int = 1
    last: Bounds = field(default_factory=dict)
    varied: frozenset[str] = frozenset()
    equal: tuple[BoundGroup, ...] = ()
    several: list[LikeLengths] = field(default_factory=list)
    unlike: int = 0

    def kernel(self, exact: CompiledFunction, bounds: Bounds) -> KernelForBounds:
        """The kernel for bounds; ``exact`` compiles the function for these alone."""
        return KernelForBounds(self, exact, {name: bounds[name] for name in self.bounds})

    def chosen(
        self, bounds: Bounds, arguments: GivenArrays, numbers: KnownNumbers
    ) -> PaddedCall | None:
        """The kernel for padded arrays; ``None`` if it is compiled exactly.

        Of the arguments some ``numbers`` are known.
        """
        changed = frozenset(name for name in self.last if self.last[name] != bounds[name])
        self.last, self.varied = bounds, self.varied | changed
        self.equal = of_equal(self.equal or (tuple(self.bounds),), bounds)
        if not changed or self.unlike >= self.tuning.compared_lengths:
            return None
        now = self.source.at(bounds, arguments)
        if now.arguments != arguments:
            raise UnlikeError
        trace = now.trace()
        one = common_form([trace], Probes((), ()))
        for more, lengths, like in self.cheap(bounds, numbers):
            if like.structures == trace[1:] and is_at(like.form, lengths, one):
                self.unlike = 0
                return like.at(lengths, more, self.tuning)
        self.unlike += 1
        for names in dict.fromkeys((self.varied, changed)):
            for step in (self.tuning.far_step, self.tuning.near_step):
                with suppress(UnlikeError):
                    moves = BoundMoves.of(self.source, self.equal, names, bounds, step)
                    like, lengths = self._compiled(now, trace, moves, numbers)
                    self.several.append(like)
                    more, _ = self._costs(like.form, like.most, lengths, numbers)
                    return like.at(lengths, more, self.tuning)
        return None

    def cheap(
        self, bounds: Bounds, numbers: KnownNumbers
    ) -> list[tuple[int, Lengths, LikeLengths]]:
        """Kernels that may serve bounds: what each makes more, the lengths; the cheapest first."""
        cheap = []
        for like in self.several:
            lengths = like.lengths(bounds)
            if lengths is None or any(n > m for n, m in zip(lengths, like.most, strict=True)):
                continue
            more, spare = self._costs(like.form, like.most, lengths, numbers)
            if more <= spare * len(lengths):
                cheap.append((more, lengths, like))
        return sorted(cheap, key=lambda row: row[0])

    def _compiled(
        self, now: KernelAt, trace: TracedKernel, moves: BoundMoves, numbers: KnownNumbers
    ) -> tuple[LikeLengths, Lengths]:
        """The kernel for all lengths worth sharing, and those now. Raises ``UnlikeError``."""
        require(0 < len(moves.names) <= self.tuning.probed_bounds)
        corners, first = moves.corners(), moves.probes.first
        far = self._traced(corners[-1], now)
        if min(moves.by) > 0:
            common_form([trace, far], Probes((0,), moves.by[:1]))  # before all are traced
        traces = [trace, *(self._traced(corner, now) for corner in corners[1:-1]), far]
        form = common_form(traces, moves.probes)
        # What jumps between the probes looks as if it grew by fractions.
        require(form.divisor < min(map(abs, moves.by)))
        most = self._most(form, first, numbers)
        shared = [k for k in range(len(most)) if self._is_shared(form, most, first, k, numbers)]
        if not shared:
            raise UnlikeError
        if len(shared) < len(most):
            moves = moves.only(shared)
            selected = [corners.index(corner) for corner in moves.corners()]
            form = common_form([traces[k] for k in selected], moves.probes)
            most = self._most(form, moves.probes.first, numbers)
        function = with_rows(form, trace.results, most, now.function)
        require_padded(form, function, trace.arguments, most)
        kernel = self.compiled(function, repr((moves.names, most, form, trace[1:])))
        like = LikeLengths(moves.names, moves.fixed, form, trace[1:], most, kernel)
        return like, moves.probes.first

    def _traced(self, bounds: Bounds, now: KernelAt) -> TracedKernel:
        """The kernel for larger bounds: a run does not fail because it does for these."""
        try:
            return self.source.at(bounds, now.arguments).trace()
        except Exception as error:
            raise UnlikeError from error

    def _most(self, form: Form, lengths: Lengths, numbers: KnownNumbers) -> Lengths:
        """The rows to compile for, more of each length if that is little; sizes are integers."""
        most = lengths
        for k in range(len(lengths)):
            with_most = partial(_with_most, form.divisor, most, k)

            def is_cheap(size: int, least: Lengths = most, with_most: Any = with_most) -> bool:
                return self._is_cheap(form, with_most(size), least, numbers)

            most = with_most(rounded_to(lengths[k], is_cheap, self.tuning))
        return most

    def _is_shared(
        self, form: Form, most: Lengths, lengths: Lengths, k: int, numbers: KnownNumbers
    ) -> bool:
        """Whether rows for the most serve a longer or a shorter one of a length, too."""
        shorter = (*lengths[:k], lengths[k] - form.divisor, *lengths[k + 1 :])
        return most[k] > lengths[k] or (
            shorter[k] > 0 and self._is_cheap(form, most, shorter, numbers)
        )

    def _is_cheap(self, form: Form, most: Lengths, lengths: Lengths, numbers: KnownNumbers) -> bool:
        more, spare = self._costs(form, most, lengths, numbers)
        return more <= spare

    def _costs(
        self, form: Form, most: Lengths, lengths: Lengths, numbers: KnownNumbers
    ) -> tuple[int, int]:
        """What rows for the most make more than those for the lengths, and how much is little."""
        least = Workload(lengths, lengths, self.tuning, is_padded=False).of(form, numbers)
        padded = Workload(most, lengths, self.tuning, is_padded=True).of(form, numbers)
        spare = [
            self.tuning.padded_bytes,
            least // self.tuning.rounded_part,
            operator_count(form) * self.tuning.compiled_bytes // self.tuning.compiled_part,
        ]
        return padded - least, max(spare)


@dataclass(slots=True)
class KernelForBounds:
    """A kernel for bounds, which decides at its first call how it is compiled.

    Results of padded arrays are cut on the host, and go back to the device for another kernel. Once
    calls have made as much ``more`` on padded arrays as compiling takes, it is compiled exactly:
    all calls of bounds take at most twice what they had to. Bounds that come several times in a row
    are expected to go on, so that these calls count more.
    """

    several: KernelOfLengths
    exact: CompiledFunction
    bounds: Bounds
    padded: PaddedCall | None = None
    shapes: Shapes | None = None
    more: int = 0

    def __call__(self, *arrays: Any) -> Any:
        """The results on the device."""
        if self.padded is None and self.shapes is not None:
            return self.exact(*arrays)
        return on_device(self.on_host(*arrays))

    def on_host(self, *arrays: Any) -> Any:
        """The results; some may be arrays of the host, of which outputs are taken."""
        if self.shapes is None:
            with suppress(UnlikeError):
                arguments, numbers = arguments_of(arrays), numbers_of(arrays)
                self.padded = self.several.chosen(self.bounds, arguments, numbers)
            self.shapes = shapes_of(arrays)
        padded = self.padded
        # Growing stores have another size for bounds that the kernel is not told.
        if padded is None or shapes_of(arrays) != self.shapes:
            return self.exact(*arrays)
        results, right = padded.call(*arrays)
        self.more *= self.several.repeated if self.several.last == self.bounds else 1
        self.more += padded.more if all(right) else padded.compiled
        self.several.last = self.bounds
        if self.more > padded.compiled:
            self.padded = None
        return results if all(right) else self.exact(*arrays)


def _with_most(divisor: int, most: Lengths, k: int, size: int) -> Lengths:
    """Rows for so many of a length or a few more, with the same remainder."""
    return (*most[:k], size + (most[k] - size) % divisor, *most[k + 1 :])
