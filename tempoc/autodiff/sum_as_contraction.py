"""Sums of products over dimensions as one contraction.

The derivative by weights that all steps share is a sum of outer products over the steps. As a plain
sum it would store all of them; as one contraction with an axis for the steps it stores none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_letters

from tempoc.autodiff.node_builder import PointBuild, edge_of
from tempoc.ops.gradients.calculus import Term
from tempoc.ops.tensor.contraction import Einsum
from tempoc.ops.tensor.movement import Transpose
from tempoc.sdg.graph.graph import Edge, Node
from tempoc.sdg.graph.rewrite import read_through
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import symbols

ElementSelector = Callable[[Term], tuple[Term, tuple[str, ...]]]


def as_contraction(
    build: PointBuild,
    sink: PointBuild,
    term: Term,
    by: Mapping[str, ix.Entry],
    slices: int,
    select: ElementSelector,
) -> Term | None:
    """The sum of a product over the slices of `by`, the entries at which it is read.

    The first `slices` axes of the term are positions; `select` takes the one for the point at hand
    from an operand, built by `sink`, that has these axes first. `None` if the term is no product,
    or its operands cannot be read by slices.
    """
    nodes = build.builder.nodes
    node = nodes[edge_of(term).source]
    at_own_point = edge_of(term).entries == tuple(ix.Sym(d) for d in node.domain.dims)
    if not isinstance(node.op, Einsum) or not at_own_point:
        return None
    ranging = [d for d in node.domain.dims if isinstance(by[d], ix.Slice)]
    if not ranging:
        return None
    terms, result = node.op.letters(tuple(len(_shape(nodes, e)) for e in node.inputs))
    spare = iter([x for x in ascii_letters if x not in "".join([*terms, result])])
    letters = {d: next(spare) for d in ranging}
    holder = _operand_with_axes(terms, result[:slices])
    if slices and holder is None:
        return None
    operands: list[Term] = []
    specs: list[str] = []
    for k, (own, edge) in enumerate(zip(terms, node.inputs, strict=True)):
        if k == holder:
            first = "".join(sorted(own, key=lambda x: (result[:slices] + own).index(x)))
            moved = _transposed_operand(sink, sink.read(edge), own, first)
            if any(n in ranging for e in moved.shape[slices:] for n in symbols(e)):
                return None  # readers differ in how much they sum
            picked, dims = select(moved)
            operands.append(picked)
            specs.append("".join(letters[d] for d in dims) + first[slices:])
            continue
        composed = read_through(node, by, edge, nodes[edge.source], build.builder.space.universe)
        if composed is None:
            return None
        operands.append(build.read(composed))
        summed_dims = [d for e in edge.entries for d in symbols(e) if d in letters]
        specs.append("".join(letters[d] for d in summed_dims) + own)
    if any(letter not in "".join(specs) for letter in letters.values()):
        return None
    return build.calculus.op(Einsum(spec=f"{','.join(specs)}->{result[slices:]}"), *operands)


def _operand_with_axes(terms: list[str], positions: str) -> int | None:
    """The slot of the only operand with these axes, if it has each of them once."""
    having = [k for k, t in enumerate(terms) if any(x in t for x in positions)]
    good = len(having) == 1 and all(terms[having[0]].count(x) == 1 for x in positions)
    return having[0] if good else None


def _transposed_operand(sink: PointBuild, x: Term, own: str, first: str) -> Term:
    """The operand with its axes in another order."""
    if own == first:
        return x
    return sink.calculus.op(Transpose(axes=tuple(own.index(c) for c in first)), x)


def _shape(nodes: Mapping[str, Node], edge: Edge) -> tuple[object, ...]:
    """A tuple with one element for each axis of the operand."""
    slices = [e for e in edge.entries if isinstance(e, ix.Slice)]
    return (*slices, *nodes[edge.source].types[edge.out].shape)
