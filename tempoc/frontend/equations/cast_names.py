"""Names that casts introduce, read outside of the equation of the cast.

`flat = reshape(x, [-1]) as f32[k]` makes `k` an index expression of the whole file, or of the body
of a function: the extent that the cast has in this round. Several casts may introduce one name,
each for its own equation; who reads it elsewhere needs them to agree.
"""

from __future__ import annotations

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor
from tempoc.frontend.environment.lower_bounds import deferred
from tempoc.frontend.environment.round import Frame, FrameFacts, Round
from tempoc.frontend.environment.scope import CastName, TensorName
from tempoc.frontend.equations import equations
from tempoc.frontend.errors import names as name_errors
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.syntax import ast
from tempoc.symbolic import expr as ix


def read(round: Round, name: CastName, span: Span) -> val.Value:
    """The extent that a name stands for. Raises `Failure` or `StillUnknown`."""
    frame = round.top if name.frame is None else name.frame
    if not isinstance(frame, Frame):
        raise Failure(name_errors.cast_not_compile_time(span, name.name))
    running = None
    for statement in name.statements:
        if isinstance(statement, ast.Equation):
            finished = _evaluate(round, frame, statement, span)
            running = statement if finished is False else running
    extents = round.extents.get(name, [])
    known = [e for e in extents if not isinstance(e.value, val.Unknown)]
    if known:
        round.extents_read.setdefault(name, span)
        return known[0].value
    if extents:
        raise StillUnknown(extents[0].value)  # type: ignore[arg-type]
    if running is None:
        raise Failure(name_errors.no_extent(span, name.name))
    target = frame.scope.find(running.targets[0].name.name)
    if isinstance(target, TensorName) and target.kind == "plain":
        round.language.tensor(round, target, span)  # which reports the cycle
    elif not isinstance(target, TensorName | IndexedTensor):
        raise Failure(name_errors.extent_cycle(span, name.name, running.span))
    raise deferred(round)


def _evaluate(round: Round, frame: Frame, eq: ast.Equation, span: Span) -> bool | None:
    """Evaluate an equation unless that was begun; whether it is finished."""
    key = (*frame.path, "=", eq.span.start)
    if key not in round.done:
        target = frame.scope.find(eq.targets[0].name.name)
        if isinstance(target, TensorName) and target.kind == "plain":
            round.language.tensor(round, target, span)
        elif isinstance(target, IndexedTensor) and len(target.key) == 1:
            round.language.visit(round, target)
        equations.run(round, frame, eq)
    return round.done[key]


def check_agreement(round: Round) -> None:
    """Report names that are read, but for which casts have found different extents."""
    facts = FrameFacts(round, ix.TRUE)
    for name, span in round.extents_read.items():
        known = [(as_expr(e.value), e) for e in round.extents[name]]
        known = [(expr, e) for expr, e in known if expr is not None]
        for expr, other in known[1:]:
            first, at = known[0]
            if first is not None and expr is not None and not facts.equal(first, expr):
                wrong = name_errors.extents_differ(
                    other.span, name.name, expr, first, at.span, span
                )
                round.report(wrong)
                break
