"""Predication: a condition on several dimensions becomes a selection, and domains become boxes.

    %s.0 = matmul %q, %k[j] : [i, j | j <= i] f32
    %s   = merge{targets=((i, j), (i, j))} %s.0 when j <= i, %none when j > i : [i, j] f32
    ->
    %s.0    = matmul %q, %k[j]           : [i, j] f32
    %s.when = index{expr=j <= i}         : [i, j] bool
    %s      = where %s.when, %s.0, %none : [i, j] f32

Only the points of a box can be vectorized (``sdg/statements/vectorized.py``): a mask, a diagonal or
a band, written as a condition, would be computed point by point. So a node gets all points of a box
if it can be computed there: its operands exist, its sizes are no less than 0, and no recurrence
goes through it, which could then wait for itself, but one that an outer loop carries whatever its
points are: all of a training step reads the weights of earlier steps. What is computed at the new
points is never used.

Where points lie within a constant distance of a line, a box has many times as many of them: it is
then made only of what is cheap at a point. Where a recurrence goes through the merge, a union of
boxes is taken apart (``box_union.py``). A condition on one dimension alone is left to those who cut
dimensions (``split.py``), but for one that holds on both sides of others: both ends of a line are
computed with all of it. A merge whose branches are parts of the box stays one. The pass runs again
behind ``rows``: what hangs on whole rows of a recurrence, as derivatives do, gets boxes then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import ClassVar

from tempoc.ops.control.control import Merge, Select
from tempoc.ops.definition.operator import Op, OperandError
from tempoc.ops.tensor.source import IndexValue
from tempoc.passes.analysis.cost import limited, op_in_box
from tempoc.passes.analysis.uncarried_cycles import uncarried_cycles
from tempoc.passes.context import GraphPass, PassContext
from tempoc.passes.domain.box_union import with_boxes
from tempoc.poly.relations.space import Space
from tempoc.sdg.builder import NodeBuilder
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import OperandUse, components, has_run_lengths, users
from tempoc.sdg.graph.rewrite import replace_nodes
from tempoc.sdg.statements.branches import enclosing_conds
from tempoc.sdg.statements.build import identity, is_identity
from tempoc.sdg.statements.certain_order import entry_bounds
from tempoc.sdg.statements.vectorized import vector_ranges
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, conjuncts
from tempoc.symbolic.walk import symbols


class Predication(GraphPass):
    """Extends domains to boxes, and turns merges into selections."""

    __slots__ = ()
    name: ClassVar[str] = "predicate"

    def run(self, graph: Graph, context: PassContext) -> Graph:
        """The graph with boxes for domains; none of nodes that need lengths that data decide."""
        space = context.space.symbolic  # no domain depends on the value of a fixed bound
        extension = _Extension.of(graph, space)
        extension.try_all()
        for name, box in extension.boxes.items():
            if extension.is_selection(graph.nodes[name], box):
                message = "which equation holds is selected at each point, all of them are computed"
                context.remarks.add(self.name, f"`{name}`: {message}", graph.nodes[name].span)
        graph, divided = with_boxes(extension.result() if extension.boxes else graph, space)
        for part in divided:
            message = f"`{part.branch}`: its points are {part.boxes} boxes, each computed apart"
            context.remarks.add(self.name, message, graph.nodes[part.branch].span)
        return graph


def _is_oblique(domain: Domain, space: Space) -> bool:
    """Whether a domain is no box, and not for a condition on one dimension alone."""
    if not _is_joint(domain.where, domain):
        return False
    return (
        not space.is_empty(domain) and vector_ranges(domain, _fixed(domain, space), space) is None
    )


def _fixed(domain: Domain, space: Space) -> list[str]:
    """The dimensions of a domain that the data do not end."""
    return [d for d in domain.dims if not space.universe.is_ended(d)]


def _has_gap(domain: Domain, space: Space) -> bool:
    """Whether points along a dimension are several intervals, as both ends of a line."""
    for part in conjuncts(domain.where):
        dims = [d for d in domain.dims if d in symbols(part)]
        if isinstance(part, ix.Disjunction) and len(dims) == 1:
            return not space.is_empty(domain) and vector_ranges(domain, dims, space) is None
    return False


def _is_joint(condition: ix.Expr, domain: Domain) -> bool:
    """Whether a part of a condition is one on several dimensions."""
    return any(len({*symbols(p)} & {*domain.dims}) > 1 for p in conjuncts(condition))


def _selects_obliquely(merge: Node, space: Space) -> bool:
    """Whether the points of a merge are a box, but not those of each of its branches."""
    where, dims = merge.domain.where, merge.domain.dims
    if vector_ranges(merge.domain, _fixed(merge.domain, space), space) is None:
        return False
    parts = (Domain(dims, ix.conjunction(where, e.guard)) for e in merge.inputs)
    return any(_is_oblique(part, space) for part in parts)


def _hull(domain: Domain, space: Space) -> Domain:
    """The smallest box around a domain; none for bounds for which the domain has no point."""
    ends: list[ix.Expr] = [space.project(domain, ()).where]
    for dim in domain.dims:
        at = ix.Sym(dim)
        ends.append(ix.compare(">=", at, space.lower_bound(at, domain)))
        ends.append(ix.compare("<=", at, space.upper_bound(at, domain)))
    box = Domain(domain.dims)
    return replace(box, where=space.simplify(ix.conjunction(*ends), box))


@dataclass(slots=True, kw_only=True)
class _Extension:
    """The nodes that get a larger domain, each with its box."""

    graph: Graph
    space: Space
    fixed: set[str]
    users: Mapping[str, Sequence[OperandUse]]
    component: Mapping[str, int]
    boxes: dict[str, Domain] = field(default_factory=dict)
    ops: dict[str, Op] = field(default_factory=dict)
    entries: dict[OperandUse, tuple[ix.Entry, ...]] = field(default_factory=dict)
    failed: set[tuple[str, Domain]] = field(default_factory=set)

    @classmethod
    def of(cls, graph: Graph, space: Space) -> _Extension:
        """Nothing is extended; nodes of cycles and branches of ``cond`` never will be."""
        fixed = uncarried_cycles(graph)
        fixed |= {*enclosing_conds(graph)}
        part_of = {name: k for k, part in enumerate(components(graph)) for name in part}
        return cls(graph=graph, space=space, fixed=fixed, users=users(graph), component=part_of)

    def try_all(self) -> None:
        """Extend what can be, consumers first; again while merges that others wait for follow."""
        names = [n for part in reversed(components(self.graph)) for n in reversed(part)]
        before = -1
        while before < len(self.boxes):
            before = len(self.boxes)
            for node in (self.graph.nodes[n] for n in names if n not in self.boxes):
                if isinstance(node.op, Merge):
                    if _selects_obliquely(node, self.space):
                        self.try_box(node, node.domain)
                    continue
                no_box = _is_oblique(node.domain, self.space) or _has_gap(node.domain, self.space)
                if no_box and self.is_useful(node):
                    self.try_box(node, _hull(node.domain, self.space))

    def try_box(self, node: Node, box: Domain) -> None:
        """Extend a node and what it needs to a box, or nothing."""
        boxes = dict(self.boxes)
        self.failed.clear()
        if not self._extend(node, box) or not self._merges_follow(boxes):
            self.boxes = boxes

    def is_useful(self, node: Node) -> bool:
        """Whether no consumer stays with the points of a node."""
        readers = (self.graph.nodes[u.reader] for u in self.users[node.name])
        return not any(r.domain == node.domain and r.name not in self.boxes for r in readers)

    def _merges_follow(self, before: dict[str, Domain]) -> bool:
        """Whether every merge of what has been extended becomes a selection as well."""
        new = [n for n in self.boxes if n not in before]
        readers = {u.reader for n in new for u in self.users[n]}
        return all(
            name in self.boxes for name in readers if isinstance(self.graph.nodes[name].op, Merge)
        )

    def _extend(self, node: Node, box: Domain) -> bool:
        """Whether a node can be computed in a box; it and its sources are then extended."""
        if node.name in self.boxes:
            return self.space.contains(self.boxes[node.name], box)
        if (node.name, box) in self.failed:  # else each of its consumers would try it again
            return False
        extended = self.space.contains(box, node.domain) and self._allowed(node, box)
        if extended:
            self.boxes[node.name] = box
            parts = self._parts(node, box)
            extended = all(self._readable(node, slot, part) for slot, part in enumerate(parts))
        if not extended:
            self.failed.add((node.name, box))
        return extended

    def _parts(self, node: Node, box: Domain) -> list[Domain]:
        """At which points of its box a node reads each of its operands."""
        if not isinstance(node.op, Merge) or self.is_selection(node, box):
            return [box] * len(node.inputs)
        points = Domain(box.dims)
        wheres = (ix.conjunction(box.where, e.guard) for e in node.inputs)
        return [replace(points, where=self.space.simplify(w, points)) for w in wheres]

    def is_selection(self, node: Node, box: Domain) -> bool:
        """Whether a node is a merge that becomes a selection: its branches are no parts of a box.

        Else each is computed at its own points only: a first or last step reads no other steps.
        """
        if not isinstance(node.op, Merge):
            return False
        guards = [e.guard for e in node.inputs]
        if any(_is_joint(g, box) for g in guards):
            return True
        pairs = combinations(guards, 2)
        covered = self.space.implies(box, ix.disjunction(*guards))
        return not covered or not all(self.space.disjoint(a, b, box) for a, b in pairs)

    def _readable(self, node: Node, slot: int, box: Domain) -> bool:
        edge = node.inputs[slot]
        source = self.graph.nodes[edge.source]
        domain = self.boxes.get(source.name, source.domain)
        self.entries.pop(OperandUse(node.name, slot), None)
        guarded = edge.guard != ix.TRUE and not isinstance(node.op, Merge)
        slices = [e for e in edge.entries if isinstance(e, ix.Slice)]
        lengths = (ix.compare(">=", e.hi, e.lo) for e in slices)
        if guarded or not all(self.space.implies(box, length) for length in lengths):
            return False
        if self.space.outside(box, edge.entries, domain) is None:
            return True
        dims, boxes = source.domain.dims, dict(self.boxes)
        if is_identity(edge, self.graph) and {*dims} <= {*box.dims}:
            if self._extend(source, self.space.project(box, dims)):
                return True
            self.boxes = boxes
        return not isinstance(node.op, Merge) and self._kept_inside(node, slot, box)

    def _kept_inside(self, node: Node, slot: int, box: Domain) -> bool:
        """Whether a read can be limited to the points of its source, which is then noted.

        Within a recurrence it must not go to another step than before.
        """
        edge, space = node.inputs[slot], self.space
        source = self.graph.nodes[edge.source]
        domain = self.boxes.get(source.name, source.domain)
        entries: list[ix.Entry] = []
        for dim, entry in zip(domain.dims, edge.entries, strict=True):
            if isinstance(entry, ix.Expr):
                first, last = (
                    bound(ix.Sym(dim), domain) for bound in (space.lower_bound, space.upper_bound)
                )
                entry = limited(entry, first, last, box, space)
            entries.append(entry)
        if space.outside(box, tuple(entries), domain) is not None:
            return False
        if self.component[node.name] == self.component[source.name]:
            here = [ix.Sym(d) for d in node.domain.dims]
            pairs = zip(edge.entries, entries, strict=True)
            if any(entry_bounds(a, at) != entry_bounds(b, at) for a, b in pairs for at in here):
                return False
        self.entries[OperandUse(node.name, slot)] = tuple(entries)
        return True

    def _allowed(self, node: Node, box: Domain) -> bool:
        """Whether a node may be computed at points at which nobody needs it."""
        graph = self.graph
        if node.name in self.fixed or self._needs_lengths(node, box):
            return False
        if isinstance(node.op, Merge):
            same = all(at == identity(node.domain) for at in node.op.targets)
            return same and all(is_identity(e, graph) for e in node.inputs)
        op = op_in_box(graph, node, box, self.space)
        if op is not None:
            self.ops[node.name] = op
        return op is not None

    def _needs_lengths(self, node: Node, box: Domain) -> bool:
        """Whether the data decide at which points a node is, or what it reads or selects.

        The steps that they end do not count if it is at all of them, each by itself.
        """
        universe = self.graph.universe
        if not universe.ended:
            return False
        names = {*symbols(node.domain.where), *symbols(box.where)}
        if any(
            universe.is_ended(n) if universe.is_dim(n) else n in universe.lengths for n in names
        ):
            return True
        beside = next((d for d in node.domain.dims if not universe.is_ended(d)), "")
        return has_run_lengths(self.graph, [node.name], beside)

    # ------------------------------------------------------------ the new graph

    def result(self) -> Graph:
        """The graph with the boxes, and selections in place of merges."""
        replacements: dict[str, Sequence[Node]] = {}
        for name, box in self.boxes.items():
            node = self.graph.nodes[name]
            inputs = tuple(
                replace(e, entries=self.entries.get(OperandUse(name, slot), e.entries))
                for slot, e in enumerate(node.inputs)
            )
            op = self.ops.get(name, node.op)
            node = replace(node, op=op, domain=box, inputs=inputs)
            replacements[name] = (node,)
            if self.is_selection(node, box):
                selection = self._selection(node)
                if selection is None:
                    return self.graph
                replacements[name] = selection
        return replace_nodes(self.graph, replacements)

    def _selection(self, merge: Node) -> tuple[Node, ...] | None:
        """The nodes that take a merge's place; ``None`` if its type is not that of a selection."""
        builder = NodeBuilder(graph=self.graph, space=self.space, node=merge)
        *others, last = [replace(e, guard=ix.TRUE) for e in merge.inputs]
        value: Edge | Node = last
        guards = [e.guard for e in merge.inputs]
        for guard, edge in reversed([*zip(guards[:-1], others, strict=True)]):
            condition = builder.put("when", IndexValue(expr=guard))
            try:
                value = builder.put("which", Select(), (condition, edge, value))
            except OperandError:
                return None
        return builder.finish(value) if isinstance(value, Node) else None
