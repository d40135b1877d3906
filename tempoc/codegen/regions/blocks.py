"""Blocks: statements without work for the host between them, as one function of ``kernels.py``.

::

    def block(at, x, *, T):
        y = jnp.zeros((T,), jnp.float32)
        (d,) = d(at, x)
        (y,) = y_rows((), d, y, T=T)
        return (y,)

Kernels and loops of the device are inlined one after the other. What only they touch never leaves
the function: XLA decides where that lives, and for how long. What nobody has touched before is made
in it. The runner may as well execute the statements one by one, and does so where a loop among them
is long.

A block is told lengths and finds them out as a region does. After an end nothing in it is checked:
the runner first has to see whether the length is one that may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.names import Names
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.lengths import ended_lengths, length_parameters
from tempoc.codegen.regions.loop_state import SharedArraysUnknown, arrays
from tempoc.codegen.regions.regions import EmittedRegion
from tempoc.codegen.regions.writer import RegionWriter, kernel_list
from tempoc.program.analysis.live import wanted
from tempoc.program.analysis.traversal import calls, regions, starting_anew, touched, written
from tempoc.program.nodes import nodes
from tempoc.program.nodes.arithmetic import Arith
from tempoc.program.nodes.arithmetic import names as names_in


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockInterface:
    """How a block is seen by the rest of the program.

    ``before`` are the stores that somebody may have touched when it starts, ``around`` those that
    statements outside of it touch; ``outer`` the variables of loops around.
    """

    before: frozenset[str]
    around: frozenset[str]
    outer: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The stores of a block: passed and returned, returned, neither, passed; ``told`` lengths."""

    carried: list[str]
    made: list[str]
    local: list[str]
    read: list[str]
    told: tuple[Arith, ...]


@dataclass(slots=True, kw_only=True)
class Blocks:
    """Puts blocks in place of statements that follow one another.

    ``given`` are the stores that are filled before the run, ``kept`` those that are read after it,
    ``apart`` the kernels that the runner shall call by themselves.
    """

    known: ProgramContext
    names: Names
    given: frozenset[str]
    kept: frozenset[str]
    apart: frozenset[str]
    made: list[EmittedRegion] = field(default_factory=list)

    def convert(self, tree: nodes.ProgramStatement) -> nodes.ProgramStatement:
        """The whole tree with blocks."""
        return self.part(tree, BlockInterface(before=self.given, around=self.kept, outer=()))

    def part(self, s: nodes.ProgramStatement, outside: BlockInterface) -> nodes.ProgramStatement:
        """A part of the tree; ``outside`` is what surrounds it."""
        match s:
            case nodes.Sequence(items=items):
                return self.sequence(items, outside)
            case nodes.Region() if self.is_free(s):
                return self.sequence((s,), outside)
            case nodes.Guard(body=body):
                return replace(s, body=self.part(body, outside))
            case nodes.Loop(body=body, var=var):
                # The next step comes after this one.
                before = outside.before | touched(body)
                inner = replace(outside, before=before, outer=(*outside.outer, var))
                return replace(s, body=self.part(body, inner))
            case _:
                return s

    def sequence(
        self, items: tuple[nodes.ProgramStatement, ...], outside: BlockInterface
    ) -> nodes.ProgramStatement:
        """Runs of items that need no host become blocks."""
        result: list[nodes.ProgramStatement] = []
        stores = [touched(item) for item in items]
        later = Counter(name for run_range in stores for name in run_range)
        earlier: frozenset[str] = frozenset()
        start = 0
        while start < len(items):
            end = start
            while end < len(items) and self.fits(items[start:end], items[end]):
                end += 1
            run_range = slice(start, max(end, start + 1))
            later.subtract(name for own in stores[run_range] for name in own)
            around = outside.around | earlier | frozenset(+later)
            interface = replace(outside, before=outside.before | earlier, around=around)
            earlier = earlier.union(*stores[run_range])
            run = items[run_range]
            if end > start:
                block = self.block(run, interface)
                result += run if block is None else [block]
            else:
                result.append(self.part(run[0], interface))
            start = run_range.stop
        return result[0] if len(result) == 1 else nodes.Sequence(items=tuple(result))

    def fits(self, before: tuple[nodes.ProgramStatement, ...], s: nodes.ProgramStatement) -> bool:
        """Whether a statement may follow others in a block."""
        if not self.is_free(s):
            return False
        checks = any(self.known.kernels[c.kernel].checks for c in calls(s))
        return not (checks and any(map(ended_lengths, before)))

    def is_free(self, s: nodes.ProgramStatement) -> bool:
        """Whether the host is not needed for a statement, or only to decide once and for all."""
        match s:
            case nodes.Guard(body=nodes.Free()):
                return True
            case nodes.Guard(condition=condition, body=body):
                return {*names_in(condition)} <= {*self.known.bounds} and self.is_free(body)
            case nodes.Sequence(items=items):
                return all(map(self.is_free, items))
            case nodes.Region():
                return not any(c.kernel in self.apart for c in calls(s))
            case nodes.Call(kernel=kernel, results=results):
                writes = {cell.store for cell in results}
                return kernel not in self.apart and not writes & self.given
            case nodes.Free():
                return True
            case _:
                return False

    def block(
        self, items: tuple[nodes.ProgramStatement, ...], outside: BlockInterface
    ) -> nodes.Block | None:
        """The items as a block, where that is of use and it is clear which arrays they share."""
        body = nodes.Sequence(items=items)
        if sum(1 for _ in calls(body)) < 2 and not any(True for _ in regions(body)):
            return None
        context = self.known
        try:
            cells = arrays(body, context.stores, context.fixed, {*context.bounds, *outside.outer})
            lengths = length_parameters(body, context, {*context.bounds, *outside.outer})
        except SharedArraysUnknown:
            return None
        changed = [name for name in written(body) if name in cells]
        own_stores = [name for name in changed if name not in outside.before]
        first = starting_anew(body, changed)
        overwritten = [n for n in changed if not cells[n].places and n in first]
        own_stores += [name for name in overwritten if name not in own_stores]
        returned = [name for name in own_stores if name in outside.around]
        local = [name for name in own_stores if name not in outside.around]
        carried = [name for name in changed if name not in own_stores]
        read = [name for name in cells if name not in changed]
        if not (carried or returned or ended_lengths(body)):
            return None
        parts = _Parts(carried=carried, made=returned, local=local, read=read, told=lengths)
        fresh = [name for name in own_stores if name not in overwritten]
        return self.written(body, cells, parts, fresh, outside.outer)

    def written(
        self,
        body: nodes.Sequence,
        cells: Mapping[str, nodes.Cells],
        parts: _Parts,
        fresh: list[str],
        outer: tuple[str, ...],
    ) -> nodes.Block:
        """The block with its function; ``fresh`` are the stores that start as zeros in it."""
        name = self.names.fresh("block")
        context, after = self.known, frozenset((*parts.carried, *parts.made))
        ends = ended_lengths(body)
        writer = RegionWriter(
            known=context,
            fixed=context.fixed,
            found=cells,
            outer=outer,
            after=after,
            asked=parts.told,
            ends=ends,
        )
        writer.begin(body)
        read_first = wanted(body, after, context.registers)
        for store in fresh:
            if store in read_first or store not in context.registers:
                writer.line(1, f"{writer.called[store]} = {_start(writer, cells[store])}")
        writer.statement(body, 1)
        given = [writer.called[s] for s in (*parts.carried, *parts.read)]
        returned = [writer.called[s] for s in (*parts.carried, *parts.made)]
        doc = f"What stands between two tasks of the host: {kernel_list(body)}"
        kernel, lines = writer.end(name, body, doc, len(parts.carried), given, returned)
        node = nodes.Block(
            kernel=name,
            point=outer,
            body=body,
            carried=tuple(cells[n] for n in parts.carried),
            made=tuple(cells[n] for n in parts.made),
            read=tuple(cells[n] for n in parts.read),
            local=tuple(parts.local),
            lengths=parts.told,
            endings=tuple(map(parts.told.index, ends)),
        )
        self.made.append(EmittedRegion(node=node, kernel=kernel, text="\n".join(lines) + "\n"))
        return node


def _start(writer: RegionWriter, cells: nodes.Cells) -> str:
    """What a store holds that is new in a block."""
    zeros = writer.zeros(nodes.Cell(store=cells.store, key=cells.keys[0]))
    if not cells.places:
        return zeros
    slots = (writer.slots(nodes.Cell(store=cells.store, key=key)) for key in cells.keys)
    return "{" + ", ".join(f"{slot}: {zeros}" for slot in slots) + "}"
