"""The text of arrays and expressions in the function of a region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from tempoc.base.names import Names
from tempoc.codegen.regions.context import ProgramContext
from tempoc.ops.definition.dtype_text import jax_dtype, tupled
from tempoc.ops.definition.types import DType
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.spelling import variable
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import AND, ATOM, OR, SUM, ExprPrinter, Printed
from tempoc.symbolic.walk import replace_parts, symbols


class TracedPrinter(ExprPrinter):
    """Prints expressions with traced operands."""

    def extremum(self, word: str, args: list[str]) -> str:
        """Functions of JAX, which take two arguments."""
        return reduce(lambda left, right: f"jnp.{word}imum({left}, {right})", args)

    def condition(self, e: ix.Expr) -> Printed:
        """Bitwise operators, which bind more tightly than comparisons."""
        match e:
            case ix.Conjunction(args=args):
                return " & ".join(self.text(a, SUM) for a in args), AND
            case ix.Disjunction(args=args):
                return " | ".join(self.text(a, SUM) for a in args), OR
            case ix.Negation(arg=a):
                return f"jnp.logical_not({self.text(a)})", ATOM
            case _:
                return super().condition(e)


@dataclass(slots=True, kw_only=True)
class RegionNames:
    """Names in the function of a region.

    ``cells`` are its array arguments, ``array_names`` their names; ``outer`` the variables of the
    enclosing loops. ``static`` are the names that are Python values when JAX traces the function.
    ``length_params`` are the lengths passed to it, ``lengths`` their names. ``used`` are the bounds
    that the text names. ``at`` has ``ahead`` numbers before the point. ``counts`` are the numbers
    that are passed after the lengths, with their names, ``counting`` the bounds that may be among
    them. ``size_names`` are the names of sizes of growing axes, by dimension and final size.
    ``locals`` are all names.
    """

    context: ProgramContext
    cells: Mapping[str, prog.Cells]
    outer: tuple[str, ...]
    length_params: tuple[ix.Expr, ...] = ()
    array_names: dict[str, str] = field(default_factory=dict)
    static: set[str] = field(default_factory=set)
    used: dict[str, None] = field(default_factory=dict)
    lengths: dict[ix.Expr, str] = field(default_factory=dict)
    ahead: int = 0
    counts: dict[ix.Expr, str] = field(default_factory=dict)
    counting: frozenset[str] = frozenset()
    size_names: dict[tuple[str, ix.Expr], str] = field(default_factory=dict)
    locals: Names = field(default_factory=Names)

    def cell(self, cell: prog.Cell) -> str:
        """The text of an array of a store."""
        name = self.array_names[cell.store]
        return f"{name}[{self.slots(cell)}]" if self.cells[cell.store].places else name

    def slots(self, cell: prog.Cell) -> str:
        """The index of an array among those of its store."""
        cells, store = self.cells[cell.store], self.context.stores[cell.store]
        parts = []
        for k in cells.places:
            modulo = store.keys[k].modulo
            part = cell.key[k]
            if modulo is None:
                parts.append(self.text(part))
            else:
                parts.append(f"{self.text(part, ATOM)} % {self.text(modulo, ATOM)}")
        return ", ".join(parts)

    def argument(self, cell: prog.Cell) -> str:
        """The array; zeros where a static condition may exclude it."""
        if cell.store not in self.cells:  # no call ever reads it
            return self.zeros(cell)
        if cell.when is None or not self.is_static(cell.when) or not self.cells[cell.store].places:
            return self.cell(cell)
        return f"{self.cell(cell)} if {self.text(cell.when)} else {self.zeros(cell)}"

    def zeros(self, cell: prog.Cell) -> str:
        """An array of a store, full of zeros."""
        store = self.context.stores[cell.store]
        sizes = [self.size_names.get((a.dim, a.size)) or self.text(a.size) for a in store.axes]
        sizes += map(self.text, store.shape)
        shape = tupled([sizes[k] for k in store.order])
        return f"jnp.zeros({shape}, {jax_dtype(DType(store.dtype))})"

    def length_argument(self, e: ix.Expr) -> str:
        """A length as the caller passes it in ``at``."""
        return f"at[{self.ahead + len(self.outer) + self.length_params.index(e)}]"

    def count_argument(self, e: ix.Expr) -> str:
        """The end of a loop as the caller passes it in ``at``."""
        before = self.ahead + len(self.outer) + len(self.length_params)
        return f"at[{before + [*self.counts].index(e)}]"

    def names_in(self, e: ix.Expr) -> tuple[str, ...]:
        """The bounds, variables and lengths that an expression names."""
        return symbols(
            replace_parts(e, {part: ix.Sym(name) for part, name in self.lengths.items()})
        )

    def is_static(self, e: ix.Expr) -> bool:
        """Whether the value is known when JAX traces the function."""
        return self.static.issuperset(self.names_in(e))

    def text(self, e: ix.Expr, strength: int = OR) -> str:
        """The text as an operand of something that binds so strongly.

        It has JAX operations if its value is traced.
        """
        known = self.is_static(e)
        passed = {} if known else self.passed_numbers(e)
        for name in self.names_in(replace_parts(e, dict.fromkeys(passed, ix.ZERO))):
            if name in self.context.bounds:
                self.used[name] = None
        own: dict[ix.Expr, str] = {ix.Sym(name): variable(name) for name in symbols(e)}
        printer = ExprPrinter if known else TracedPrinter
        return printer(own | self.lengths | passed, " ").text(e, strength)

    def passed_numbers(self, e: ix.Expr) -> dict[ix.Expr, str]:
        """The parts of a traced expression that the function is told, each with its name."""
        rest = replace_parts(e, dict.fromkeys(self.counts, ix.ZERO))
        for name in symbols(rest):
            if name in self.counting:
                self.counts[ix.Sym(name)] = self.locals.fresh(f"{variable(name)}_now")
        return self.counts

    def coordinate(self, e: ix.Expr) -> str:
        """A coordinate, as an i32 of JAX."""
        if e in self.counts:
            return self.counts[e]
        shown = self.text(e)
        return f"jnp.int32({shown})" if self.is_static(e) else shown
