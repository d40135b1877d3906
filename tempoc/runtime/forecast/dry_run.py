"""The dry run: predicts the peak of memory by running a program's code on a device without arrays.

The ledger counts the bytes of cells that the code writes, frees and grows. The same code with
kernels that do nothing gives the same counts before the run. Long loops are sampled
(``sample_steps.py``). A loop that ends early at run time is taken to its largest length; since
cells that its last step frees may stay if it ends earlier, short lengths are tried as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes.nodes import Call, Effect, Program, Region
from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.data.bindings import PointIndex
from tempoc.runtime.device.capacity import groups
from tempoc.runtime.device.stores import Layout, layouts_of
from tempoc.runtime.forecast.sample_steps import LoopSample, sample_of
from tempoc.runtime.walk.assemble import RunHooks, assemble
from tempoc.runtime.walk.bound_program import BoundProgram
from tempoc.runtime.walk.code import HostCode, execute
from tempoc.runtime.walk.frame import RunFrame, Storage
from tempoc.runtime.walk.values import Values, Variables

SHORT = (1, 2, 3)
"""Short lengths to try for bounds that end during the run."""


class _Placeholder:
    """Stands for an array, and for a dict of arrays."""

    def __getitem__(self, place: object) -> _Placeholder:
        """One of them."""
        return self


ARRAY, COPY = _Placeholder(), _Placeholder()
"""The placeholders of all arrays on the device, and of all copies with the host."""


@dataclass(slots=True)
class _NoDevice:
    """A device that holds nothing; it counts the arrays that are ``moved``."""

    moved: int = 0

    def zeros(self, *described: object) -> object:
        """A placeholder."""
        return ARRAY

    def lengthened(self, array: Any, axis: int, size: int) -> object:
        """The same placeholder."""
        return array

    def coordinates(self, point: tuple[int, ...]) -> object:
        """The point itself."""
        return point

    constant = coordinates

    def coordinate(self, value: int) -> object:
        """The point itself."""
        return (value,)

    def to_devices(self, copies: Sequence[Any], tuning: RunTuning) -> list[object]:
        """Placeholders."""
        self.moved += len(copies)
        return [ARRAY] * len(copies)

    def chunk(self, copy: Any, first: int, size: int) -> object:
        """A placeholder."""
        self.moved += 1
        return ARRAY

    def to_hosts(self, arrays: Sequence[Any]) -> list[object]:
        """The placeholders of copies."""
        self.moved += len(arrays)
        return [COPY] * len(arrays)

    def wait(self, arrays: object) -> None:
        """Nothing is under way."""

    def is_on_host(self, array: Any) -> bool:
        """Whether it is the placeholder of a copy."""
        return array is COPY


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Predicted bytes: the ``peak`` on the device, then by store; bytes of ``given`` stores.

    ``away`` is the peak of offloaded stores on the host, then by store. ``loaded`` and ``evicted``
    are the bytes copied to the device and back, in the steps that were sampled, as ``transfers``
    arrays; ``moved`` are the bytes by store.
    """

    peak: int
    stores: Mapping[str, int]
    given: int
    away: int = 0
    away_stores: Mapping[str, int] = field(default_factory=dict)
    loaded: int = 0
    evicted: int = 0
    transfers: int = 0
    moved: Mapping[str, int] = field(default_factory=dict)


def forecast(
    program: Program, bounds: Mapping[str, int], given: frozenset[str], *, every_step: bool = False
) -> Forecast:
    """Predict the memory of a run; ``given`` are the stores filled before it.

    ``every_step``: do not sample loops.
    """
    layouts = layouts_of(program, bounds)
    on, ends = _NoDevice(), _LengthPattern()
    kernels = _kernels(program, ends)
    bound = BoundProgram(program=program, bounds=bounds, layouts=layouts, given=given)
    code = assemble(bound, kernels, on, RunHooks(account=True))
    samples = [] if every_step else _samples(code, program, bounds, layouts)
    storage, forecasts = Storage.of(program, layouts, bounds), []
    for ends.lengths in _length_patterns(program, bounds):
        on.moved, dry_run = 0, _DryRun(storage, bounds, on)
        forecasts.append(replace(dry_run.run(code, given, samples, ends), transfers=on.moved))
    return max(forecasts, key=lambda f: f.peak)


@dataclass(slots=True)
class _LengthPattern:
    """Lengths over points, in turn; 0: the largest."""

    lengths: tuple[int, ...] = (0,)

    def at(self, outer: PointIndex) -> int:
        """The length at a point."""
        return self.lengths[sum(outer) % len(self.lengths)]


def _length_patterns(program: Program, bounds: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Patterns of lengths over points (0: the largest): all equal, or alternating."""
    yield (0,)
    most = max((bounds[n.bound] for n in program.lengths), default=0)
    differ = any(n.outer for n in program.lengths)
    for n in dict.fromkeys(n for n in (*SHORT, most - 1) if 0 < n < most):
        yield (n,)
        if differ:
            yield from ((n, 0), (0, n))


def _samples(
    code: HostCode, program: Program, bounds: Mapping[str, int], layouts: Mapping[str, Layout]
) -> list[LoopSample | None]:
    """The samples of the loops of the host, by number."""
    values = Values(bounds, frozenset(length.bound for length in program.lengths))
    how = groups(program), values, program.tuning.condition_cases
    return [sample_of(loop, layouts, *how) for loop in code.loops]


def _kernels(program: Program, ends: _LengthPattern) -> list[Callable[..., Sequence[object]]]:
    """Kernels that do nothing: they return placeholders, endings, and no fault."""
    faults = {k.name: (None,) * bool(k.checks) for k in program.kernels}
    kernels: dict[str, Callable[..., Sequence[object]]] = {}
    for part in statements_in(program.tree):
        match part:
            case Call(kernel=name):
                results = (ARRAY,) * len(part.results) + (True,) * len(part.endings)
                kernels[name] = _constant_kernel(results + faults[name])
            case Region(kernel=name):
                kernels[name] = _region_kernel(part, ends, faults[name])
            case _:
                pass
    return [kernels.get(k.name, _constant_kernel(())) for k in program.kernels]


def _constant_kernel(results: tuple[object, ...]) -> Callable[..., tuple[object, ...]]:
    """A kernel that returns the given results."""
    return lambda *operands: results


def _region_kernel(
    region: Region, ends: _LengthPattern, fault: tuple[None, ...]
) -> Callable[..., tuple[object, ...]]:
    """The kernel of a device loop: lengths end where the pattern says so."""

    def kernel(at: tuple[int, ...], *operands: object) -> tuple[object, ...]:
        first, count, *rest = at
        length = ends.at(tuple(rest[: len(region.point)]))
        length = length if length - 1 in range(first, first + count) else 0
        lengths = ((length,) * len(region.endings),) * bool(region.endings)
        rows = ((0,),) * len(region.prints)
        return (ARRAY,) * len(region.carried) + rows + lengths + fault

    return kernel


class _DryRun(RunFrame):
    """The frame of a run without arrays."""

    def run(
        self,
        code: HostCode,
        given: frozenset[str],
        samples: Sequence[LoopSample | None],
        ends: _LengthPattern,
    ) -> Forecast:
        """Run the code, and read the ledger."""
        self.code, self.samples, self.pattern = code, samples, ends
        self.place_zeros(code.zeros)
        zeros = self.ledger.now
        self.place({s.name: self._given(s) for s in self.layouts if s.name in given}, account=True)
        given_bytes = self.ledger.now + self.ledger.away.now - zeros
        self.position = code.entry
        execute(code, self)
        ledger = self.ledger
        return Forecast(
            peak=ledger.peak,
            stores=ledger.at_peak(),
            given=given_bytes,
            away=ledger.away.peak,
            away_stores=ledger.away_at_peak(),
            loaded=ledger.loaded,
            evicted=ledger.evicted,
            moved=dict(zip((s.name for s in self.layouts), ledger.moved, strict=True)),
        )

    def _given(self, store: Layout) -> dict[PointIndex, object]:
        """The cells of a store that is filled before the run."""
        sizes = {dim: self.bounds[bound] for dim, bound in self.program.dims}
        keys = itertools.product(*(range(sizes[d]) for d in store.keys))
        return dict.fromkeys(keys, COPY if store.away else ARRAY)

    # -------------------------------------------------------------- hooks

    def steps_of(self, number: int, steps: range) -> Sequence[int]:
        """A sample of the steps with the same peak of memory."""
        sample = self.samples[number] if self.samples else None
        if sample is None or len(steps) < 2:
            return steps
        var = self.code.loops[number].var

        def at(step: int) -> Variables:
            return {**self.variables, var: step}

        return sample.steps(steps, at, self.capacities.sizes)

    def region_steps(self, region: Region, steps: range, steps_left: int | None) -> int:
        """All steps, or those before stores grow."""
        return len(steps) if steps_left is None else min(len(steps), steps_left)

    def region_returned(
        self, region: Region, steps: range, rest: range, result: Any, ended: bool
    ) -> None:
        """A call takes no time."""

    def length_ended(self, bound: str, outer: PointIndex, length: int) -> None:
        """A bound may end here; it does if this is its length in the pattern."""
        if length == self.pattern.at(outer):
            self.set_length(bound, outer, length)

    def call_host(self, number: int, point: PointIndex, args: Sequence[Any]) -> Sequence[Any]:
        """Placeholders."""
        return (ARRAY,) * len(self.code.hosts[number].results)

    def perform(self, effect: Effect, point: Any, values: Sequence[Any]) -> None:
        """Nothing is printed."""

    def failed(self, kernel: int, point: Any, fault: Any) -> None:
        """Nothing fails."""

    def check(self) -> None:
        """Nothing fails."""

    def is_due(self) -> bool:
        """Never: a dry run is not suspended."""
        return False

    def suspend(self, boundary: int) -> None:
        """Never called."""
        raise AssertionError("a dry run is not suspended")
