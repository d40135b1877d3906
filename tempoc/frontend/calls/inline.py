"""Inlining: a function is expanded at each call; its loops are unrolled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

from tempoc.diagnostics.source import Span
from tempoc.frontend.calls import builtins, externs
from tempoc.frontend.calls.builtin_signatures import SIGNATURES
from tempoc.frontend.calls.signatures import Signature
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import CallSite, DraftOrigin
from tempoc.frontend.environment.draft_order import finish_of
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, TargetPlan
from tempoc.frontend.environment.round import Arguments, Frame, Round
from tempoc.frontend.environment.scope import DISCARD, CastName, Pending, Scope
from tempoc.frontend.equations import equations
from tempoc.frontend.equations.merge_branches import finish
from tempoc.frontend.equations.targets import WrittenTarget, make_plan
from tempoc.frontend.errors import (
    names as name_errors,
    types as type_errors,
)
from tempoc.frontend.expressions.unroll import loop_iterations
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.casts import cast_names


def call(
    round: Round, frame: Frame, function: val.Value, arguments: Arguments, span: Span
) -> val.Value:
    """The result of a function. Raises `Failure` or `StillUnknown`."""
    match function:
        case val.Builtin(name=name):
            return builtins.call(round, frame, name, arguments, span)
        case val.PythonFunction():
            return externs.call(round, frame, function, arguments, span)
        case val.Closure():
            return _closure(round, frame, function, arguments, span)
        case val.Unknown():
            return function
        case _:
            name = span.text.split("(")[0]
            builtin = name in SIGNATURES
            taken = builtin and not isinstance(frame.scope.find(name), val.Builtin)
            what = val.describe(function)
            raise Failure(name_errors.not_callable(span, what, builtin=builtin, taken=taken))


def _closure(
    round: Round, frame: Frame, function: val.Closure, arguments: Arguments, span: Span
) -> val.Value:
    definition = function.definition
    name = definition.name.name
    for site in frame.origin.calls:
        if site.definition == definition.span:
            raise Failure(type_errors.recursion(span, name))
    round.check_limit("call_depth", len(frame.origin.calls) + 1)
    round.expand()
    scope = Scope("body", parent=function.scope)
    site = CallSite(name, span, definition.span)
    inner = Frame(
        scope=scope,
        path=(*frame.path, "call", span.start, definition.span.start),
        prefix=_prefix(round, frame, name),
        origin=replace(frame.origin, calls=(*frame.origin.calls, site)),
        where=frame.where,
        place=(*frame.place, round.language.place(span)),
        turn=(*frame.turn, span.end),
        draws=frame.draws,
        lazy=frame.lazy,
        default=frame.default,
    )
    signature = Signature(round, inner, definition)
    nests = signature.bind(arguments, span)
    body = reduce(lambda b, nest: nest.rewritten(b), nests, definition.body)
    result = run_block(round, inner, body)
    return val.BAD if result is None else signature.result(result)


def _prefix(round: Round, frame: Frame, name: str) -> str:
    """The prefix of node names in a call."""
    wish = f"{frame.prefix}.{name}" if frame.prefix else name
    prefix = round.prefixes.fresh(wish)
    round.order.call(wish, prefix)
    return prefix


def run_block(
    round: Round, frame: Frame, statements: Sequence[ast.BodyStatement]
) -> val.Value | None:
    """Run the statements of a body; the value of its `return`, if it has one."""
    cells = _declare(round, frame, statements)
    result: val.Value | None = None
    for s in statements:
        match s:
            case ast.Equation():
                equations.run(round, frame, s)
            case ast.ForLoop():
                round.attempt(frame, partial(_loop, round, frame, s))
            case ast.Return():
                values = tuple(round.evaluate(frame, v) for v in s.values)
                result = values[0] if len(values) == 1 else val.Several(values)
    for cell in cells:
        if not cell.finished:
            round.order.note(finish_of(cell))
            finish(round, cell)
    return result


def _loop(round: Round, frame: Frame, loop: ast.ForLoop) -> val.Value:
    for inner in loop_iterations(round, frame, loop.name, loop.over):
        run_block(round, inner, loop.body)
    return val.BAD


def _declare(
    round: Round, frame: Frame, statements: Sequence[ast.BodyStatement]
) -> list[IndexedTensor]:
    """Bind the names defined in a block before evaluating it: the order of equations is free."""
    written: dict[str, list[WrittenTarget]] = {}
    plain: dict[str, ast.Equation] = {}
    for s in statements:
        for target in s.targets if isinstance(s, ast.Equation) else ():
            assert isinstance(s, ast.Equation)
            name = target.name.name
            if name == DISCARD:
                continue
            if target.entries is not None:
                written.setdefault(name, []).append((s, target))
            elif s.guard is not None:
                equations.report_guard(round, frame, s.guard.span, name)
            else:
                plain.setdefault(name, s)
    scope = frame.scope
    for name, introducing in cast_names(statements).items():
        if name not in {**plain, **written} and isinstance(scope.find(name), CastName | None):
            scope.bind(name, CastName(name, introducing, frame))
    for name, equation in plain.items():
        if name not in scope.names and scope.kind == "body":
            scope.bind(name, Pending(partial(_resume, round, frame, name, equation)))
    cells = [_cell(round, frame, name, tuple(parts)) for name, parts in written.items()]
    if scope.kind == "body":
        for cell, parts in zip(cells, written.values(), strict=True):
            if _is_apart(statements, parts):
                run = (partial(equations.run_ahead, round, frame, eq) for eq, _ in parts)
                cell.ahead = tuple(run)
    return cells


def _is_apart(statements: Sequence[ast.BodyStatement], parts: Sequence[WrittenTarget]) -> bool:
    """Whether the order of the equations of a tensor makes no difference to others.

    Loops give new values to names; what stands between may share nodes with them.
    """
    places = [k for k, s in enumerate(statements) if any(s is eq for eq, _ in parts)]
    loops = any(isinstance(s, ast.ForLoop) for s in statements)
    return not loops and places[-1] - places[0] < len(places)


def _resume(round: Round, frame: Frame, name: str, equation: ast.Equation) -> val.Value:
    """The value of a local name that is read before its equation is evaluated."""
    if (*frame.path, "=", equation.span.start) in round.done:
        raise Failure(name_errors.local_cycle(equation.span, name))
    if any(key[:-2] == frame.path for key in round.order.ahead):
        round.uncertain = True  # its turn may be before the equation that is ahead
    equations.run(round, frame, equation)
    value = frame.scope.names.get(name)
    return val.BAD if value is None or isinstance(value, Pending) else value  # type: ignore[return-value]


def _cell(
    round: Round, frame: Frame, name: str, written: tuple[WrittenTarget, ...]
) -> IndexedTensor:
    key = (*frame.path, name)
    plan = round.plans.get(key)
    if plan is None:
        try:
            plan = round.plans[key] = make_plan(round, frame, name, written)
        except StillUnknown:
            round.uncertain = True
            plan = TargetPlan(name=name, dims=(), placements=(), broken=True)
    first = written[0][0]
    for problem in plan.problems:
        round.report(problem, frame.origin.calls)
    cell = IndexedTensor(
        key=key,
        name=f"{frame.prefix}.{name}",
        plan=plan,
        origin=DraftOrigin(span=first.span, target=name, calls=frame.origin.calls),
    )
    if name in frame.scope.names:
        round.report(name_errors.no_function(written[0][1].name.span, name), frame.origin.calls)
    body = frame.scope.body()
    body.dims = round.universe.sorted((*body.dims, *plan.dims))
    frame.scope.bind(name, cell, written[0][1].name.span)
    round.cells[key] = cell
    return cell
