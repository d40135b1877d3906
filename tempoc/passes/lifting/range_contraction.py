"""Contractions over prefixes and suffixes as running values: one product for each point.

    %S = einsum{"si,sj->ij"} %k[0:t+1], %v[0:t+1] : [t] f32[n, m]
    ->
    %S.new  = einsum{"i,j->ij"} %k, %v            : [t | t >= 1] f32[n, m]
    %S.next = add %S.run[t-1], %S.new             : [t | t >= 1] f32[n, m]

That is how linear attention keeps a state of constant size instead of all keys and values. Each
operand with the summed letter must be a range that grows by one element from point to point, but
for weights that fade from point to point (``fading_weights.py``), and the state with them:

    %S    = einsum{"si,s,sj->ij"} %k[0:t+1], (power %g, t - arange), %v[0:t+1]
    ->
    %S.faded = mul %g, %S.run[t-1]                     : [t | t >= 1] f32[n, m]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tempoc.ops.control.control import Copy
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.tensor.arithmetic import Multiply
from tempoc.ops.tensor.contraction import Einsum, MatMul
from tempoc.ops.tensor.elementwise import Cast
from tempoc.ops.tensor.monoids import SUM
from tempoc.passes.analysis.einsum_form import Spelling, contraction, spelling
from tempoc.passes.lifting.fading_weights import FadingWeights, fading_weights, named_part, spread
from tempoc.passes.lifting.moving_range import MovingRange, Sliding, classify_range
from tempoc.passes.lifting.range_operand import Rebuild, operand_slices
from tempoc.passes.lifting.running_reduction import RunningReduction, range_growth, step_builder
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_type
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeContraction:
    """A contraction that sums over a range which moves with ``dim``: ``letter`` of ``letters``.

    ``places`` has for each operand the axis of the range, counted from the last axis, or ``None``.
    ``weights`` are the operands that fade from point to point.
    """

    node: Node
    dim: str
    letter: str
    letters: Spelling
    places: tuple[int | None, ...]
    entry: ix.Slice
    range: MovingRange
    weights: Mapping[int, FadingWeights] = field(default_factory=dict)


def range_contractions(graph: Graph, node: Node, space: Space) -> Iterator[RangeContraction]:
    """The letters of a contraction that are summed over ranges moving with a dimension."""
    if not isinstance(node.op, MatMul | Einsum) or node.types[0].weak:
        return
    ranks = [operand_type(graph, e).ndim for e in node.inputs]
    letters = spelling(node.op, ranks)
    for letter in dict.fromkeys("".join(letters.terms)):
        if letter in letters.result or any(t.count(letter) > 1 for t in letters.terms):
            continue
        places = tuple(len(t) - t.index(letter) if letter in t else None for t in letters.terms)
        operands = list(enumerate(zip(node.inputs, places, strict=True)))
        with_letter = [(k, e, p) for k, (e, p) in operands if p is not None]
        fading = ((k, fading_weights(graph, e, p)) for k, e, p in with_letter)
        weights = {k: w for k, w in fading if w is not None}
        if any(not {*letters.terms[k]} <= {letter, *letters.result} for k in weights):
            continue
        ranged = [(e, p) for k, e, p in with_letter if k not in weights]
        slices = [next(operand_slices(graph, e, p), None) for e, p in ranged]
        entry = slices[0] if slices else None
        if entry is None or None in slices:
            continue
        for dim in node.domain.dims:
            moving_range = classify_range(entry, dim, node.domain, space)
            if moving_range is None or isinstance(moving_range, Sliding):
                continue
            if all(w.fit(moving_range, entry, dim) for w in weights.values()):
                yield RangeContraction(
                    node=node, dim=dim, letter=letter, letters=letters, places=places,
                    entry=entry, range=moving_range, weights=weights,
                )  # fmt: skip


def running_contraction(
    graph: Graph, target: RangeContraction, space: Space, *, in_loop: bool
) -> tuple[Node, ...] | None:
    """Nodes that compute the points of the contraction in order; the last has its name.

    ``None`` where the range does not grow by one element from point to point, or where an operand
    differs from point to point beyond that.
    """
    node, dim = target.node, target.dim
    growth = range_growth(target.range, target.entry, dim, node.domain, space)
    if growth is None:
        return None
    builder = step_builder(graph, space, node, dim)
    place = next(
        p for k, p in enumerate(target.places) if p is not None and k not in target.weights
    )
    running = RunningReduction(
        builder=builder, range=target.range, place=place, growth=growth,
        decay=partial(_decay, target) if target.weights else None, in_loop=in_loop,
    )  # fmt: skip
    try:
        merge = running.nodes(SUM, lambda rebuild: _element(target, rebuild))
        if merge is None:
            return None
        result = builder.put("held", Copy(), (merge,))
        if result.types[0].dtype != node.types[0].dtype:
            result = builder.put("cast", Cast(dtype=node.types[0].dtype), (result,))
    except OperandError:
        return None
    return builder.finish(result)


def _element(target: RangeContraction, rebuild: Rebuild) -> Edge | None:
    """The product of one element of each range, in the dtype in which sums are made."""
    builder, node = rebuild.builder, target.node
    home = rebuild.domain_of(node.domain.dims)
    wide = node.types[0].dtype.wide
    operands: list[Edge] = []
    terms: list[str] = []
    for k, (edge, place) in enumerate(zip(node.inputs, target.places, strict=True)):
        operand: Edge | None = edge
        if k in target.weights:
            operand = target.weights[k].newest(rebuild)
            if operand is None:
                continue
        elif place is not None:
            operand = replace(rebuild, place=place, memo={}).edge(edge)
        elif _moves(builder.graph, edge, target.dim):
            return None
        if operand is None:
            return None
        if builder.type_of(operand).dtype != wide:
            cast = builder.put(f"wide.{rebuild.part}", Cast(dtype=wide), (operand,), home)
            operand = read_of(cast)
        operands.append(operand)
        terms.append(target.letters.terms[k].replace(target.letter, ""))
    if terms == [target.letters.result]:
        return operands[0]
    op, edges = contraction(Spelling(tuple(terms), target.letters.result), operands)
    return read_of(builder.put(f"product.{rebuild.part}", op, edges, home))


def _decay(target: RangeContraction, rebuild: Rebuild, before: ix.Expr) -> Edge:
    """The product of all ratios, for the axes of the result; raises ``OperandError``."""
    builder, result = rebuild.builder, target.letters.result
    everywhere = target.node.domain
    later = rebuild.domain_of(everywhere.dims)
    product: Edge | None = None
    for k, weights in target.weights.items():
        own = target.letters.terms[k].replace(target.letter, "")
        ratio = weights.ratio(rebuild, before)
        home = named_part(builder, (ratio,), everywhere)
        home = named_part(builder, (ratio,), later) if target.dim in home.dims else home
        ratio = spread(builder, ratio, own, result, home)
        if product is not None:
            ratio = read_of(builder.put("ratio", Multiply(), (product, ratio), later))
        product = ratio
    assert product is not None
    return product


def _moves(graph: Graph, edge: Edge, dim: str) -> bool:
    """Whether an operand differs from point to point of a dimension."""
    shape = operand_type(graph, edge).shape
    return any(dim in symbols(e) for e in (*edge.entries, *shape))
