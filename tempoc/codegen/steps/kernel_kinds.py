"""What is known of kernels, and which results of them are selected rather than branched for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tempoc.base.cost_model import MODEL
from tempoc.codegen.regions.context import ProgramContext
from tempoc.memory.text import cell_bytes
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import substitute, symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelKinds:
    """What is known of kernels.

    ``light`` ones compute each element by itself, ``heavy`` ones take XLA as long as several
    others. ``checked`` ones may find a fault. ``moves`` only pass arguments on: it has for each
    result which one.
    """

    light: Collection[str] = ()
    heavy: Collection[str] = ()
    checked: Collection[str] = ()
    moves: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def computing(self, items: Sequence[prog.ProgramStatement]) -> list[str]:
        """The kernels of calls that do not only move arrays."""
        return [c.kernel for item in items for c in calls(item) if c.kernel not in self.moves]

    def size(self, items: Sequence[prog.ProgramStatement]) -> int:
        """The number of calls that XLA compiles; a heavy one counts as the fewest that pay."""
        every = self.computing(items)
        return len(every) + sum((MODEL.rolled_calls - 1) * (k in self.heavy) for k in every)

    def bare(
        self, s: prog.ProgramStatement | None, arrays: Collection[str]
    ) -> prog.ProgramStatement | None:
        """A statement without the names of kernels that only move, equal to others that do so.

        ``arrays`` are the stores that are one array, of which keys say nothing.
        """
        match s:
            case prog.Call(kernel=kernel, args=args, results=results) if kernel in self.moves:
                given = [args[k] for k in self.moves[kernel]]
                if any(c.store not in arrays for c in (*given, *results)):
                    return s
                places = (tuple(replace(c, key=()) for c in cells) for cells in (given, results))
                passed, made = places
                return replace(s, kernel="", point=(), args=passed, results=made)
            case prog.Sequence(items=items):
                parts = (self.bare(item, arrays) for item in items)
                return replace(s, items=tuple(part for part in parts if part is not None))
            case prog.Guard(body=body) | prog.Loop(body=body):
                return replace(s, body=self.bare(body, arrays) or body)
            case _:
                return s


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSelection:
    """Lets statements compute in all steps what they write in some."""

    context: ProgramContext
    kinds: KernelKinds

    def conditional(
        self, s: prog.ProgramStatement, condition: ix.Expr
    ) -> prog.ProgramStatement | None:
        """A statement under a condition on the step; ``None`` if it costs much where it fails.

        It writes whole arrays, of which each element is computed by itself, so that XLA selects
        them while it computes them. What is only passed on would be copied for that.
        """
        if isinstance(s, prog.Guard):
            inside = self.conditional(s.body, condition)
            return None if inside is None else replace(s, body=inside)
        if isinstance(s, prog.Sequence):  # a call, and what is freed beside it
            if sum(isinstance(item, prog.Call) for item in s.items) != 1:
                return None
            parts = [
                prog.Guard(condition=condition, body=item)
                if not any(True for _ in calls(item))
                else self.conditional(item, condition)
                for item in s.items
            ]
            items = tuple(part for part in parts if part is not None)
            return replace(s, items=items) if len(items) == len(parts) else None
        if isinstance(s, prog.Free):
            return prog.Guard(condition=condition, body=s)
        if not isinstance(s, prog.Call) or not self.is_simple(s, condition):
            return None
        if s.kernel in self.kinds.moves and self.is_large(s):
            return None
        kernel = self.context.kernels[s.kernel]
        axes = (axis.dim for c in s.results for axis in self.context.stores[c.store].axes)
        if not {*kernel.dims}.isdisjoint(axes):
            return None
        results = (
            replace(c, when=condition if c.when is None else ix.conjunction(condition, c.when))
            for c in s.results
        )
        return replace(s, results=tuple(results))

    def branch(self, s: prog.ProgramStatement, condition: ix.Expr) -> prog.ProgramStatement | None:
        """A call that writes slots of short rings in some steps, as a branch; ``None`` for others.

        XLA may copy the rings in each step, which takes less than what else the step does.
        """
        if isinstance(s, prog.Guard):
            inside = self.branch(s.body, condition)
            return None if inside is None else replace(s, body=inside)
        if not isinstance(s, prog.Call) or not self.is_simple(s, condition):
            return None
        kernel, most = self.context.kernels[s.kernel], ix.Const(MODEL.branched_slots)
        for cell in s.results:
            axes = self.context.stores[cell.store].axes
            written = [axis for axis in axes if axis.dim in kernel.dims]
            short = all(a.ring and ix.minimum(a.size, most) == a.size for a in written)
            if not written or not short:
                return None
        return prog.Guard(condition=condition, body=s)

    def is_simple(self, call: prog.Call, condition: ix.Expr) -> bool:
        """Whether a call is light, of the same arrays in all steps, and ends and checks nothing."""
        if call.kernel not in self.kinds.light or call.endings:
            return False
        cells = (*call.args, *call.results)
        checks = self.context.kernels[call.kernel].checks
        return not checks and not any(self.moves_with(c, condition) for c in cells)

    def moves_with(self, cell: prog.Cell, condition: ix.Expr) -> bool:
        """Whether which array of a store a cell is depends on the step, or is not known."""
        store = self.context.stores[cell.store]
        steps = {*symbols(condition)} - {*self.context.bounds}
        keys = (e for k, e in zip(store.keys, cell.key, strict=True) if k.modulo != ix.ONE)
        return bool(store.growing) or any(not steps.isdisjoint(symbols(e)) for e in keys)

    def is_large(self, call: prog.Call) -> bool:
        """Whether results of a call are known to take longer to copy than a call does."""
        fixed = {n: ix.Const(v) for n, v in self.context.fixed.items()}
        for cell in call.results:
            size = substitute(cell_bytes(self.context.stores[cell.store]), fixed)
            if isinstance(size, ix.Const) and size.value > MODEL.copied_bytes:
                return True
        return False
