"""`associative_scan(f, x, axis)`: `f` is inlined once, on two symbolic elements, to straight-line
steps of the operator."""

from __future__ import annotations

from dataclasses import dataclass, field

from tempoc.base.graphs import reachable
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.round import Arguments, Frame, Round
from tempoc.frontend.errors import types as type_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.frontend.expressions.conditional import converted
from tempoc.ops.control.associative_scan import AssociativeScan
from tempoc.ops.control.control import Merge
from tempoc.ops.control.externs import ExternCall
from tempoc.ops.control.steps import OpStep
from tempoc.ops.definition.operator import OperandError
from tempoc.ops.definition.shapes import axis_of
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic import expr as ix

DraftPort = tuple[Draft, int]


def scan(round: Round, frame: Frame, bound: BoundArguments) -> val.Value:
    """The scan of a tree. Raises `Failure`."""
    span, axis = bound.span, bound.axis() or 0
    refs: dict[tuple[str, ...], val.Ref] = {}

    def leaf(path: tuple[str, ...], v: val.Value) -> val.Value:
        refs[path] = apply.tensor(round, frame, v, span)
        return refs[path]

    tree = val.map_leaves(leaf, bound["x"])
    types = {path: _element(r.type, axis, span) for path, r in refs.items()}
    earlier, later = (_Side(round, frame, types, word) for word in ("earlier", "later"))
    arguments = Arguments((earlier.tree(tree), later.tree(tree)), (), (span, span), ())
    value = round.language.call(round, frame, bound["f"], arguments, span)
    unknown = val.unknown_in(value)
    if unknown is not None:
        return unknown
    result_leaves = dict(val.leaves(value))
    if sorted(result_leaves) != sorted(types):
        raise Failure(type_errors.structure(span, tree, value))
    body = _StepList(span)
    for side in (earlier, later):
        for path in types:
            body.argument(side.drafts[path])
    results = [_result(round, frame, result_leaves[path], t, span) for path, t in types.items()]
    body.collect(results)
    op = AssociativeScan(
        steps=tuple(body.steps),
        results=tuple(body.number(r.draft, r.out, r.entries) for r in results),
        leaves=len(types),
        axis=axis,
    )
    captured = (apply.read(round, frame, *access, span) for access in body.outside)
    scanned = apply.make(round, frame, op, (*refs.values(), *captured), span)
    numbers = {path: k for k, path in enumerate(refs)}
    return val.map_leaves(lambda path, _: scanned[numbers[path]], tree)


def _element(type: TensorType, axis: int, span: Span) -> TensorType:
    try:
        k = axis_of(axis, type.ndim)
    except OperandError as error:
        raise Failure(type_errors.operands(span, error.message, error.help)) from None
    return TensorType(type.dtype, (*type.shape[:k], *type.shape[k + 1 :]))


def _result(round: Round, frame: Frame, value: val.Value, type: TensorType, span: Span) -> val.Ref:
    """A leaf of the function's result; a number takes the type of the element."""
    if isinstance(value, val.ConstantNumber):
        return converted(round, frame, value, type, span)
    apply.type_of(value, span)
    return apply.tensor(round, frame, value, span)


@dataclass(slots=True)
class _Side:
    """One of the two arguments: a tree of placeholder nodes, which are never computed."""

    round: Round
    frame: Frame
    types: dict[tuple[str, ...], TensorType]
    word: str
    drafts: dict[tuple[str, ...], Draft] = field(default_factory=dict)

    def tree(self, like: val.Value) -> val.Value:
        """The argument."""

        def leaf(path: tuple[str, ...], v: val.Value) -> val.Value:
            assert isinstance(v, val.Ref)
            draft = Draft(
                hint=self.word, dims=(), types=(self.types[path],), origin=self.frame.origin
            )
            self.drafts[path] = draft
            return apply.identity(self.round, self.frame, draft, v.span)

        return val.map_leaves(leaf, like)


DraftRead = tuple[Draft, int, tuple[ix.Entry, ...]]


@dataclass(slots=True)
class _StepList:
    """The function as straight-line steps over numbered values: arguments, captures, steps."""

    span: Span
    known: dict[DraftPort, int] = field(default_factory=dict)
    outside: dict[DraftRead, int] = field(default_factory=dict)
    inner: dict[Draft, bool] = field(default_factory=dict)
    order: list[Draft] = field(default_factory=list)
    steps: list[OpStep] = field(default_factory=list)
    count: int = 0

    def argument(self, draft: Draft) -> None:
        """Number a leaf of an argument as the next value."""
        self.inner[draft] = True
        self._know((draft, 0))

    def _know(self, port: DraftPort) -> None:
        self.known[port] = self.count
        self.count += 1

    def collect(self, results: list[val.Ref]) -> None:
        """Make steps of the nodes that depend on the arguments; number the captured reads."""
        for r in results:
            self._visit(r.draft)
        reads = [(w.source, w.out, w.entries) for d in self.order for w in d.inputs]
        reads += [(r.draft, r.out, r.entries) for r in results]
        for place in reads:
            if not self.inner[place[0]] and place not in self.outside:
                self._check_outside(place[0])
                self.outside[place] = self.count
                self.count += 1
        for draft in self.order:
            self._step(draft)

    def _check_outside(self, draft: Draft) -> None:
        """Raises `Failure` if a captured node depends on an argument (through a recurrence)."""
        for reader in reachable([draft], lambda d: [w.source for w in d.inputs]):
            if any((w.source, 0) in self.known for w in reader.inputs):
                self._check_own(reader)
                raise Failure(type_errors.scan_body(self.span, "a tensor with dimensions"))

    def _check_own(self, draft: Draft) -> None:
        """Raises `Failure` for a call of a Python function."""
        if isinstance(draft.op, ExternCall):
            what = f"the Python function `{draft.op.extern}`"
            raise Failure(type_errors.scan_body(self.span, what))

    def number(self, draft: Draft, out: int, entries: tuple[ix.Entry, ...]) -> int:
        """The number of a value that is read. Raises `Failure` for a value at another point."""
        if not self.inner[draft]:
            return self.outside[draft, out, entries]
        if entries != tuple(ix.Sym(d) for d in draft.dims):
            raise Failure(type_errors.scan_body(self.span, "an access of what it computes"))
        return self.known[draft, out]

    def _visit(self, draft: Draft) -> None:
        """Decide whether a node is a step: if it is a constant or depends on an argument."""
        if draft in self.inner:
            return
        self.inner[draft] = False  # so nothing in a cycle is a step
        sources = [w.source for w in draft.inputs] if draft.role == "temporary" else []
        for source in sources:
            self._visit(source)
        constant = draft.op is not None and draft.op.cheap
        if constant or any(self.inner[s] for s in sources):
            self.inner[draft] = True
            self.order.append(draft)

    def _step(self, draft: Draft) -> None:
        op = draft.op
        self._check_own(draft)
        if op is None or op.checks or isinstance(op, Merge):
            raise Failure(type_errors.scan_body(self.span, f"`{op.name}`" if op else "a tensor"))
        operands = tuple(self.number(w.source, w.out, w.entries) for w in draft.inputs)
        self.steps.append((op, operands, tuple(t.dtype for t in draft.types)))
        for out in range(len(draft.types)):
            self._know((draft, out))
