"""The context in which regions and blocks are formed: stores, kernels, bounds, lengths."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tempoc.codegen.stores.ring_rows import RingUse
from tempoc.program.analysis.live import StoreKinds, single_array_stores
from tempoc.program.analysis.traversal import lengths_of
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import FoundLength, ProgramBound, bounds_set_by_run
from tempoc.program.nodes.buffers import Buffer
from tempoc.symbolic.expr import ZERO, Const, Expr
from tempoc.symbolic.walk import substitute, symbols


def _unknown(kernel: str) -> frozenset[str]:
    """The stores of which a kernel is known to read nothing: none."""
    return frozenset()


def _no_numbers(kernel: str) -> tuple[Expr, ...]:
    """The numbers over bounds in the text of a kernel: none are known."""
    return ()


@dataclass(frozen=True, kw_only=True)
class ProgramContext:
    """A program without its tree. ``bounds`` maps constant bounds to their values, others to None.

    ``narrow`` are the kernels that update an array with an axis of possible length 1, each with the
    stores that it also reads. ``declared`` are the bounds with their expressions; ``lengths`` are
    those found at run time, which are not in ``bounds``. ``rows`` has for kernels of prints the
    stores of the rows that a region collects, ``touched`` for each kernel the bytes of what a call
    of it reads and writes of stores. ``step_local`` are the stores without a value between steps of
    a device loop, with its variable. ``ring_uses`` are, by kernel, the short rings of which it uses
    nothing but rows, ``only_written`` gives the stores of which a kernel reads nothing, ``changed``
    are those that it changes at one place, which data may decide. ``numbers`` gives those over
    bounds in the text of a kernel. ``values`` are names for the results of each: arrays alike with
    the same name are equal. ``assumed`` are the conditions that bounds must meet.
    """

    stores: Mapping[str, Buffer]
    kernels: Mapping[str, prog.Kernel]
    bounds: Mapping[str, int | None]
    x64: bool
    narrow: Mapping[str, frozenset[str]] = field(default_factory=dict)
    declared: tuple[ProgramBound, ...] = ()
    lengths: tuple[FoundLength, ...] = ()
    rows: Mapping[str, tuple[Buffer, ...]] = field(default_factory=dict)
    touched: Mapping[str, Expr] = field(default_factory=dict)
    step_local: Mapping[str, str] = field(default_factory=dict)
    ring_uses: Mapping[str, Mapping[str, RingUse]] = field(default_factory=dict)
    only_written: Callable[[str], frozenset[str]] = _unknown
    changed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    numbers: Callable[[str], tuple[Expr, ...]] = _no_numbers
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    assumed: tuple[Expr, ...] = ()

    @cached_property
    def registers(self) -> frozenset[str]:
        """The stores that are one array."""
        return single_array_stores(self.stores)

    @cached_property
    def kinds(self) -> StoreKinds:
        """What liveness has to know of the stores."""
        local = {name: var for name, var in self.step_local.items() if name in self.registers}
        return StoreKinds(single=self.registers, step_local=local)

    @property
    def largest(self) -> frozenset[str]:
        """The names of the largest lengths."""
        return frozenset(length.largest for length in self.lengths)

    @property
    def fixed(self) -> dict[str, int]:
        """The bounds that are constants."""
        return {name: value for name, value in self.bounds.items() if value is not None}

    def is_checked(self, length: FoundLength, before: Iterable[prog.Kernel]) -> bool:
        """Whether a length must be known before kernels may fail a check.

        When it ends its assumptions are checked, and bounds that follow from it. Messages name
        bounds, and points of ranges that have them.
        """
        declared = [b for b in self.declared if b.name not in self.largest]
        follow = bounds_set_by_run(declared, (length,)) - {length.bound}
        if follow or any(length.bound in symbols(e) for e in self.assumed):
            return True
        texts = {word for k in before for text in k.checks for word in re.findall(r"\w+", text)}
        ranges = (e for k in before for r in k.vector for e in (r.lower, r.upper))
        return length.bound in texts.union(*map(symbols, ranges))

    def fills(self, call: prog.Call, store: str) -> bool:
        """Whether a call writes all of the array of a store, and not some points of an axis."""
        fixed = {name: Const(value) for name, value in self.fixed.items()}
        ranges = {r.dim: r for r in self.kernels[call.kernel].vector}
        return all(
            (r := ranges.get(axis.dim)) is not None
            and (r.lower, substitute(r.upper, fixed)) == (ZERO, substitute(axis.size, fixed))
            for axis in self.stores[store].axes
        )

    def lengths_of(self, call: prog.Call) -> Iterator[Expr]:
        """The lengths that a kernel takes as arguments, at the point of a call."""
        return lengths_of(call, self.kernels[call.kernel], self.declared, self.lengths)
