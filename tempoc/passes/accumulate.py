"""Sums over a whole dimension become running sums, where that saves keeping what is summed.

    %y = mul %x, %x     : [i, t] f32[8]          %s.none = full 0            : [i] f32[8]
    %s = sum %y[i, 0:T] : [i] f32[8]      ->     %s.past = merge %s.none when t == 0,
                                                             %s.now[i, t-1] when t >= 1
                                                 %s.now  = add %s.past, %y   : [i, t] f32[8]
                                                 %s      = copy %s.now[i, T-1]

So does a contraction: ``einsum("to,ti->oi", %y[i, 0:T], %x[i, 0:T])``, the gradient of a weight,
adds up one outer product in each step. The loop that makes the terms then adds them, and what they
are made of need not live longer (``worth.py``). Sums over several dimensions are cut outermost
first, by loops that run as the others must (``carried.py``). Large results stay as they are: one
contraction is faster than many small ones. Results are the same up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.ops.arithmetic import Add, Divide
from tempoc.ops.control import Copy, Merge
from tempoc.ops.elementwise import Cast
from tempoc.ops.opdef import Op
from tempoc.ops.reduction import Mean, Sum
from tempoc.ops.shapes import axes_of
from tempoc.ops.source import Full, IndexValue
from tempoc.ops.types import DType, TensorType
from tempoc.passes.carried import Loop, loops
from tempoc.passes.context import PassContext
from tempoc.passes.copies import forward_copies
from tempoc.passes.legality import dependences
from tempoc.passes.terms import terms
from tempoc.passes.worth import is_worth
from tempoc.sdg.branches import together
from tempoc.sdg.build import identity
from tempoc.sdg.graph import Edge, Graph, Node
from tempoc.sdg.query import operand_type, users
from tempoc.sdg.rewrite import drop_dead
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.expr import ONE, ZERO, Const, Expr, Sym, add, compare, product, sub


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulate:
    """Cuts sums over whole dimensions into steps."""

    limit: int = field(default=16384, metadata={"help": "most elements of a running sum"})

    name: ClassVar[str] = "accumulate"
    needs: ClassVar[tuple[str, ...]] = ()
    gives: ClassVar[tuple[str, ...]] = ()
    before: ClassVar[tuple[str, ...]] = ("groups",)

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with running sums."""
        lazy = together(graph)
        sums = [n for n in graph.nodes.values() if n.name not in lazy and self.is_sum(graph, n)]
        names, uses = {n.name for n in sums}, users(graph)
        chosen = [n for n in sums if is_worth(graph, n, names, uses)]
        if not chosen:
            return graph
        needs = dependences(graph, context.space)
        made: dict[str, list[Node]] = {}
        for node in chosen:
            dims = graph.universe.sorted(tuple(t.dim for t in terms(graph, node)))
            nest = loops(node, dims, needs, names)
            made[node.name] = _Cutter(graph).whole(node, nest)
            along = ", ".join(f"{x.dim}{'' if x.forward else ' backwards'}" for x in nest)
            span = node.spans[0] if node.spans else None
            context.remarks.add(self.name, f"`{node.name}` is added up along {along}", span)
        nodes = [n for old in graph.nodes.values() for n in made.get(old.name, [old])]
        return drop_dead(forward_copies(replace(graph, nodes={n.name: n for n in nodes})))

    def is_sum(self, graph: Graph, node: Node) -> bool:
        """Whether a node is a sum over whole dimensions, and small."""
        size = 1
        for e in node.types[0].shape if node.types else ():
            if not isinstance(e, Const):
                return False
            size *= e.value
        return len(node.types) == 1 and size <= self.limit and bool(terms(graph, node))


@dataclass(slots=True)
class _Cutter:
    """Makes the nodes that take the place of a sum, operands first; the last has its name."""

    graph: Graph
    made: list[Node] = field(default_factory=list)

    def whole(self, node: Node, nest: Sequence[Loop]) -> list[Node]:
        """A sum, or a mean, over the dimensions of some loops."""
        if not isinstance(node.op, Mean):
            self.cut(node, nest)
            return self.made
        (edge,) = node.inputs
        shape = operand_type(self.graph, edge).shape
        axes = axes_of(node.op.axes, len(shape))
        count = IndexValue(expr=product(shape[a] for a in axes))
        total = replace(node, name=f"{node.name}.total", op=Sum(axes=axes))
        self.cut(total, nest)
        dtype = node.types[0].dtype
        whole = self.put(node, "count", count, (), TensorType(DType.I32, ()))
        number = self.put(node, "number", Cast(dtype=dtype), (whole,), TensorType(dtype, ()))
        self.made.append(replace(node, op=Divide(), inputs=(_read(total), _read(number))))
        return self.made

    def cut(self, node: Node, nest: Sequence[Loop]) -> None:
        """A running sum along the outermost loop, of what is a sum along those inside."""
        loop, *inner = nest
        term = next(t for t in terms(self.graph, node) if t.dim == loop.dim)
        dims = self.graph.universe.ordered((*node.domain.dims, loop.dim))
        domain = Domain(dims, node.domain.where)
        bound = Sym(self.graph.universe.dim(loop.dim).bound)
        ends, step = ((ZERO, sub(bound, ONE)), 1) if loop.forward else ((sub(bound, ONE), ZERO), -1)

        def at(e: Expr) -> tuple[Expr, ...]:
            return tuple(e if d == loop.dim else Sym(d) for d in dims)

        each = replace(
            node, name=f"{node.name}.each", op=term.op, inputs=term.inputs, domain=domain
        )
        if inner:
            self.cut(each, inner)
        else:
            self.made.append(each)
        (type_,) = node.types
        zero = 0 if type_.dtype.is_int else 0.0
        empty = Full(shape=type_.shape, value=zero, dtype=type_.dtype)
        none = self.put(node, "none", empty, (), TensorType(type_.dtype, type_.shape))
        now, past, here = f"{node.name}.now", f"{node.name}.past", Sym(loop.dim)
        began = Edge(source=none.name, entries=identity(none.domain))
        before = Edge(source=now, entries=at(sub(here, Const(step))))
        first = compare("==", here, ends[0])
        later = compare(">=", here, ONE) if loop.forward else compare("<", here, ends[0])
        merge = Merge(targets=(at(ends[0]), at(add(here, Const(step)))))
        inputs = (replace(began, guard=first), replace(before, guard=later))
        self.made.append(replace(each, name=past, op=merge, inputs=inputs))
        both = (Edge(source=past, entries=at(here)), _read(each))
        self.made.append(replace(each, name=now, op=Add(), inputs=both))
        self.made.append(replace(node, op=Copy(), inputs=(Edge(source=now, entries=at(ends[1])),)))

    def put(
        self, node: Node, part: str, op: Op, operands: Iterable[Node], type_: TensorType
    ) -> Node:
        """One more node at the points of another."""
        name = f"{node.name}.{part}"
        found = replace(node, name=name, op=op, inputs=tuple(map(_read, operands)), types=(type_,))
        self.made.append(found)
        return found


def _read(node: Node) -> Edge:
    return Edge(source=node.name, entries=identity(node.domain))
