"""How regions spell arrays and expressions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.prelude import DTYPES, traced
from tempoc.ops.definition.dtype_text import tupled
from tempoc.program.nodes import nodes
from tempoc.program.nodes.arithmetic import Arith, Operation, names, text
from tempoc.program.nodes.bounds import replaced
from tempoc.program.nodes.spelling import variable


@dataclass(slots=True, kw_only=True)
class RegionNames:
    """Names in the function of a region.

    ``found`` are its arrays, ``called`` their names; ``outer`` the variables of loops around.
    ``static`` is what Python knows. ``asked`` are the lengths that it is told, ``lengths`` their
    names. ``used`` are the bounds that have been named. In ``at`` some numbers stand ``ahead`` of
    the point.
    """

    known: ProgramContext
    found: Mapping[str, nodes.Cells]
    outer: tuple[str, ...]
    asked: tuple[Arith, ...] = ()
    called: dict[str, str] = field(default_factory=dict)
    static: set[str] = field(default_factory=set)
    used: dict[str, None] = field(default_factory=dict)
    lengths: dict[Arith, str] = field(default_factory=dict)
    ahead: int = 0

    def cell(self, cell: nodes.Cell) -> str:
        """An array of a store, among those of the region."""
        name = self.called[cell.store]
        return f"{name}[{self.slots(cell)}]" if self.found[cell.store].places else name

    def slots(self, cell: nodes.Cell) -> str:
        """What tells an array apart from others of its store."""
        cells, store = self.found[cell.store], self.known.stores[cell.store]
        parts = []
        for k in cells.places:
            modulo = store.keys[k].modulo
            part = cell.key[k]
            if modulo is not None:
                part = Operation("%", (part, modulo))
            parts.append(self.text(part))
        return ", ".join(parts)

    def argument(self, cell: nodes.Cell) -> str:
        """The array, or zeros where Python knows that there may be none."""
        if cell.store not in self.found:  # no call ever wants it
            return self.zeros(cell)
        if cell.when is None or not self.is_static(cell.when) or not self.found[cell.store].places:
            return self.cell(cell)
        return f"{self.cell(cell)} if {self.text(cell.when)} else {self.zeros(cell)}"

    def zeros(self, cell: nodes.Cell) -> str:
        """An array of a store, full of zeros."""
        store = self.known.stores[cell.store]
        sizes = [self.text(e) for e in (*(a.size for a in store.axes), *store.shape)]
        shape = tupled([sizes[k] for k in store.order])
        return f"jnp.zeros({shape}, {DTYPES[store.dtype]})"

    def told(self, e: Arith) -> str:
        """A length as the caller knows it."""
        return f"at[{self.ahead + len(self.outer) + self.asked.index(e)}]"

    def is_static(self, e: Arith) -> bool:
        """Whether Python knows the value when the function is traced."""
        return all(name in self.static for name in names(replaced(e, self.lengths)))

    def text(self, e: Arith, *, tight: bool = False) -> str:
        """An expression; with what JAX has for numbers that are not known yet."""
        for name in names(replaced(e, self.lengths)):
            if name in self.known.bounds:
                self.used[name] = None
        own: dict[Arith, Arith] = {name: variable(name) for name in names(e)}
        spelled = replaced(e, own | self.lengths)
        shown = text(spelled) if self.is_static(e) else traced(spelled)
        return f"({shown})" if tight and not shown.isidentifier() else shown

    def coordinate(self, e: Arith) -> str:
        """A coordinate, as an i32 of JAX."""
        shown = self.text(e)
        return f"jnp.int32({shown})" if self.is_static(e) else shown
