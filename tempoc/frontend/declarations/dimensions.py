"""Dimensions, bounds and assumptions: the universe of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.declarations.defines import parse_define
from tempoc.frontend.declarations.derived_bounds import extent_value
from tempoc.frontend.declarations.module_scopes import Scopes
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.scope import Pending, Scope
from tempoc.frontend.environment.values import ConstantNumber, ConstantText, Unknown, Value
from tempoc.frontend.errors import lengths as ending_errors, names as name_errors
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import children
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Dim, Domain, Universe
from tempoc.symbolic.walk import is_affine, is_condition, symbols

LIMIT = 2**31
"""Indices, and so bounds, are 32 bits wide."""


def make_universe(scopes: Scopes, scope: Scope, main: ast.Module) -> Universe:
    """The universe of a program; errors are reported."""
    dims: list[Dim] = []
    bounds: dict[str, tuple[ix.Expr | None, Span]] = {}
    ended = [i.bound.name for i in main.items if isinstance(i, ast.DimDecl) and i.until is not None]
    for item in main.items:
        if not isinstance(item, ast.DimDecl):
            continue
        if not any(d.name == item.name.name for d in dims):
            dims.append(Dim(name=item.name.name, bound=item.bound.name))
        earlier = bounds.get(item.bound.name)
        default = item.default
        if default is None and isinstance(
            scope.names.get(item.bound.name), Pending | ConstantNumber
        ):
            # A constant has the name, which is reported: nothing else is to follow from that.
            default = ast.Name(span=item.bound.span, name=item.bound.name)
        value = None if default is None else _value(scopes, scope, item, default)
        span = item.span if item.default is None else item.default.span
        if earlier is None or earlier[0] is None:
            bounds[item.bound.name] = (value, span)
            if isinstance(value, ix.Const) and item.bound.name not in ended:
                scopes.know(Bound(name=item.bound.name, value=value))
        elif value is not None and value != earlier[0]:
            scopes.errors.add(name_errors.bound_values(span, item.bound.name, earlier[1]))
    names = tuple(d.name for d in dims)
    _check_bounds(scopes, bounds, names)
    until = _endings(scopes, main)
    _settle(scopes, bounds, until)
    assumptions: list[ix.Expr] = []
    conditions: list[ast.Expression] = []
    for item in main.items:
        if isinstance(item, ast.Assume):
            assumption = _assumption(scopes, scope, item, names)
            if assumption is not None:
                assumptions.append(assumption)
                conditions.append(item.condition)
    universe = Universe(
        bounds=tuple(
            Bound(name=n, value=v, until=until.get(n, "")) for n, (v, _) in bounds.items()
        ),
        dims=tuple(dims),
    )
    universe = _check_lengths(scopes, universe, {n: span for n, (_, span) in bounds.items()})
    possible: list[ix.Expr] = []
    for condition, assumption in zip(conditions, assumptions, strict=True):
        if _impossible(replace(universe, assumptions=(*possible, assumption))):
            known = _constants(scopes, scope, condition) if assumption == ix.FALSE else {}
            scopes.errors.add(name_errors.false_assumption(condition.span, known))
        elif assumption != ix.TRUE:
            possible.append(assumption)
    return replace(universe, assumptions=tuple(possible))


def _settle(
    scopes: Scopes, bounds: dict[str, tuple[ix.Expr | None, Span]], until: Mapping[str, str]
) -> None:
    """What is derived from bounds with a value has a value too: `L // 6`, with `L = 18`, is 3.

    Left as it stands it would be a quotient in all questions to isl, which takes far longer.
    """
    universe = Universe(
        bounds=tuple(Bound(name=n, value=v, until=until.get(n, "")) for n, (v, _) in bounds.items())
    )
    for name, (value, span) in list(bounds.items()):
        if value is None or isinstance(value, ix.Const):
            continue
        settled = universe.settled(value)
        bounds[name] = (settled, span)
        if not isinstance(settled, ix.Const):
            continue
        if not 1 <= settled.value < LIMIT:
            scopes.errors.add(name_errors.bound_size(span, name, settled.value))
            bounds[name] = (None, span)
        elif name not in until:
            scopes.know(Bound(name=name, value=settled))


def _endings(scopes: Scopes, main: ast.Module) -> dict[str, str]:
    """The stop tensor of each bound with `until`."""
    stops: dict[str, ast.Ident] = {}
    for item in main.items:
        if isinstance(item, ast.DimDecl) and item.until is not None:
            earlier = stops.setdefault(item.bound.name, item.until)
            if earlier is not item.until:
                name = item.bound.name
                scopes.errors.add(ending_errors.ended_twice(item.until.span, name, earlier.span))
    return {bound: until.name for bound, until in stops.items()}


def _check_lengths(scopes: Scopes, universe: Universe, spans: Mapping[str, Span]) -> Universe:
    """Bounds derived from lengths must be monotone in them, and must not limit other lengths."""
    bounds: list[Bound] = []
    for b in universe.bounds:
        roots = [r for n in symbols(b.value or ix.ZERO) for r in universe.roots(n)]
        if b.until and roots:
            scopes.errors.add(ending_errors.varying_limit(spans[b.name], b.name, roots[0].name))
            b = replace(b, value=None)
        elif roots and not _grows(universe, b):
            scopes.errors.add(ending_errors.shrinking(spans[b.name], b.name, roots[0].name))
            b = replace(b, value=None)
        bounds.append(b)
    return replace(universe, bounds=tuple(bounds))


def _grows(universe: Universe, bound: Bound) -> bool:
    """Whether a derived bound is monotone in the lengths."""
    shorter = {r.name: ix.Sym(f"{r.name}'") for r in universe.roots(bound.name)}
    primed = tuple(Bound(name=s.name) for s in shorter.values())
    facts = tuple(ix.compare("<=", s, ix.Sym(n)) for n, s in shorter.items())
    space = Space(replace(universe, bounds=(*universe.bounds, *primed), assumptions=facts))
    less = ix.compare("<=", universe.at_lengths(shorter)[bound.name], ix.Sym(bound.name))
    return space.implies(Domain(()), less)


def _impossible(universe: Universe) -> bool:
    """Whether no bounds at all satisfy the assumptions: then everything could be proved."""
    return Space(universe).implies(Domain(()), ix.FALSE)


def _value(
    scopes: Scopes, scope: Scope, item: ast.DimDecl, default: ast.Expression
) -> ix.Expr | None:
    """The value of a bound, overridden by `-D` where it is a number.

    After an error in a `-D` the value of the program is used, so that other errors are reported.
    """
    name = item.bound.name
    value = extent_value(scopes, scope, default)
    if isinstance(value, Unknown):
        return None
    text = scopes.defines.get(name)
    if text is not None:
        value = _overridden(scopes, item, name, text, value, default)
    e = as_expr(value)
    if e is None or is_condition(e):
        scopes.errors.add(name_errors.bound_not_index(default.span, name))
        return None
    if isinstance(e, ix.Const) and not 1 <= e.value < LIMIT:
        scopes.errors.add(name_errors.bound_size(default.span, name, e.value))
        return None
    return e


def _overridden(
    scopes: Scopes, item: ast.DimDecl, name: str, text: str, value: Value, default: ast.Expression
) -> Value:
    if not isinstance(value, ConstantNumber):
        index = as_expr(value)
        others = () if index is None else symbols(index)
        scopes.errors.add(name_errors.define_derived(name, others, item.bound.span))
        return value
    try:
        override = parse_define(name, text, value, item.bound.span)
    except Failure as problem:
        scopes.errors.add(problem.diagnostic)
        return value
    if isinstance(override, ConstantNumber) and not isinstance(override.value, int):
        kind = "an integer of at least 1"
        scopes.errors.add(name_errors.define_kind(name, text, kind, item.bound.span))
        return value
    if isinstance(override, ConstantNumber) and not 1 <= override.value < LIMIT:
        scopes.errors.add(name_errors.bound_size(default.span, name, int(override.value)))
        return value
    return override


def _check_bounds(
    scopes: Scopes, bounds: dict[str, tuple[ix.Expr | None, Span]], dims: tuple[str, ...]
) -> None:
    """Derived bounds refer only to other bounds, without cycles."""
    for name, (value, span) in list(bounds.items()):
        if value is None:
            continue
        if any(n in dims or n not in bounds for n in symbols(value)):
            scopes.errors.add(name_errors.bound_not_index(span, name))
            bounds[name] = (None, span)
            continue
        path = [name]
        current: ix.Expr | None = value
        while current is not None:
            operands = [n for n in symbols(current) if bounds.get(n, (None, span))[0] is not None]
            if not operands:
                break
            path.append(operands[0])
            if operands[0] in path[:-1]:
                scopes.errors.add(name_errors.bound_cycle(span, tuple(path)))
                bounds[name] = (None, span)
                break
            current = bounds[operands[0]][0]


def _constants(scopes: Scopes, scope: Scope, condition: ast.SyntaxNode) -> dict[str, str]:
    """The constants that a condition names, with their values as texts."""
    known: dict[str, str] = {}
    for node in children(condition):
        known |= _constants(scopes, scope, node)
    if isinstance(condition, ast.Name):
        match scopes.evaluate(scope, condition):
            case ConstantText(value=text):
                known[condition.name] = f'"{text}"'
            case ConstantNumber(value=number):
                known[condition.name] = str(number).lower()
            case _:
                pass
    return known


def _assumption(
    scopes: Scopes, scope: Scope, item: ast.Assume, dims: tuple[str, ...]
) -> ix.Expr | None:
    value = scopes.evaluate(scope, item.condition)
    if isinstance(value, Unknown):
        return None
    condition = as_expr(value)
    if condition is None or not is_condition(condition) or not is_affine(condition):
        scopes.errors.add(name_errors.bad_assumption(item.condition.span))
        return None
    if any(n in dims for n in symbols(condition)):
        scopes.errors.add(name_errors.bad_assumption(item.condition.span))
        return None
    return condition
