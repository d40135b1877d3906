"""The readable text of programs: declarations, then loops as in pseudocode.

It cannot be parsed; ``codec.py`` writes the form that is read back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.program.nodes.functions import Extern
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import spelled


def program_text(program: prog.Program) -> str:
    """The whole program; ends with a line break."""
    return "\n".join(_lines(program)) + "\n"


def _lines(program: prog.Program) -> Iterator[str]:
    yield f"program {program.name}" + (" x64" if program.x64 else "")
    for b in program.bounds:
        yield f"  bound {b.name}" + ("" if b.value is None else f" = {spelled(b.value)}")
    for length in program.lengths:
        over = f" for each {', '.join(length.outer)}" if length.outer else ""
        yield f"  length {length.bound}{over}"
    for dim, bound in program.dims:
        yield f"  dim {dim} < {bound}"
    for a in program.assumptions:
        yield f"  assume {a.text}"
    arguments: tuple[prog.ProgramInput | prog.ProgramParam, ...] = (
        *program.inputs,
        *program.params,
    )
    for item in arguments:
        yield "  " + _given(item)
    if program.seed:
        yield f"  seed in {program.seed}"
    for store in program.stores:
        yield "  " + _store(store)
    for extern in program.externs:
        yield "  " + _extern(extern)
    for kernel in program.kernels:
        yield "  " + _kernel(kernel)
    yield from _statement(program.tree, "  ")
    for output in program.outputs:
        yield "  " + _output(output)


def _type(dtype: str, shape: tuple[ix.Expr, ...]) -> str:
    return dtype + (f"[{', '.join(map(spelled, shape))}]" if shape else "")


def _given(item: prog.ProgramInput | prog.ProgramParam) -> str:
    dims = f"[{', '.join(item.dims)}]" if item.dims else ""
    line = f"{prog.WORDS[type(item)]} {item.name}{dims}: {_type(item.dtype, item.shape)}"
    if isinstance(item, prog.ProgramParam):
        line += f' from "{item.template}"' + (" or default" if item.has_default else "")
    return line if item.store == item.name else f"{line} in {item.store}"


def _store(store: Buffer) -> str:
    keys = [k.dim if k.modulo is None else f"{k.dim} % {spelled(k.modulo)}" for k in store.keys]
    axes = [_axis(a) for a in store.axes]
    by = f" by {', '.join(keys)}" if keys else ""
    along = f" axes {', '.join(axes)}" if axes else ""
    away = " away" if store.away else ""
    return f"store {store.name}: {_type(store.dtype, store.shape)}{by}{along}{away}"


def _axis(axis: BufferAxis) -> str:
    place = f" behind {axis.behind}" if axis.behind else " ahead" if axis.ahead else ""
    size = spelled(axis.size)
    if axis.rounded:
        return f"{axis.dim}: {size} rounded{place}"
    if axis.grows:
        return f"{axis.dim}: {axis.least} up to {size}{place}"
    every = f" of every {axis.every}" if axis.every > 1 else ""
    return f"{axis.dim}: {'ring ' if axis.ring else ''}{size}{every}{place}"


def _needs(needs: tuple[prog.CapacityNeed, ...]) -> str:
    """The capacities that a call needs."""
    if not needs:
        return ""
    return " with " + ", ".join(f"{n.dim}: {' and '.join(map(spelled, n.rows))}" for n in needs)


def _extern(extern: Extern) -> str:
    arguments = ", ".join(_type(t.dtype, t.shape) for t in extern.arguments)
    results = ", ".join(_type(t.dtype, t.shape) for t in extern.results)
    kind = "host" if extern.host else "jax"
    named = f"{kind} {extern.alias}({arguments}) -> ({results})"
    return f"extern {named} from {extern.module}:{extern.function}"


def _kernel(kernel: prog.Kernel) -> str:
    bounds = f"({', '.join((*kernel.lengths, *kernel.bounds))})"
    bounds = "" if bounds == "()" else bounds
    donated = f" donates {', '.join(map(str, kernel.donated))}" if kernel.donated else ""
    return f"kernel {kernel.name}{bounds}{donated}"


def _output(output: prog.ProgramOutput) -> str:
    entries = ", ".join(_entry(e) for e in output.entries)
    return f"output {output.name} = {output.store}" + (f"[{entries}]" if entries else "")


def _entry(e: ix.Expr | prog.OutputSpan) -> str:
    if not isinstance(e, prog.OutputSpan):
        return spelled(e)
    return f"{spelled(e.lower)}:{spelled(e.upper)}" + (f":{e.step}" if e.step != 1 else "")


def _cell(cell: prog.Cell) -> str:
    key = f"[{', '.join(map(spelled, cell.key))}]" if cell.key else ""
    return cell.store + key + ("" if cell.when is None else f" where {spelled(cell.when)}")


def _cells(cells: tuple[prog.Cell, ...]) -> str:
    return ", ".join(map(_cell, cells))


_PLACES = {"host": "", "device": " on device", "unrolled": " unrolled"}


def _statement(s: prog.ProgramStatement, indent: str) -> Iterator[str]:
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _statement(item, indent)
        case prog.Loop(var=var, lower=lower, upper=upper, step=step, body=body):
            start = "" if lower == ix.ZERO and step == 1 else f"{spelled(lower)}, "
            stride = "" if step == 1 else f", {step}"
            limit = "" if s.limit is None else f" while {var} < {spelled(s.limit)}"
            limit += _PLACES[s.place]
            yield f"{indent}for {var} in range({start}{spelled(upper)}{stride}){limit}:"
            yield from _statement(body, indent + "  ")
        case prog.Guard(condition=condition, body=body):
            yield f"{indent}if {spelled(condition)}:"
            yield from _statement(body, indent + "  ")
        case prog.Call(kernel=kernel, point=point, args=args, results=results):
            targets = f"{_cells(results)} = " if results else ""
            point_text = f"@({', '.join(map(spelled, point))})" if point else ""
            yield f"{indent}{targets}{kernel}{point_text}({_cells(args)}){_needs(s.needs)}"
            for ending in s.endings:
                outer = f"[{', '.join(map(spelled, ending.outer))}]" if ending.outer else ""
                yield f"{indent}  may end {ending.bound}{outer} = {spelled(ending.length)}"
        case prog.Host(extern=extern, point=point, args=args, results=results):
            point_text = f"@({', '.join(map(spelled, point))})" if point else ""
            yield f"{indent}{_cells(results)} = host {extern}{point_text}({_cells(args)})"
        case prog.Effect(kind=kind, call=call, places=places, path=path):
            point_text = f"@({', '.join(map(spelled, call.point))})" if call.point else ""
            shown = ", ".join(p.name for p in places)
            to = f' to "{path}"' if path else f" by {', '.join(s.rows[1:])}" if s.rows else ""
            yield f"{indent}{kind} {shown}{to} = {call.kernel}{point_text}({_cells(call.args)})"
        case prog.Free(cells=cells):
            yield f"{indent}free {_cells(cells)}"
        case prog.Load(cells=cells, ahead=ahead):
            yield f"{indent}load {'ahead ' if ahead else ''}{_cells(cells)}"
        case prog.Evict(cells=cells, dead=dead):
            yield f"{indent}{'drop' if dead else 'evict'} {_cells(cells)}"
        case prog.Chunk(store=store, row=row):
            yield f"{indent}chunk of {store} with row {spelled(row)}"
        case prog.Region(kernel=kernel, loop=loop):
            yield f"{indent}region {kernel}{_needs(s.needs)}:"
            yield from _statement(loop, indent + "  ")
        case prog.Block(kernel=kernel, body=body):
            yield f"{indent}block {kernel}:"
            yield from _statement(body, indent + "  ")
        case _:
            assert_never(s)
