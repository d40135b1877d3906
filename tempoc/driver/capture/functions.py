"""What the host does in a run: its own loops, and the functions of the device that it calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols

LaunchedCall = prog.Region | prog.Block | prog.Call


@dataclass(frozen=True, slots=True, kw_only=True)
class HostStep:
    """A loop of the host, or the call of a function, and the loops of the host around it."""

    statement: prog.Loop | LaunchedCall
    around: tuple[prog.Loop, ...] = ()


def host_steps(program: prog.Program, bounds: Mapping[str, int]) -> Iterator[HostStep]:
    """What the host does, in order, on a GPU and for these bounds; each function once.

    A block is a call where it is one for these bounds (``runtime/walk/blocks.py``).
    """
    seen: set[str] = set()
    for step in _steps(program.tree, (), bounds):
        name = "" if isinstance(step.statement, prog.Loop) else step.statement.kernel
        if name not in seen:
            yield step
        seen |= {name} if name else set()


def _steps(
    s: prog.ProgramStatement, around: tuple[prog.Loop, ...], bounds: Mapping[str, int]
) -> Iterator[HostStep]:
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from _steps(item, around, bounds)
        case prog.Guard(condition=condition, body=body):
            if _may(condition, bounds):
                yield from _steps(body, around, bounds)
        case prog.Loop() | prog.Region(loop=prog.Loop()) if not _has_steps(s, bounds):
            pass
        case prog.Loop(body=body):
            yield HostStep(statement=s, around=around)
            yield from _steps(body, (*around, s), bounds)
        case prog.Block(body=body) if not evaluate(s.single, bounds):
            yield from _steps(body, around, bounds)
        case prog.Effect(call=call):
            yield HostStep(statement=call, around=around)
        case prog.Region() | prog.Block() | prog.Call():
            yield HostStep(statement=s, around=around)
        case _:
            pass


def device_loops(s: prog.ProgramStatement, bounds: Mapping[str, int]) -> Iterator[prog.Loop]:
    """The loops of the device in a statement that these bounds leave; not those written out."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from device_loops(item, bounds)
        case prog.Guard(condition=condition, body=body):
            yield from device_loops(body, bounds) if _may(condition, bounds) else ()
        case prog.Loop() if not _has_steps(s, bounds):
            pass
        case prog.Loop(body=body, place=place):
            yield from () if place == "unrolled" else (s,)
            yield from device_loops(body, bounds)
        case prog.Region(loop=body) | prog.Block(body=body):
            yield from device_loops(body, bounds)
        case _:
            pass


def _may(condition: ix.Expr, bounds: Mapping[str, int]) -> bool:
    """Whether a condition may hold, as far as bounds decide that."""
    return not {*symbols(condition)} <= {*bounds} or bool(evaluate(condition, bounds))


def _has_steps(s: prog.Loop | prog.Region, bounds: Mapping[str, int]) -> bool:
    """Whether a loop may have steps."""
    loop = s.loop if isinstance(s, prog.Region) else s
    ends = (loop.lower, loop.upper) if loop.step > 0 else (loop.upper, loop.lower)
    return _may(ix.compare("<", *ends), bounds)


def moved_stores(loop: prog.Loop) -> tuple[str, ...]:
    """The stores whose cells a loop of the host moves between host and device in its own steps."""
    moved: dict[str, None] = {}
    worklist: list[prog.ProgramStatement] = [loop.body]
    while worklist:
        match worklist.pop():
            case prog.Sequence(items=items):
                worklist += reversed(items)
            case prog.Guard(body=body):
                worklist.append(body)
            case prog.Load(cells=cells) | prog.Evict(cells=cells, dead=False):
                moved |= dict.fromkeys(cell.store for cell in cells)
            case _:
                pass
    return (*moved,)


def new_arrays(call: LaunchedCall, program: prog.Program) -> tuple[str, ...]:
    """The stores of results for which a call makes new arrays, wherever memory is free.

    Results that take over a donated argument stay where that is.
    """
    kernels = {kernel.name: kernel for kernel in program.kernels}
    match call:
        case prog.Region():
            return ()
        case prog.Block(made=made):
            return tuple(dict.fromkeys(cells.store for cells in made))
        case prog.Call(kernel=name, args=args, results=results):
            in_place = {args[k].store for k in kernels[name].donated}
            return tuple(dict.fromkeys(c.store for c in results if c.store not in in_place))


def growing_stores(call: LaunchedCall, program: prog.Program) -> tuple[str, ...]:
    """The stores of a call's operands and results that get more slots during a run."""
    growing = {b.name for b in program.stores if b.growing is not None and b.growing.least}
    match call:
        case prog.Call(args=args, results=results):
            names = [cell.store for cell in (*args, *results)]
        case prog.Region(carried=carried, read=read):
            names = [cells.store for cells in (*carried, *read)]
        case prog.Block(carried=carried, made=made, read=read):
            names = [cells.store for cells in (*carried, *made, *read)]
    return tuple(dict.fromkeys(name for name in names if name in growing))
