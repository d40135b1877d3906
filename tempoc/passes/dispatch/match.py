"""Matching: whether a node of a program computes what a pattern does, and from which tensors.

Both graphs are walked from the result to the operands. Operators must be alike, up to

- the spelling of products: a matrix product and an ``einsum`` that say the same are one, and
  operands may stand in another order;
- constants: a division by one is a product with its reciprocal. Those of a pattern are computed
  for the extents of the program, ``1 / sqrt(size(q, -1))``; a factor that has a value where it
  is left out need not stand there.

An input of the pattern stands for any tensor of its dtype and rank. A dimension of the pattern is a
dimension of the program; others are carried along, and all that is read along these is the same.
Operands that may change places are tried in each order, until all of the pattern fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import permutations
from math import isclose

from tempoc.base.arrays import np
from tempoc.base.effort import EFFORT
from tempoc.ops.control.control import Merge
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.arithmetic import Divide, Multiply
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.source import Full, Input, Literal
from tempoc.passes.analysis.einsum_form import Spelling, spelling
from tempoc.passes.dispatch.pattern import FormulaPattern
from tempoc.passes.dispatch.unify import Unifier
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import ancestors, expressions, operand_type
from tempoc.sdg.graph.rewrite import compose_node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True)
class BoundTensor:
    """What an input of the pattern stands for: a read at entries of the result's point.

    ``dims`` are the dimensions of the source that are those of the pattern's input, in its order.
    """

    edge: Edge
    dims: tuple[str, ...]


@dataclass(slots=True)
class MatchState:
    """What is bound so far; ``inner`` are the nodes that the function takes the place of."""

    unifier: Unifier = field(default_factory=Unifier)
    tensors: dict[str, BoundTensor] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    pairs: dict[tuple[str, int, tuple[ix.Entry, ...]], Edge] = field(default_factory=dict)
    constants: list[tuple[str, float]] = field(default_factory=list)
    inner: dict[str, None] = field(default_factory=dict)

    def copy(self) -> MatchState:
        """An independent copy."""
        return MatchState(
            Unifier(dict(self.unifier.values)),
            dict(self.tensors),
            dict(self.numbers),
            dict(self.pairs),
            [*self.constants],
            dict(self.inner),
        )


@dataclass
class Matcher:
    """Matches one pattern with nodes of a graph; ``steps`` is how many edges are still tried."""

    pattern: FormulaPattern
    graph: Graph
    steps: int = 0

    @cached_property
    def constant_nodes(self) -> frozenset[str]:
        """The nodes of the pattern that depend on its extents alone."""
        graph = self.pattern.graph
        return frozenset(
            name
            for name, node in graph.nodes.items()
            if not node.domain.dims
            and not node.types[0].shape
            and not any(isinstance(graph.nodes[n].op, Input) for n in ancestors(graph, [name]))
        )

    def match(self, node: Node, dims: Mapping[str, str]) -> MatchState | None:
        """What the pattern's names stand for where its result is a node; ``None`` if it is not.

        ``dims`` are dimensions of the program by those of the pattern's result.
        """
        result = self.pattern.graph.nodes[self.pattern.result]
        state = MatchState(Unifier({p: ix.Sym(g) for p, g in dims.items()}))
        own = Edge(source=node.name, entries=tuple(map(ix.Sym, node.domain.dims)))
        other = Edge(source=result.name, entries=tuple(map(ix.Sym, result.domain.dims)))
        self.steps = EFFORT.formula_steps
        return next(filter(self._is_whole, self._edges(other, own, state)), None)

    def _is_whole(self, state: MatchState) -> bool:
        """Whether constants agree and all arguments are bound, some to their defaults."""
        if not self._constants_agree(state):
            return False
        for name in self.pattern.arguments:
            if name not in state.tensors and name not in state.numbers:
                default = self.pattern.numbers.get(name)
                if default is None:
                    return False
                state.numbers[name] = default
        return True

    # ------------------------------------------------------------ nodes

    def _edges(self, pattern: Edge, given: Edge, state: MatchState) -> Iterator[MatchState]:
        """The ways to match what two edges read, in terms of the results' points."""
        self.steps -= 1
        if self.steps < 0:
            return
        node = self.pattern.graph.nodes[pattern.source]
        if isinstance(node.op, Input):
            yield from self._tensor(node, pattern, given, state)
            return
        key = (pattern.source, pattern.out, pattern.entries)
        if key in state.pairs:
            old = state.pairs[key]
            if (old.source, old.out, old.entries) == (given.source, given.out, given.entries):
                yield state
            return
        other = self.graph.nodes[given.source]
        value = _constant(other)
        if node.name in self.constant_nodes and value is not None:
            yield replace(state, constants=[*state.constants, (node.name, value)])
            return
        inner = compose_node(node, pattern, self.pattern.graph.universe)
        outer = compose_node(other, given, self.graph.universe)
        a, b = node.types[pattern.out].dtype, other.types[given.out].dtype
        # What is rounded in between is the kernel's affair.
        if pattern.out != given.out or isinstance(node.op, Merge):
            return
        if inner is None or outer is None or not (a is b or (a.is_float and b.is_float)):
            return
        state = state.copy()
        state.pairs[key] = given
        if other.inputs:
            state.inner[other.name] = None
        yield from self._operators(*inner, *outer, state)

    def _operators(
        self,
        op: Op,
        edges: tuple[Edge, ...],
        other: Op,
        given: tuple[Edge, ...],
        state: MatchState,
    ) -> Iterator[MatchState]:
        scaled = self._scaled(op, edges)
        if scaled is not None:
            yield from self._factors(*scaled, other, given, state)
            return
        if isinstance(op, MatMul | Einsum) and isinstance(other, MatMul | Einsum):
            yield from self._products(op, edges, other, given, state)
            return
        ranks = [operand_type(self.pattern.graph, e).ndim for e in edges]
        if sorted(ranks) != sorted(operand_type(self.graph, e).ndim for e in given):
            return
        if not state.unifier.operators(_positive_axes(op, ranks), _positive_axes(other, ranks)):
            return
        orders = [given, given[::-1]] if op.commutative and len(given) == 2 else [given]
        for order in orders:
            yield from self._operands(edges, order, state)

    def _operands(
        self, edges: tuple[Edge, ...], given: tuple[Edge, ...], state: MatchState
    ) -> Iterator[MatchState]:
        """The ways to match all operands: what fits the first ones may not fit the others."""
        if not edges:
            yield state
            return
        for matched in self._edges(edges[0], given[0], state.copy()):
            yield from self._operands(edges[1:], given[1:], matched)

    def _products(
        self,
        op: Op,
        edges: tuple[Edge, ...],
        other: Op,
        given: tuple[Edge, ...],
        state: MatchState,
    ) -> Iterator[MatchState]:
        """Products that are the same sums, with operands in any order."""
        want = spelling(op, [operand_type(self.pattern.graph, e).ndim for e in edges]).renamed()
        have = spelling(other, [operand_type(self.graph, e).ndim for e in given])
        if len(edges) != len(given):
            return
        for order in permutations(range(len(given))):
            spelled = Spelling(tuple(have.terms[k] for k in order), have.result).renamed()
            if spelled == want:
                yield from self._operands(edges, tuple(given[k] for k in order), state)

    # ------------------------------------------------------------ constants

    def _scaled(self, op: Op, edges: tuple[Edge, ...]) -> tuple[Edge, str, bool] | None:
        """What is multiplied by or divided by a constant in the pattern, that, and which it is."""
        if not isinstance(op, Multiply | Divide):
            return None
        for k in (1, 0) if isinstance(op, Multiply) else (1,):
            source = edges[k].source
            if source in self.constant_nodes or source in self.pattern.numbers:
                return edges[1 - k], source, isinstance(op, Divide)
        return None

    def _factors(
        self,
        scaled: Edge,
        source: str,
        divides: bool,
        other: Op,
        given: tuple[Edge, ...],
        state: MatchState,
    ) -> Iterator[MatchState]:
        """The same constant, as a factor or as a divisor, or none where it may be left out."""
        for k in (1, 0) if isinstance(other, Multiply) else (1,):
            value = _constant(self.graph.nodes[given[k].source]) if len(given) == 2 else None
            if isinstance(other, Multiply | Divide) and value:
                inverse = divides != isinstance(other, Divide)
                value = 1 / value if inverse else value
                state = state.copy()
                if source not in self.pattern.numbers:
                    state.constants.append((source, value))
                elif not _is_close(state.numbers.setdefault(source, value), value):
                    return
                yield from self._edges(scaled, given[1 - k], state)
                return
        default = self.pattern.numbers.get(source)
        if default is None:
            return
        # The node that the factor would have been applied to stands here itself.
        state = state.copy()
        state.numbers.setdefault(source, default)
        node = self.pattern.graph.nodes[scaled.source]
        inner = compose_node(node, scaled, self.pattern.graph.universe)
        if inner is not None:
            yield from self._operators(*inner, other, given, state)

    def _constants_agree(self, state: MatchState) -> bool:
        """Whether constants have the values of the pattern's at the extents that were matched."""
        at = {n: e.value for n, e in state.unifier.values.items() if isinstance(e, ix.Const)}
        for name, value in state.constants:
            want = self._value(name, at)
            if want is None or not _is_close(want, value):
                return False
        return True

    def _value(self, name: str, at: Mapping[str, int]) -> float | None:
        node = self.pattern.graph.nodes[name]
        values = [self._value(e.source, at) for e in node.inputs]
        names = {n for e in expressions(node.op) for n in symbols(e)}
        if any(v is None for v in values) or not names <= set(at):
            return None
        types = [self.pattern.graph.nodes[e.source].types[e.out] for e in node.inputs]
        pairs = zip(values, types, strict=True)
        arrays = tuple(np.asarray(v, numpy_dtype(t.dtype)) for v, t in pairs)
        return float(node.op.evaluate(node.op.settle(arrays, tuple(types)), at)[0])

    # ------------------------------------------------------------ tensors

    def _tensor(
        self, node: Node, pattern: Edge, given: Edge, state: MatchState
    ) -> Iterator[MatchState]:
        """Bind an input: its dimensions to such of the source, its extents to those it has."""
        source = self.graph.nodes[given.source]
        type_, other = node.types[0], source.types[given.out]
        if node.name in self.pattern.numbers:
            value, state = _constant(source), state.copy()
            if value is not None and _is_close(state.numbers.setdefault(node.name, value), value):
                yield state
            return
        if type_.dtype is not other.dtype or type_.ndim != other.ndim:
            return
        slots = [k for k, e in enumerate(given.entries) if isinstance(e, ix.Slice)]
        count = len(node.domain.dims)
        for places in permutations(range(len(given.entries)), count):
            if list(places) != sorted(places) or not set(slots) <= set(places):
                continue
            matched = state.copy()
            unify = matched.unifier
            if not all(
                unify.entries(p, given.entries[k])
                for p, k in zip(pattern.entries, places, strict=True)
            ):
                continue
            points = source.domain.at(given.entries)
            extents = zip(type_.shape, other.shape, strict=True)
            if not all(
                not any(points.get(n) not in (None, ix.Sym(n)) for n in symbols(have))
                and unify.unify(want, have)
                for want, have in extents
            ):
                continue
            dims = tuple(source.domain.dims[k] for k in places)
            bound = BoundTensor(given, dims)
            old = matched.tensors.setdefault(node.name, bound)
            if self._is_same(old, bound):
                yield matched

    def _is_same(self, a: BoundTensor, b: BoundTensor) -> bool:
        """Whether two reads are of one tensor, the same along dimensions that the pattern lacks."""
        if (a.edge.source, a.edge.out, a.dims) != (b.edge.source, b.edge.out, b.dims):
            return False
        dims = self.graph.nodes[a.edge.source].domain.dims
        triples = zip(dims, a.edge.entries, b.edge.entries, strict=True)
        return all(x == y for d, x, y in triples if d not in a.dims)


def _is_close(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=EFFORT.constant_closeness)


def _constant(node: Node) -> float | None:
    """The number that a node is."""
    op = node.op
    if not isinstance(op, Literal | Full) or node.types[0].shape:
        return None
    return float(op.value) if isinstance(op.value, int | float) else None


def _positive_axes(op: Op, ranks: list[int]) -> Op:
    """The operator with axes counted from the first one."""
    axes = getattr(op, "axes", None)
    if isinstance(axes, tuple) and ranks and all(isinstance(a, int) for a in axes):
        return replace(op, axes=tuple(sorted(a % ranks[0] for a in axes)))  # type: ignore[call-arg]
    return op
