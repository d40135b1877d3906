"""The meaning of a graph: a reference evaluator, demand-driven and point by point.

To know an output, ask for the points it reads. To know a node at a point, ask for the points its
edges read there, then apply the operator's NumPy meaning. Every answer is remembered, nothing is
ever forgotten, nothing is reordered or optimized; groups are ignored. A stack of questions takes
the place of recursion, so chains may be as long as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np

from tempoc.base.source import Span
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
from tempoc.sdg.evaluation.given_data import Question, all_bounds, call_order, given, in_turn
from tempoc.sdg.evaluation.run_lengths import KnownLengths, PointValues, UnknownLength
from tempoc.sdg.evaluation.widen_floats import widen
from tempoc.sdg.graph import errors
from tempoc.sdg.graph.graph import Edge, Graph, Node, Output
from tempoc.sdg.graph.query import mentioned
from tempoc.symbolic.domain import Point
from tempoc.symbolic.expr import TRUE, Const, Entry, Slice, Sym, compare

_LENGTH = "length "
Answer = TypeVar("Answer")
Externs = Callable[[Node, Mapping[str, int], tuple[Array, ...]], tuple[Array, ...]]
"""Calls the Python function of a node, where dimensions and bounds have these values."""


def unknown_externs(
    node: Node, at: Mapping[str, int], args: tuple[Array, ...]
) -> tuple[Array, ...]:
    """For graphs that call no functions of the user's."""
    raise OperandError("its Python function is not known here")


Perform = Callable[[EffectOp, Mapping[str, int], tuple[Array, ...]], None]
"""What becomes of an effect: its operator, the values of bounds and dimensions, its operands."""


def nothing(op: EffectOp, at: Mapping[str, int], values: tuple[Array, ...]) -> None:
    """Effects are left out."""


def evaluate(
    graph: Graph,
    bounds: Mapping[str, int],
    inputs: Mapping[str, Array],
    params: Mapping[str, Array],
    *,
    float64: bool = False,
    seed: int = 0,
    perform: Perform = nothing,
    externs: Externs = unknown_externs,
) -> dict[str, Array]:
    """The outputs of a graph by name, each with an axis for every slice of its access.

    ``inputs`` and ``params`` hold arrays by node name, a leading axis for each dimension of the
    node's domain. A param that is not given is computed from its default. Bounds with a value of
    their own need not be given. ``float64`` computes as if every float of the program were f64.
    ``seed`` is that of the random draws.
    ``perform`` is called with each effect's operator, point and operands, in the order of plain
    loops.
    ``externs`` calls the user's functions, which take and give what their signatures say.
    Raises ``DiagnosticError`` (RT310 to RT315) where a value cannot be had.
    """
    if float64:
        graph = widen(graph)
    known = all_bounds(graph, bounds)
    machine = _Machine(
        graph=graph, bounds=known, lengths=KnownLengths(graph, known), externs=externs
    )
    for kind, data in (("input", inputs), ("param", params)):
        arrays = {name: np.asarray(array) for name, array in data.items()}
        machine.given |= given(graph, known, kind, arrays)
    machine.before = call_order(graph, known, machine.given)
    machine.sow(seed)
    with np.errstate(all="ignore"):
        for last in machine.before:
            if machine.settled(partial(machine.exists, last)):
                machine.answer(last)
        machine.effects(perform)
        return {output.name: machine.output(output) for output in graph.outputs}


@dataclass(frozen=True, slots=True, kw_only=True)
class _PointAccess:
    """An edge at a point of its reader: how long its slices are, and which points it reads.

    ``fixed`` are the dimensions of the source that have one value there.
    """

    edge: Edge
    lead: list[int]
    points: list[Point]
    fixed: dict[str, int]


@dataclass(slots=True, kw_only=True)
class _Machine:
    """Values found so far, and the data that was given."""

    graph: Graph
    bounds: dict[str, int]
    lengths: KnownLengths
    externs: Externs = unknown_externs
    given: dict[str, Array] = field(default_factory=dict)
    known: dict[Question, tuple[Array, ...]] = field(default_factory=dict)
    before: dict[Question, Question | None] = field(default_factory=dict)

    def sow(self, seed: int) -> None:
        """Take over the seed of the random draws, if there are any."""
        for node in self.graph.nodes.values():
            if isinstance(node.op, Seed):
                self.given[node.name] = threefry.root(seed)

    def output(self, output: Output) -> Array:
        """An output, assembled from the points that it reads."""
        edge = Edge(source=output.source, out=output.out, entries=output.entries, span=output.span)
        access = self.settled(
            lambda: self.access(edge, self.lengths.place({}), lambda: f"output {output.name}")
        )
        for point in access.points:
            self.answer((output.source, point))
        return self.settled(lambda: self.gather(access))

    def settled(self, question: Callable[[], Answer]) -> Answer:
        """The answer to a question, after finding the lengths on which it depends."""
        while True:
            try:
                return question()
            except UnknownLength as undecided:
                self.answer(_length(undecided))

    def exists(self, question: Question) -> bool:
        """Whether a point is one of its node's domain. Raises ``UnknownLength``."""
        if question in self.known:
            return True
        name, point = question
        domain, at = self.graph.nodes[name].domain, self.at(question)
        for d, i in zip(domain.dims, point, strict=True):
            bound = self.graph.universe.dim(d).bound
            if not at.open:
                inside = i < at.values[bound]
            else:
                inside = bool(self.lengths.value(compare("<", Const(i), Sym(bound)), at))
            if not inside:
                return False
        return domain.where == TRUE or bool(self.lengths.value(domain.where, at))

    def effects(self, perform: Perform) -> None:
        """Perform effects at all their points, those over fewer dimensions after the others."""
        missing = max(self.bounds.values(), default=0)
        for _, question in in_turn(self.graph, self.bounds, EffectOp, missing):
            if not self.settled(partial(self.exists, question)):
                continue
            op = self.graph.nodes[question[0]].op
            assert isinstance(op, EffectOp)
            accesses = self.settled(partial(self.needs, question, []))
            for access in accesses:
                for point in access.points:
                    self.answer((access.edge.source, point))
            values = tuple(self.settled(partial(self.gather, a)) for a in accesses)
            while unknown := self.at(question).open:
                self.answer(_length(UnknownLength(next(iter(unknown.values()))[0])))
            perform(op, self.at(question).values, values)

    # ------------------------------------------------------------ questions and answers

    def answer(self, first: Question) -> None:
        """Find the value of a node at a point, and of everything that it needs, in any depth."""
        stack = [first]
        opened: dict[
            Question, list[_PointAccess]
        ] = {}  # those on the way from the first to the last
        while stack:
            question = stack[-1]
            if question in self.known:
                stack.pop()
                continue
            try:
                needed = self.visit(question, opened)
            except UnknownLength as undecided:
                opened.setdefault(question, [])
                needed = [_length(undecided)]
            if not needed:
                opened.pop(question, None)
                stack.pop()
            for other in needed:
                if other in opened:
                    raise self.cycle(list(opened), other)
                stack.append(other)

    def visit(
        self, question: Question, opened: dict[Question, list[_PointAccess]]
    ) -> list[Question]:
        """What must be known first; if that is nothing, the answer is known afterwards."""
        if question[0].startswith(_LENGTH):
            opened.setdefault(question, [])
            return self.step(question)
        accesses = self.needs(question, opened.get(question, []))
        if question in opened and len(accesses) == len(opened[question]):
            self.known[question] = self.compute(question, accesses)
            return []
        calls = [c for c in (self.call_before(question),) if c is not None]
        opened[question] = accesses
        asked = [(a.edge.source, p) for a in reversed(accesses) for p in reversed(a.points)]
        needed = [q for q in (*calls, *asked) if q not in self.known or q in opened]
        return needed or self.visit(question, opened)

    def call_before(self, question: Question) -> Question | None:
        """The call of a Python function that must have been made, if any is left."""
        call = self.before.get(question)
        while call is not None and call not in self.known:
            if self.exists(call):
                return call
            call = self.before[call]
        return None

    def step(self, question: Question) -> list[Question]:
        """Look at one more step of a bound that ends; the node that does if it has not yet."""
        key = question[0].removeprefix(_LENGTH), question[1]
        while key not in self.lengths.found:
            at = self.lengths.nodes[key[0]].name, self.lengths.step(key)
            if at not in self.known:
                return [at]
            (access,) = self.needs(at, [])
            self.lengths.note(key, bool(self.gather(access)))
        self.known[question] = ()
        return []

    def needs(self, question: Question, known: list[_PointAccess]) -> list[_PointAccess]:
        """What must be known first, operand by operand; ``known`` is what is by now.

        That is everything at once, except that ``cond`` asks for its condition first.
        """
        at = self.at(question)
        edges = self.edges(question, at)
        if isinstance(self.graph.nodes[question[0]].op, Cond):
            edges = (edges[0], edges[1 if self.gather(known[0]) else 2]) if known else edges[:1]
        more = edges[len(known) :]
        return [*known, *(self.access(e, at, lambda: self.shown(question)) for e in more)]

    def compute(self, question: Question, accesses: list[_PointAccess]) -> tuple[Array, ...]:
        """The value of a node at a point; all that it needs is known."""
        name, point = question
        node = self.graph.nodes[name]
        at = self.at(question)
        results: tuple[Array, ...]
        if name in self.given:
            results = (self.given[name][point],)
        else:
            results = tuple(self.gather(access) for access in accesses)
            if isinstance(node.op, Cond):
                results = results[1:]
            elif not isinstance(node.op, Merge | Param):
                results = self.apply(question, results, at)
        return tuple(
            self.fitted(question, value, type_, at)
            for value, type_ in zip(results, node.types, strict=True)
        )

    def edges(self, question: Question, at: PointValues) -> tuple[Edge, ...]:
        """The edges that count at a point: of a merge the branch taken, of given data none."""
        name, _ = question
        node = self.graph.nodes[name]
        if name in self.given:
            return ()
        if isinstance(node.op, Input) or (isinstance(node.op, Param) and not node.inputs):
            kind = "input" if isinstance(node.op, Input) else "param"
            raise errors.not_given(kind, name, _span(node))
        if isinstance(node.op, Merge):
            value = self.lengths.value
            taken = tuple(e for e in node.inputs if e.guard == TRUE or value(e.guard, at))
            if len(taken) != 1:
                raise errors.read_outside("the program", self.shown(question), _span(node))
            return taken
        return node.inputs

    def apply(
        self, question: Question, args: tuple[Array, ...], at: PointValues
    ) -> tuple[Array, ...]:
        """The operator's meaning."""
        node = self.graph.nodes[question[0]]
        for e in mentioned(node) if at.open else ():
            self.lengths.value(e, at)
        try:
            if isinstance(node.op, ExternCall):
                return self.externs(node, at.values, args)
            return node.op.evaluate(node.op.settle(args, self.operands(node)), at.values)
        except OperandError as error:
            why = error.message
        except (ValueError, IndexError) as error:
            why = str(error)
        raise errors.cannot_evaluate(self.shown(question), why, _span(node))

    def operands(self, node: Node) -> tuple[TensorType, ...]:
        """The types of a node's operands, without the axes that slices add."""
        return tuple(self.graph.nodes[e.source].types[e.out] for e in node.inputs)

    def fitted(self, question: Question, value: Array, type_: TensorType, at: PointValues) -> Array:
        """The value in the dtype of its type; its shape must be what the type says."""
        shape = tuple(self.lengths.value(extent, at) for extent in type_.shape)
        value = np.asarray(value)
        if value.shape != shape:
            node = self.graph.nodes[question[0]]
            if node.name in self.given and all(
                have >= want for have, want in zip(value.shape, shape, strict=True)
            ):
                value = value[tuple(slice(extent) for extent in shape)]  # ragged data comes padded
            elif isinstance(node.op, Merge) and not value.shape:
                value = np.broadcast_to(value, shape)  # one number fits every equation
            else:
                span = _span(node)
                expected, found = str(list(shape)), str(list(value.shape))
                raise errors.wrong_result(self.shown(question), expected, found, span)
        return value.astype(numpy_dtype(type_.dtype), copy=False)

    # ------------------------------------------------------------ accesses

    def at(self, question: Question) -> PointValues:
        """Values of dimensions and bounds."""
        name, point = question
        return self.lengths.place(dict(zip(self.graph.nodes[name].domain.dims, point, strict=True)))

    def access(self, edge: Edge, at: PointValues, reader: Callable[[], str]) -> _PointAccess:
        """The points that an edge reads, checked to be in its source's domain."""
        domain = self.graph.nodes[edge.source].domain
        ranges = [self.range(entry, at) for entry in edge.entries]
        lead = [len(r) for r, e in zip(ranges, edge.entries, strict=True) if isinstance(e, Slice)]
        points = list(product(*ranges))
        for point in points:
            if any(i < 0 for i in point) or not self.exists((edge.source, point)):
                raise errors.read_outside(reader(), self.shown((edge.source, point)), edge.span)
        fixed = {d: r[0] for d, r in zip(domain.dims, ranges, strict=True) if len(r) == 1}
        return _PointAccess(edge=edge, lead=lead, points=points, fixed=fixed)

    def range(self, entry: Entry, at: PointValues) -> range:
        """The points that an entry selects."""
        if isinstance(entry, Slice):
            low, high = self.lengths.value(entry.lo, at), self.lengths.value(entry.hi, at)
            return range(low, high, entry.step)
        index = self.lengths.value(entry, at)
        return range(index, index + 1)

    def gather(self, access: _PointAccess) -> Array:
        """What an edge reads: one value, or values along a leading axis for each slice."""
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

    # ------------------------------------------------------------ words

    def shown(self, question: Question) -> str:
        """``h[t=3]``."""
        name, point = question
        if name.startswith(_LENGTH):
            name = name.removeprefix(_LENGTH)
            dims = self.graph.universe.outer(name)
        else:
            dims = self.graph.nodes[name].domain.dims
        inside = ", ".join(f"{d}={i}" for d, i in zip(dims, point, strict=True))
        return f"{name}[{inside}]" if inside else name

    def cycle(self, opened: list[Question], again: Question) -> Exception:
        """The error for a question that came up while it was being answered."""
        around = [self.shown(q) for q in opened[opened.index(again) :]]
        named = [q[0] for q in (again, *opened) if q[0] in self.graph.nodes]
        span = _span(self.graph.nodes[named[0]])
        return errors.needs_itself((*around, around[0]), span)


def _length(undecided: UnknownLength) -> Question:
    """The question for a length."""
    bound, outer = undecided.key
    return _LENGTH + bound, outer


def _span(node: Node) -> Span | None:
    return node.spans[0] if node.spans else None
