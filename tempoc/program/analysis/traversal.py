"""Traversals of the statement tree: calls, regions, blocks, stores, frees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import FoundLength, ProgramBound, length_at
from tempoc.symbolic.expr import Expr


def kernel_numbers(program: prog.Program) -> dict[str, int]:
    """The numbers of kernels by name."""
    return {kernel.name: number for number, kernel in enumerate(program.kernels)}


def statements_in(s: prog.ProgramStatement) -> Iterator[prog.ProgramStatement]:
    """A statement and all its descendants, in pre-order."""
    worklist = [s]
    while worklist:
        part = worklist.pop()
        yield part
        match part:
            case prog.Sequence(items=items):
                worklist.extend(reversed(items))
            case prog.Loop(body=inside) | prog.Guard(body=inside) | prog.Block(body=inside):
                worklist.append(inside)
            case prog.Region(loop=inside) | prog.Effect(call=inside):
                worklist.append(inside)
            case (
                prog.Call() | prog.Free() | prog.Host() | prog.Load() | prog.Evict() | prog.Chunk()
            ):
                pass
            case _:
                assert_never(part)


def called_by_host(s: prog.ProgramStatement) -> Iterator[str]:
    """The kernels of calls and blocks, and of calls in these, that are in no region."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from called_by_host(item)
        case prog.Guard(body=body) | prog.Loop(body=body):
            yield from called_by_host(body)
        case prog.Block(kernel=kernel, body=body):
            yield kernel
            yield from called_by_host(body)
        case prog.Call(kernel=kernel):
            yield kernel
        case _:
            pass


def calls(s: prog.ProgramStatement) -> Iterator[prog.Call]:
    """All calls in a statement, in order."""
    return (part for part in statements_in(s) if isinstance(part, prog.Call))


def variables(s: prog.ProgramStatement) -> tuple[str, ...]:
    """The variables of all loops in a statement, in order."""
    return tuple(part.var for part in statements_in(s) if isinstance(part, prog.Loop))


def regions(s: prog.ProgramStatement) -> Iterator[prog.Region]:
    """All regions in a statement, in order."""
    return (part for part in statements_in(s) if isinstance(part, prog.Region))


def blocks(s: prog.ProgramStatement) -> Iterator[prog.Block]:
    """All blocks in a statement, in order."""
    return (part for part in statements_in(s) if isinstance(part, prog.Block))


def cells_of(some: Iterable[prog.Cells]) -> Iterator[prog.Cell]:
    """The cells of the operands of a region or block, one by one."""
    return (prog.Cell(store=cells.store, key=key) for cells in some for key in cells.keys)


def lengths_of(
    call: prog.Call,
    kernel: prog.Kernel,
    bounds: tuple[ProgramBound, ...],
    lengths: tuple[FoundLength, ...],
) -> Iterator[Expr]:
    """The lengths that a call passes to its kernel, at the point of the call."""
    point = dict(zip(kernel.dims, call.point, strict=False))
    return (length_at(bounds, lengths, name, point) for name in kernel.lengths)


def touched_stores(s: prog.ProgramStatement) -> frozenset[str]:
    """The stores that a statement reads, writes or frees."""
    stores: set[str] = set()
    for part in statements_in(s):
        match part:
            case prog.Call(args=args, results=results) | prog.Host(args=args, results=results):
                stores.update(cell.store for cell in (*args, *results))
            case prog.Free(cells=cells):
                stores.update(cell.store for cell in cells)
    return frozenset(stores)


def overwritten_stores(s: prog.ProgramStatement, stores: Iterable[str]) -> frozenset[str]:
    """Those of the stores whose first use in a statement overwrites them completely."""
    overwritten: set[str] = set()
    pending = {*stores}
    for item in s.items if isinstance(s, prog.Sequence) else (s,):
        if not pending:
            break
        fresh = pending & touched_stores(item)
        pending -= fresh
        if isinstance(item, prog.Sequence):
            overwritten |= overwritten_stores(item, fresh)
        elif isinstance(item, prog.Call):
            operands = {c.store for c in item.args}
            overwritten |= fresh - operands - {c.store for c in item.results if c.when is not None}
    return frozenset(overwritten)


def final_frees(s: prog.ProgramStatement, local: frozenset[str]) -> list[prog.ProgramStatement]:
    """The frees in a statement after which it does not use the store again.

    Stores that are ``local`` to it are left out.
    """
    freed: list[prog.ProgramStatement] = []
    touched = {*local}
    for part in reversed(s.items if isinstance(s, prog.Sequence) else (s,)):
        match part:
            case prog.Free(cells=cells):
                dead = tuple(cell for cell in cells if cell.store not in touched)
                freed += [prog.Free(cells=dead)] if dead else []
            case prog.Guard(condition=condition, body=body):
                inner = [f for f in final_frees(body, local) if not touched & _freed(f)]
                freed += [prog.Guard(condition=condition, body=f) for f in inner]
        for call in calls(part):
            touched |= {cell.store for cell in (*call.args, *call.results)}
    return freed[::-1]


def _freed(s: prog.ProgramStatement) -> set[str]:
    match s:
        case prog.Free(cells=cells):
            return {cell.store for cell in cells}
        case prog.Guard(body=body):
            return _freed(body)
        case _:
            return set()
