"""Parameters and signatures of `def`s: arguments are bound, and checked against declared types.

A name in a signature that nothing else has, such as `n` in `a: f32[n, 4]`, is bound to the extent
of the first argument that has it alone as an extent; the other types, and the body, use its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tempoc.diagnostics.diagnostic import Diagnostic
from tempoc.diagnostics.source import Span
from tempoc.frontend.calls.nested_dimensions import Nest, nested
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor
from tempoc.frontend.environment.lower_bounds import DEFERRED, doubt_of, is_open
from tempoc.frontend.environment.round import Arguments, Frame, Round, call_sites
from tempoc.frontend.environment.scope import TensorName
from tempoc.frontend.errors import signatures as errors, types as type_errors
from tempoc.frontend.expressions import annotations as annotate
from tempoc.frontend.expressions.apply_operator import type_of
from tempoc.frontend.expressions.arithmetic import as_expr
from tempoc.frontend.expressions.bind_arguments import bind
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.parse import children
from tempoc.ops.definition.shapes import type_text
from tempoc.symbolic import expr as ix


@dataclass(slots=True)
class Signature:
    """The signature of a `def` at one call; `frame` is that of its body.

    `extents` has the names that the signature binds, with the parameter that binds each; `open` are
    those for which only numbers were given, which have no extents.
    """

    round: Round
    frame: Frame
    definition: ast.Def
    places: dict[str, Span] = field(default_factory=dict)
    extents: dict[str, str] = field(default_factory=dict)
    open: dict[str, bool] = field(default_factory=dict)

    def bind(self, arguments: Arguments, span: Span) -> list[Nest]:
        """Bind and check the parameters; those of nested dimensions are left to be rewritten.

        Raises `Failure` or `StillUnknown`.
        """
        nests: list[Nest] = []
        name, params = self.definition.name.name, self.definition.params
        written = [p.name.name + ("" if p.default is None else "=") for p in params]
        shown = text(self.definition)
        bound = bind(name, written, arguments, span, shown, self.round.universe)
        for p in params:
            key = p.name.name
            if bound.has(key):
                value, self.places[key] = bound[key], bound.places.get(key, span)
            else:
                assert p.default is not None
                value, self.places[key] = self.round.evaluate(self.frame, p.default), p.default.span
            if p.is_dim:
                nests += self._bind_dimension(key, value, span)
            self.frame.scope.bind(key, value)
            if p.type is not None:
                self._bind_extents(key, value, p.type)
        for p, type in sorted(_typed(params), key=lambda typed: _has_extents(typed[1])):
            self.frame.scope.bind(p.name.name, self._checked(p, type))
        return nests

    def _bind_dimension(self, key: str, value: val.Value, span: Span) -> list[Nest]:
        """Add the dimensions of a `dim` parameter to the body; the nest, if there are several."""
        universe, scope = self.round.universe, self.frame.scope
        name = self.definition.name.name
        dims = _dimensions(self.round, name, key, value, self.places[key])
        scope.dims = (*scope.dims, *dims)
        if len(dims) == 1:
            return []
        order = tuple(dims.index(d) for d in universe.sorted(dims))
        nest = Nest(name, key, dims, order, span)
        nest.bind(scope, universe)
        return [nest]

    # Extents

    def _bind_extents(self, key: str, value: val.Value, e: ast.TypeExpr) -> None:
        """Bind the new names among the extents of a parameter's type."""
        for path, leaf, tensor in _leaf_types(value, e):
            shape = leaf.type.shape if isinstance(leaf, val.Ref) else ()
            fits = isinstance(leaf, val.Ref) and len(shape) == len(tensor.extents)
            for k, extent in enumerate(tensor.extents):
                if not (isinstance(extent, ast.Name) and self._is_new(extent.name)):
                    continue
                name = extent.name
                if fits or name not in self.extents or name in self.open:
                    known = leaf if isinstance(leaf, val.Unknown) else val.BAD
                    value = val.lift(shape[k]) if fits else known
                    self.frame.scope.bind(name, value, extent.span)
                    self.extents[name] = ".".join((key, *path))
                    self.open.pop(name, None)
                    if isinstance(leaf, val.ConstantNumber | val.Index):
                        self.open[name] = True

    def _is_new(self, name: str) -> bool:
        """Whether a name is bound by the signature, and unknown so far."""
        if name in self.extents:
            return isinstance(self.frame.scope.names[name], val.Unknown)
        if any(p.name.name == name for p in self.definition.params):
            return False
        return self.frame.scope.find(name) is None

    def _notes(self, e: ast.TypeExpr) -> tuple[str, ...]:
        """What the names in a type stand for."""
        names = dict.fromkeys(n.name for n in _names(e) if n.name in self.extents)
        scope = self.frame.scope.names
        known = {n: as_expr(scope[n]) for n in names}  # type: ignore[arg-type]
        return tuple(errors.extent_of(n, x, self.extents[n]) for n, x in known.items() if x)

    def _dimension_in(self, e: ast.TypeExpr) -> str | None:
        """A dimension of the program that a type has for an extent, perhaps by mistake."""
        for name in _names(e):
            value = self.frame.scope.find(name.name)
            if value == val.Index(ix.Sym(name.name)) and self.round.universe.is_dim(name.name):
                return name.name
        return None

    def _refuse_tensors(self, e: ast.TypeExpr) -> None:
        """Raises `Failure` if a type has a tensor of the program for an extent, perhaps by mistake.

        One with a plain equation may be an index expression, unless that calls this function.
        """
        for name in _names(e):
            tensor = self.frame.scope.find(name.name)
            is_plain = isinstance(tensor, TensorName) and tensor.kind == "plain"
            is_tensor = isinstance(tensor, TensorName | IndexedTensor)
            if is_tensor and (not is_plain or tensor in self.round.active):
                raise Failure(errors.tensor_as_extent(name.span, name.name))

    def _named(self, problem: Diagnostic) -> Diagnostic:
        """What is wrong with a type; if that is a tensor of the program, with its name."""
        span = problem.primary.span if problem.primary else None
        if span and isinstance(self.frame.scope.find(span.text), TensorName):
            return errors.tensor_as_extent(span, span.text)
        return problem

    # Checks

    def _checked(self, p: ast.DefParam, e: ast.TypeExpr) -> val.Value:
        """The value of a parameter, converted to its type. Raises `Failure`, `StillUnknown`."""
        key = p.name.name
        value: val.Value = self.frame.scope.names[key]  # type: ignore[assignment]
        span = self.places[key]
        try:
            return self._check(value, e, span)
        except _TypeMismatch as wrong:
            name = ".".join((key, *wrong.path))
            function = self.definition.name.name
            if wrong.unbound is not None:
                raise Failure(
                    errors.unbound_extent(span, function, name, wrong.unbound, p.span)
                ) from None
            problem = errors.argument(
                span, function, name, wrong.declared, wrong.value, self._notes(e), p.span
            )
            raise Failure(errors.with_dimension(problem, self._dimension_in(e))) from None

    def result(self, value: val.Value) -> val.Value:
        """The result of the body, converted to the declared types; unknown after an error."""
        types = self.definition.results
        if not types or not self.definition.body:
            return value
        returned = self.definition.body[-1]
        spans = [v.span for v in returned.values] if isinstance(returned, ast.Return) else []
        if isinstance(value, val.Unknown):
            parts: tuple[val.Value, ...] = (value,) * len(types)
        else:
            parts = value.items if isinstance(value, val.Several) else (value,)
        shared = len(spans) != len(parts)
        if len(parts) != len(types):
            name = self.definition.name.name
            span = (spans or [self.definition.name.span])[0]
            wrong = errors.result_count(span, name, len(types), len(parts), types[0].span)
            self.round.report(wrong, self.frame.origin.calls)
            return val.BAD
        checked = [
            self._checked_result(part, e, spans[0 if shared else k])
            for k, (part, e) in enumerate(zip(parts, types, strict=True))
        ]
        if isinstance(value, val.Unknown) and all(c is value for c in checked):
            return value
        return checked[0] if len(checked) == 1 else val.Several(tuple(checked))

    def _checked_result(self, value: val.Value, e: ast.TypeExpr, span: Span) -> val.Value:
        def check() -> val.Value:
            try:
                return self._check(value, e, span)
            except _TypeMismatch as wrong:
                name = self.definition.name.name
                problem = errors.result(
                    span, name, wrong.declared, wrong.value, self._notes(e), e.span
                )
                raise Failure(errors.with_dimension(problem, self._dimension_in(e))) from None

        return self.round.attempt(self.frame, check, doubted=bool(doubt_of(value)))

    def _check(self, value: val.Value, e: ast.TypeExpr, span: Span) -> val.Value:
        """A tree with its declared types. Raises `_TypeMismatch`, `Failure` or `StillUnknown`."""
        if isinstance(value, val.Unknown):
            return self._declared(value, e, span)
        if isinstance(e, ast.RecordType):
            return self._check_record(value, e, span)
        if not isinstance(value, val.Ref | val.ConstantNumber | val.Index):
            raise _TypeMismatch((), e.span.text, val.describe(value))
        unbound = next((n.name for n in _names(e) if n.name in self.open), None)
        rank_fits = isinstance(value, val.ConstantNumber) or (
            type_of(value, span).ndim == len(e.extents) + (e.dtype == "key")
        )
        if unbound is not None and rank_fits:
            raise _TypeMismatch((), e.span.text, val.describe(value), unbound)
        try:
            if not rank_fits:
                raise Failure(type_errors.annotation(span, type_of(value, span), e.span.text))
            self._refuse_tensors(e)
            declared = annotate.type_tree(self.round, self.frame, e)
            checked = annotate.check(self.round, self.frame, value, declared, span)
        except Failure as problem:
            if problem.diagnostic.code != type_errors.ANNOTATION:
                here = call_sites(self.frame.origin.calls[-1:])
                known = self._named(problem.diagnostic)
                raise Failure(replace(known, secondary=(*known.secondary, *here))) from None
            if doubt_of(value) and not self.round.final:
                return self._declared(DEFERRED, e, span)
            actual = type_text(type_of(value, span))
            raise _TypeMismatch((), e.span.text, actual) from None
        # A number stays known while the program is compiled.
        number = isinstance(value, val.ConstantNumber) and isinstance(checked, val.Ref)
        return replace(checked, static=value) if number and not e.extents else checked  # type: ignore

    def _check_record(self, value: val.Value, e: ast.RecordType, span: Span) -> val.Value:
        if not isinstance(value, val.RecordValue):
            what = val.describe(value)
            if isinstance(value, val.Ref):
                what = type_text(value.type)
            raise _TypeMismatch((), e.span.text, what)
        types = {f.name: f.type for f in e.fields}
        if sorted(value.names) != sorted(types):
            has = f"a record of {', '.join(f'`{n}`' for n in value.names)}"
            raise _TypeMismatch((), e.span.text, has)
        fields = []
        for name, part in value.fields:
            try:
                fields.append((name, self._check(part, types[name], span)))
            except _TypeMismatch as wrong:
                raise wrong.inside(name) from None
        return val.RecordValue(tuple(fields))

    def _declared(self, value: val.Unknown, e: ast.TypeExpr, span: Span) -> val.Value:
        """A stand-in of the declared type for a value that is not known yet, if there can be."""
        if not (self.round.partial and is_open(value)):
            return value
        try:
            return annotate.declared_only(self.round, self.frame, e, span)
        except StillUnknown:
            return value


@dataclass
class _TypeMismatch(Exception):
    """A value, or a leaf of it, has not its declared type, of which a name may be `unbound`."""

    path: tuple[str, ...]
    declared: str
    value: str
    unbound: str | None = None

    def inside(self, name: str) -> _TypeMismatch:
        """The same, of a field."""
        return _TypeMismatch((name, *self.path), self.declared, self.value, self.unbound)


def text(definition: ast.Def) -> str:
    """The head of a `def` on one line, for messages."""
    parts = []
    for p in definition.params:
        default = "" if p.default is None else f" = {p.default.span.text}"
        type = "" if p.type is None else f": {p.type.span.text}"
        parts.append(("dim " if p.is_dim else "") + p.name.name + type + default)
    results = ", ".join(e.span.text for e in definition.results)
    results = f"({results})" if len(definition.results) > 1 else results
    return f"{definition.name.name}({', '.join(parts)})" + (f" -> {results}" if results else "")


def _names(e: ast.TypeExpr) -> Iterator[ast.Name]:
    """The names in the extents of a type, in source order."""
    stack: list[ast.SyntaxNode] = [e]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            yield node
        stack += reversed(children(node))


def _typed(params: tuple[ast.DefParam, ...]) -> list[tuple[ast.DefParam, ast.TypeExpr]]:
    """The parameters that have types, with these."""
    return [(p, p.type) for p in params if p.type is not None]


def _has_extents(e: ast.TypeExpr) -> bool:
    """Whether a type names extents, which may be parameters of scalar type."""
    return isinstance(e, ast.RecordType) or bool(e.extents)


def _leaf_types(
    value: val.Value, e: ast.TypeExpr, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], val.Value, ast.TensorTypeExpr]]:
    """The leaves of a value with their declared types, as far as the structures agree."""
    if isinstance(e, ast.TensorTypeExpr):
        yield path, value, e
        return
    for f in e.fields:
        part = value.get(f.name) if isinstance(value, val.RecordValue) else None
        if isinstance(value, val.Unknown):
            part = value
        if part is not None:
            yield from _leaf_types(part, f.type, (*path, f.name))


def _dimensions(
    round: Round, name: str, parameter: str, value: val.Value, span: Span
) -> tuple[str, ...]:
    """The dimensions passed for a `dim` parameter: one, or a nest. Raises `Failure`."""
    if isinstance(value, val.Unknown):
        raise StillUnknown(value)
    number = as_expr(value)
    if (
        isinstance(value, val.Index)
        and isinstance(number, ix.Sym)
        and round.universe.is_dim(number.name)
    ):
        return (number.name,)
    dims = () if number is None else nested(round.universe, number)
    if dims:
        return dims
    raise Failure(type_errors.needs_dimension(span, name, parameter, value))
