"""The verifier of graphs: a broken rule is a bug of the pass that ran last. The rules:

- names are identifiers joined by dots, and each node stands under its own;
- edges name existing nodes and outputs, with an entry for each dimension of the source, over
  dimensions of the sink and declared bounds; point entries are index expressions;
- the dimensions of a domain are declared, in declaration order; its condition uses no others;
- declared types are what the operator infers from its operands;
- every read stays inside its source's domain, and what an operator takes of an axis by index
  expressions inside the axis, as far as that is affine;
- a merge has a target and a guard for each branch, its guards are disjoint and cover its domain,
  and its branches are computed by nodes of their own, each read where its target writes;
- each ended bound has one ``until`` node, over the dimensions over which the length varies and one
  dimension with that bound, at all points of their box;
- outputs read at entries without dimensions;
- groups, if there are any, partition the computed nodes, and members share one domain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tempoc.ops.control.control import Merge
from tempoc.ops.control.until import Until
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.types import TensorType
from tempoc.ops.tensor.source import Input, Param
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Edge, Graph, Node
from tempoc.sdg.graph.query import expressions, node_expressions, operand_types
from tempoc.sdg.statements.build import identity, is_computed
from tempoc.sdg.text.text import show_domain, show_type
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain
from tempoc.symbolic.text import show as show_expr
from tempoc.symbolic.walk import is_affine, is_condition, substitute, symbols

_Surroundings = tuple[Node, tuple[Node | None, ...]]
"""A node, and the nodes that it reads."""

_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


class VerifyError(Exception):
    """A graph breaks a rule; a bug in tempoc, unless the graph was written by hand."""

    def __init__(self, where: str, why: str, after: str) -> None:
        super().__init__(f"{where}: {why}" + (f" (after {after})" if after else ""))
        self.where = where
        self.why = why
        self.after = after


@dataclass(frozen=True, slots=True)
class DomainFacts:
    """What holds at every point of a domain, for the shape rules of operators."""

    space: Space
    domain: Domain

    def equal(self, a: ix.Expr, b: ix.Expr) -> bool:
        """Whether two extents agree there."""
        return a == b or self.space.equal(a, b, self.domain)

    def holds(self, condition: ix.Expr) -> bool:
        """Whether a condition holds there."""
        return self.space.implies(self.domain, condition)


def verify(graph: Graph, space: Space, *, after: str = "") -> None:
    """Check all rules. Raises ``VerifyError`` that names the node and the pass.

    What a node must fulfil depends on it and on what it reads alone: a node that was right in an
    earlier graph of the same space, among the same sources, is not looked at again. Most passes
    leave most nodes as they are.
    """
    checker = _GraphChecker(graph=graph, space=space, after=after)
    right: dict[str, _Surroundings] = space.known.once(("right nodes", graph.universe), dict)
    new: dict[str, _Surroundings] = {}
    for name, node in graph.nodes.items():
        surroundings = node, tuple(graph.nodes.get(source) for source in node.sources)
        if right.get(name) != surroundings:
            checker.node(name, node)
            new[name] = surroundings
    for node, _ in new.values():  # only now, as these need all edges to be valid
        checker.values(node)
    right.update(new)
    checker.endings()
    checker.outputs()
    checker.groups()


def is_right(graph: Graph, node: Node, space: Space) -> bool:
    """Whether a node is right at the points that it has in a space, among those of a graph."""
    checker = _GraphChecker(graph=graph, space=space, after="")
    try:
        checker.values(node)
    except VerifyError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _GraphChecker:
    """One check of one graph."""

    graph: Graph
    space: Space
    after: str

    def require(self, holds: bool, where: str, why: str) -> None:
        """Raise unless the rule holds."""
        if not holds:
            raise VerifyError(where, why, self.after)

    # ------------------------------------------------------------ names, domains, edges

    def node(self, name: str, node: Node) -> None:
        """A node by itself."""
        self.require(name == node.name, name, f"stands under another name than `{node.name}`")
        self.require(bool(_NAME.fullmatch(name)), name, "is no name")
        dims = node.domain.dims
        given = isinstance(node.op, Input | Param)
        universe = self.graph.universe
        known = dims == (universe.sorted(dims) if given else universe.ordered(dims))
        self.require(known, name, f"has unordered or unknown dimensions {list(dims)}")
        self.only(node.domain.where, dims, name, "condition of the domain")
        self.condition(node.domain.where, name)
        merged = given or isinstance(node.op, Merge)
        for e in (node.domain.where, *(() if merged else node_expressions(node))):
            if not universe.has_lengths(e, dims):
                raise VerifyError(name, f"`{show_expr(e)}` varies with more", self.after)
        for type_ in node.types:
            for extent in type_.shape:
                self.only(extent, dims, name, "extent `{}`")
        if not isinstance(node.op, Merge):  # whose targets are in the coordinates of its sources
            for e in expressions(node.op):
                self.only(e, dims, name, "attribute `{}`")
        for slot, edge in enumerate(node.inputs):
            self.edge(edge, dims, f"{name}, operand {slot}")
            guarded = isinstance(node.op, Merge) or edge.guard == ix.TRUE
            self.require(guarded, name, "has a guard on an operand, but is no merge")

    def edge(self, edge: Edge, dims: tuple[str, ...], where: str) -> None:
        """An edge by itself."""
        source = self.graph.nodes.get(edge.source)
        if source is None:
            raise VerifyError(where, f"reads `{edge.source}`, which does not exist", self.after)
        self.require(
            edge.out < len(source.types), where, f"reads output {edge.out} of {edge.source}"
        )
        counts = len(edge.entries), len(source.domain.dims)
        message = f"has {counts[0]} entries for {counts[1]} dimensions of {edge.source}"
        self.require(counts[0] == counts[1], where, message)
        for entry in edge.entries:
            self.only(entry, dims, where, "entry `{}`")
            if not is_affine(entry):
                raise VerifyError(where, f"entry `{show_expr(entry)}` is not affine", self.after)
            for part in (entry.lo, entry.hi) if isinstance(entry, ix.Slice) else (entry,):
                self.require(not is_condition(part), where, "has a condition for an entry")
        self.only(edge.guard, dims, where, "guard")
        self.condition(edge.guard, where)

    def condition(self, e: ix.Expr, where: str) -> None:
        """Conditions are boolean and affine."""
        if not (is_condition(e) and is_affine(e)):
            raise VerifyError(where, f"`{show_expr(e)}` is no affine condition", self.after)

    def only(self, e: ix.Entry, dims: Sequence[str], where: str, what: str) -> None:
        """The names in an expression are bounds, or among these dimensions.

        ``what`` the expression is may have a place for its text, which is made only for an error:
        graphs have thousands of expressions and are checked after each pass.
        """
        for name in symbols(e):
            if name not in dims and all(name != b.name for b in self.graph.universe.bounds):
                raise VerifyError(where, f"{what.format(show_expr(e))} uses `{name}`", self.after)

    # ------------------------------------------------------------ reads and types

    def values(self, node: Node) -> None:
        """What depends on the points of a node, and on those of what it reads."""
        self.reads(node)
        self.types(node)
        if isinstance(node.op, Merge):
            self.merge(node, node.op)

    def reads(self, node: Node) -> None:
        """Reads stay inside."""
        for edge in node.inputs:
            sink = node.domain
            if edge.guard != ix.TRUE:
                sink = Domain(sink.dims, ix.conjunction(sink.where, edge.guard))
            source = self.graph.nodes[edge.source].domain
            violation = self.space.outside(sink, edge.entries, source)
            if violation is not None:
                index, point = list(violation.index), dict(violation.point)
                why = f"reads {edge.source} at {index} at the point {point}"
                raise VerifyError(node.name, f"{why}, outside {show_domain(source)}", self.after)

    def types(self, node: Node) -> None:
        """Types are what the operator says, up to what is provable at all points."""
        facts = DomainFacts(self.space, node.domain)
        if isinstance(node.op, Merge):
            self.branch_types(node)
            return
        operands = operand_types(self.graph, node)
        try:
            inferred = node.op.infer(operands, facts)
        except OperandError as error:
            raise VerifyError(node.name, error.message, self.after) from None
        for condition in node.op.within(operands):
            inside = not is_affine(condition) or facts.holds(condition)
            if not inside:
                why = f"leaves an axis where `{show_expr(condition)}` does not hold"
                raise VerifyError(node.name, why, self.after)
        same = len(inferred) == len(node.types) and all(
            _fits(a, b, facts) for a, b in zip(inferred, node.types, strict=True)
        )
        if not same:
            has, gets = (", ".join(show_type(t) for t in ts) for ts in (node.types, inferred))
            raise VerifyError(
                node.name, f"has type {has}, but its operator gives {gets}", self.after
            )

    def branch_types(self, node: Node) -> None:
        """Each branch of a merge has the merge's type where it is used."""
        for edge, type_ in zip(node.inputs, operand_types(self.graph, node), strict=True):
            where = ix.conjunction(node.domain.where, edge.guard)
            facts = DomainFacts(self.space, Domain(node.domain.dims, where))
            if not _fits(type_, node.types[0], facts):
                why = f"branch {edge.source} is {show_type(type_)}, not {show_type(node.types[0])}"
                raise VerifyError(node.name, why, self.after)

    # ------------------------------------------------------------ merges

    def merge(self, node: Node, op: Merge) -> None:
        """The branches of a merge."""
        where = node.name
        self.require(len(op.targets) == len(node.inputs), where, "has not one target a branch")
        for edge, target in zip(node.inputs, op.targets, strict=True):
            source = self.graph.nodes[edge.source]
            self.require(is_computed(source), where, f"branch {edge.source} is not computed")
            self.require(len(target) == len(node.domain.dims), where, "has a target of other rank")
            for entry in target:
                self.only(entry, source.domain.dims, where, "target")
            points = all(isinstance(e, ix.Expr) for e in edge.entries)
            self.require(points, where, "has a slice for a branch")
        self.covers(node)
        for edge, target in zip(node.inputs, op.targets, strict=True):
            self.round_trip(node, edge, target)

    def round_trip(self, node: Node, edge: Edge, target: tuple[ix.Expr, ...]) -> None:
        """The target of a branch is the inverse of its entries."""
        source = self.graph.nodes[edge.source].domain
        pairs = zip(source.dims, edge.entries, strict=True)
        at = {dim: entry for dim, entry in pairs if isinstance(entry, ix.Expr)}
        branch_domain = Domain(node.domain.dims, ix.conjunction(node.domain.where, edge.guard))
        for dim, written in zip(identity(node.domain), target, strict=True):
            inverts = self.space.equal(substitute(written, at), dim, branch_domain)
            if not inverts:
                message = (
                    f"target {show_expr(written)} of {edge.source} is not what the branch reads"
                )
                raise VerifyError(node.name, message, self.after)

    def covers(self, node: Node) -> None:
        """Guards are disjoint and cover the domain."""
        guards = [e.guard for e in node.inputs]
        covered = self.space.implies(node.domain, ix.disjunction(*guards))
        if not covered:
            message = f"has no branch at some points of {show_domain(node.domain)}"
            raise VerifyError(node.name, message, self.after)
        for k, guard in enumerate(guards):
            others = ix.disjunction(*guards[:k])
            if k and not self.space.disjoint(guard, others, node.domain):
                message = f"guard {show_expr(guard)} overlaps earlier ones"
                raise VerifyError(node.name, message, self.after)

    # ------------------------------------------------------------ lengths, outputs, groups

    def endings(self) -> None:
        """Each ended bound has its ``until`` node."""
        universe = self.graph.universe
        until_nodes = [n for n in self.graph.nodes.values() if isinstance(n.op, Until)]
        ended = {b.name: b for b in universe.ended}
        for node in until_nodes:
            assert isinstance(node.op, Until)
            bound = ended.get(node.op.bound)
            if bound is None:
                raise VerifyError(node.name, f"ends {node.op.bound} unasked", self.after)
            steps = [d for d in node.domain.dims if d not in bound.outer]
            fits = len(steps) == 1 and universe.dim(steps[0]).bound == bound.name
            fits = fits and node.domain.dims == (*bound.outer, steps[0])
            total = self.space.implies(Domain(node.domain.dims), node.domain.where)
            self.require(fits and total, node.name, f"is not at all steps of {bound.name}")
        bounds = [n.op.bound for n in until_nodes if isinstance(n.op, Until)]
        self.require(sorted(bounds) == sorted(ended), "endings", "not one for each ended bound")

    def outputs(self) -> None:
        """Outputs are valid reads at entries without dimensions."""
        names = [o.name for o in self.graph.outputs]
        self.require(len({*names}) == len(names), "outputs", "two have one name")
        for output in self.graph.outputs:
            self.edge(output.edge, (), f"output {output.name}")
            source = self.graph.nodes[output.source].domain
            violation = self.space.outside(Domain(()), output.entries, source)
            if violation is not None:
                where = f"output {output.name}"
                raise VerifyError(where, f"reads outside at {list(violation.index)}", self.after)

    def groups(self) -> None:
        """Groups partition the computed nodes."""
        if not self.graph.groups:
            return
        members = [m for g in self.graph.groups for m in g.members]
        computed = [n.name for n in self.graph.nodes.values() if is_computed(n)]
        self.require(sorted(members) == sorted(computed), "groups", "do not partition the nodes")
        names = [g.name for g in self.graph.groups]
        self.require(len({*names}) == len(names), "groups", "two have one name")
        for group in self.graph.groups:
            domains = {self.graph.nodes[m].domain for m in group.members}
            self.require(len(domains) == 1, f"group {group.name}", "has members of other domains")


def _fits(inferred: TensorType, declared: TensorType, facts: DomainFacts) -> bool:
    return (
        inferred.dtype == declared.dtype
        and len(inferred.shape) == len(declared.shape)
        and all(facts.equal(a, b) for a, b in zip(inferred.shape, declared.shape, strict=True))
    )
