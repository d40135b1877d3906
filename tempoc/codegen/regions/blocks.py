"""Forms blocks: consecutive statements that do not need the host, as one kernel.

::

    def block(at, x, *, T):
        y = jnp.zeros((T,), jnp.float32)
        (d,) = d(at, x)
        (y,) = y_rows((), d, y, T=T)
        return (y,)

Kernels and device loops are inlined in program order. A store that the block overwrites and nobody
reads later is local to the function, and XLA allocates it; one that is first written in the block
is created in it. The block keeps the statements, which are executed one by one for bounds with
which a loop among them is long (`single_call.py`), and where bytes are counted.

A block takes lengths, and returns those that it ends, as a region does. What follows the end of a
length there is checked only if nothing is checked of the length itself, which the runner does after
the block, and if no message needs it.
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
from tempoc.codegen.regions.single_call import ALL_STEPS, EnclosingLoops, beginnings, single_call
from tempoc.codegen.regions.writer import RegionWriter, kernel_list
from tempoc.program.analysis import traversal
from tempoc.program.analysis.live import live_after_each, live_before, live_in_loop, written_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic.expr import Expr
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockInterface:
    """The context of a block in the program.

    ``touched_before`` are the stores that may have been accessed before it starts,
    ``touched_outside`` those that statements outside of it access, ``live`` those that are live
    after it; ``outer`` the variables of the enclosing loops.
    """

    touched_before: frozenset[str]
    touched_outside: frozenset[str]
    live: frozenset[str]
    outer: tuple[str, ...]
    loops: EnclosingLoops = field(default_factory=EnclosingLoops)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """The stores of a block: passed and returned, only returned, local, only passed; lengths."""

    carried: list[str]
    returned: list[str]
    local: list[str]
    read: list[str]
    lengths: tuple[Expr, ...]


@dataclass(slots=True, kw_only=True)
class Blocks:
    """Replaces runs of statements by blocks.

    ``filled`` are the stores that are filled before the run, ``live_out`` those that are read after
    it, ``separate`` the kernels that must not be inlined in a block.
    """

    context: ProgramContext
    names: Names
    filled: frozenset[str]
    live_out: frozenset[str]
    separate: frozenset[str]
    emitted: list[EmittedRegion] = field(default_factory=list)

    def convert(self, tree: prog.ProgramStatement) -> prog.ProgramStatement:
        """The whole tree with blocks."""
        return self.part(
            tree,
            BlockInterface(
                touched_before=self.filled,
                touched_outside=self.live_out,
                live=self.live_out,
                outer=(),
            ),
        )

    def part(self, s: prog.ProgramStatement, outside: BlockInterface) -> prog.ProgramStatement:
        """A part of the tree, in the context ``outside``."""
        match s:
            case prog.Sequence(items=items):
                return self.sequence(items, outside)
            case prog.Region() if self.is_free(s):
                return self.sequence((s,), outside)
            case prog.Guard(body=body):
                return replace(s, body=self.part(body, outside))
            case prog.Loop(body=body, var=var):
                # What one step of the loop touches was touched before the next step.
                before = outside.touched_before | traversal.touched_stores(body)
                inner = replace(
                    outside,
                    touched_before=before,
                    live=live_in_loop(s, outside.live, self.context.kinds),
                    outer=(*outside.outer, var),
                    loops=outside.loops.inside(s),
                )
                return replace(s, body=self.part(body, inner))
            case _:
                return s

    def sequence(
        self, items: tuple[prog.ProgramStatement, ...], outside: BlockInterface
    ) -> prog.ProgramStatement:
        """The sequence, with each run of items that do not need the host as a block."""
        result: list[prog.ProgramStatement] = []
        stores = [traversal.touched_stores(item) for item in items]
        later = Counter(name for run_range in stores for name in run_range)
        live = [after for _, after in live_after_each(items, outside.live, self.context.kinds)]
        earlier: frozenset[str] = frozenset()
        start = 0
        while start < len(items):
            end = start
            while end < len(items) and self.fits(items[start:end], items[end]):
                end += 1
            run_range = slice(start, max(end, start + 1))
            later.subtract(name for own in stores[run_range] for name in own)
            around = outside.touched_outside | earlier | frozenset(+later)
            interface = replace(
                outside,
                touched_before=outside.touched_before | earlier,
                touched_outside=around,
                live=live[run_range.stop - 1],
            )
            earlier = earlier.union(*stores[run_range])
            run = items[run_range]
            # A guard alone stays around the block: where it fails, nothing is passed or called.
            if end > start + isinstance(run[0], prog.Guard):
                block = self.block(run, interface)
                result += run if block is None else [block]
            else:
                result.append(self.part(run[0], interface))
            start = run_range.stop
        return result[0] if len(result) == 1 else prog.Sequence(items=tuple(result))

    def fits(self, before: tuple[prog.ProgramStatement, ...], s: prog.ProgramStatement) -> bool:
        """Whether a statement may follow others in a block."""
        if not self.is_free(s):
            return False
        kernels = (self.context.kernels[c.kernel] for c in traversal.calls(s))
        checking = [kernel for kernel in kernels if kernel.checks]
        if not checking:
            return True
        ended = {name for part in before for e in ended_lengths(part) for name in symbols(e)}
        return not any(
            n.bound in ended and self.context.is_checked(n, checking) for n in self.context.lengths
        )

    def is_free(self, s: prog.ProgramStatement) -> bool:
        """Whether a statement runs without the host, but for conditions on bounds alone."""
        match s:
            case prog.Guard(body=prog.Free()):
                return True
            case prog.Guard(condition=condition, body=body):
                return {*symbols(condition)} <= {*self.context.bounds} and self.is_free(body)
            case prog.Sequence(items=items):
                return all(map(self.is_free, items))
            case prog.Region(prints=prints):
                free = all(c.kernel not in self.separate for c in traversal.calls(s))
                return free and not prints
            case prog.Call(kernel=kernel, results=results):
                writes = {cell.store for cell in results}
                return kernel not in self.separate and not writes & self.filled
            case prog.Free():
                return True
            case _:
                return False

    def block(
        self, items: tuple[prog.ProgramStatement, ...], outside: BlockInterface
    ) -> prog.Block | None:
        """The items as a block; ``None`` if that saves no call or shared arrays are unknown."""
        body = prog.Sequence(items=items)
        if sum(1 for _ in traversal.calls(body)) < 2 and not any(
            True for _ in traversal.regions(body)
        ):
            return None
        context = self.context
        try:
            cells = arrays(body, context.stores, context.fixed, {*context.bounds, *outside.outer})
            lengths = length_parameters(body, context, {*context.bounds, *outside.outer})
        except SharedArraysUnknown:
            return None
        changed = [name for name in written_stores(body) if name in cells]
        before = outside.touched_before
        own_stores = [n for n in changed if n not in before and not context.stores[n].growing]
        own_stores += self.local_growing(cells, [n for n in changed if n not in before], outside)
        inner = {*context.kinds.step_local} - outside.touched_outside
        own_stores += [n for n in changed if n in inner and n not in own_stores]
        first = traversal.overwritten_stores(body, changed)
        overwritten = [n for n in changed if not cells[n].places and n in first]
        own_stores += [name for name in overwritten if name not in own_stores]
        dead = {name for name in overwritten if name in context.registers} - outside.live
        needed = outside.touched_outside - dead
        returned = [name for name in own_stores if name in needed]
        local = [name for name in own_stores if name not in needed]
        carried = [name for name in changed if name not in own_stores]
        read = [name for name in cells if name not in changed]
        if not (carried or returned or ended_lengths(body)):
            return None
        parts = _Parts(carried=carried, returned=returned, local=local, read=read, lengths=lengths)
        fresh = [name for name in own_stores if name not in overwritten]
        return self.emit(body, cells, parts, fresh, outside)

    def local_growing(
        self, cells: Mapping[str, prog.Cells], first: list[str], outside: BlockInterface
    ) -> list[str]:
        """The growing stores among ``first`` that a block can make: nothing else uses them.

        Of each group one store is passed, whose array says how many slots there are.
        """
        passed: dict[tuple[str, Expr], str] = {}
        growing = {name: axis for name in cells if (axis := self.context.stores[name].growing)}
        for name, axis in growing.items():
            if (name not in first or name in outside.touched_outside) and not cells[name].places:
                passed.setdefault((axis.dim, axis.size), name)
        own = [name for name in first if name in growing and name not in outside.touched_outside]
        return [n for n in own if (growing[n].dim, growing[n].size) in passed]

    def emit(
        self,
        body: prog.Sequence,
        cells: Mapping[str, prog.Cells],
        parts: _Parts,
        fresh: list[str],
        outside: BlockInterface,
    ) -> prog.Block:
        """The block and its kernel; ``fresh`` are the stores that the function creates as zeros."""
        name = self.names.fresh("block")
        context, after = self.context, frozenset((*parts.carried, *parts.returned))
        ends = ended_lengths(body)
        writer = RegionWriter(
            context=context,
            fixed=context.fixed,
            cells=cells,
            outer=outside.outer,
            live_out=after,
            length_params=parts.lengths,
            ends=ends,
            step_limit=True,
        )
        writer.begin(body)
        read_first = live_before(body, after, context.kinds)
        self.name_sizes(writer, cells, (*parts.carried, *parts.read), fresh)
        for store in fresh:
            if store in read_first or store not in context.registers:
                writer.line(1, f"{writer.array_names[store]} = {_start(writer, cells[store])}")
        writer.statement(body, 1)
        given = [writer.array_names[s] for s in (*parts.carried, *parts.read)]
        returned = [writer.array_names[s] for s in (*parts.carried, *parts.returned)]
        doc = f"What stands between two tasks of the host: {kernel_list(body)}"
        kernel, lines = writer.end(name, body, doc, len(parts.carried), given, returned)
        node = prog.Block(
            kernel=name,
            point=outside.outer,
            body=body,
            carried=tuple(cells[n] for n in parts.carried),
            made=tuple(cells[n] for n in parts.returned),
            read=tuple(cells[n] for n in parts.read),
            local=tuple(parts.local),
            lengths=parts.lengths,
            counts=(*writer.counts, *([ALL_STEPS] if writer.left else [])),
            endings=tuple(map(parts.lengths.index, ends)),
            single=single_call(body, context, outside.loops),
            begun=beginnings(body, context, outside.loops),
        )
        self.emitted.append(EmittedRegion(node=node, kernel=kernel, text="\n".join(lines) + "\n"))
        return node

    def name_sizes(
        self,
        writer: RegionWriter,
        cells: Mapping[str, prog.Cells],
        passed: tuple[str, ...],
        fresh: list[str],
    ) -> None:
        """Write the sizes of growing stores that a block makes: they are those of passed ones."""
        stores = self.context.stores
        for axis in (stores[name].growing for name in fresh):
            if axis is None or (axis.dim, axis.size) in writer.size_names:
                continue
            key = axis.dim, axis.size
            name, number = next(
                (name, stores[name].order.index(stores[name].axes.index(own)))
                for name in passed
                if (own := stores[name].growing) and (own.dim, own.size) == key
                if not cells[name].places
            )
            writer.size_names[key] = size = writer.locals.fresh(f"{symbols(axis.size)[0]}_room")
            writer.line(1, f"{size} = {writer.array_names[name]}.shape[{number}]")


def _start(writer: RegionWriter, cells: prog.Cells) -> str:
    """The initial contents of a store that is created in a block."""
    zeros = writer.zeros(prog.Cell(store=cells.store, key=cells.keys[0]))
    if not cells.places:
        return zeros
    slots = (writer.slots(prog.Cell(store=cells.store, key=key)) for key in cells.keys)
    shown = "({})" if len(cells.places) > 1 else "{}"
    return "{" + ", ".join(f"{shown.format(slot)}: {zeros}" for slot in slots) + "}"
