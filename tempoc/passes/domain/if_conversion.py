"""If-conversion: branches that take turns are computed at all points, and one is selected at each.

    %y.0 = copy %x[s//2] : [s | s % 2 == 1] f32
    %y.1 = exp %z        : [s | s % 2 == 0] f32
    %y   = merge %y.0 when s % 2 == 1, %y.1 when s % 2 == 0 : [s] f32
    ->
    %y.0 = copy %x[min(s//2, X-1)] : [s] f32
    %y.1 = exp %z                  : [s] f32
    %y.on = index{expr=s % 2 == 1} : [s] bool
    %y   = where %y.on, %y.0, %y.1 : [s] f32

The points of a branch with holes, or on both sides of another one (``s < 1 or s >= S-1``), are no
interval, so that it cannot be vectorized: it would be a loop, and so would be all that it is fused
with. As control dependences become data dependences (Allen, Kennedy, Porterfield and Warren,
Conversion of control dependence to data dependence, POPL 1983), all points are computed at once.
That costs as many operations as there are branches, each elementwise, and is done only where all
that is converted can then be vectorized. What a branch reads at points that are not its own is not
used; entries are kept inside what they read, and positions inside the axes of operands.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tempoc.base.names import fresh_name
from tempoc.ops.control.control import Merge, Select
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.indexing.indexing import SpatialIndex
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.analysis.cost import op_within_axes
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.vectorization.vectorize import Vectorize
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import read_of
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import operand_types
from tempoc.sdg.graph.rewrite import drop_dead, replace_nodes
from tempoc.sdg.statements.build import identity, is_computed, written_where
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts, disjuncts
from tempoc.symbolic.walk import divisions, symbols


class IfConversion(GraphPass):
    """Selects among branches that take turns."""

    __slots__ = ()
    name: ClassVar[str] = "if_conversion"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with selections; none along dimensions that the data end."""
        if any(n.vector for n in graph.nodes.values()):
            return graph
        for dim in graph.universe.dims:
            if not graph.universe.is_ended(dim.name):
                graph = self._converted(graph, dim.name, context)
        return graph

    def _converted(self, graph: Graph, dim: str, context: PassContext) -> Graph:
        """The graph after the conversions along a dimension of which all nodes are vectorized.

        They are tried together: what stays a loop can keep others from being vectorized.
        """
        chosen = {n.name for n in graph.nodes.values() if isinstance(n.op, Merge)}
        while chosen:
            trial, added = _trial(graph, dim, chosen, context.space)
            if not added:
                break
            trial = drop_dead(trial)
            nodes = Vectorize().run(trial, context.copy()).nodes
            looping = {
                merge
                for merge, names in added.items()
                if any(_loops(nodes[n], dim) for n in names if n in nodes)
            }
            if not looping:
                for merge in added:
                    message = f"the branches of `{merge}` take turns along {dim}: all are "
                    message += "computed at all points, and one is selected at each"
                    context.remarks.add(self.name, message, graph.nodes[merge].span)
                return trial
            chosen = {*added} - looping
        return graph


def _loops(node: Node, dim: str) -> bool:
    return is_computed(node) and dim in node.domain.dims and dim not in node.vector


def _trial(
    graph: Graph, dim: str, chosen: Collection[str], space: Space
) -> tuple[Graph, dict[str, tuple[str, ...]]]:
    """The graph with merges converted where possible; the nodes that each has added or changed."""
    added: dict[str, tuple[str, ...]] = {}
    for name in [n for n in graph.nodes if n in chosen]:
        merge = graph.nodes[name]
        if dim not in merge.domain.dims:
            continue
        for branches in _taking_turns(graph, merge, dim, space):
            conversion = _Conversion(graph=graph, space=space.symbolic, proofs=space, dim=dim)
            if conversion.convert(merge, branches):
                graph = replace_nodes(graph, conversion.replacements())
                added[name] = tuple(conversion.nodes)
                break
    return graph, added


def _taking_turns(graph: Graph, merge: Node, dim: str, space: Space) -> Iterator[tuple[int, ...]]:
    """The branches of a merge that write it in the same way, of which some have holes.

    All of them, then those that are at the same points of the other dimensions.
    """
    assert isinstance(merge.op, Merge)
    alike: dict[object, list[int]] = {}
    for k, edge in enumerate(merge.inputs):
        target = merge.op.targets[k]
        dims = graph.nodes[edge.source].domain.dims
        if target[merge.domain.dims.index(dim)] == ix.Sym(dim) and dim in dims:
            alike.setdefault((target, edge.entries, dims), []).append(k)
    for branches in alike.values():
        written: dict[int, Domain] = {}
        for k in branches:
            domain = graph.nodes[merge.inputs[k].source].domain
            own = ix.conjunction(domain.where, written_where(merge, k, graph))
            written[k] = replace(domain, where=own)
        symbolic = space.symbolic
        holes = {k for k, domain in written.items() if _has_holes(domain, dim, symbolic)}
        if holes:
            yield tuple(branches)
            beside = tuple(d for d in written[branches[0]].dims if d != dim)
            others = {k: space.project(domain, beside) for k, domain in written.items()}
            for hole in sorted(holes):
                where = others[hole].where
                same = [k for k in branches if space.equal(others[k].where, where, Domain(beside))]
                if len(same) < len(branches):
                    yield tuple(same)


def _has_holes(domain: Domain, dim: str, space: Space) -> bool:
    """Whether the points along a dimension are no interval: by a remainder, or on both sides."""
    parts = [p for p in conjuncts(domain.where) if dim in symbols(p)]
    if not any(divisions(p) or isinstance(p, ix.Disjunction) for p in parts):
        return False
    return not space.is_empty(domain) and vector_ranges(domain, (dim,), space) is None


def _without(where: ix.Expr, dim: str) -> ix.Expr:
    """What a condition says of the other dimensions, at any point along ``dim``."""
    parts = ((p for p in conjuncts(part) if dim not in symbols(p)) for part in disjuncts(where))
    return ix.disjunction(*(ix.conjunction(*part) for part in parts))


@dataclass(slots=True, kw_only=True)
class _Conversion:
    """The nodes that a conversion adds (``selected``) or changes, and what becomes of the merge.

    ``proofs`` know the values of bounds: all points of ``j < 2*T + 1`` may be a branch's or another
    one's only if ``J`` is that.
    """

    graph: Graph
    space: Space
    proofs: Space
    dim: str
    nodes: dict[str, Node] = field(default_factory=dict)
    selected: list[Node] = field(default_factory=list)
    covered: set[str] = field(default_factory=set)
    result: Node | None = None

    def replacements(self) -> dict[str, list[Node]]:
        """Each changed node, the merge with what now stands before it."""
        assert self.result is not None
        changed = {name: [n] for name, n in self.nodes.items() if name in self.graph.nodes}
        if self.result.name in changed:
            self.selected.pop()
        return {**changed, self.result.name: [*self.selected, self.result]}

    def convert(self, merge: Node, branches: Sequence[int]) -> bool:
        """Convert some branches of a merge; whether that is possible."""
        sources = [self.graph.nodes[merge.inputs[k].source] for k in branches]
        if not all(self._fits(merge, k) and self._fill(merge.inputs[k].source) for k in branches):
            return False
        conditions = [
            ix.conjunction(n.domain.where, written_where(merge, k, self.graph))
            for n, k in zip(sources, branches, strict=True)
        ]
        dims = sources[0].domain.dims
        where = self.proofs.simplify(ix.disjunction(*conditions), Domain(dims))
        domain = Domain(dims, where)
        if vector_ranges(domain, (self.dim,), self.space) is None:
            return False
        if not all(self._covers(merge.inputs[k].source, domain) for k in branches):
            return False
        *others, last = branches
        node: Edge = self._at(merge, last, domain)
        built: Node | None = None
        for k, condition in reversed(list(zip(others, conditions, strict=False))):
            on = self._put(
                merge, "on", IndexValue(expr=self.space.simplify(condition, domain)), domain, ()
            )
            reads = (read_of(on), self._at(merge, k, domain), node)
            built = self._put(merge, "select", Select(), domain, reads)
            node = read_of(built)
        return built is not None and self._rewrite(merge, branches, built)

    # ------------------------------------------------------------ branches

    def _fits(self, merge: Node, branch: int) -> bool:
        """Whether a branch has the type of the merge, or is a scalar of its dtype."""
        edge = merge.inputs[branch]
        own, whole = self.graph.nodes[edge.source].types[edge.out], merge.types[0]
        return own.dtype is whole.dtype and own.shape in (whole.shape, ())

    def _fill(self, name: str, ends: bool = False) -> bool:
        """Let a node with holes, and those with holes that it reads, be computed at all points.

        With ``ends`` also one that lacks points at the ends alone. So are those that it then reads
        at points that they lack: ``c[r+1] - c`` has none at the last ``r``.
        """
        node = self.nodes.get(name) or self.graph.nodes[name]
        if name in self.nodes or not (ends or _has_holes(node.domain, self.dim, self.space)):
            return True
        if not self._is_fillable(node):
            return False
        where = _without(node.domain.where, self.dim)
        domain = Domain(node.domain.dims)
        if isinstance(node.domain.where, ix.Disjunction):
            where = self.space.simplify(where, domain)
        domain = replace(domain, where=where)
        self.nodes[name] = replace(node, domain=domain)
        if not all(self._fill(edge.source) for edge in node.inputs):
            return False
        edges = tuple(self._filled(domain, edge) for edge in node.inputs)
        return self._extend(node, domain, edges)

    def _filled(self, domain: Domain, edge: Edge) -> Edge | None:
        """A read from all points of a domain, of a source that lacks points at the ends as well."""
        inside = self._inside(domain, edge)
        if inside is not None or self.dim not in self._source(edge.source).domain.dims:
            return inside
        return self._inside(domain, edge) if self._fill(edge.source, ends=True) else None

    def _is_fillable(self, node: Node) -> bool:
        """Whether more points cost little and change nothing else, extents that vary included."""
        varies = any(self.dim in symbols(e) for t in node.types for e in t.shape)
        return is_computed(node) and not varies and _is_fillable(node)

    def _source(self, name: str) -> Node:
        return self.nodes.get(name) or self.graph.nodes[name]

    def _inside(self, domain: Domain, edge: Edge) -> Edge | None:
        """A read from all points of a domain, its entries kept in range; ``None`` if impossible."""
        source = self._source(edge.source)
        entries: list[ix.Entry] = []
        for dim, entry in zip(source.domain.dims, edge.entries, strict=True):
            if isinstance(entry, ix.Expr):
                last = ix.sub(ix.Sym(self.graph.universe.dim(dim).bound), ix.ONE)
                if not self.space.implies(domain, ix.compare(">=", entry, ix.ZERO)):
                    entry = ix.maximum(entry, ix.ZERO)
                if not self.space.implies(domain, ix.compare("<=", entry, last)):
                    entry = ix.minimum(entry, last)
            entries.append(entry)
        box = Domain(source.domain.dims)
        is_constant = is_computed(source) and source.op.cheap and not source.inputs
        reaches = box if is_constant else source.domain
        if self.space.outside(domain, tuple(entries), reaches) is not None:
            return None
        if is_constant and self.space.outside(domain, tuple(entries), source.domain) is not None:
            self.nodes[source.name] = replace(source, domain=box)
        return replace(edge, entries=tuple(entries))

    def _covers(self, name: str, domain: Domain) -> bool:
        """Whether a node has all points of a domain."""
        node = self._source(name)
        if self.space.implies(domain, node.domain.where):
            return True
        if name in self.covered or not self._is_fillable(node):
            return False  # a node that needs itself at the same point is left to the schedule
        self.covered.add(name)
        edges = tuple(self._read(domain, edge) for edge in node.inputs)
        return self._extend(node, domain, edges) and self.space.contains(domain, node.domain)

    def _extend(self, node: Node, domain: Domain, edges: Sequence[Edge | None]) -> bool:
        """Compute a node at all points of a domain; positions in its operands are kept in range."""
        inputs = tuple(edge for edge in edges if edge is not None)
        if len(inputs) < len(edges):
            return False
        op = op_within_axes(node.op, operand_types(self.graph, node), domain, self.space)
        if op is not None:
            self.nodes[node.name] = replace(node, op=op, domain=domain, inputs=inputs)
        return op is not None

    def _read(self, domain: Domain, edge: Edge) -> Edge | None:
        """A read from all points of a domain; a source at the same points is extended, too."""
        inside = self._inside(domain, edge)
        dims = self._source(edge.source).domain.dims
        if inside is not None or dims != domain.dims or edge.entries != identity(domain):
            return inside
        return edge if self._covers(edge.source, domain) else None

    def _at(self, merge: Node, branch: int, domain: Domain) -> Edge:
        edge = merge.inputs[branch]
        return Edge(source=edge.source, out=edge.out, entries=identity(domain), span=edge.span)

    # ------------------------------------------------------------ the result

    def _put(
        self,
        merge: Node,
        part: str,
        op: IndexValue | Select,
        domain: Domain,
        inputs: tuple[Edge, ...],
    ) -> Node:
        name = fresh_name(f"{merge.name}.{part}", self.graph.nodes, self.nodes)
        types = (TensorType(DType.BOOL),) if isinstance(op, IndexValue) else merge.types
        node = replace(merge, name=name, op=op, domain=domain, inputs=inputs, types=types)
        self.nodes[name] = node
        self.selected.append(node)
        return node

    def _rewrite(self, merge: Node, branches: Sequence[int], selected: Node) -> bool:
        """The merge with one branch in place of some, or the selection itself."""
        assert isinstance(merge.op, Merge)
        first = branches[0]
        guard = ix.disjunction(*(merge.inputs[k].guard for k in branches))
        guard = self.proofs.simplify(guard, merge.domain)
        alone = len(branches) == len(merge.inputs) and merge.op.targets[first] == identity(
            merge.domain
        )
        if alone and selected.domain == merge.domain:
            del self.nodes[selected.name]
            self.result = replace(selected, name=merge.name)
            self.nodes[merge.name] = self.result
            return True
        taken = [k for k in range(len(merge.inputs)) if k not in branches or k == first]
        edge = replace(merge.inputs[first], source=selected.name, out=0, guard=guard)
        inputs = tuple(edge if k == first else merge.inputs[k] for k in taken)
        targets = tuple(merge.op.targets[k] for k in taken)
        self.result = replace(merge, op=replace(merge.op, targets=targets), inputs=inputs)
        return True


def _is_fillable(node: Node) -> bool:
    """Whether computing a node at more points costs little and changes nothing else."""
    plain = isinstance(node.op, SpatialIndex) or node.op.elementwise or node.op.moves
    return node.op.pure and not node.op.checks and (plain or node.op.cheap)
