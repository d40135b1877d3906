"""The kernel that joins boxes of an array which other functions compute.

Statements that write boxes of one array at one point, as those of the inner part and of the rims of
a grid do, become one kernel: a function of each returns its rows, and these are joined::

    def u_boxes(at, u, *, H):
        boxes = [((0,), u_1(at, u, H=H))]
        if H >= 2:
            boxes.append(((1,), u_2(at, u, H=H)))
        return (joined(u, boxes),)

So an array whose boxes cover it is written once; updates of what a loop carries, one after the
other, would each need the whole array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tempoc.base.names import Names
from tempoc.base.python_text import docstring
from tempoc.codegen.kernels.boxes import WrittenBox
from tempoc.codegen.kernels.kernel import KernelFunction, returned, signature, unpacked
from tempoc.codegen.stores.access import KernelFrame, slot
from tempoc.codegen.stores.context import KernelArgument, KernelCell, KernelResult, Stages
from tempoc.codegen.stores.ring_rows import short_ring
from tempoc.codegen.text.naming import RESERVED, names_in
from tempoc.codegen.text.wrap_lines import INDENT, wrapped
from tempoc.ops.definition.dtype_text import tupled
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.program.nodes.spelling import variable
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import ExprPrinter
from tempoc.symbolic.walk import symbols

ParameterNames = Mapping[tuple[KernelCell, ix.Expr], str]
"""The names of parameters: what cells hold, zeros where a condition does not hold."""

IN_ROWS = '''\
def in_rows(boxes, axis):
    """Boxes, each with its start: those side by side along an axis as one."""
    across = lambda place: (*place[:axis], *place[axis + 1 :])
    rows = {}
    for start, part in sorted(boxes, key=lambda box: box[0][axis]):
        row = across(start), across(part.shape)
        first, parts = rows.pop((*row, start[axis]), (start, []))
        rows[*row, start[axis] + part.shape[axis]] = first, [*parts, part]
    return [(first, lax.concatenate(parts, axis)) for first, parts in rows.values()]
'''
"""Stands in front of the function that follows."""

JOINED = '''\
def joined(array, boxes, *at):
    """The array with boxes put in, each with its start behind ``at``, that of the first axes.

    What fills the array replaces it. Boxes are joined where they lie side by side. A CPU computes a
    concatenation element by element, so there the largest one is put among the others; but not in a
    part of an array, which would then be copied.
    """
    boxes = [(start, part) for start, part in boxes if part.size]
    whole, largest, count = jnp.zeros(array.shape[len(at) :], array.dtype), [], None
    fills = sum(part.size for _, part in boxes) == whole.size
    if fills and not at and len(boxes) > 1 and jax.default_backend() == "cpu":
        boxes = sorted(boxes, key=lambda box: box[1].size)
        largest = [boxes.pop()]
    while len(boxes) != count:
        count = len(boxes)
        for axis in range(whole.ndim):
            boxes = in_rows(boxes, axis)
    if largest:
        for start, part in [*largest, *boxes]:
            whole = lax.dynamic_update_slice(whole, part, start)
        boxes = [((0,) * whole.ndim, whole)]
    for start, part in boxes:
        if part.shape == array.shape:
            return part
        first = [jnp.int32(s) for s in (*at, *start)]
        part = lax.expand_dims(lax.optimization_barrier(part), range(len(at)))
        array = updated(array, part, first)
    return array
'''
"""Stands in front of kernels that write all boxes of an array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxKernel:
    """A function that returns the rows of its boxes, which are computed under a condition."""

    condition: ix.Expr
    function: KernelFunction
    boxes: Mapping[str, WrittenBox]


def joined_function(
    name: str, statement: Statement, parts: Sequence[BoxKernel], stages: Stages
) -> KernelFunction:
    """The kernel that joins the boxes of some functions, which are those of statements like this.

    The conditions are over bounds.
    """
    dims = statement.domain.dims
    names = Names([*RESERVED, *map(variable, dims), *(p.function.name for p in parts)], spaced=True)
    universe = stages.space.universe
    for known in (*(b.name for b in universe.bounds), *(d.name for d in universe.dims)):
        names.take(variable(known))
    given = _arguments(parts, stages, names)
    out = KernelEmitter(dims=dims, bound=lambda e: e, names=names, spelled=variable)
    frame = KernelFrame(
        out=out,
        proves=lambda condition: stages.proves(statement, condition),
        dims=dims,
        x64=stages.x64,
    )
    written = list(dict.fromkeys(r.cell for part in parts for r in part.function.results))
    lists = {
        cell: names.fresh(f"{given[cell, ix.TRUE]}_boxes" if len(written) > 1 else "boxes")
        for cell in written
    }
    lines = _collected(parts, given, lists, names)
    results = []
    for cell, boxes in lists.items():
        at = next(p.boxes[cell[0]].at for p in parts if cell[0] in p.boxes)
        slots = [slot(entry, axis, frame) for axis, entry in at]
        text = f"joined({', '.join([given[cell, ix.TRUE], boxes, *slots])})"
        at_dims = {axis.dim: entry for axis, entry in at}
        ring = short_ring(stages.buffers[cell[0]])
        if ring is not None and [*at_dims] == [ring.dim]:
            place = frame.ring_place(stages.buffers[cell[0]], at_dims)
            text = f"with_joined_row({given[cell, ix.TRUE]}, {place}, {boxes})" if place else text
        results.append(KernelResult(cell=cell, text=text))
    lines.append(returned([r.text for r in results]))
    used = names_in(lines)
    lines = [*unpacked(dims, used), *lines]
    keywords = tuple(b.name for b in universe.bounds if variable(b.name) in used)
    equations = tuple(dict.fromkeys(e for p in parts for e in p.function.equations))
    arguments = tuple(KernelArgument(cell=c, name=n, when=when) for (c, when), n in given.items())
    code = [*signature(name, ["at", *given.values()], keywords)]
    words = f"All boxes of {', '.join(given[cell, ix.TRUE] for cell in written)} at a point."
    code += [INDENT + line for line in docstring(words)]
    code += [part for line in lines for part in wrapped(INDENT + line)]
    return KernelFunction(
        name=name,
        text="\n".join(code) + "\n",
        arguments=arguments,
        results=tuple(results),
        bounds=keywords,
        equations=equations,
    )


def _arguments(
    parts: Sequence[BoxKernel], stages: Stages, names: Names
) -> dict[tuple[KernelCell, ix.Expr], str]:
    """The names of all arguments: first the arrays that are written."""
    written = dict.fromkeys(r.cell for part in parts for r in part.function.results)
    given: dict[tuple[KernelCell, ix.Expr], str] = {
        (cell, ix.TRUE): names.fresh(stages.local_name(cell[0])) for cell in written
    }
    for argument in (a for part in parts for a in part.function.arguments):
        if (argument.cell, argument.when) not in given:
            given[argument.cell, argument.when] = names.fresh(argument.name)
    return given


def _collected(
    parts: Sequence[BoxKernel], given: ParameterNames, lists: Mapping[KernelCell, str], names: Names
) -> list[str]:
    """The lines that collect the boxes of all functions, those of each array in a list."""
    lines: list[str] = []
    begun: set[str] = set()
    ordered = sorted(parts, key=lambda part: part.condition != ix.TRUE)
    for part in ordered:
        f, always = part.function, part.condition == ix.TRUE
        words = ["at", *(given[a.cell, a.when] for a in f.arguments)]
        words += [f"{variable(b)}={variable(b)}" for b in f.bounds]
        rows = [f"{f.name}({', '.join(words)})"]
        inside: list[str] = []
        if len(f.results) > 1:
            (call,), rows = rows, [names.fresh("rows") for _ in f.results]
            inside.append(f"{', '.join(rows)} = {call}")
        for result, text in zip(f.results, rows, strict=True):
            each, start = lists[result.cell], part.boxes[result.cell[0]].spans
            box = f"({tupled([_text(low) for low, _ in start])}, {text})"
            if each not in begun:
                begun.add(each)
                if always:
                    inside.append(f"{each} = [{box}]")
                    continue
                lines.append(f"{each} = []")
            inside.append(f"{each}.append({box})")
        if not always:
            lines.append(f"if {_text(part.condition, ' ')}:")
            inside = [INDENT + line for line in inside]
        lines += inside
    return lines


def _text(e: ix.Expr, space: str = "") -> str:
    """An expression over bounds."""
    printer = ExprPrinter({ix.Sym(name): variable(name) for name in symbols(e)}, space)
    return printer.text(e)
