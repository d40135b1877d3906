"""From syntax trees to the symbolic dependence graph.

Declarations first (`program`, `universe`), then rounds of evaluation until the types of all indexed
tensors are known, then the points at which each node is needed (`demand`), the proofs that every
read stays inside (`causality`), and the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tempoc.base.diagnostics import Collector
from tempoc.base.source import Span
from tempoc.frontend import (
    ast,
    causality,
    data,
    domain_errors,
    equations,
    expand,
    later_errors,
    type_errors,
)
from tempoc.frontend.assemble import assemble
from tempoc.frontend.cell import Cell, Key, Plan
from tempoc.frontend.cells import cause, finish, value_of
from tempoc.frontend.demand import place
from tempoc.frontend.draft import Origin
from tempoc.frontend.evaluate import evaluate
from tempoc.frontend.modules import Loaded
from tempoc.frontend.outputs import Result, outputs
from tempoc.frontend.plan import make_plan
from tempoc.frontend.problem import Problem, StillUnknown
from tempoc.frontend.program import Program, Scopes, check_defines
from tempoc.frontend.round import Arguments, Frame, Known, Round
from tempoc.frontend.scope import Scope, TensorName
from tempoc.frontend.universe import make_universe
from tempoc.frontend.values import BAD, ERROR, Ref, Value, map_leaves
from tempoc.poly.space import Space
from tempoc.sdg.graph import Graph
from tempoc.symbolic.domain import Universe

MAX_ROUNDS = 24
STACK = 20_000
"""Python frames: nested expressions and calls are bounded by the parser and by `MAX_CALLS`."""


def elaborate(modules: Loaded, defines: Mapping[str, str]) -> Graph:
    """The graph of a program. Raises `DiagnosticError` with all independent mistakes."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, STACK))
    try:
        return _elaborate(modules, defines)
    finally:
        sys.setrecursionlimit(limit)


def _elaborate(modules: Loaded, defines: Mapping[str, str]) -> Graph:
    language = _Language()
    scopes = Scopes(modules, language, dict(defines))
    check_defines(defines, modules.main.tree, scopes.errors)
    scope, tensors = scopes.main()
    universe = make_universe(scopes, scope, modules.main.tree)
    for key in modules.modules:
        for name in list(scopes.made[key].names if key in scopes.made else ()):
            _touch(scopes.made[key], name)
    for name in list(scope.names):
        _touch(scope, name)
    program = Program(
        loaded=modules,
        language=language,
        scope=scope,
        errors=scopes.errors,
        universe=universe,
        tensors=tensors,
    )
    round, results = _rounds(program)
    _check_later(modules.main.tree, program.errors)
    program.errors.extend(round.errors.found)
    _check_unknown(program, round)
    space = round.space
    drafts = place(round, results)
    causality.check(round, drafts, results, program.errors)
    program.errors.raise_errors()
    name = modules.main.source.path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".rt")
    return assemble(name, modules.main.tree.doc or "", space, drafts, results)


def _touch(scope: Scope, name: str) -> None:
    """Evaluate a constant, whether or not something uses it."""
    found = scope.names[name]
    if hasattr(found, "resume"):
        try:
            found.resume()
        except Problem:
            pass


def _check_later(main: ast.Module, errors: Collector) -> None:
    for item in main.items:
        if isinstance(item, ast.Save):
            errors.add(later_errors.not_supported(item.span, "save"))
        elif isinstance(item, ast.Print):
            errors.add(later_errors.not_supported(item.span, "print"))


# ---------------------------------------------------------------- rounds


def _rounds(program: Program) -> tuple[Round, list[Result]]:
    """Evaluate everything until a round finds nothing new."""
    table: dict[Key, Known] = {}
    plans: dict[Key, Plan] = {}
    universe = program.universe
    space = Space(universe)
    for number in range(MAX_ROUNDS):
        round = Round(
            universe=universe,
            space=space,
            table=table,
            language=program.language,
            plans=plans,
        )
        results = _round(program, round)
        extended = _assumed(universe, round)
        if extended != universe:
            universe, space = extended, Space(extended)
            continue
        if not round.changed:
            break
    else:
        for key, cell in round.cells.items():
            if table.get(key) != round.before.get(key):
                round.report(type_errors.growing(cell.origin.span, cell.plan.name))
                break
    assert number >= 0
    return round, results


def _assumed(universe: Universe, round: Round) -> Universe:
    """The universe with what annotations ask to be checked at run time."""
    new = [a for a in dict.fromkeys(round.assumptions) if a not in universe.assumptions]
    return replace(universe, assumptions=(*universe.assumptions, *new)) if new else universe


def _round(program: Program, round: Round) -> list[Result]:
    round.before = dict(round.table)
    top = Frame(
        scope=Scope("loop", parent=program.scope),
        path=(),
        prefix="",
        origin=Origin(span=program.loaded.main.source.whole()),
    )
    round.top = top
    for name in program.tensors.values():
        if name.kind == "indexed":
            _top_cell(round, top, name)
    for name in program.tensors.values():
        if name.item is not None:
            program.language.tensor(round, name, name.item.name.span)
    for item in program.loaded.main.tree.items:
        if isinstance(item, ast.Equation):
            _equation(round, top, item)
    for cell in list(round.cells.values()):
        if not cell.finished:
            finish(round, cell)
    return outputs(round, top, program.loaded.main.tree)


def _equation(round: Round, top: Frame, item: ast.Equation) -> None:
    first = top.scope.find(item.targets[0].name.name)
    if isinstance(first, TensorName) and first.kind == "plain":
        round.language.tensor(round, first, item.targets[0].name.span)
    equations.run(round, top, item)


def _top_cell(round: Round, top: Frame, name: TensorName) -> None:
    key: Key = (name.name,)
    written = tuple(
        (eq, t) for eq in name.equations for t in eq.targets if t.name.name == name.name
    )
    plan = round.plans.get(key)
    if plan is None:
        try:
            plan = round.plans[key] = make_plan(round, top, name.name, written)
        except StillUnknown:
            plan = Plan(name=name.name, dims=(), placements=(), broken=True)
    for problem in plan.problems:
        round.report(problem)
    cell = Cell(
        key=key,
        name=name.name,
        plan=plan,
        origin=Origin(span=written[0][0].span, target=name.name),
    )
    round.cells[key] = cell
    top.scope.bind(name.name, cell)


@dataclass(frozen=True, slots=True)
class _Language:
    """Ties the parts of the elaborator together."""

    def evaluate(self, round: Round, frame: Frame, e: ast.Expr) -> Value:
        """See `evaluate.py`."""
        return evaluate(round, frame, e)

    def call(
        self, round: Round, frame: Frame, function: Value, arguments: Arguments, span: Span
    ) -> Value:
        """See `expand.py`."""
        return expand.call(round, frame, function, arguments, span)

    def tensor(self, round: Round, name: TensorName, span: Span) -> Value:
        """The value of a tensor of the program; evaluated when it is first wanted."""
        if name.kind == "indexed":
            return value_of(round, round.cells[(name.name,)], span)
        if name.name not in round.values:
            self._define(round, name, span)
        value = round.values[name.name]

        def here(_: tuple[str, ...], v: Value) -> Value:
            return replace(v, span=span) if isinstance(v, Ref) else v

        return map_leaves(here, value)

    def _define(self, round: Round, name: TensorName, span: Span) -> None:
        top = round.top
        assert top is not None
        if name.item is not None:
            round.values[name.name] = round.attempt(top, lambda: data.declared(round, top, name))
            return
        active = [n.equations[0] for n in round.active]
        if any(eq is name.equations[0] for eq in active):
            first = next(k for k, eq in enumerate(active) if eq is name.equations[0])
            cycle = round.active[first:]
            spans = tuple(n.equations[0].span for n in cycle)
            names = tuple(n.name for n in cycle)
            raise Problem(domain_errors.plain_cycle(spans[0], names, spans))
        round.active.append(name)
        try:
            equations.run(round, top, name.equations[0])
        finally:
            round.active.remove(name)
        round.values.setdefault(name.name, BAD)


# ---------------------------------------------------------------- what stayed unknown


def _check_unknown(program: Program, round: Round) -> None:
    """Tensors whose types nothing tells, unless that follows from a mistake reported already."""
    reasons = {name: unknown.causes for name, unknown in round.unknown.items()}
    for cell in round.cells.values():
        name = cause(cell)
        if cell.key in round.table or cell.plan.broken or name not in reasons:
            continue
        reached = _reached(name, reasons)
        if ERROR not in reached and name in reached:
            span = cell.plan.placements[-1].equation.span
            round_errors = type_errors.never_known(span, cell.plan.name)
            program.errors.add(round_errors)


def _reached(name: str, reasons: Mapping[str, frozenset[str]]) -> frozenset[str]:
    found: dict[str, None] = {}
    waiting = sorted(reasons.get(name, frozenset()))
    while waiting:
        at = waiting.pop()
        if at not in found:
            found[at] = None
            waiting.extend(sorted(reasons.get(at, frozenset())))
    return frozenset(found)

