"""The verifier of programs: names resolve, arities fit, bounds are not cyclic.

Run on every program that the compiler makes. A file is sealed instead (`program/codec.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar, assert_never

from tempoc.program.analysis.lost_values import verify_no_lost_reads
from tempoc.program.analysis.places import verify_places
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bound_order, lengths_in
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.dtypes import ELEMENTS
from tempoc.program.nodes.errors import inconsistent
from tempoc.program.nodes.variants import is_folder
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import symbols

EFFECTS = ("print", "save")
PLACES = ("host", "device", "unrolled")


def verify(program: prog.Program) -> None:
    """Check a program. Raises ``ProgramError`` for the first violated invariant."""
    _ProgramChecker(
        program=program,
        bounds=tuple(_unique("bound", (b.name for b in program.bounds))),
        dims=dict(program.dims),
        stores=_named("store", program.stores),
        kernels=_named("kernel", program.kernels),
        given={i.store for i in program.inputs}
        | {p.store for p in program.params}
        | {program.seed},
        inputs={item.store for item in program.inputs},
    ).run()


def _unique(kind: str, declared: Iterable[str]) -> dict[str, None]:
    seen: dict[str, None] = {}
    for name in declared:
        if name in seen:
            raise inconsistent(f"{kind} {name}", "is declared twice")
        seen[name] = None
    return seen


_Named = TypeVar("_Named", Buffer, prog.Kernel)


def _named(kind: str, items: tuple[_Named, ...]) -> dict[str, _Named]:
    _unique(kind, (item.name for item in items))
    return {item.name: item for item in items}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProgramChecker:
    program: prog.Program
    bounds: tuple[str, ...]
    dims: Mapping[str, str]
    stores: Mapping[str, Buffer]
    kernels: Mapping[str, prog.Kernel]
    given: set[str]
    inputs: set[str]

    def run(self) -> None:
        bound_order(self.program.bounds)
        for b in self.program.bounds:
            self.expression(f"bound {b.name}", b.value if b.value is not None else ix.ONE)
        for dim, name in self.program.dims:
            self.require(name in self.bounds, f"dimension {dim}", f"there is no bound {name}")
        self.variants()
        _unique("length", (length.bound for length in self.program.lengths))
        for length in self.program.lengths:
            where = f"length of {length.bound}"
            for name in (length.bound, length.largest):
                self.require(name in self.bounds, where, f"there is no bound {name}")
            for dim in length.outer:
                self.require(dim in self.dims, where, f"there is no dimension {dim}")
        for a in self.program.assumptions:
            self.expression(f"assumption {a.text}", a.condition)
        for store in self.program.stores:
            self.store(store)
        program = self.program
        outside: tuple[prog.ProgramInput | prog.ProgramParam | prog.ProgramOutput, ...]
        outside = (*program.inputs, *program.params, *program.outputs)
        for item in outside:
            self.interface(item)
        _unique("extern", (e.alias for e in self.program.externs))
        for extern in self.program.externs:
            where = f"extern {extern.name}"
            for type_ in (*extern.arguments, *extern.results):
                self.require(type_.dtype in ELEMENTS, where, f"{type_.dtype} is no dtype")
                dims = tuple(self.dims) if extern.host else ()
                for e in type_.shape:
                    self.expression(where, e, (*extern.free, *dims))
        for kernel in self.program.kernels:
            for name in kernel.bounds:
                self.require(name in self.bounds, f"kernel {kernel.name}", f"no bound {name}")
            for name in kernel.lengths:
                is_length = name in self.bounds and name not in kernel.bounds
                self.require(is_length, f"kernel {kernel.name}", f"{name} is no length")
        self.statement(self.program.tree, ())
        verify_places(self.program)
        verify_no_lost_reads(self.program)

    def variants(self) -> None:
        """Other programs are in folders of this one, and this one is among them."""
        names = _unique("variant", (v.name for v in self.program.variants))
        self.require(not names or "" in names, "variants", "this program is none of them")
        for name in names:
            self.require(name == "" or is_folder(name), f"variant {name}", "is no folder's name")

    def require(self, holds: bool, where: str, fault: str) -> None:
        if not holds:
            raise inconsistent(where, fault)

    def expression(self, where: str, e: ix.Expr, scope: tuple[str, ...] = ()) -> None:
        unknown = [n for n in symbols(e) if n not in self.bounds and n not in scope]
        self.require(not unknown, where, f"there is no {', '.join(unknown)}")

    def store(self, store: Buffer) -> None:
        where = f"store {store.name}"
        self.require(store.dtype in ELEMENTS, where, f"{store.dtype} is no dtype")
        for dim in store.dims:
            self.require(dim in self.dims, where, f"there is no dimension {dim}")
        moduli = [key.modulo for key in store.keys if key.modulo is not None]
        for e in (*moduli, *(axis.size for axis in store.axes), *store.shape):
            self.expression(where, e)
        some = [axis for axis in store.axes if axis.least]
        plain = all(axis.least > 0 and not axis.ring for axis in some)
        self.require(plain and len(some) <= 1, where, "cannot grow that way")
        inner = [axis.behind for axis in store.axes if axis.behind]
        fits = all(0 < k <= len(store.shape) for k in inner) and len(inner) <= 1
        self.require(fits, where, "its axes cannot stand in that order")

    def interface(self, item: prog.ProgramInput | prog.ProgramParam | prog.ProgramOutput) -> None:
        where = f"{prog.WORDS[type(item)]} {item.name}"
        store = self.stores.get(item.store)
        if store is None:
            raise inconsistent(where, f"there is no store {item.store}")
        dims = sorted(store.dims)
        self.require(dims == sorted(item.dims), where, f"its store has dimensions {dims}")
        self.require(item.dtype == store.dtype, where, f"its store holds {store.dtype}")
        self.require(len(item.shape) == len(store.shape), where, "its store has another rank")
        entries = item.entries if isinstance(item, prog.ProgramOutput) else ()
        if isinstance(item, prog.ProgramOutput):
            self.require(len(entries) == len(item.dims), where, "one entry for each dimension")
        for entry in entries:
            for e in (entry.lower, entry.upper) if isinstance(entry, prog.OutputSpan) else (entry,):
                self.expression(where, e)
        for e in item.shape:
            self.expression(where, e)

    def statement(self, s: prog.ProgramStatement, scope: tuple[str, ...]) -> None:
        match s:
            case prog.Sequence(items=items):
                for item in items:
                    self.statement(item, scope)
            case prog.Loop(var=var, lower=lower, upper=upper, step=step, body=body):
                where = f"loop {var}"
                self.require(var.isidentifier(), where, "is no name")
                self.require(var not in scope and var not in self.bounds, where, "hides another")
                self.require(step != 0, where, "step 0 would never end")
                self.require(s.place in PLACES, where, f"{s.place} is no place")
                self.expression(where, lower, scope)
                self.expression(where, upper, scope)
                self.expression(where, s.limit if s.limit is not None else ix.ZERO, (*scope, var))
                self.statement(body, (*scope, var))
            case prog.Guard(condition=condition, body=body):
                self.expression("guard", condition, scope)
                self.statement(body, scope)
            case prog.Call():
                self.call(s, scope)
            case prog.Host():
                self.host(s, scope)
            case prog.Effect():
                self.effect(s, scope)
            case prog.Region(loop=loop, carried=carried, read=read):
                self.region(s, (*carried, *read), carried, scope)
                self.statement(loop, scope)
            case prog.Block(body=body, carried=carried, made=made, read=read):
                self.region(s, (*carried, *made, *read), (*carried, *made), scope)
                self.statement(body, scope)
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
            case _:
                assert_never(s)

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
            self.needs(where, region.needs, (*scope, region.loop.var))
        self.lengths(where, region, scope)
        self.require(region.kernel in self.kernels, where, "there is no such kernel")
        for name in region.point:
            self.require(name in scope, where, f"there is no variable {name}")
        for some in cells:
            for key in some.keys:
                self.cell(where, prog.Cell(store=some.store, key=key), scope)
            fits = all(0 <= k < len(key) for k in some.places for key in some.keys)
            self.require(fits and bool(some.keys), where, f"bad keys of {some.store}")
        for some in changed:
            self.require(some.store not in self.given, where, f"writes {some.store}")

    def lengths(self, where: str, region: prog.Region | prog.Block, scope: tuple[str, ...]) -> None:
        """The lengths passed to a region are lengths, and its endings refer to these."""
        for e in region.lengths:
            self.expression(where, e, scope)
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
        for store in host.unless:
            self.require(store in self.stores, where, f"there is no store {store}")
        for e in host.point:
            self.expression(where, e, scope)
        for cell in (*host.args, *host.results):
            self.cell(where, cell, scope)

    def effect(self, effect: prog.Effect, scope: tuple[str, ...]) -> None:
        self.call(effect.call, scope)
        where = f"{effect.kind} of {', '.join(p.name for p in effect.places)}"
        self.require(effect.kind in EFFECTS, where, "is no effect")
        self.require(not effect.call.results, where, "has results")
        dims = self.kernels[effect.call.kernel].dims
        for place in effect.places:
            ends = [e for _, e in place.entries if not isinstance(e, prog.OutputSpan)]
            ends += [
                e
                for _, s in place.entries
                if isinstance(s, prog.OutputSpan)
                for e in (s.lower, s.upper)
            ]
            for e in (*ends, *place.shape):
                self.expression(where, e, dims)

    def cell(self, where: str, cell: prog.Cell, scope: tuple[str, ...]) -> None:
        store = self.stores.get(cell.store)
        if store is None:
            raise inconsistent(where, f"there is no store {cell.store}")
        fits = len(cell.key) == len(store.keys)
        self.require(fits, where, f"{cell.store} has {len(store.keys)} keys, not {len(cell.key)}")
        for e in (*cell.key, *(() if cell.when is None else (cell.when,))):
            self.expression(where, e, scope)
