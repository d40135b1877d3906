"""Forms regions: loops that run on the device, each as one kernel.

::

    def loop_t(at, h, x, W, *, steps=None, T):
        def step_t(i, carry):
            (h,) = carry
            t = at[0] + i
            (h,) = rnn((t,), x, W, h, T=T)
            return (h,)

        (h,) = lax.fori_loop(0, at[1] if steps is None else steps, step_t, (h,))
        return (h,)

The kernels are inlined when JAX traces the function, so XLA sees the whole loop and updates the
stores in place. Stores that the loop writes are loop-carried; those that it only reads are not, nor
those that are local to one step (written in each step before they are read, and dead after it);
of these the step makes arrays that several calls write (``memory/frees.py``).
What a loop prints it collects, and the host saves files between its calls (`effects.py`).

``at`` has the first ``t``, the number of steps, then the variables of enclosing loops; with
``steps`` the number is static, so that a GPU need not copy the loop condition to the host after
each step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.effort import EFFORT
from tempoc.base.names import Names
from tempoc.codegen.regions.capacity import capacity_needs
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.effects import (
    between_saves,
    most_steps,
    print_kernels,
    with_rows,
)
from tempoc.codegen.regions.lengths import length_parameters, loop_endings
from tempoc.codegen.regions.loop_state import SharedArraysUnknown, arrays
from tempoc.codegen.regions.writer import RegionWriter, kernel_list
from tempoc.program.analysis import traversal
from tempoc.program.analysis.live import (
    changed_stores,
    live_after_each,
    live_in_loop,
    written_stores,
)
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedRegion:
    """A region or block, its kernel, and the kernel's text."""

    node: prog.Region | prog.Block
    kernel: prog.Kernel
    text: str


@dataclass(slots=True, kw_only=True)
class Regions:
    """Replaces device loops by regions.

    ``emitted`` are the regions, ``on_host`` the variables of loops that stay with the host.
    """

    context: ProgramContext
    names: Names
    emitted: list[EmittedRegion] = field(default_factory=list)
    on_host: list[str] = field(default_factory=list)

    def convert(
        self, s: prog.ProgramStatement, after: frozenset[str], outer: tuple[str, ...] = ()
    ) -> prog.ProgramStatement:
        """The tree with regions; ``outer`` are the variables of enclosing loops.

        The stores in ``after`` are live after the statement.
        """
        kinds = self.context.kinds
        match s:
            case prog.Sequence(items=items):
                parts = live_after_each(items, after, kinds)
                return replace(
                    s, items=tuple(self.convert(i, live_out, outer) for i, live_out in parts)
                )
            case prog.Guard(body=body):
                return replace(s, body=self.convert(body, after, outer))
            case prog.Loop(place="device"):
                return self.region(s, after, outer)
            case prog.Loop(body=body, var=var):
                live_out = live_in_loop(s, after, kinds)
                return replace(s, body=self.convert(body, live_out, (*outer, var)))
            case _:
                return s

    def region(
        self, loop: prog.Loop, after: frozenset[str], outer: tuple[str, ...]
    ) -> prog.ProgramStatement:
        """The loop as a region; on the host if it is unknown which arrays its calls share.

        If it saves files, it is a loop on the host over its parts, of which most are regions.
        """
        context = self.context
        taken = {*context.bounds, *context.largest, *(n.bound for n in context.lengths), *outer}
        taken |= {*traversal.variables(loop)}
        divided = between_saves(loop, taken) if len(outer) < EFFORT.outer_loops else None
        if divided is not None:
            return self.convert(divided, after, outer)
        on_host = _on_host(loop, context.kernels)
        try:
            loop = with_rows(loop, context)
            most = most_steps(loop, context)
            cells = arrays(loop, context.stores, context.fixed, {*context.bounds, *outer})
            ends = loop_endings(loop)
            lengths = length_parameters(loop, context, {*context.bounds, *outer})
        except SharedArraysUnknown:
            self.on_host.append(loop.var)
            return on_host
        live_out = live_in_loop(loop, after, context.kinds)
        carried = changed_stores(loop, live_out, context.kinds)
        changed = [name for name in carried if name in cells]
        local = [name for name in written_stores(loop) if name not in carried]
        prints = print_kernels(loop)
        if not changed and not ends and not prints:
            return on_host if carried or self.matters(loop) else prog.Sequence(items=())
        name = self.names.fresh(f"loop_{loop.var}")
        writer = RegionWriter(
            context=context,
            fixed=context.fixed,
            cells=cells,
            outer=outer,
            live_out=after,
            length_params=lengths,
            ends=ends,
            ahead=2,
        )
        read = [n for n in cells if n not in (*changed, *local)]
        kernel, lines = _write(writer, name, loop, changed, read)
        node = prog.Region(
            kernel=name,
            point=outer,
            loop=loop,
            carried=tuple(cells[n] for n in changed),
            read=tuple(cells[n] for n in read),
            needs=capacity_needs(loop),
            lengths=lengths,
            counts=(*writer.counts,),
            endings=tuple(map(lengths.index, ends)),
            local=(*local, *(store.name for k in prints for store in context.rows[k])),
            prints=prints,
            most=most,
        )
        self.emitted.append(EmittedRegion(node=node, kernel=kernel, text="\n".join(lines) + "\n"))
        return node

    def matters(self, loop: prog.Loop) -> bool:
        """Whether a loop of which no store is read later does something else."""
        kernels = self.context.kernels
        checks = any(kernels[call.kernel].checks for call in traversal.calls(loop))
        return checks or any(isinstance(s, prog.Free) for s in traversal.statements_in(loop))


def _on_host(loop: prog.Loop, kernels: Mapping[str, prog.Kernel]) -> prog.Loop:
    """The loop, and all loops in it, moved to the host."""

    def to_host(s: prog.ProgramStatement) -> prog.ProgramStatement:
        match s:
            case prog.Sequence(items=items):
                return replace(s, items=tuple(map(to_host, items)))
            case prog.Guard(body=body):
                return replace(s, body=to_host(body))
            case prog.Loop(body=body):
                return replace(s, body=to_host(body), place="host")
            case prog.Call():
                return _taken(s, bool(kernels[s.kernel].checks))
            case _:
                return s

    host_loop = to_host(loop)
    assert isinstance(host_loop, prog.Loop)
    return host_loop


def _taken(call: prog.Call, checks: bool) -> prog.ProgramStatement:
    """A call as a branch if no result is wanted everywhere: on the host not all operands exist.

    On the device results of small calls are selected instead, and what a call ``checks`` too much
    does not count.
    """
    given = [c.when for c in call.results] + [call.where] * checks
    conditions = [when for when in given if when is not None]
    if not conditions or len(conditions) < len(given) or call.endings:
        return call
    if len({*conditions}) == 1:
        results = tuple(replace(c, when=None) for c in call.results)
        call = replace(call, results=results, where=None)
    return prog.Guard(condition=ix.disjunction(*conditions), body=call)


def _write(
    writer: RegionWriter, name: str, loop: prog.Loop, changed: list[str], read: list[str]
) -> tuple[prog.Kernel, list[str]]:
    """The kernel of a region and the lines of its function."""
    writer.begin(loop)
    writer.line(1, "count = at[1] if steps is None else steps")
    writer.device(loop, 1, root=True)
    ends = "from at[0] on" if loop.step > 0 else "from at[0] down"
    doc = f"{loop.var} {ends}, at[1] steps; the loop of {kernel_list(loop)}"
    given = [writer.array_names[s] for s in (*changed, *read)]
    returned = given[: len(changed)]
    return writer.end(name, loop, doc, len(changed), given, returned, ("steps=None",))
