"""The scopes of all modules, from their declarations: constants, functions, dimensions, bounds.

They are complete before the first equation is evaluated, and the same in all rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tempoc.base.limits import LIMITS, Limits
from tempoc.diagnostics.diagnostic import Collector
from tempoc.frontend.calls import externs
from tempoc.frontend.calls.builtin_signatures import SIGNATURES
from tempoc.frontend.declarations.defines import check_extent, parse_define
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import DraftOrigin
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.round import Frame, Language, Round
from tempoc.frontend.environment.scope import (
    DISCARD,
    CastName,
    Foreign,
    Pending,
    Scope,
    TensorName,
    nearest,
)
from tempoc.frontend.errors import domains as domain_errors, names as name_errors
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.casts import cast_names
from tempoc.frontend.syntax.load_modules import LoadedModule, LoadedSources
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Bound, Universe


@dataclass(slots=True, kw_only=True)
class SourceProgram:
    """The main module: its scope, universe and tensors."""

    loaded: LoadedSources
    language: Language
    scope: Scope
    errors: Collector
    universe: Universe = field(default_factory=Universe)
    limits: Limits = LIMITS
    tensors: dict[str, TensorName] = field(default_factory=dict)


@dataclass(slots=True)
class Scopes:
    """Builds the scopes of all modules; constants are evaluated lazily."""

    loaded: LoadedSources
    language: Language
    defines: dict[str, str]
    limits: Limits = LIMITS
    errors: Collector = field(default_factory=Collector)
    modules: dict[str, Scope] = field(default_factory=dict)
    scratch: Round | None = None
    universe: Universe = field(default_factory=Universe)

    def main(self) -> tuple[Scope, dict[str, TensorName]]:
        """The scope of the program itself, and its tensors."""
        outer = builtin_scope()
        if self.loaded.prelude is not None:
            prelude = self.loaded.modules[self.loaded.prelude]
            self._bind_items(prelude, outer)
        for module in self.loaded.modules.values():
            if module.key not in (self.loaded.prelude, self.loaded.main.key):
                scope = self.modules[module.key] = Scope("module", parent=outer)
                self._bind_items(module, scope)
                self._hide(scope, module.source.path)
        scope = Scope("module", parent=outer)
        tensors = self._bind_items(self.loaded.main, scope)
        return scope, tensors

    def _bind_items(self, module: LoadedModule, scope: Scope) -> dict[str, TensorName]:
        tensors: dict[str, TensorName] = {}
        equations: dict[str, list[ast.Equation]] = {}
        for lost in module.tree.lost:
            scope.bind(lost, val.BAD)
        for item in module.tree.items:
            match item:
                case ast.ConstDecl(name=name, value=value):
                    self._const(module, scope, name, value)
                case ast.Def(name=name):
                    self._declare(scope, name, val.Closure(item, scope))
                case ast.DimDecl():
                    self._dim(scope, item)
                case ast.InputDecl(name=name):
                    tensors[name.name] = TensorName(name.name, "input", item)
                    self._declare(scope, name, tensors[name.name])
                case ast.ParamDecl(name=name):
                    tensors[name.name] = TensorName(name.name, "param", item)
                    self._declare(scope, name, tensors[name.name])
                case ast.ExternDecl(name=name):
                    self._extern(scope, name, item)
                case ast.ImportDecl(items=items):
                    self._imports(module, scope, items)
                case ast.Equation(targets=targets):
                    for target in targets:
                        if target.name.name != DISCARD:
                            equations.setdefault(target.name.name, []).append(item)
                case _:
                    pass
        for key, group in equations.items():
            tensor = self._equations(scope, key, group)
            if tensor is not None:
                tensors[key] = tensor
        for key, statements in cast_names(module.tree.items).items():
            if scope.find(key) is None:
                scope.bind(key, CastName(key, statements))
        return tensors

    def _hide(self, scope: Scope, module: str) -> None:
        """Hide tensors and dimensions of an imported file: it exports functions and constants."""
        for name, value in scope.names.items():
            if isinstance(value, (TensorName, CastName, val.Index)):
                scope.names[name] = Foreign(module)

    def _declare(self, scope: Scope, name: ast.Ident, value: object, dim: str = "") -> None:
        if name.name in scope.names:
            place = scope.places.get(name.name)
            self.errors.add(name_errors.declared_twice(name.span, name.name, place, dim))
            return
        scope.bind(name.name, value, name.span)

    def _extern(self, scope: Scope, name: ast.Ident, item: ast.ExternDecl) -> None:
        problems = externs.problems(item)
        for problem in problems:
            self.errors.add(problem)
        self._declare(scope, name, val.BAD if problems else val.PythonFunction(item, scope))

    def _dim(self, scope: Scope, item: ast.DimDecl) -> None:
        self._declare(scope, item.name, val.Index(ix.Sym(item.name.name)))
        known = scope.names.get(item.bound.name)
        if known != val.Index(ix.Sym(item.bound.name)) or item.bound.name == item.name.name:
            dim = item.name.name if isinstance(known, Pending) else ""
            self._declare(scope, item.bound, val.Index(ix.Sym(item.bound.name)), dim)

    def _imports(
        self, module: LoadedModule, scope: Scope, items: tuple[ast.ImportItem, ...]
    ) -> None:
        for item in items:
            key = module.imports.get(item.alias.name)
            if key is not None and key in self.modules:
                package = val.Package(item.alias.name, self.modules[key])
                self._declare(scope, item.alias, package)
            elif key is None:
                self._declare(scope, item.alias, val.BAD)

    def _equations(
        self, scope: Scope, name: str, equations: list[ast.Equation]
    ) -> TensorName | None:
        targets = [t for eq in equations for t in eq.targets if t.name.name == name]
        if name in scope.names:
            place = scope.places.get(name)
            self.errors.add(name_errors.declared_twice(targets[0].name.span, name, place))
            if isinstance(scope.names[name], val.Closure | val.Package):
                scope.names[name] = val.BAD  # who reads it may mean the tensor
            return None
        plain = [t for t in targets if t.entries is None]
        if plain and len(targets) > 1:
            other = targets[0] if plain[0] is not targets[0] else targets[1]
            first, second = sorted((plain[0].name.span, other.name.span), key=lambda s: s.start)
            self.errors.add(domain_errors.plain_twice(second, name, first))
            scope.bind(name, val.BAD, first)
            return None
        distinct = _distinct(equations)
        tensor = TensorName(name, "plain" if plain else "indexed", None, distinct)
        scope.bind(name, tensor, targets[0].name.span)
        return tensor

    # Constants

    def _const(
        self, module: LoadedModule, scope: Scope, name: ast.Ident, e: ast.Expression
    ) -> None:
        main = module.key == self.loaded.main.key
        text = self.defines.get(name.name) if main else None
        self._declare(scope, name, Pending(lambda: self._constant(scope, name, e, text)))

    def _constant(
        self, scope: Scope, name: ast.Ident, e: ast.Expression, text: str | None
    ) -> val.Value:
        """The value of a constant, evaluated once."""
        scope.bind(name.name, Pending(lambda: self._cycle(name, e)))
        value = self.evaluate(scope, e)
        if isinstance(value, val.Index):
            value = val.lift(self.universe.settled(value.expr))
        if not isinstance(value, val.Unknown) and not (_is_constant(value) or val.is_dtype(value)):
            what = val.describe(value)
            self.errors.add(name_errors.const_value(e.span, name.name, what))
            value = val.BAD
        if text is not None and not isinstance(value, val.Unknown):
            try:
                given = parse_define(name.name, text, value, name.span)
                check_extent(self.loaded.main.tree.items, name, text, given)
                value = given
            except Failure as problem:
                self.errors.add(problem.diagnostic)
        scope.bind(name.name, value)
        return value

    def _cycle(self, name: ast.Ident, e: ast.Expression) -> val.Value:
        raise Failure(name_errors.const_cycle(e.span, name.name))

    def know(self, bound: Bound) -> None:
        """Make the value of a bound available to later evaluations."""
        self.universe = replace(self.universe, bounds=(*self.universe.bounds, bound))
        self.scratch = None

    def evaluate(self, scope: Scope, e: ast.Expression) -> val.Value:
        """An expression of declarations, outside of any round."""
        if self.scratch is None:
            self.scratch = Round(
                universe=self.universe,
                space=Space(self.universe, limits=self.limits),
                limits=self.limits,
                table={},
                language=self.language,
                plans={},
                errors=self.errors,
            )
        frame = Frame(scope=scope, path=("const",), prefix="const", origin=DraftOrigin(span=e.span))
        return self.scratch.evaluate(frame, e)


def _distinct(equations: list[ast.Equation]) -> tuple[ast.Equation, ...]:
    """Each equation object once, in order."""
    distinct: list[ast.Equation] = []
    for eq in equations:
        if not any(eq is other for other in distinct):
            distinct.append(eq)
    return tuple(distinct)


def _is_constant(value: val.Value) -> bool:
    if isinstance(value, val.Listing):
        return all(_is_constant(v) for v in value.items)
    return (
        isinstance(value, (val.ConstantNumber, val.ConstantText)) and val.unknown_in(value) is None
    )


def builtin_scope() -> Scope:
    """The names of the language."""
    scope = Scope("builtins")
    packages: dict[str, Scope] = {}
    for name in SIGNATURES:
        package, dot, member = name.rpartition(".")
        if dot and package not in packages:
            packages[package] = Scope("module", parent=scope)
            scope.bind(package, val.Package(package, packages[package]))
        (packages[package] if dot else scope).bind(member, val.Builtin(name))
    return scope


def check_defines(defines: Mapping[str, str], main: ast.Module, errors: Collector) -> None:
    """Report `-D` options that override nothing."""
    dims = [item for item in main.items if isinstance(item, ast.DimDecl)]
    consts = [item.name.name for item in main.items if isinstance(item, ast.ConstDecl)]
    known = [*consts, *(d.bound.name for d in dims if d.default is not None)]
    given = [d.bound.name for d in dims]
    for name in defines:
        if name in known:
            continue
        if name in given:
            errors.add(name_errors.define_run_time(name))
        else:
            errors.add(name_errors.unknown_define(name, nearest(name, iter(known))))
