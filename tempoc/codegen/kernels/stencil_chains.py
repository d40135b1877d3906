"""Members of a kernel that are computed before what reads them, as XLA would compute them anew.

XLA for CPUs fuses operators by computing, at each element of the last one, what it reads of the
others. So what a stencil reads of another one is computed once for each of its neighbours:

    v = x + 0.1 * (pad(x, [[1, 0]])[0:n] + pad(x, [[0, 1]])[1:n+1])
    y = v + 0.1 * (pad(v, [[1, 0]])[0:n] + pad(v, [[0, 1]])[1:n+1])

takes each ``v`` three times, and a third stencil nine times; that is seldom worth what it saves in
memory. ``v`` is a call that XLA does not inline. A Runge-Kutta step of four five-point stencils of
64 x 64 took 570 us without and 70 us with such calls, of 1024 x 1024 130 and 16 ms, and two thirds
of the time to compile (2026-11-29).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from tempoc.ops.definition.operator import Op
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.movement import Flip, Pad
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.sdg.statements.statements import Statement
from tempoc.symbolic.walk import evaluate, symbols

LONG = 100
"""What symbolic extents count as."""

COMPUTED_FIRST = '''\
def computed_first(x):
    """An array that XLA for CPUs computes before what reads it, not in each reader anew."""
    if jax.default_backend() != "cpu":
        return x
    from jax.experimental.xla_metadata import set_xla_metadata
    with set_xla_metadata(inlineable="false"):
        return jax.jit(lax.optimization_barrier)(x)
'''


def stencil_chains(
    statement: Statement, graph: Graph, is_local: Callable[[str, int], bool]
) -> frozenset[str]:
    """The members that are computed of stencils, and read by stencils.

    ``is_local`` says whether an operand of a member is another member's result at the same point.
    """
    reads = _StencilReads(statement, graph, is_local)
    times = reads.times_read()
    chains: set[str] = set()
    computed: dict[str, bool] = {}  # by stencils; False: only moved since then
    for name in statement.members:
        op, operands = graph.nodes[name].op, reads.operands(name)
        if not _is_fused(op):
            continue
        behind = [computed[v] for v in operands if v in computed and v not in chains]
        if not behind and all(times[v] <= 1 for v in operands):
            continue
        computed[name] = op.elementwise or any(behind)
        if computed[name] and times[name] > 1:
            chains.add(name)
    return frozenset(chains)


@dataclass(frozen=True, slots=True)
class _StencilReads:
    """The members of a statement, and which operands of these are other ones."""

    statement: Statement
    graph: Graph
    is_local: Callable[[str, int], bool]

    def operands(self, name: str) -> list[str | Edge]:
        """What a member reads: other members, and parts of tensors."""
        edges = enumerate(self.graph.nodes[name].inputs)
        return [e.source if self.is_local(name, k) else e for k, e in edges]

    def times_read(self) -> Mapping[str | Edge, Fraction]:
        """How often an element of a value is read, at different positions of readers."""
        shares: defaultdict[str | Edge, dict[Op | None, Fraction]] = defaultdict(dict)
        for name in self.statement.members:
            node = self.graph.nodes[name]
            for k, value in enumerate(self.operands(name)) if _is_fused(node.op) else ():
                key = node.op if _shifts(node.op) else None
                shares[value][key] = self.share(node, k) if key else Fraction(1)
        return defaultdict(Fraction, {v: Fraction(sum(s.values())) for v, s in shares.items()})

    def share(self, node: Node, slot: int) -> Fraction:
        """The part of an operand that a shifting operator reads; extents count as long ones."""
        made, there = [
            prod(evaluate(e, dict.fromkeys(symbols(e), LONG)) for e in shape)
            for shape in (node.types[0].shape, operand_type(self.graph, node.inputs[slot]).shape)
        ]
        return min(Fraction(1), Fraction(made, max(1, there)))


def _is_fused(op: Op) -> bool:
    """Whether XLA computes an operator element by element, in what reads it."""
    return op.elementwise or op.moves or _shifts(op)


def _shifts(op: Op) -> bool:
    """Whether elements are read at other positions than they are made at."""
    return isinstance(op, Pad | Flip) or (isinstance(op, SpatialIndex) and not op.gathers)
