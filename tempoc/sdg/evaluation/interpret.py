"""The reference interpreter of graphs: demand-driven and point by point.

The value of a node at a point (an *instance*) is computed by forcing the instances that its edges
read there, and then evaluating the operator in NumPy. Values are memoized and never freed; nothing
is reordered or optimized; groups are ignored. An explicit stack takes the place of recursion, so
dependence chains may be as long as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TypeVar

from tempoc.base.arrays import np
from tempoc.ops.control.cond import Cond
from tempoc.ops.control.control import Merge
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import Array, OperandError
from tempoc.ops.definition.types import TensorType
from tempoc.ops.random import threefry
from tempoc.ops.random.draws import Seed
from tempoc.ops.tensor.source import Input, Param
from tempoc.sdg.evaluation.checked_values import AppliedOp, ValueWatch, watch_nothing
from tempoc.sdg.evaluation.given_data import (
    NodeInstance,
    all_bounds,
    call_order,
    check_arrays,
    ordered_effects,
)
from tempoc.sdg.evaluation.run_lengths import KnownLengths, PointValues, UnknownLength
from tempoc.sdg.evaluation.widen_floats import widen
from tempoc.sdg.graph import errors
from tempoc.sdg.graph.graph import Edge, Graph, Node, Output
from tempoc.sdg.graph.query import node_expressions
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Point

_LENGTH = "length "
Result = TypeVar("Result")
Externs = Callable[[Node, Mapping[str, int], tuple[Array, ...]], tuple[Array, ...]]
"""Calls the Python function of a node, where dimensions and bounds have these values."""


def unknown_externs(
    node: Node, at: Mapping[str, int], args: tuple[Array, ...]
) -> tuple[Array, ...]:
    """The `Externs` of graphs without extern calls: raises `OperandError`."""
    raise OperandError("its Python function is not known here")


Perform = Callable[[EffectOp, Mapping[str, int], tuple[Array, ...]], None]
"""Performs an effect, given its operator, the values of bounds and dimensions, its operands."""


def ignore_effect(op: EffectOp, at: Mapping[str, int], values: tuple[Array, ...]) -> None:
    """The `Perform` that ignores effects."""


LengthKnown = Callable[[str, Point, int], None]
"""Is told a bound, the point of the dimensions with which it varies, and its length there."""


def allow_length(bound: str, outer: Point, length: int) -> None:
    """The `LengthKnown` that allows all lengths."""


def evaluate(
    graph: Graph,
    bounds: Mapping[str, int],
    inputs: Mapping[str, Array],
    params: Mapping[str, Array],
    *,
    float64: bool = False,
    seed: int = 0,
    perform: Perform = ignore_effect,
    externs: Externs = unknown_externs,
    watch: ValueWatch = watch_nothing,
    length_known: LengthKnown = allow_length,
) -> dict[str, Array]:
    """The outputs of a graph by name, each with a leading axis for every slice of its access.

    ``inputs`` and ``params`` hold arrays by node name, a leading axis for each dimension of the
    node's domain. A param that is not given is computed from its default. Bounds with a constant or
    derived value need not be given. ``float64`` computes as if every float of the program were f64.
    ``seed`` is that of the random draws. ``perform`` is called with each effect's operator, point
    and operands, in the order of effects. ``externs`` calls the user's Python functions.
    ``watch`` sees each operator that has been applied, and ``length_known`` each length; all
    lengths are determined.
    Raises ``DiagnosticError`` (RT310 to RT315) where a value cannot be computed.
    """
    if float64:
        graph = widen(graph)
    known = all_bounds(graph, bounds)
    machine = _Evaluation(
        graph=graph,
        bounds=known,
        lengths=KnownLengths(graph, known),
        externs=externs,
        watch=watch,
        length_known=length_known,
    )
    for kind, data in (("input", inputs), ("param", params)):
        arrays = {name: np.asarray(array) for name, array in data.items()}
        machine.given |= check_arrays(graph, known, kind, arrays)
    machine.before = call_order(graph, known, machine.given)
    machine.set_seed(seed)
    with np.errstate(all="ignore"):
        for last in machine.before:
            if machine.resolve(partial(machine.exists, last)):
                machine.force(last)
        machine.effects(perform)
        machine.determine_lengths()
        return {output.name: machine.output(output) for output in graph.outputs}


@dataclass(frozen=True, slots=True, kw_only=True)
class _PointAccess:
    """An edge at a point of its reader: the extents of its slices, and the points read.

    ``fixed`` are the dimensions of the source with a single index there.
    """

    edge: Edge
    lead: list[int]
    points: list[Point]
    fixed: dict[str, int]


@dataclass(slots=True, kw_only=True)
class _Evaluation:
    """The state of an evaluation: memoized values, known lengths, given arrays."""

    graph: Graph
    bounds: dict[str, int]
    lengths: KnownLengths
    externs: Externs = unknown_externs
    watch: ValueWatch = watch_nothing
    length_known: LengthKnown = allow_length
    given: dict[str, Array] = field(default_factory=dict)
    known: dict[NodeInstance, tuple[Array, ...]] = field(default_factory=dict)
    before: dict[NodeInstance, NodeInstance | None] = field(default_factory=dict)

    def set_seed(self, seed: int) -> None:
        """Set the seed of the random draws, if there are any."""
        for node in self.graph.nodes.values():
            if isinstance(node.op, Seed):
                self.given[node.name] = threefry.root(seed)

    def output(self, output: Output) -> Array:
        """An output, assembled from the points that it reads."""
        access = self.resolve(
            lambda: self.access(
                output.edge, self.lengths.place({}), lambda: f"output {output.name}"
            )
        )
        for point in access.points:
            self.force((output.source, point))
        return self.resolve(lambda: self.gather(access))

    def resolve(self, query: Callable[[], Result]) -> Result:
        """The result of a query, after determining the lengths on which it depends."""
        while True:
            try:
                return query()
            except UnknownLength as unknown_length:
                self.force(_length_instance(unknown_length))

    def exists(self, instance: NodeInstance) -> bool:
        """Whether a point is in its node's domain. Raises ``UnknownLength``."""
        if instance in self.known:
            return True
        name, point = instance
        domain, at = self.graph.nodes[name].domain, self.at(instance)
        for d, i in zip(domain.dims, point, strict=True):
            bound = self.graph.universe.dim(d).bound
            if name in self.given:
                inside = i < self.bounds[bound]  # data has rows for the largest lengths
            elif not at.open:
                inside = i < at.values[bound]
            else:
                inside = bool(self.lengths.value(ix.compare("<", ix.Const(i), ix.Sym(bound)), at))
            if not inside:
                return False
        return domain.where == ix.TRUE or bool(self.lengths.value(domain.where, at))

    def effects(self, perform: Perform) -> None:
        """Perform effects at all their points, those over fewer dimensions after the others."""
        missing = max(self.bounds.values(), default=0)
        for _, instance in ordered_effects(self.graph, self.bounds, EffectOp, missing):
            if not self.resolve(partial(self.exists, instance)):
                continue
            op = self.graph.nodes[instance[0]].op
            assert isinstance(op, EffectOp)
            accesses = self.resolve(partial(self.accesses, instance, []))
            for access in accesses:
                for point in access.points:
                    self.force((access.edge.source, point))
            values = tuple(self.resolve(partial(self.gather, a)) for a in accesses)
            while unknown := self.at(instance).open:
                self.force(_length_instance(UnknownLength(next(iter(unknown.values()))[0])))
            perform(op, self.at(instance).values, values)

    def determine_lengths(self) -> None:
        """Determine all lengths, as a run does, also those on which no output depends."""
        universe = self.graph.universe
        for bound, node in self.lengths.nodes.items():
            outer = universe.outer(bound)
            for point in product(*(range(self.bounds[universe.dim(d).bound]) for d in outer)):
                first = node.name, self.lengths.step((bound, point))
                if self.resolve(partial(self.exists, first)):
                    self.force(_length_instance(UnknownLength((bound, point))))

    # ------------------------------------------------------------ demand-driven evaluation

    def force(self, first: NodeInstance) -> None:
        """Compute the value of an instance and, transitively, of everything it depends on."""
        stack = [first]
        opened: dict[
            NodeInstance, list[_PointAccess]
        ] = {}  # those on the way from the first to the last
        while stack:
            instance = stack[-1]
            if instance in self.known:
                stack.pop()
                continue
            try:
                pending = self.visit(instance, opened)
            except UnknownLength as unknown_length:
                opened.setdefault(instance, [])
                pending = [_length_instance(unknown_length)]
            if not pending:
                opened.pop(instance, None)
                stack.pop()
            for other in pending:
                if other in opened:
                    raise self.cycle(list(opened), other)
                stack.append(other)

    def visit(
        self, instance: NodeInstance, opened: dict[NodeInstance, list[_PointAccess]]
    ) -> list[NodeInstance]:
        """The instances that must be computed first; if none, compute this one."""
        if instance[0].startswith(_LENGTH):
            opened.setdefault(instance, [])
            return self.find_length(instance)
        accesses = self.accesses(instance, opened.get(instance, []))
        if instance in opened and len(accesses) == len(opened[instance]):
            self.known[instance] = self.compute(instance, accesses)
            return []
        calls = [c for c in (self.call_before(instance),) if c is not None]
        opened[instance] = accesses
        operands = [(a.edge.source, p) for a in reversed(accesses) for p in reversed(a.points)]
        pending = [q for q in (*calls, *operands) if q not in self.known or q in opened]
        return pending or self.visit(instance, opened)

    def call_before(self, instance: NodeInstance) -> NodeInstance | None:
        """The preceding call of a host function that has not been made yet, if any."""
        call = self.before.get(instance)
        while call is not None and call not in self.known:
            if self.exists(call):
                return call
            call = self.before[call]
        return None

    def find_length(self, instance: NodeInstance) -> list[NodeInstance]:
        """Determine the length of an ended bound, step by step.

        Returns the instance of its ``until`` node to force first; nothing once the length is known.
        """
        key = instance[0].removeprefix(_LENGTH), instance[1]
        while key not in self.lengths.known:
            at = self.lengths.nodes[key[0]].name, self.lengths.step(key)
            if at not in self.known:
                return [at]
            (access,) = self.accesses(at, [])
            self.lengths.note(key, bool(self.gather(access)))
        self.known[instance] = ()
        self.length_known(*key, self.lengths.known[key])
        return []

    def accesses(self, instance: NodeInstance, known: list[_PointAccess]) -> list[_PointAccess]:
        """The accesses of an instance, as far as they can be determined; ``known`` is a prefix.

        All operands at once, except that a ``cond`` needs the value of its condition first.
        """
        at = self.at(instance)
        edges = self.edges(instance, at)
        if isinstance(self.graph.nodes[instance[0]].op, Cond):
            edges = (edges[0], edges[1 if self.gather(known[0]) else 2]) if known else edges[:1]
        more = edges[len(known) :]
        return [*known, *(self.access(e, at, lambda: self.label(instance)) for e in more)]

    def compute(self, instance: NodeInstance, accesses: list[_PointAccess]) -> tuple[Array, ...]:
        """The value of a node at a point whose operands are known."""
        name, point = instance
        node = self.graph.nodes[name]
        at = self.at(instance)
        results: tuple[Array, ...]
        if name in self.given:
            results = (self.given[name][point],)
        else:
            results = tuple(self.gather(access) for access in accesses)
            if isinstance(node.op, Cond):
                results = results[1:]
            elif not isinstance(node.op, Merge | Param):
                return self.watched(instance, results, at)
        return self.conformed(instance, results, at)

    def watched(
        self, instance: NodeInstance, args: tuple[Array, ...], at: PointValues
    ) -> tuple[Array, ...]:
        """The results of an operator, which the watch sees."""
        node = self.graph.nodes[instance[0]]
        raw = self.apply(instance, args, at)
        results = self.conformed(instance, raw, at)
        if self.watch is not watch_nothing:
            settled = node.op.settle(args, self.operand_types(node))
            self.watch(
                AppliedOp(
                    graph=self.graph,
                    node=node,
                    args=settled,
                    raw=raw,
                    results=results,
                    values=at.values,
                )
            )
        return results

    def conformed(
        self, instance: NodeInstance, values: tuple[Array, ...], at: PointValues
    ) -> tuple[Array, ...]:
        """Values as the types of the node want them."""
        types = self.graph.nodes[instance[0]].types
        return tuple(
            self.conform(instance, value, type_, at)
            for value, type_ in zip(values, types, strict=True)
        )

    def edges(self, instance: NodeInstance, at: PointValues) -> tuple[Edge, ...]:
        """The edges read at a point: of a merge the branch taken, of given data none."""
        name, _ = instance
        node = self.graph.nodes[name]
        if name in self.given:
            return ()
        if isinstance(node.op, Input) or (isinstance(node.op, Param) and not node.inputs):
            kind = "input" if isinstance(node.op, Input) else "param"
            raise errors.not_given(kind, name, node.span)
        if isinstance(node.op, Merge):
            value = self.lengths.value
            taken = tuple(e for e in node.inputs if e.guard == ix.TRUE or value(e.guard, at))
            if len(taken) != 1:
                raise errors.read_outside("the program", self.label(instance), node.span)
            return taken
        return node.inputs

    def apply(
        self, instance: NodeInstance, args: tuple[Array, ...], at: PointValues
    ) -> tuple[Array, ...]:
        """Evaluate the operator."""
        node = self.graph.nodes[instance[0]]
        for e in node_expressions(node) if at.open else ():
            self.lengths.value(e, at)
        try:
            if isinstance(node.op, ExternCall):
                return self.externs(node, at.values, args)
            return node.op.evaluate(node.op.settle(args, self.operand_types(node)), at.values)
        except OperandError as error:
            why = error.message
        except (ValueError, IndexError) as error:
            why = str(error)
        raise errors.cannot_evaluate(self.label(instance), why, node.span)

    def operand_types(self, node: Node) -> tuple[TensorType, ...]:
        """The types of a node's operands, without the axes that slices add."""
        return tuple(self.graph.nodes[e.source].types[e.out] for e in node.inputs)

    def conform(
        self, instance: NodeInstance, value: Array, type_: TensorType, at: PointValues
    ) -> Array:
        """The value cast to the dtype of its type; its shape must match the type."""
        shape = tuple(self.lengths.value(extent, at) for extent in type_.shape)
        value = np.asarray(value)
        if value.shape != shape:
            node = self.graph.nodes[instance[0]]
            if node.name in self.given and all(
                have >= want for have, want in zip(value.shape, shape, strict=True)
            ):
                value = value[tuple(slice(extent) for extent in shape)]  # ragged data comes padded
            elif isinstance(node.op, Merge) and not value.shape:
                value = np.broadcast_to(value, shape)  # one number fits every equation
            else:
                span = node.span
                expected, actual = str(list(shape)), str(list(value.shape))
                raise errors.wrong_result(self.label(instance), expected, actual, span)
        return value.astype(numpy_dtype(type_.dtype), copy=False)

    # ------------------------------------------------------------ accesses

    def at(self, instance: NodeInstance) -> PointValues:
        """Values of dimensions and bounds."""
        name, point = instance
        return self.lengths.place(self.graph.nodes[name].domain.at(point))

    def access(self, edge: Edge, at: PointValues, reader: Callable[[], str]) -> _PointAccess:
        """The points that an edge reads; raises if one is outside of its source's domain."""
        domain = self.graph.nodes[edge.source].domain
        ranges = [self.range(entry, at) for entry in edge.entries]
        lead = [
            len(r) for r, e in zip(ranges, edge.entries, strict=True) if isinstance(e, ix.Slice)
        ]
        points = list(product(*ranges))
        for point in points:
            if any(i < 0 for i in point) or not self.exists((edge.source, point)):
                raise errors.read_outside(reader(), self.label((edge.source, point)), edge.span)
        fixed = {d: r[0] for d, r in zip(domain.dims, ranges, strict=True) if len(r) == 1}
        return _PointAccess(edge=edge, lead=lead, points=points, fixed=fixed)

    def range(self, entry: ix.Entry, at: PointValues) -> range:
        """The points that an entry selects."""
        if isinstance(entry, ix.Slice):
            low, high = self.lengths.value(entry.lo, at), self.lengths.value(entry.hi, at)
            return range(low, high, entry.step)
        index = self.lengths.value(entry, at)
        return range(index, index + 1)

    def gather(self, access: _PointAccess) -> Array:
        """The operand that an edge reads, with a leading axis for each slice."""
        edge = access.edge
        values = [self.known[edge.source, point][edge.out] for point in access.points]
        if not access.lead:
            return values[0]
        type_ = self.graph.nodes[edge.source].types[edge.out]
        at = self.lengths.place(access.fixed)
        shape = [self.lengths.value(extent, at) for extent in type_.shape]
        flat = np.empty([len(values), *shape], numpy_dtype(type_.dtype))
        for k, value in enumerate(values):
            flat[k] = value
        return flat.reshape([*access.lead, *shape])

    # ------------------------------------------------------------ messages

    def label(self, instance: NodeInstance) -> str:
        """``h[t=3]``."""
        name, point = instance
        if name.startswith(_LENGTH):
            name = name.removeprefix(_LENGTH)
            dims = self.graph.universe.outer(name)
        else:
            dims = self.graph.nodes[name].domain.dims
        inside = ", ".join(f"{d}={i}" for d, i in zip(dims, point, strict=True))
        return f"{name}[{inside}]" if inside else name

    def cycle(self, opened: list[NodeInstance], again: NodeInstance) -> Exception:
        """The error for an instance that depends on itself."""
        around = [self.label(q) for q in opened[opened.index(again) :]]
        named = [q[0] for q in (again, *opened) if q[0] in self.graph.nodes]
        span = self.graph.nodes[named[0]].span
        return errors.needs_itself((*around, around[0]), span)


def _length_instance(unknown_length: UnknownLength) -> NodeInstance:
    """The pseudo-instance that stands for a length."""
    bound, outer = unknown_length.key
    return _LENGTH + bound, outer
