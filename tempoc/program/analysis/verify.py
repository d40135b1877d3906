"""The verifier of programs: names resolve, arities fit, bounds are not cyclic.

Run on every program that is loaded: a seal says that a file is as it was written, not that a
compiler wrote it. The compiler proves more of what it makes (`program/analysis/verify_made.py`).
"""

from __future__ import annotations

from typing import assert_never

from tempoc.program.analysis.declarations import (
    DeclarationChecker,
    holes,
    is_saved_path,
    named,
    unique,
)
from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import lengths_in
from tempoc.program.nodes.errors import inconsistent, too_deep
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show

EFFECTS = ("print", "save")
PLACES = ("host", "device", "unrolled")
DEEPEST = 64
"""Statements may be nested so deep."""


def verify(program: prog.Program) -> None:
    """Check a program. Raises ``ProgramError`` for the first violated invariant."""
    inputs = [item.store for item in program.inputs]
    try:
        checker = _ProgramChecker(
            program=program,
            bounds=unique("bound", (b.name for b in program.bounds)),
            dims=dict(program.dims),
            stores=named("store", program.stores),
            kernels=named("kernel", program.kernels),
            given=frozenset([*inputs, *(p.store for p in program.params), program.seed]),
            inputs=frozenset(inputs),
        )
        checker.declarations()
        checker.statement(program.tree, ())
    except RecursionError:
        raise too_deep("program") from None


class _ProgramChecker(DeclarationChecker):
    """Checks statements; ``scope`` are the variables of the loops around."""

    def statement(self, s: prog.ProgramStatement, scope: tuple[str, ...], depth: int = 1) -> None:
        self.require(depth <= DEEPEST, "program", "is nested too deeply")
        match s:
            case prog.Sequence(items=items):
                for item in items:
                    self.statement(item, scope, depth + 1)
            case prog.Loop(var=var, body=body):
                self.loop(s, scope)
                self.statement(body, (*scope, var), depth + 1)
            case prog.Guard(condition=condition, body=body):
                self.expression("guard", condition, scope)
                self.statement(body, scope, depth + 1)
            case prog.Call():
                self.call(s, scope)
            case prog.Host():
                self.host(s, scope)
            case prog.Effect():
                self.effect(s, scope)
            case prog.Region(loop=loop, carried=carried, read=read):
                self.region(s, (*carried, *read), carried, scope)
                self.statement(loop, scope, depth + 1)
            case prog.Block(body=body, carried=carried, made=made, read=read):
                self.region(s, (*carried, *made, *read), (*carried, *made), scope)
                self.statement(body, scope, depth + 1)
            case prog.Free(cells=cells):
                for cell in cells:
                    self.cell("free", cell, scope)
                    self.require(cell.store not in self.given, "free", f"{cell.store} was given")
            case prog.Load(cells=cells) | prog.Evict(cells=cells):
                for cell in cells:
                    where = "load" if isinstance(s, prog.Load) else "evict"
                    self.cell(where, cell, scope)
                    away = self.stores[cell.store].away
                    self.require(away, where, f"{cell.store} always stays on the device")
                    loses_argument = (
                        isinstance(s, prog.Evict) and s.dead and cell.store in self.given
                    )
                    self.require(not loses_argument, where, f"drops {cell.store}, which was given")
            case prog.Chunk(store=store, row=row):
                self.require(store in self.inputs, "chunk", f"{store} is no input")
                rings = [axis.ring for axis in self.stores[store].axes]
                self.require(rings == [True], "chunk", f"{store} has no chunks")
                self.expression("chunk", row, scope)
            case _:
                assert_never(s)

    def loop(self, loop: prog.Loop, scope: tuple[str, ...]) -> None:
        where, var = f"loop {loop.var}", loop.var
        self.name("loop", var)
        self.require(var not in scope and var not in self.bounds, where, "hides another")
        self.require(loop.step != 0, where, "step 0 would never end")
        self.require(loop.place in PLACES, where, f"{loop.place} is no place")
        self.expression(where, loop.lower, scope)
        self.expression(where, loop.upper, scope)
        self.expression(where, loop.limit if loop.limit is not None else ix.ZERO, (*scope, var))

    def call(self, call: prog.Call, scope: tuple[str, ...]) -> None:
        where = f"call of {call.kernel}"
        kernel = self.kernels.get(call.kernel)
        if kernel is None:
            raise inconsistent(where, "there is no such kernel")
        for e in call.point:
            self.expression(where, e, scope)
        for cell in (*call.args, *call.results):
            self.cell(where, cell, scope)
        self.needs(where, call.needs, scope)
        for cell in call.results:
            self.require(cell.store not in self.inputs, where, f"writes the input {cell.store}")
        outer = {length.bound: length.outer for length in self.program.lengths}
        for ending in call.endings:
            fits = ending.bound in outer and len(ending.outer) == len(outer[ending.bound])
            self.require(fits, where, f"{ending.bound} does not end there")
            for e in (*ending.outer, ending.length):
                self.expression(where, e, scope)
        rank = len(kernel.dims)
        self.require(rank in (0, len(call.point)), where, f"the kernel has {rank} dimensions")
        for position in kernel.donated:
            self.require(0 <= position < len(call.args), where, f"has no argument {position}")
            store = call.args[position].store
            alone = call.args.count(call.args[position]) == 1
            self.require(alone, where, f"gives {store} away, and takes it twice")
            self.require(store not in self.given, where, f"gives {store} away, which was given")

    def needs(
        self, where: str, needs: tuple[prog.CapacityNeed, ...], scope: tuple[str, ...]
    ) -> None:
        """Capacity needs name a growing axis and the rows that it must have."""
        growing = [(a.dim, a.size) for s in self.program.stores if (a := s.growing)]
        for need in needs:
            axis = f"{where}, growth along {need.dim}"
            self.require((need.dim, need.size) in growing, axis, "no store grows that way")
            self.require(bool(need.rows), axis, "it does not say how far")
            for e in need.rows:
                self.expression(axis, e, scope)

    def region(
        self,
        region: prog.Region | prog.Block,
        cells: tuple[prog.Cells, ...],
        changed: tuple[prog.Cells, ...],
        scope: tuple[str, ...],
    ) -> None:
        where = f"region {region.kernel}"
        if isinstance(region, prog.Region):
            self.prints(where, region)
            self.needs(where, region.needs, (*scope, region.loop.var))
        self.lengths(where, region, scope)
        self.require(region.kernel in self.kernels, where, "there is no such kernel")
        unique(f"{where}, operand", (some.store for some in cells))
        for name in region.local:
            self.require(name in self.stores, where, f"there is no store {name}")
        for name in region.point:
            self.require(name in scope, where, f"there is no variable {name}")
        for some in cells:
            for key in some.keys:
                self.cell(where, prog.Cell(store=some.store, key=key), scope)
            fits = all(0 <= k < len(key) for k in some.places for key in some.keys)
            fits = fits and len(some.keys) >= 1 and (len(some.keys) == 1 or bool(some.places))
            self.require(fits, where, f"bad keys of {some.store}")
        for some in changed:
            self.require(some.store not in self.given, where, f"writes {some.store}")

    def prints(self, where: str, region: prog.Region) -> None:
        """Each print of a region has rows for its tensors in local stores, saves are none."""
        effects = [s for s in statements_in(region.loop) if isinstance(s, prog.Effect)]
        unique(f"{where}, print", region.prints)
        fits = {e.call.kernel for e in effects} == {*region.prints} and (region.most > 0) == (
            len(effects) > 0
        )
        self.require(fits, where, "does not collect what it prints")
        for effect in effects:
            fits = not effect.path and len(effect.rows) == 1 + len(effect.places)
            fits = fits and {*effect.rows} <= {*region.local}
            self.require(fits, where, f"{effect.call.kernel} has no rows")

    def lengths(self, where: str, region: prog.Region | prog.Block, scope: tuple[str, ...]) -> None:
        """The lengths passed to a region are lengths, and its endings refer to these."""
        for e in (*region.lengths, *region.counts):
            self.expression(where, e, scope)
        for e in region.lengths:
            plain = [*lengths_in(e, self.program.lengths)] == [e]
            self.require(plain, where, f"{show(e)} is no length")
        fits = all(0 <= k < len(region.lengths) for k in region.endings)
        self.require(fits, where, "ends a length that it is not told")

    def host(self, host: prog.Host, scope: tuple[str, ...]) -> None:
        where = f"call of {host.extern}"
        externs = {e.alias: e for e in self.program.externs if e.host}
        extern = externs.get(host.extern)
        if extern is None:
            raise inconsistent(where, "there is no such host function")
        counts = len(extern.arguments), len(extern.results)
        fits = counts == (len(host.args), len(host.results))
        self.require(fits, where, f"it has {counts[0]} arguments and {counts[1]} results")
        self.require(len(host.dims) == len(host.point), where, "one index for each dimension")
        self.require(len(host.shapes) == len(host.args), where, "one shape for each argument")
        for e in (e for shape in host.shapes for e in shape):
            self.expression(where, e, host.dims)
        for dim in unique(f"{where}, dimension", host.dims):
            self.require(dim in self.dims, where, f"there is no dimension {dim}")
        for store in host.unless:
            self.require(store in self.stores, where, f"there is no store {store}")
        for e in host.point:
            self.expression(where, e, scope)
        for cell in (*host.args, *host.results):
            self.cell(where, cell, scope)
            self.require(cell.when is None, where, "is called whatever holds")
        types = (*extern.arguments, *extern.results)
        ranks = [*map(len, host.shapes), *(len(t.shape) for t in extern.results)]
        for cell, type_, rank in zip((*host.args, *host.results), types, ranks, strict=True):
            buffer = self.stores[cell.store]
            fits = rank == len(buffer.axes) + len(buffer.shape) and buffer.dtype == type_.dtype
            self.require(fits, where, f"{cell.store} is of another type")

    def effect(self, effect: prog.Effect, scope: tuple[str, ...]) -> None:
        self.call(effect.call, scope)
        where = f"{effect.kind} of {', '.join(p.name for p in effect.places)}"
        self.require(effect.kind in EFFECTS, where, "is no effect")
        self.require(not effect.call.results, where, "has results")
        values = effect.places[: len(effect.places) - effect.conditional]
        fits = len(effect.places) - len(values) == effect.conditional
        fits = fits and len(effect.texts) in (0, len(values) + 1)
        self.require(fits, where, "has texts or a condition for other values")
        dims = self.kernels[effect.call.kernel].dims
        self.require(len(dims) == len(effect.call.point), where, "is at no point")
        if effect.kind == "save" or effect.path:
            is_saved = effect.kind == "save" and is_saved_path(effect.path)
            self.require(is_saved, where, f"{effect.path!r} is no file below a folder")
            unique(f"{where}, tensor", (place.name for place in effect.places))
        named_by = {"path": (effect.path, dims)} | {
            place.name: (place.name, tuple(dim for dim, _ in place.entries))
            for place in effect.places
            if effect.path
        }
        for text, known in named_by.values():
            unknown = [name for name in holes(text) if name not in known]
            self.require(not unknown, where, f"nothing fills {unknown} in {text!r}")
        for place in effect.places:
            unique(f"{where}, dimension", (dim for dim, _ in place.entries))
            for _, entry in place.entries:
                self.entry(where, entry, dims)
            for e in place.shape:
                self.expression(where, e, dims)

    def cell(self, where: str, cell: prog.Cell, scope: tuple[str, ...]) -> None:
        store = self.stores.get(cell.store)
        if store is None:
            raise inconsistent(where, f"there is no store {cell.store}")
        fits = len(cell.key) == len(store.keys)
        self.require(fits, where, f"{cell.store} has {len(store.keys)} keys, not {len(cell.key)}")
        for e in (*cell.key, *(() if cell.when is None else (cell.when,))):
            self.expression(where, e, scope)
