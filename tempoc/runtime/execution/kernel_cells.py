"""The stores from which kernels are given cells, and of which they make them."""

from __future__ import annotations

from collections.abc import Collection

from tempoc.program.analysis.traversal import statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix


def results_of(program: prog.Program) -> dict[str, tuple[list[str], int]]:
    """For the kernel of each call the stores of its results, and how many more results follow."""
    results: dict[str, tuple[list[str], int]] = {}
    for s in statements_in(program.tree):
        if isinstance(s, prog.Call):
            results[s.kernel] = [cell.store for cell in s.results], len(s.endings)
        elif isinstance(s, prog.Block):
            more = int(bool(s.endings) or s.begun != ix.ZERO)
            results[s.kernel] = [cells.store for cells in (*s.carried, *s.made)], more
        elif isinstance(s, prog.Region):
            more = bool(s.endings) + len(s.prints)
            results[s.kernel] = [cells.store for cells in s.carried], more
    return results


def operands_of(program: prog.Program, names: Collection[str]) -> dict[str, list[str]]:
    """For each of these kernels, of calls and blocks, the stores that its last call is given."""
    operands: dict[str, list[str]] = {name: [] for name in names}
    for s in statements_in(program.tree):
        if isinstance(s, prog.Call | prog.Block) and s.kernel in operands:
            cells = s.args if isinstance(s, prog.Call) else (*s.carried, *s.read)
            operands[s.kernel] = [cell.store for cell in cells]
    return operands
