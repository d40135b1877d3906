"""Copies inputs to the device chunk by chunk, where loops step through their rows.

    for t in range(T):                    for c in range(ceil(T / m)):
      h[t] = step(x[t], h[t-1])             chunk of x with row c * m
                                            for t in range(c * m, min(T, c * m + m)):
                                              h[t] = step(x[t], h[t-1])

The store of such an input has a ring of ``m`` slots, and kernels read row ``t`` in slot ``t % m``.
Of a loop on the device, the host calls one part for each chunk; any other call follows a copy of
the chunk that it reads, which is skipped if the chunk is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from tempoc.program.analysis.traversal import calls, cells_of, variables
from tempoc.program.analysis.verify_made import verify_made
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import ceildiv, substitute, symbols

KernelRows = Mapping[str, Mapping[str, ix.Expr | None]]
"""By kernel, for each input that it reads in chunks a row of the chunk, over its dimensions."""


class NoChunks(Exception):
    """A program reads an input such that no chunk of it has all that a call needs."""


def with_chunks(program: prog.Program, rows: KernelRows) -> prog.Program:
    """The program with the copies of chunks; ``rows`` says what its kernels read.

    Raises ``NoChunks``.
    """
    inputs = {i.store for i in program.inputs}
    sizes = {
        s.name: axis.size.value
        for s in program.stores
        for axis in s.axes
        if s.name in inputs and axis.ring and isinstance(axis.size, ix.Const)
    }
    if not sizes:
        return program
    taken = {*variables(program.tree), *(b.name for b in program.bounds)}
    fresh = (name for n in count(1) if (name := f"chunk{n}") not in taken)
    dims = {k.name: k.dims for k in program.kernels}
    if any(o.store in sizes for o in program.outputs):
        raise NoChunks
    copier = _ChunkCopies(sizes=sizes, rows=rows, dims=dims, fresh=fresh)
    chunked = replace(program, tree=copier.within(program.tree))
    verify_made(chunked)
    return chunked


@dataclass(frozen=True, slots=True, kw_only=True)
class _ChunkCopies:
    """``sizes`` are the rows of a chunk, by store; ``fresh`` are names for variables of loops."""

    sizes: Mapping[str, int]
    rows: KernelRows
    dims: Mapping[str, tuple[str, ...]]
    fresh: Iterator[str]

    def within(self, s: prog.ProgramStatement) -> prog.ProgramStatement:
        """A statement with the copies that it needs."""
        match s:
            case prog.Sequence(items=items):
                return replace(s, items=tuple(map(self.within, items)))
            case prog.Loop(body=body) | prog.Guard(body=body):
                return replace(s, body=self.within(body))
            case prog.Call():
                copies = [prog.Chunk(store=x, row=e) for x, e in self.read(s).items()]
                return prog.Sequence(items=(*copies, s)) if copies else s
            case prog.Region():
                return self.region(s)
            case prog.Host(args=args) | prog.Effect(call=prog.Call(args=args)):
                if any(cell.store in self.sizes for cell in args):
                    raise NoChunks
                return s
            case prog.Block(read=read):
                if any(cells.store in self.sizes for cells in read):
                    raise NoChunks
                return s
            case _:
                return s

    def read(self, call: prog.Call) -> dict[str, ix.Expr]:
        """The rows that a call reads, by store. Raises ``NoChunks``."""
        read: dict[str, ix.Expr] = {}
        for cell in call.args:
            if cell.store in self.sizes:
                row = self.rows.get(call.kernel, {}).get(cell.store)
                if row is None:
                    raise NoChunks
                at = dict(zip(self.dims[call.kernel], call.point, strict=False))
                if not {*symbols(row)}.isdisjoint({*self.dims[call.kernel]} - {*at}):
                    raise NoChunks
                read[cell.store] = substitute(row, at)
        return read

    def region(self, region: prog.Region) -> prog.ProgramStatement:
        """A loop on the device, with a loop around for each input that it steps through."""
        rows: dict[str, ix.Expr] = {}
        for call in calls(region.loop):
            for store, row in self.read(call).items():
                if rows.setdefault(store, row) != row:
                    raise NoChunks
        if any(c.store in self.sizes and c.store not in rows for c in cells_of(region.read)):
            raise NoChunks
        inner = {*variables(region.loop.body)}
        if any(not inner.isdisjoint(symbols(row)) for row in rows.values()):
            raise NoChunks
        constant, around, loop = [], [], region.loop
        for store, row in rows.items():
            if loop.var in symbols(row):
                outer, loop = self.parts(store, row, loop)
                first = ix.mul(ix.Sym(outer.var), ix.Const(self.sizes[store]))
                around.append((outer, prog.Chunk(store=store, row=first)))
            else:
                constant.append(prog.Chunk(store=store, row=row))
        part: prog.ProgramStatement = replace(region, loop=loop)
        for outer, chunk in reversed(around):
            part = replace(outer, body=prog.Sequence(items=(chunk, part)))
        return prog.Sequence(items=(*constant, part)) if constant else part

    def parts(self, store: str, row: ix.Expr, loop: prog.Loop) -> tuple[prog.Loop, prog.Loop]:
        """The loop over chunks, without its body, and the loop over the rows of one of them.

        Row ``factor * t + offset`` is in chunk ``c`` for ``first <= t <= last``.
        """
        size, var, step = self.sizes[store], ix.Sym(loop.var), loop.step
        offset = substitute(row, {loop.var: ix.ZERO})
        factor = ix.sub(substitute(row, {loop.var: ix.ONE}), offset)
        plain = isinstance(factor, ix.Const) and factor.value > 0 and abs(step) == 1
        if not plain or ix.sub(row, ix.mul(factor, var)) != offset or loop.limit is not None:
            raise NoChunks
        assert isinstance(factor, ix.Const)

        def chunk_of(t: ix.Expr) -> ix.Expr:
            return ix.floordiv(ix.add(ix.mul(factor, t), offset), size)

        name = next(self.fresh)
        begin = ix.sub(ix.mul(ix.Sym(name), ix.Const(size)), offset)
        first = ceildiv(begin, factor.value)
        last = ix.sub(ceildiv(ix.add(begin, ix.Const(size)), factor.value), ix.ONE)
        one = ix.Const(step)
        outer = replace(
            loop,
            var=name,
            lower=chunk_of(loop.lower),
            upper=ix.add(chunk_of(ix.sub(loop.upper, one)), one),
            place="host",
        )
        if step > 0:
            lower, upper = ix.maximum(loop.lower, first), ix.minimum(loop.upper, last + 1)
        else:
            lower, upper = ix.minimum(loop.lower, last), ix.maximum(loop.upper, first - 1)
        return outer, replace(loop, lower=lower, upper=upper)
