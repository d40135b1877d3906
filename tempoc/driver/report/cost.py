"""What `explain --cost` shows: operations, bytes and arithmetic intensity of each kernel.

The counts are those of the equations: over a ragged axis the valid elements alone, although a
kernel computes the padding, too. A kernel reads an array once at each of its points, whichever
members read it, and writes what others read; what stays inside is free.

Imports sympy, so commands import this file late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.driver.compilation import Compilation
from tempoc.ops.control.externs import ExternCall
from tempoc.poly.relations.domain_sum import BoundsFormula, DomainSums
from tempoc.runtime.messages.units import size_text
from tempoc.runtime.report.table import table
from tempoc.sdg.graph.query import node_operations
from tempoc.sdg.statements.accessed import bytes_at
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.simplify import in_counts, in_terms, in_units, quotient_text
from tempoc.symbolic.text import show

HEAD = ("kernel", "times", "FLOPs", "read", "written", "FLOPs/byte")


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelCost:
    """The costs of all calls of a kernel: their number, scalar operations, and bytes."""

    name: str
    calls: BoundsFormula
    work: BoundsFormula
    read: BoundsFormula
    written: BoundsFormula

    @property
    def columns(self) -> tuple[BoundsFormula, ...]:
        """In the order of the table."""
        return self.calls, self.work, self.read, self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCost:
    """The costs of all kernels, and their sums; ``unknown`` are functions of the user."""

    kernels: tuple[KernelCost, ...]
    total: KernelCost
    sums: DomainSums
    unknown: tuple[str, ...]


def program_cost(compilation: Compilation) -> ProgramCost:
    """The costs of a program."""
    graph = compilation.optimized
    sums = DomainSums(compilation.space_of(graph))
    kernels = tuple(_kernel(compilation, s, sums) for s in compilation.statements.statements)
    total = KernelCost(
        name="total",
        calls=sums.added([k.calls for k in kernels]),
        work=sums.added([k.work for k in kernels]),
        read=sums.added([k.read for k in kernels]),
        written=sums.added([k.written for k in kernels]),
    )
    externs = (n.op for n in graph.nodes.values())
    unknown = dict.fromkeys(op.extern for op in externs if isinstance(op, ExternCall))
    return ProgramCost(kernels=kernels, total=total, sums=sums, unknown=tuple(unknown))


def _kernel(compilation: Compilation, statement: Statement, sums: DomainSums) -> KernelCost:
    graph, tensors = compilation.optimized, compilation.statements.tensors
    single = statement.single or statement
    members = [graph.nodes[m] for m in statement.members]
    work = ix.add(*(node_operations(graph, n) for n in members))
    reads = dict.fromkeys((r.tensor, r.entries) for r in statement.reads if not r.forwarded)
    sizes = [bytes_at(tensors[name], entries) for name, entries in reads]
    written = [
        sums.over(
            bytes_at(tensors[w.tensor], w.entries),
            Domain(statement.domain.dims, ix.conjunction(statement.domain.where, w.where)),
        )
        for w in statement.writes
    ]
    return KernelCost(
        name=statement.name,
        calls=sums.over(ix.ONE, statement.domain),
        work=sums.over(work, single.domain),
        read=sums.over(ix.add(*sizes), statement.domain),
        written=sums.added(written),
    )


# ---------------------------------------------------------------- text


def cost_text(cost: ProgramCost, bounds: Mapping[str, int] | None) -> str:
    """The sums, then a table of all kernels; with ``bounds`` numbers for these."""
    lines = [*_sums(cost)]
    if bounds is None:
        rows = [row for k in cost.kernels for row in _formula_rows(k, cost.sums)]
    else:
        lines += ["", *_numbers(cost, bounds)]
        rows = [_number_row(k, bounds) for k in cost.kernels]
    head = (*HEAD, "when") if any(len(row) > len(HEAD) for row in rows) else HEAD
    padded = [[*row, *[""] * (len(head) - len(row))] for row in rows]
    return "\n".join([*lines, "", table(head, padded), *_notes(cost)]).rstrip() + "\n"


def _sums(cost: ProgramCost) -> Iterator[str]:
    total = cost.total
    for label, formula in (("FLOPs", total.work), ("read", total.read), ("written", total.written)):
        for condition, (value,) in cost.sums.aligned([formula]):
            text = in_counts(value) if formula is total.work else in_units(value)
            when = "" if condition == ix.TRUE else f"  if {show(condition)}"
            yield f"{label:<12}{_at_most(formula)}{text}{when}"
            label = ""
    label = "FLOPs/byte"
    for condition, (work, *moved) in cost.sums.aligned(total.columns[1:]):
        when = "" if condition == ix.TRUE else f"  if {show(condition)}"
        yield f"{label:<12}{quotient_text(work, sum(moved))}{when}"
        label = ""


def _formula_rows(kernel: KernelCost, sums: DomainSums) -> Iterator[list[str]]:
    """A row for each case."""
    exact = [_at_most(f) for f in kernel.columns]
    for condition, (calls, work, read, written) in sums.aligned(kernel.columns):
        if (calls, work, read, written) == (0, 0, 0, 0):
            continue
        texts = (in_terms(calls), in_counts(work), in_units(read), in_units(written))
        row = [kernel.name, *(a + b for a, b in zip(exact, texts, strict=True))]
        row.append(quotient_text(work, read + written))
        yield row if condition == ix.TRUE else [*row, show(condition)]


def _numbers(cost: ProgramCost, bounds: Mapping[str, int]) -> Iterator[str]:
    free = [b.name for b in cost.sums.space.universe.bounds if b.value is None or b.until]
    values = ", ".join(f"{name} = {bounds[name]}" for name in free)
    _, work, read, written = (f.at(bounds) for f in cost.total.columns)
    yield f"for {values}:" if values else "that is:"
    yield f"  {work} FLOPs{_in_thousands(work)}"
    yield f"  {read} bytes read{_in_bytes(read)}, {written} written{_in_bytes(written)}"
    yield f"  {_ratio(work, read + written)} FLOPs/byte"


def _number_row(kernel: KernelCost, bounds: Mapping[str, int]) -> list[str]:
    calls, work, read, written = (f.at(bounds) for f in kernel.columns)
    texts = (str(calls), thousands_text(work), size_text(read), size_text(written))
    exact = (_at_most(f) for f in kernel.columns)
    row = [a + b for a, b in zip(exact, texts, strict=True)]
    return [kernel.name, *row, _ratio(work, read + written)]


def _notes(cost: ProgramCost) -> Iterator[str]:
    formulas = [f for k in cost.kernels for f in k.columns]
    if not all(f.exact for f in formulas):
        yield "<=: an upper bound, since the sum over all points is no polynomial"
    if cost.unknown:
        names = ", ".join(f"`{name}`" for name in cost.unknown)
        yield f"operations of Python functions are not counted: {names}"
    if ended := [b.name for b in cost.sums.space.universe.bounds if b.until]:
        yield f"{', '.join(ended)}: the length that the run turns out to have"


def _at_most(formula: BoundsFormula) -> str:
    return "" if formula.exact else "<= "


def thousands_text(count: int) -> str:
    """``1.50 M``; small numbers as they are."""
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return str(count)


def _in_thousands(count: int) -> str:
    return f" ({thousands_text(count)})" if count >= 10**6 else ""


def _in_bytes(size: int) -> str:
    return f" ({size_text(size)})" if size >= 1024 else ""


def _ratio(work: int, size: int) -> str:
    return f"{work / size:.3g}" if size else "-"
