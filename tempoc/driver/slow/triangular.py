"""Recurrences that factor a matrix or solve a triangular system, for which there are operators.

They are those that the pass ``factors`` recognizes: at lower levels it does not run, and where
gradients are those of some rows it leaves them.

L[i, j] = (a[i, j] - L[i, 0:j] @ L[j, 0:j]) / L[j, j]        `cholesky`, if L[i, i] is a root
z[i] = (y[i] - L[i, 0:i] @ z[0:i]) / L[i, i]                 `triangular_solve`
z[i] = (y[i] - L[i+1:N, i] @ z[i+1:N]) / L[i, i]             `triangular_solve`, from the end
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.words import Words, quoted
from tempoc.ops.linear.cholesky_rows import CholeskyRows
from tempoc.ops.linear.solve import TriangularSolve
from tempoc.passes.dispatch.factors import triangular_equations

_WHOLE = "of matrices whose rows and columns are axes, not dimensions"
_HELP = {
    True: f"`cholesky(a)`, {_WHOLE}, computes it at once, and so does its gradient",
    False: f"`triangular_solve(a, b)`, {_WHOLE}, solves it at once",
}


class TriangularFindings:
    """Tells of such recurrences of a program, as it is written or as the passes left it.

    What a pass has made an operator of is no recurrence any more.
    """

    def __init__(self, compilation: Compilation, words: Words) -> None:
        self.words = words
        written, optimized = compilation.graph, compilation.optimized
        nodes = optimized.nodes.values()
        made = [n for n in nodes if isinstance(n.op, CholeskyRows | TriangularSolve)]
        called = {words.name(n.name) for n in made}
        self.factors: dict[str, bool] = {}
        self.places: dict[str, str] = {}
        for graph in (written, optimized):
            for name, is_factor in triangular_equations(graph, compilation.space_of(graph)):
                tensor = words.name(name)
                if tensor not in called:
                    self.factors[tensor] = is_factor
                    self.places[tensor] = words.line(graph.nodes[name])

    def of(self, names: Iterable[str]) -> Iterator[Finding]:
        """What to write in place of recurrences, or of what gradients have of them.

        ``names`` are the nodes that take the time.
        """
        telling = {self.words.name(name): None for name in names}
        for tensor, is_factor in self.factors.items():
            line = f" ({self.places[tensor]})" if self.places[tensor] else ""
            gradients = [x for x in telling if x.startswith("grad(") and x.endswith(f", {tensor})")]
            if gradients and is_factor:
                yield Finding(
                    why=f"{quoted(gradients)} goes back through Cholesky's factor `{tensor}`{line},"
                    f" element by element",
                    help=_HELP[is_factor],
                )
            elif tensor in telling:
                what = (
                    "is Cholesky's factor of a matrix"
                    if is_factor
                    else "solves a triangular system"
                )
                yield Finding(
                    why=f"`{tensor}`{line} {what}, element by element", help=_HELP[is_factor]
                )
