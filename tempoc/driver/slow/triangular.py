"""Recurrences that factor a matrix or solve a triangular system, for which there are operators.

L[i, j] = (a[i, j] - L[i, 0:j] @ L[j, 0:j]) / L[j, j]        `cholesky`, if L[i, i] is a root
z[i] = (y[i] - L[i, 0:i] @ z[0:i]) / L[i, i]                 `triangular_solve`
z[i] = (y[i] - L[i+1:N, i] @ z[i+1:N]) / L[i, i]             `triangular_solve`, from the end
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words, quoted
from tempoc.ops.control.control import Copy, Merge
from tempoc.ops.linear.cholesky_rows import CholeskyRows
from tempoc.ops.linear.solve import TriangularSolve
from tempoc.ops.tensor.arithmetic import Divide, Subtract
from tempoc.ops.tensor.contraction import MatMul
from tempoc.ops.tensor.elementwise import Sqrt
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.symbolic import expr as ix

_WHOLE = "of matrices whose rows and columns are axes, not dimensions"
_HELP = {
    True: f"`cholesky(a)`, {_WHOLE}, computes it at once, and so does its gradient",
    False: f"`triangular_solve(a, b)`, {_WHOLE}, solves it at once",
}


def triangular_findings(
    written: Graph, optimized: Graph, words: Words, names: Iterable[str]
) -> Iterator[Finding]:
    """What to write in place of such recurrences, or of what gradients have of them.

    Products may be recognized in the program as it is written only, or optimized. What a pass has
    made an operator of is no recurrence any more. ``names`` are the nodes that take the time.
    """
    made = (n for n in optimized.nodes.values() if isinstance(n.op, CholeskyRows | TriangularSolve))
    called = {words.name(n.name) for n in made}
    graphs = written, optimized
    solved = [(n, m) for g in graphs for n in g.nodes.values() if (m := _matrix(g, n)) is not None]
    solved = [(n, m) for n, m in solved if words.name(n.name) not in called]
    factors = {words.name(n.name): words.name(n.name) == words.name(m) for n, m in solved}
    places = {words.name(n.name): words.line(n) for n, _ in solved}
    telling = {words.name(name): None for name in names}
    for tensor, is_factor in factors.items():
        line = f" ({places[tensor]})" if places[tensor] else ""
        gradients = [x for x in telling if x.startswith("grad(") and x.endswith(f", {tensor})")]
        if gradients and is_factor:
            yield Finding(
                why=f"{quoted(gradients)} goes back through Cholesky's factor `{tensor}`{line}, "
                f"element by element",
                help=_HELP[is_factor],
            )
        elif tensor in telling:
            what = "is Cholesky's factor of a matrix" if is_factor else "solves a triangular system"
            yield Finding(why=f"`{tensor}`{line} {what}, element by element", help=_HELP[is_factor])


def _matrix(graph: Graph, node: Node) -> str | None:
    """The triangular matrix with which a node solves a system; its own tensor if that is a factor.

    ``None`` if it does neither.
    """
    if not isinstance(node.op, Divide):
        return None
    dividend, divisor = node.inputs
    difference = graph.nodes[dividend.source]
    if not isinstance(difference.op, Subtract):
        return None
    product = graph.nodes[difference.inputs[1].source]
    if not isinstance(product.op, MatMul):
        return None
    a, b = product.inputs
    for row, other in ((a, b), (b, a)):
        if (
            row.source == divisor.source
            and _is_beside(row, divisor)
            and _is_own(graph, node, other)
        ):
            factors = other.source == row.source
            same_range = _ranges(row) == _ranges(other)
            if same_range and (not factors or _has_root(graph, row.source)):
                return row.source
    return None


def _ranges(edge: Edge) -> list[ix.Slice]:
    return [e for e in edge.entries if isinstance(e, ix.Slice)]


def _is_beside(row: Edge, diagonal: Edge) -> bool:
    """Whether a read takes all elements of a row or column before, or after, one on the diagonal.

    Both may have other dimensions, at which they read the same point.
    """
    moved = [k for k, e in enumerate(row.entries) if isinstance(e, ix.Slice)]
    if len(moved) != 1:
        return False
    (place,) = moved
    entry, point = row.entries[place], diagonal.entries[place]
    assert isinstance(entry, ix.Slice)
    if isinstance(point, ix.Slice) or row.entries[:place] + row.entries[place + 1 :] != (
        diagonal.entries[:place] + diagonal.entries[place + 1 :]
    ):
        return False
    before = entry == ix.Slice(ix.ZERO, point)
    after = entry.step == 1 and entry.lo == ix.add(point, ix.ONE) and isinstance(entry.hi, ix.Sym)
    return (before or after) and point in row.entries


def _is_own(graph: Graph, node: Node, edge: Edge) -> bool:
    """Whether a read is of the tensor that a node computes."""
    source = graph.nodes[edge.source]
    return source is node or (isinstance(source.op, Merge) and node.name in source.sources)


def _has_root(graph: Graph, name: str) -> bool:
    """Whether an equation of a tensor is a square root, as that of the diagonal of a factor."""
    branches = [graph.nodes[s] for s in graph.nodes[name].sources]
    made = [graph.nodes[b.sources[0]] if isinstance(b.op, Copy) else b for b in branches]
    return any(isinstance(m.op, Sqrt) for m in made)
