"""The first half of the verifier: what a program declares, from bounds to names of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.bounds import bound_order
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.dtypes import ELEMENTS
from tempoc.program.nodes.errors import inconsistent
from tempoc.program.nodes.functions import Extern
from tempoc.program.nodes.variants import is_folder
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

SAVED = ".safetensors"
"""The suffix of files that an effect saves."""
_HOLE = re.compile(r"\{(\w+)\}")

N = TypeVar("N", Buffer, prog.Kernel)


def unique(kind: str, declared: Iterable[str]) -> dict[str, None]:
    """The names, in order. Raises ``ProgramError`` if one is there twice."""
    seen: dict[str, None] = {}
    for name in declared:
        if name in seen:
            raise inconsistent(f"{kind} {name}", "is declared twice")
        seen[name] = None
    return seen


def named(kind: str, items: tuple[N, ...]) -> dict[str, N]:
    """The items by name. Raises ``ProgramError`` if two have the same."""
    unique(kind, (item.name for item in items))
    return {item.name: item for item in items}


def is_below(path: str) -> bool:
    """Whether a path, relative to a folder, stays in it as it stands, and can be a file's."""
    parts = path.split("/")
    return "\0" not in path and all(part not in ("", ".", "..") for part in parts)


def holes(text: str) -> list[str]:
    """The names in braces."""
    return _HOLE.findall(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationChecker:
    """Checks declarations; ``given`` are the stores that a run fills, ``inputs`` some of them."""

    program: prog.Program
    bounds: Mapping[str, None]
    dims: Mapping[str, str]
    stores: Mapping[str, Buffer]
    kernels: Mapping[str, prog.Kernel]
    given: frozenset[str]
    inputs: frozenset[str]

    def declarations(self) -> None:
        """Check all. Raises ``ProgramError``."""
        self.sizes()
        self.files()
        for store in self.program.stores:
            self.store(store)
        self.interface()
        for extern in self.program.externs:
            self.extern(extern.name, extern)
        unique("extern", (e.alias for e in self.program.externs))
        for kernel in self.program.kernels:
            self.kernel(f"kernel {kernel.name}", kernel)

    def require(self, holds: bool, where: str, fault: str) -> None:
        """Raise ``ProgramError`` unless something holds."""
        if not holds:
            raise inconsistent(where, fault)

    def name(self, kind: str, name: str) -> None:
        """A name that Python takes as well."""
        self.require(name.isidentifier(), f"{kind} {name}", "is no name")

    def expression(self, where: str, e: ix.Expr, scope: tuple[str, ...] = ()) -> None:
        """An expression over bounds and the names in scope."""
        unknown = [n for n in symbols(e) if n not in self.bounds and n not in scope]
        self.require(not unknown, where, f"there is no {', '.join(unknown)}")

    # -------------------------------------------------------------- sizes, files

    def sizes(self) -> None:
        """Bounds, dimensions, lengths, assumptions."""
        for b in self.program.bounds:
            self.name("bound", b.name)
            self.expression(f"bound {b.name}", b.value if b.value is not None else ix.ONE)
        bound_order(self.program.bounds)
        unique("dimension", (dim for dim, _ in self.program.dims))
        for dim, name in self.program.dims:
            self.name("dimension", dim)
            self.require(name in self.bounds, f"dimension {dim}", f"there is no bound {name}")
        unique("length", (length.bound for length in self.program.lengths))
        for length in self.program.lengths:
            where = f"length of {length.bound}"
            for name in (length.bound, length.largest):
                self.require(name in self.bounds, where, f"there is no bound {name}")
            for dim in length.outer:
                self.require(dim in self.dims, where, f"there is no dimension {dim}")
        for number in astuple(self.program.tuning):
            self.require(0 < number < 1 << 31, "tuning", f"has the number {number}")
        for a in self.program.assumptions:
            self.expression(f"assumption {a.text}", a.condition)

    def files(self) -> None:
        """All files are below the program; other programs have a folder, this one is among them."""
        for name in unique("file", (name for name, _ in self.program.files)):
            self.require(is_below(name), f"file {name}", "is not below the program")
        unique("entry", (key for key, _ in self.program.provenance))
        names = unique("variant", (v.name for v in self.program.variants))
        self.require(not names or "" in names, "variants", "this program is none of them")
        for name in names:
            self.require(name == "" or is_folder(name), f"variant {name}", "is no folder's name")

    # -------------------------------------------------------------- stores, interface

    def store(self, store: Buffer) -> None:
        """A store has a dtype, its dimensions once, one growing axis, one behind others."""
        where = f"store {store.name}"
        self.require(store.dtype in ELEMENTS, where, f"{store.dtype} is no dtype")
        for dim in unique(f"{where}, dimension", store.dims):
            self.require(dim in self.dims, where, f"there is no dimension {dim}")
        moduli = [key.modulo for key in store.keys if key.modulo is not None]
        for e in (*moduli, *(axis.size for axis in store.axes), *store.shape):
            self.expression(where, e)
        some = [axis for axis in store.axes if axis.least or axis.rounded]
        plain = all((a.least > 0) != a.rounded and not a.ring and a.every == 1 for a in some)
        self.require(plain and len(some) <= 1, where, "cannot grow that way")
        evenly = all(a.every == 1 or (a.every > 1 and not a.ring) for a in store.axes)
        self.require(evenly, where, "has slots for every so many points that it cannot have")
        inner = [axis.behind for axis in store.axes if axis.behind]
        fits = all(0 < k <= len(store.shape) for k in inner) and len(inner) <= 1
        fits = fits and not any(axis.ahead and axis.behind for axis in store.axes)
        self.require(fits, where, "its axes cannot stand in that order")

    def interface(self) -> None:
        """Inputs, params, the seed, outputs."""
        program = self.program
        for items in (program.inputs, program.params, program.outputs):
            unique("input, param or output", (item.name for item in items))
            for item in items:
                self.item(f"{prog.WORDS[type(item)]} {item.name}", item)
        seeds = [program.seed] if program.seed else []
        stores = [i.store for i in program.inputs] + [p.store for p in program.params]
        unique("store", [*stores, *seeds])
        for seed in seeds:
            store = self.stores.get(seed)
            fits = store is not None and store.dtype == "key" and not store.dims
            fits = fits and store is not None and store.shape == (ix.Const(2),)
            self.require(fits, "seed", f"{seed} is no store for it")

    def item(
        self, where: str, item: prog.ProgramInput | prog.ProgramParam | prog.ProgramOutput
    ) -> None:
        """Something outside has the dimensions, the dtype and the rank of its store."""
        self.require(is_below(item.name) and "/" not in item.name, where, "has no file's name")
        store = self.stores.get(item.store)
        if store is None:
            raise inconsistent(where, f"there is no store {item.store}")
        dims = sorted(store.dims)
        self.require(dims == sorted(item.dims), where, f"its store has dimensions {dims}")
        self.require(item.dtype == store.dtype, where, f"its store holds {store.dtype}")
        self.require(len(item.shape) == len(store.shape), where, "its store has another rank")
        for e in item.shape:
            self.expression(where, e)
        if isinstance(item, prog.ProgramOutput):
            self.output(where, item)
        else:
            self.filled(where, item)

    def filled(self, where: str, item: prog.ProgramInput | prog.ProgramParam) -> None:
        """The store of an input or a param keeps all of it, or of an input a chunk at a time."""
        store = self.stores[item.store]
        chunked = isinstance(item, prog.ProgramInput) and len(store.axes) == 1 and not store.keys
        rings = any((axis.ring and not chunked) or axis.every > 1 for axis in store.axes)
        whole = store.shape == item.shape and not rings and not store.growing
        self.require(whole, where, "its store has another size")
        self.require(all(k.modulo is None for k in store.keys), where, "its store forgets points")

    def output(self, where: str, output: prog.ProgramOutput) -> None:
        """An output reads its store at one entry for each dimension."""
        fits = len(output.entries) == len(output.dims)
        self.require(fits, where, "one entry for each dimension")
        for entry in output.entries:
            self.entry(where, entry)

    def entry(
        self, where: str, entry: ix.Expr | prog.OutputSpan, scope: tuple[str, ...] = ()
    ) -> None:
        """A point, or a span whose steps go up."""
        if isinstance(entry, prog.OutputSpan):
            self.require(entry.step > 0, where, f"step {entry.step} of a slice")
        for e in (entry.lower, entry.upper) if isinstance(entry, prog.OutputSpan) else (entry,):
            self.expression(where, e, scope)

    # -------------------------------------------------------------- functions

    def extern(self, name: str, extern: Extern) -> None:
        """A function of the user has a name in Python, and types."""
        where = f"extern {name}"
        for part in (extern.alias, *extern.module.split("."), *extern.function.split(".")):
            self.name(where, part)
        for type_ in (*extern.arguments, *extern.results):
            self.require(type_.dtype in ELEMENTS, where, f"{type_.dtype} is no dtype")
            dims = tuple(self.dims) if extern.host else ()
            for e in type_.shape:
                self.expression(where, e, (*extern.free, *dims))

    def kernel(self, where: str, kernel: prog.Kernel) -> None:
        """A kernel has bounds, lengths, dimensions; it takes over each argument once."""
        self.name("kernel", kernel.name)
        for name in unique(f"{where}, bound", kernel.bounds):
            self.require(name in self.bounds, where, f"no bound {name}")
        for e in kernel.static:
            self.expression(where, e)
            own = {*symbols(e)} <= {*kernel.bounds}
            self.require(own, where, "depends on bounds that it does not take")
        for name in kernel.lengths:
            is_length = name in self.bounds and name not in kernel.bounds
            self.require(is_length, where, f"{name} is no length")
        for dim in unique(f"{where}, dimension", (*kernel.dims, *(v.dim for v in kernel.vector))):
            self.require(dim in self.dims, where, f"there is no dimension {dim}")
        for part in kernel.vector:
            self.expression(where, part.lower)
            self.expression(where, part.upper)
        unique(f"{where}, argument", map(str, kernel.donated))
        self.require(min(kernel.donated, default=0) >= 0, where, "gives away what it does not have")


def is_saved_path(path: str) -> bool:
    """Whether an effect may save a file under this path, relative to the output directory."""
    return is_below(path) and PurePosixPath(path).suffix == SAVED
