"""Traversals of the statement tree: calls, regions, blocks, stores, frees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from tempoc.program.nodes.bounds import FoundLength, ProgramBound, length_at
from tempoc.program.nodes.nodes import (
    Block,
    Call,
    Cell,
    Cells,
    Effect,
    Evict,
    Free,
    Guard,
    Host,
    Kernel,
    Load,
    Loop,
    Program,
    ProgramStatement,
    Region,
    Sequence,
)  # fmt: skip
from tempoc.symbolic.expr import Expr


def kernel_numbers(program: Program) -> dict[str, int]:
    """The numbers of kernels by name."""
    return {kernel.name: number for number, kernel in enumerate(program.kernels)}


def statements_in(s: ProgramStatement) -> Iterator[ProgramStatement]:
    """A statement and all its descendants, in pre-order."""
    yield s
    match s:
        case Sequence(items=items):
            for item in items:
                yield from statements_in(item)
        case Loop(body=body) | Guard(body=body) | Region(loop=body) | Block(body=body):
            yield from statements_in(body)
        case Effect(call=call):
            yield call
        case Call() | Free() | Host() | Load() | Evict():
            pass
        case _:
            assert_never(s)


def calls(s: ProgramStatement) -> Iterator[Call]:
    """All calls in a statement, in order."""
    return (part for part in statements_in(s) if isinstance(part, Call))


def variables(s: ProgramStatement) -> tuple[str, ...]:
    """The variables of all loops in a statement, in order."""
    return tuple(part.var for part in statements_in(s) if isinstance(part, Loop))


def regions(s: ProgramStatement) -> Iterator[Region]:
    """All regions in a statement, in order."""
    return (part for part in statements_in(s) if isinstance(part, Region))


def blocks(s: ProgramStatement) -> Iterator[Block]:
    """All blocks in a statement, in order."""
    return (part for part in statements_in(s) if isinstance(part, Block))


def cells_of(some: Iterable[Cells]) -> Iterator[Cell]:
    """The cells of the operands of a region or block, one by one."""
    return (Cell(store=cells.store, key=key) for cells in some for key in cells.keys)


def lengths_of(
    call: Call, kernel: Kernel, bounds: tuple[ProgramBound, ...], lengths: tuple[FoundLength, ...]
) -> Iterator[Expr]:
    """The lengths that a call passes to its kernel, at the point of the call."""
    point = dict(zip(kernel.dims, call.point, strict=False))
    return (length_at(bounds, lengths, name, point) for name in kernel.lengths)


def written_stores(s: ProgramStatement) -> tuple[str, ...]:
    """The stores that calls in a statement write, in order."""
    writes = (p.results for p in statements_in(s) if isinstance(p, Call | Host))
    return tuple(dict.fromkeys(cell.store for results in writes for cell in results))


def touched_stores(s: ProgramStatement) -> frozenset[str]:
    """The stores that a statement reads, writes or frees."""
    stores: set[str] = set()
    for part in statements_in(s):
        match part:
            case Call(args=args, results=results) | Host(args=args, results=results):
                stores.update(cell.store for cell in (*args, *results))
            case Free(cells=cells):
                stores.update(cell.store for cell in cells)
    return frozenset(stores)


def overwritten_stores(s: ProgramStatement, stores: Iterable[str]) -> frozenset[str]:
    """Those of the stores whose first use in a statement overwrites them completely."""
    overwritten: set[str] = set()
    pending = {*stores}
    for item in s.items if isinstance(s, Sequence) else (s,):
        if not pending:
            break
        fresh = pending & touched_stores(item)
        pending -= fresh
        if isinstance(item, Sequence):
            overwritten |= overwritten_stores(item, fresh)
        elif isinstance(item, Call):
            operands = {c.store for c in item.args}
            overwritten |= fresh - operands - {c.store for c in item.results if c.when is not None}
    return frozenset(overwritten)


def final_frees(s: ProgramStatement, local: frozenset[str] = frozenset()) -> list[ProgramStatement]:
    """The frees in a statement after which it does not use the store again.

    Stores that are ``local`` to it are left out.
    """
    freed: list[ProgramStatement] = []
    touched = {*local}
    for part in reversed(s.items if isinstance(s, Sequence) else (s,)):
        match part:
            case Free(cells=cells):
                dead = tuple(cell for cell in cells if cell.store not in touched)
                freed += [Free(cells=dead)] if dead else []
            case Guard(condition=condition, body=body):
                inner = [f for f in final_frees(body, local) if not touched & _freed(f)]
                freed += [Guard(condition=condition, body=f) for f in inner]
        for call in calls(part):
            touched |= {cell.store for cell in (*call.args, *call.results)}
    return freed[::-1]


def _freed(s: ProgramStatement) -> set[str]:
    match s:
        case Free(cells=cells):
            return {cell.store for cell in cells}
        case Guard(body=body):
            return _freed(body)
        case _:
            return set()
