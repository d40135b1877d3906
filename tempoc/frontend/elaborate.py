"""Elaboration: from syntax trees to the symbolic dependence graph.

Declarations first (`module_scopes`, `dimensions`), then rounds of evaluation until the types of all
indexed tensors are known (`fixpoint`), then demand analysis (`demand`), the proof that all accesses
are in bounds (`prove_accesses`), and the graph (`build_graph`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

from tempoc.base.limits import LIMITS, Limits
from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Span
from tempoc.frontend.build_graph import assemble
from tempoc.frontend.calls import inline as expand
from tempoc.frontend.calls.restarted_state import restarted
from tempoc.frontend.declarations import inputs as data, unresolved
from tempoc.frontend.declarations.dimensions import make_universe
from tempoc.frontend.declarations.module_scopes import Scopes, SourceProgram, check_defines
from tempoc.frontend.domains import prove_accesses as causality
from tempoc.frontend.domains.demand import compute_demand
from tempoc.frontend.effect_order import number_effects
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, TensorKey
from tempoc.frontend.environment.round import Arguments, Frame, Round
from tempoc.frontend.environment.scope import CastName, Scope, TensorName
from tempoc.frontend.equations import cast_names, equations
from tempoc.frontend.equations.merge_branches import value_of
from tempoc.frontend.errors import (
    domains as domain_errors,
    names as name_errors,
    types as type_errors,
)
from tempoc.frontend.evaluate import evaluate
from tempoc.frontend.expressions.apply_operator import check_literals
from tempoc.frontend.fixpoint import run_rounds, top_cell
from tempoc.frontend.syntax import ast, casts
from tempoc.frontend.syntax.load_modules import LoadedSources, is_standard
from tempoc.frontend.syntax.stable_places import SourcePlaces
from tempoc.poly.relations.space import Space
from tempoc.sdg.graph.graph import Graph

STACK = 20_000
"""Python frames: nested expressions and calls are bounded by the parser and by limits."""

MAX_ACTIVE = 200
"""Largest nesting of tensor evaluations in a round; deeper ones are left to the next round."""


class Elaborated(NamedTuple):
    """A graph with `Gradient` placeholders, and its space."""

    graph: Graph
    space: Space


def elaborate(
    modules: LoadedSources, defines: Mapping[str, str], limits: Limits = LIMITS
) -> Elaborated:
    """The graph of a program. Raises `DiagnosticError` with all independent errors."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, STACK))
    try:
        return _elaborate(modules, defines, limits)
    except DiagnosticError:
        raise
    except Exception:
        if modules.errors:  # after syntax errors the rest of the program may be inconsistent
            raise DiagnosticError(*modules.errors) from None
        raise
    finally:
        sys.setrecursionlimit(limit)


def _elaborate(modules: LoadedSources, defines: Mapping[str, str], limits: Limits) -> Elaborated:
    language = _Elaborator(SourcePlaces(modules))
    scopes = Scopes(modules, language, dict(defines), limits)
    scopes.errors.extend(modules.errors)
    check_defines(defines, modules.main.tree, scopes.errors)
    scope, tensors = scopes.main()
    universe = make_universe(scopes, scope, modules.main.tree)
    for key in modules.modules:
        for name in list(scopes.modules[key].names if key in scopes.modules else ()):
            _force_constant(scopes.modules[key], name)
    for name in list(scope.names):
        _force_constant(scope, name)
    program = SourceProgram(
        loaded=modules,
        language=language,
        scope=scope,
        errors=scopes.errors,
        universe=universe,
        limits=limits,
        tensors=tensors,
    )
    round, results = run_rounds(program)
    for key, names in (*scopes.modules.items(), ("", scope)):
        # What comes with tempoc is looked at by a test.
        for problem in () if is_standard(key) else unresolved.in_functions(names):
            round.report(problem)
    for problem in unresolved.in_equations(scope, modules.main.tree.items):
        round.report(problem)
    if not round.errors.diagnostics:
        program.errors.extend(restarted(round, scope))
    program.errors.extend(type_errors.extents_once(round.errors.ordered()))
    space = round.space
    drafts = compute_demand(round, results)
    number_effects(drafts)
    causality.prove_accesses(round, drafts, results, program.errors)
    check_literals(drafts, program.errors)
    program.errors.raise_errors()
    name = modules.main.source.path.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".rt")
    doc = modules.main.tree.doc or ""
    graph = assemble(name, doc, space, drafts, results, round.assumptions)
    return Elaborated(graph, space)


def _force_constant(scope: Scope, name: str) -> None:
    """Evaluate a constant, whether or not something uses it."""
    value = scope.names[name]
    if hasattr(value, "resume"):
        with suppress(Failure):
            value.resume()


@dataclass(frozen=True, slots=True)
class _Elaborator:
    """Connects the parts of the elaborator, which are mutually recursive."""

    places: SourcePlaces

    def evaluate(self, round: Round, frame: Frame, e: ast.Expression) -> val.Value:
        """See `evaluate.py`."""
        return evaluate(round, frame, e)

    def call(
        self, round: Round, frame: Frame, function: val.Value, arguments: Arguments, span: Span
    ) -> val.Value:
        """See `calls/inline.py`."""
        return expand.call(round, frame, function, arguments, span)

    def extent(self, round: Round, name: CastName, span: Span) -> val.Value:
        """See `equations/cast_names.py`."""
        return cast_names.read(round, name, span)

    def place(self, span: Span) -> str:
        """See `syntax/stable_places.py`."""
        return self.places.name(span)

    def tensor(self, round: Round, name: TensorName, span: Span) -> val.Value:
        """The value of a tensor of the program, evaluated lazily."""
        if round.top is None:
            raise Failure(name_errors.not_compile_time(span, name.name))
        if name.kind == "indexed":
            return value_of(round, self.cell(round, name, span), span)
        round.order.note(_unit_of(name))
        if name.name not in round.values:
            self._define(round, name, span)
        value = round.values[name.name]

        def here(_: tuple[str, ...], v: val.Value) -> val.Value:
            return replace(v, span=span) if isinstance(v, val.Ref) else v

        return val.map_leaves(here, value)

    def visit(self, round: Round, cell: IndexedTensor) -> None:
        """Evaluate equations of a tensor of the program, until its type is known."""
        if len(round.order.ahead) >= MAX_ACTIVE:
            round.cut_short = True
            return
        for evaluate_equation in cell.ahead:
            if cell.key in round.table:
                return
            evaluate_equation()
        top = round.top
        name = None if top is None or top.scope.parent is None else top.scope.parent.find(cell.name)
        if top is None or not isinstance(name, TensorName) or len(cell.key) > 1:
            return
        if name in round.active:
            return
        if len(round.active) >= MAX_ACTIVE:
            round.cut_short = True
            return
        round.active.append(name)
        try:
            for equation in name.equations:
                if cell.key in round.table:
                    break
                equations.run_ahead(round, top, equation)
        finally:
            round.active.remove(name)

    def cell(self, round: Round, name: TensorName, span: Span) -> IndexedTensor:
        """An indexed tensor of the program in this round; its plan is made lazily."""
        cell = round.cells.get((name.name,))
        if cell is None:
            if name in round.active:
                raise Failure(name_errors.not_compile_time(span, name.name))
            round.active.append(name)
            try:
                cell = top_cell(round, name)
            finally:
                round.active.remove(name)
        return cell

    def _define(self, round: Round, name: TensorName, span: Span) -> None:
        top = round.top
        assert top is not None
        if name.item is not None:
            if name in round.active:
                raise Failure(name_errors.default_cycle(span, name.name))
            round.active.append(name)
            with round.order.unit(_unit_of(name)):
                round.values[name.name] = round.attempt(
                    top, lambda: data.elaborate_declaration(round, top, name)
                )
            round.active.remove(name)
            return
        active = [n.equations[0] if n.kind == "plain" else None for n in round.active]
        if any(eq is name.equations[0] for eq in active):
            first = next(k for k, eq in enumerate(active) if eq is name.equations[0])
            indexed = [n.name for n in round.active[first:] if n.kind == "indexed"]
            if indexed:
                round.uncertain = True
                raise StillUnknown(val.Unknown(frozenset(indexed[:1])))
            cycle = [n for n in round.active[first:] if n.kind == "plain"]
            spans = tuple(n.equations[0].span for n in cycle)
            names = tuple(n.name for n in cycle)
            extents = casts.cast_names(n.equations[0] for n in cycle)
            own = next((n for n in names if n in extents), None)
            raise Failure(domain_errors.plain_cycle(spans[0], names, spans, own))
        round.active.append(name)
        try:
            equations.run(round, top, name.equations[0])
        finally:
            round.active.remove(name)
        round.values.setdefault(name.name, val.BAD)


def _unit_of(name: TensorName) -> TensorKey:
    """What evaluates an input, a param or a tensor without index."""
    return ("item", name.name) if name.item is not None else ("=", name.equations[0].span.start)
