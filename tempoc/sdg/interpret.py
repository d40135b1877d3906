"""The meaning of a graph: a reference evaluator, demand-driven and point by point.

To know an output, ask for the points it reads. To know a node at a point, ask for the points its
edges read there, then apply the operator's NumPy meaning. Every answer is remembered, nothing is
ever forgotten, nothing is reordered or optimized; groups are ignored. A stack of questions takes
the place of recursion, so chains may be as long as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from tempoc.base.source import Span
from tempoc.ops import threefry
from tempoc.ops.branching import Cond
from tempoc.ops.control import Merge
from tempoc.ops.effects import Effect
from tempoc.ops.externs import Extern, ExternHost
from tempoc.ops.opdef import Op, OperandError
from tempoc.ops.random import Seed
from tempoc.ops.source import Input, Param
from tempoc.ops.spell import numpy_dtype
from tempoc.ops.types import TensorType
from tempoc.sdg import errors
from tempoc.sdg.graph import Edge, Graph, Node, Output
from tempoc.sdg.turns import turn
from tempoc.sdg.widen import widen
from tempoc.symbolic.expr import TRUE, Entry, Slice
from tempoc.symbolic.walk import evaluate as value_of

Array = np.ndarray[Any, np.dtype[Any]]
Point = tuple[int, ...]
Question = tuple[str, Point]
Externs = Callable[[Node, Point, tuple[Array, ...]], tuple[Array, ...]]
"""Calls the Python function of a node at a point with these operands."""


def unknown_externs(node: Node, point: Point, args: tuple[Array, ...]) -> tuple[Array, ...]:
    """For graphs that call no functions of the user's."""
    raise OperandError("its Python function is not known here")


Perform = Callable[[Effect, Mapping[str, int], tuple[Array, ...]], None]
"""What becomes of an effect: its operator, the values of bounds and dimensions, its operands."""


def nothing(op: Effect, at: Mapping[str, int], values: tuple[Array, ...]) -> None:
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
    machine = _Machine(graph=graph, bounds=_all_bounds(graph, bounds), externs=externs)
    machine.give("input", inputs)
    machine.give("param", params)
    machine.line_up()
    machine.sow(seed)
    with np.errstate(all="ignore"):
        for last in machine.before:
            machine.answer(last)
        machine.effects(perform)
        return {output.name: machine.output(output) for output in graph.outputs}


def _all_bounds(graph: Graph, given: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for bound in graph.universe.bounds:
        if bound.name in given:
            found[bound.name] = int(given[bound.name])
        elif bound.value is not None:
            found[bound.name] = value_of(bound.value, found)
        else:
            raise errors.not_given("bound", bound.name, None)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Access:
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
    externs: Externs = unknown_externs
    given: dict[str, Array] = field(default_factory=dict)
    known: dict[Question, tuple[Array, ...]] = field(default_factory=dict)
    before: dict[Question, Question | None] = field(default_factory=dict)

    def give(self, kind: str, arrays: Mapping[str, Array]) -> None:
        """Take over inputs or params, checking leading axes and rank."""
        for name, array in arrays.items():
            node = self.graph.nodes.get(name)
            if node is None or not isinstance(node.op, Input if kind == "input" else Param):
                continue  # removed as dead, or judged by the caller
            lead = [self.bounds[self.graph.universe.dim(d).bound] for d in node.domain.dims]
            array = np.asarray(array)
            if (
                list(array.shape[: len(lead)]) != lead
                or array.ndim != len(lead) + node.types[0].ndim
            ):
                inner = ["..."] * node.types[0].ndim
                raise errors.wrong_array(kind, name, str([*lead, *inner]), str(list(array.shape)))
            self.given[name] = array.astype(numpy_dtype(node.types[0].dtype), copy=False)

    def line_up(self) -> None:
        """Find out which call of a Python function comes right before each other one."""
        last: dict[str, Question] = {}
        for queue, question in self.turns(ExternHost, missing=-1):
            self.before[question] = last.get(queue)
            last[queue] = question

    def turns(self, kind: type[Op], missing: int) -> list[tuple[str, Question]]:
        """All points of the nodes that take turns, in order; ``missing`` is an index not there."""
        dims = self.graph.universe.dims
        found: list[tuple[tuple[int, ...], int, str, Question]] = []
        for node in self.graph.nodes.values():
            mine = turn(node)
            if mine is None or not isinstance(node.op, kind):
                continue
            ranges = [range(self.bounds[d.bound]) for d in dims if d.name in node.domain.dims]
            for point in product(*ranges):
                at = self.at((node.name, point))
                if value_of(node.domain.where, at):
                    place = tuple(at.get(d.name, missing) for d in dims)
                    found.append((place, mine.number, mine.queue, (node.name, point)))
        return [(queue, question) for _, _, queue, question in sorted(found)]

    def sow(self, seed: int) -> None:
        """Take over the seed of the random draws, if there are any."""
        for node in self.graph.nodes.values():
            if isinstance(node.op, Seed):
                self.given[node.name] = threefry.root(seed)

    def output(self, output: Output) -> Array:
        """An output, assembled from the points that it reads."""
        edge = Edge(source=output.source, out=output.out, entries=output.entries, span=output.span)
        access = self.access(edge, self.bounds, lambda: f"output {output.name}")
        for point in access.points:
            self.answer((output.source, point))
        return self.gather(access)

    def effects(self, perform: Perform) -> None:
        """Perform effects at all their points, those over fewer dimensions after the others."""
        for _, question in self.turns(Effect, missing=max(self.bounds.values(), default=0)):
            op = self.graph.nodes[question[0]].op
            assert isinstance(op, Effect)
            accesses = self.needs(question, [])
            for access in accesses:
                for point in access.points:
                    self.answer((access.edge.source, point))
            perform(op, self.at(question), tuple(self.gather(a) for a in accesses))

    # ------------------------------------------------------------ questions and answers

    def answer(self, first: Question) -> None:
        """Find the value of a node at a point, and of everything that it needs, in any depth."""
        stack = [first]
        opened: dict[Question, list[_Access]] = {}  # those on the way from the first to the last
        while stack:
            question = stack[-1]
            if question in self.known:
                stack.pop()
                continue
            accesses = self.needs(question, opened.get(question, []))
            if question in opened and len(accesses) == len(opened[question]):
                del opened[question]  # all that it needs is known now
                self.known[question] = self.compute(question, accesses)
                stack.pop()
                continue
            opened[question] = accesses
            if (call := self.before.get(question)) is not None and call not in self.known:
                if call in opened:
                    raise self.cycle(list(opened), call)
                stack.append(call)
            for access in reversed(accesses):
                for point in reversed(access.points):
                    needed = (access.edge.source, point)
                    if needed in opened:
                        raise self.cycle(list(opened), needed)
                    if needed not in self.known:
                        stack.append(needed)

    def needs(self, question: Question, known: list[_Access]) -> list[_Access]:
        """What must be known first, operand by operand; ``known`` is what is by now.

        That is everything at once, except that ``cond`` asks for its condition first.
        """
        at = self.at(question)
        edges = self.edges(question, at)
        if isinstance(self.graph.nodes[question[0]].op, Cond):
            edges = (edges[0], edges[1 if self.gather(known[0]) else 2]) if known else edges[:1]
        more = edges[len(known) :]
        return [*known, *(self.access(e, at, lambda: self.shown(question)) for e in more)]

    def compute(self, question: Question, accesses: list[_Access]) -> tuple[Array, ...]:
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

    def edges(self, question: Question, at: Mapping[str, int]) -> tuple[Edge, ...]:
        """The edges that count at a point: of a merge the branch taken, of given data none."""
        name, _ = question
        node = self.graph.nodes[name]
        if name in self.given:
            return ()
        if isinstance(node.op, Input) or (isinstance(node.op, Param) and not node.inputs):
            kind = "input" if isinstance(node.op, Input) else "param"
            raise errors.not_given(kind, name, _span(node))
        if isinstance(node.op, Merge):
            taken = tuple(e for e in node.inputs if e.guard == TRUE or value_of(e.guard, at))
            if len(taken) != 1:
                raise errors.read_outside("the program", self.shown(question), _span(node))
            return taken
        return node.inputs

    def apply(
        self, question: Question, args: tuple[Array, ...], at: Mapping[str, int]
    ) -> tuple[Array, ...]:
        """The operator's meaning."""
        node = self.graph.nodes[question[0]]
        try:
            if isinstance(node.op, Extern):
                return self.externs(node, question[1], args)
            return node.op.evaluate(args, at)
        except OperandError as error:
            why = error.message
        except (ValueError, IndexError) as error:
            why = str(error)
        raise errors.cannot_evaluate(self.shown(question), why, _span(node))

    def fitted(
        self, question: Question, value: Array, type_: TensorType, at: Mapping[str, int]
    ) -> Array:
        """The value in the dtype of its type; its shape must be what the type says."""
        shape = tuple(value_of(extent, at) for extent in type_.shape)
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

    def at(self, question: Question) -> dict[str, int]:
        """Values of dimensions and bounds."""
        name, point = question
        return {
            **self.bounds,
            **dict(zip(self.graph.nodes[name].domain.dims, point, strict=True)),
        }

    def access(self, edge: Edge, at: Mapping[str, int], reader: Callable[[], str]) -> _Access:
        """The points that an edge reads, checked to be in its source's domain."""
        domain = self.graph.nodes[edge.source].domain
        ranges = [_range(entry, at) for entry in edge.entries]
        lead = [len(r) for r, e in zip(ranges, edge.entries, strict=True) if isinstance(e, Slice)]
        highest = [self.bounds[self.graph.universe.dim(d).bound] for d in domain.dims]
        points = list(product(*ranges))
        for point in points:
            inside = all(0 <= i < n for i, n in zip(point, highest, strict=True))
            if inside and domain.where != TRUE:
                inside = bool(value_of(domain.where, self.at((edge.source, point))))
            if not inside:
                raise errors.read_outside(reader(), self.shown((edge.source, point)), edge.span)
        fixed = {d: r[0] for d, r in zip(domain.dims, ranges, strict=True) if len(r) == 1}
        return _Access(edge=edge, lead=lead, points=points, fixed=fixed)

    def gather(self, access: _Access) -> Array:
        """What an edge reads: one value, or values along a leading axis for each slice."""
        edge = access.edge
        values = [self.known[edge.source, point][edge.out] for point in access.points]
        if not access.lead:
            return values[0]
        type_ = self.graph.nodes[edge.source].types[edge.out]
        at = {**self.bounds, **access.fixed}
        shape = [value_of(extent, at) for extent in type_.shape]
        flat = np.empty([len(values), *shape], numpy_dtype(type_.dtype))
        for k, value in enumerate(values):
            flat[k] = value
        return flat.reshape([*access.lead, *shape])

    # ------------------------------------------------------------ words

    def shown(self, question: Question) -> str:
        """``h[t=3]``."""
        name, point = question
        dims = self.graph.nodes[name].domain.dims
        inside = ", ".join(f"{d}={i}" for d, i in zip(dims, point, strict=True))
        return f"{name}[{inside}]" if inside else name

    def cycle(self, opened: list[Question], again: Question) -> Exception:
        """The error for a question that came up while it was being answered."""
        around = [self.shown(q) for q in opened[opened.index(again) :]]
        span = _span(self.graph.nodes[again[0]])
        return errors.needs_itself((*around, around[0]), span)


def _range(entry: Entry, at: Mapping[str, int]) -> range:
    if isinstance(entry, Slice):
        return range(value_of(entry.lo, at), value_of(entry.hi, at), entry.step)
    index = value_of(entry, at)
    return range(index, index + 1)


def _span(node: Node) -> Span | None:
    return node.spans[0] if node.spans else None
