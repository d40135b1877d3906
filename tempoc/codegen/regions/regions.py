"""Regions: loops that the device runs, each as one function of ``kernels.py``.

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
stores in place. What the kernels write is carried; what they only read is not, nor what is written
anew in each step and wanted by nobody else. ``at`` has the first ``t``, the number of steps, then
the variables of loops outside; with ``steps`` the number is known when the function is traced,
which spares a GPU the question after each step.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tempoc.base.names import Names
from tempoc.codegen.regions.capacity import capacity_needs
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.lengths import length_parameters, loop_endings
from tempoc.codegen.regions.loop_state import SharedArraysUnknown, arrays
from tempoc.codegen.regions.writer import RegionWriter, kernel_list
from tempoc.program.analysis.live import afterwards, wanted_within
from tempoc.program.analysis.traversal import written
from tempoc.program.nodes import nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class EmittedRegion:
    """A region or block, its kernel, and the kernel's text."""

    node: nodes.Region | nodes.Block
    kernel: nodes.Kernel
    text: str


@dataclass(slots=True, kw_only=True)
class Regions:
    """Puts regions in place of loops on the device.

    ``made`` are those that were found, ``left`` the variables of loops that the host keeps.
    """

    known: ProgramContext
    names: Names
    made: list[EmittedRegion] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def convert(
        self, s: nodes.ProgramStatement, after: frozenset[str], outer: tuple[str, ...] = ()
    ) -> nodes.ProgramStatement:
        """The tree with regions; ``outer`` are the variables of loops around.

        The contents of the stores in ``after`` are wanted afterwards.
        """
        single = self.known.registers
        match s:
            case nodes.Sequence(items=items):
                parts = afterwards(items, after, single)
                return replace(
                    s, items=tuple(self.convert(i, live_out, outer) for i, live_out in parts)
                )
            case nodes.Guard(body=body):
                return replace(s, body=self.convert(body, after, outer))
            case nodes.Loop(place="device"):
                return self.region(s, after, outer)
            case nodes.Loop(body=body, var=var):
                live_out = wanted_within(body, after, single)
                return replace(s, body=self.convert(body, live_out, (*outer, var)))
            case _:
                return s

    def region(
        self, loop: nodes.Loop, after: frozenset[str], outer: tuple[str, ...]
    ) -> nodes.ProgramStatement:
        """The loop as a region; as it is where nobody can say which arrays are which."""
        context = self.known
        try:
            cells = arrays(loop, context.stores, context.fixed, {*context.bounds, *outer})
            ends = loop_endings(loop)
            lengths = length_parameters(loop, context, {*context.bounds, *outer})
        except SharedArraysUnknown:
            self.left.append(loop.var)
            return _on_host(loop)
        live_out = wanted_within(loop.body, after, context.registers)
        local = [n for n in written(loop) if n in context.registers and n not in live_out]
        changed = [name for name in written(loop) if name in cells and name not in local]
        if not changed and not ends:
            return _on_host(loop)
        name = self.names.fresh(f"loop_{loop.var}")
        writer = RegionWriter(
            known=context,
            fixed=context.fixed,
            found=cells,
            outer=outer,
            after=after,
            asked=lengths,
            ends=ends,
            ahead=2,
        )
        read = [n for n in cells if n not in (*changed, *local)]
        kernel, lines = _write(writer, name, loop, changed, read)
        node = nodes.Region(
            kernel=name,
            point=outer,
            loop=loop,
            carried=tuple(cells[n] for n in changed),
            read=tuple(cells[n] for n in read),
            needs=capacity_needs(loop, outer),
            lengths=lengths,
            endings=tuple(map(lengths.index, ends)),
            local=tuple(local),
        )
        self.made.append(EmittedRegion(node=node, kernel=kernel, text="\n".join(lines) + "\n"))
        return node


def _on_host(loop: nodes.Loop) -> nodes.Loop:
    """The loop and all within it left to the host."""

    def back(s: nodes.ProgramStatement) -> nodes.ProgramStatement:
        match s:
            case nodes.Sequence(items=items):
                return replace(s, items=tuple(map(back, items)))
            case nodes.Guard(body=body):
                return replace(s, body=back(body))
            case nodes.Loop(body=body):
                return replace(s, body=back(body), place="host")
            case _:
                return s

    host_loop = back(loop)
    assert isinstance(host_loop, nodes.Loop)
    return host_loop


def _write(
    writer: RegionWriter, name: str, loop: nodes.Loop, changed: list[str], read: list[str]
) -> tuple[nodes.Kernel, list[str]]:
    """The kernel of a region and the lines of its function."""
    writer.begin(loop)
    writer.line(1, "count = at[1] if steps is None else steps")
    writer.device(loop, 1, root=True)
    ends = "from at[0] on" if loop.step > 0 else "from at[0] down"
    doc = f"{loop.var} {ends}, at[1] steps; the loop of {kernel_list(loop)}"
    given = [writer.called[s] for s in (*changed, *read)]
    returned = given[: len(changed)]
    return writer.end(name, loop, doc, len(changed), given, returned, ("steps=None",))
