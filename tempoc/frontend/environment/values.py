"""The values of expressions during elaboration.

    value  = ConstantNumber | ConstantText | Index | Ref | Listing | RecordValue | Several
           | Closure | Builtin | PythonFunction | Package | Unknown
    tree   = leaf | Listing(tree...) | RecordValue(name: tree...)
    leaf   = ConstantNumber | Index | Ref | Typed

A `Ref` is a symbolic read: a node's output with one entry for each dimension of the node. Reading
it at another point substitutes in the entries, so a chain of accesses becomes one edge. `Unknown`
is the value of an expression that is unknown in this round, or in error; every operation on it is
`Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.draft_node import CallSite, Doubt, Draft
from tempoc.frontend.environment.scope import Scope
from tempoc.frontend.syntax import ast
from tempoc.ops.definition.types import TensorType
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Universe
from tempoc.symbolic.walk import symbols

ERROR = "!"
"""The cause of an `Unknown` that is a reported error."""

LATER = "?"
"""The cause of an `Unknown` that was deferred, because of types that are only lower bounds."""


@dataclass(frozen=True, slots=True)
class ConstantNumber:
    """A number or bool known at compile time; weakly typed when it becomes a tensor."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class ConstantText:
    """A string."""

    value: str


@dataclass(frozen=True, slots=True)
class Index:
    """An index expression or an index condition that is not a constant."""

    expr: ix.Expr


@dataclass(frozen=True, slots=True)
class Ref:
    """Output `out` of a node, read at `entries`; `type` is the type after the read.

    `static` is the index expression or number that the tensor is known to hold; `calls` are those
    in which the read is written.
    """

    draft: Draft
    out: int
    entries: tuple[ix.Entry, ...]
    type: TensorType
    span: Span = field(compare=False)
    static: ConstantNumber | Index | None = None
    calls: tuple[CallSite, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Typed:
    """A leaf with only a type, and the doubt of the type."""

    type: TensorType
    doubt: Doubt = Doubt.NONE


@dataclass(frozen=True, slots=True)
class Listing:
    """A list value."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A record value; the fields in the order in which they were written."""

    fields: tuple[tuple[str, Value], ...]

    def get(self, name: str) -> Value | None:
        """The value of a field, if there is one of that name."""
        return next((v for n, v in self.fields if n == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(n for n, _ in self.fields)


@dataclass(frozen=True, slots=True)
class Several:
    """The results of a function that does not return exactly one; ``dims`` are the dimensions of a
    call without results.
    """

    items: tuple[Value, ...]
    dims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """A `def` with the scope that it was written in."""

    definition: ast.Def
    scope: Scope


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of the language, by name; a dtype's name is one too."""

    name: str


def is_dtype(value: Value) -> bool:
    """Whether a value is the function that casts to a dtype, which stands for the dtype too."""
    return isinstance(value, Builtin) and value.name in ast.DTYPES


@dataclass(frozen=True, slots=True, eq=False)
class PythonFunction:
    """An `extern`: a Python function, with the scope that it was declared in."""

    definition: ast.ExternDecl
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Package:
    """An imported file."""

    name: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of unknown type; `causes` are the tensors of unknown type, `ERROR` or `LATER`.

    It varies at least with `dims`.
    """

    causes: frozenset[str]
    dims: frozenset[str] = frozenset()


Value = (
    ConstantNumber
    | ConstantText
    | Index
    | Ref
    | Typed
    | Listing
    | RecordValue
    | Several
    | Closure
    | Builtin
    | PythonFunction
    | Package
    | Unknown
)

BAD = Unknown(frozenset((ERROR,)))


def leaves(value: Value, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Value]]:
    """The leaves of a tree with their paths: `("0", "w")`."""
    match value:
        case Listing(items=items):
            for k, item in enumerate(items):
                yield from leaves(item, (*path, str(k)))
        case RecordValue(fields=fields):
            for name, item in fields:
                yield from leaves(item, (*path, name))
        case _:
            yield path, value


def leaf_at(value: Value, path: tuple[str, ...]) -> Value:
    """The leaf at a path, `BAD` where there is none.

    A number or an unknown value is its own leaf at every path.
    """
    for step in path:
        if isinstance(value, RecordValue):
            value = value.get(step) or BAD
        elif isinstance(value, Listing):
            items = {str(k): item for k, item in enumerate(value.items)}
            value = items.get(step, BAD)
    return value


def map_leaves(
    f: Callable[[tuple[str, ...], Value], Value], value: Value, path: tuple[str, ...] = ()
) -> Value:
    """The tree with each leaf replaced by `f(path, leaf)`."""
    match value:
        case Listing(items=items):
            return Listing(tuple(map_leaves(f, v, (*path, str(k))) for k, v in enumerate(items)))
        case RecordValue(fields=fields):
            return RecordValue(tuple((n, map_leaves(f, v, (*path, n))) for n, v in fields))
        case _:
            return f(path, value)


def without_doubt(value: Value) -> Value:
    """The types of a tree, taken for certain."""
    return map_leaves(lambda _, v: Typed(v.type) if isinstance(v, Typed) else v, value)


def unknown_in(*values: Value) -> Unknown | None:
    """The join of all unknown leaves of these values; `None` if there is none."""
    causes: frozenset[str] | None = None
    for value in values:
        if isinstance(value, (Listing, RecordValue, Several)):
            items = (
                tuple(v for _, v in value.fields) if isinstance(value, RecordValue) else value.items
            )
            inner = unknown_in(*items)
            value = value if inner is None else inner
        if isinstance(value, Unknown):
            causes = value.causes if causes is None else causes | value.causes
    return None if causes is None else Unknown(causes)


def dims_of(value: Value, universe: Universe) -> tuple[str, ...]:
    """The dimensions with which a value varies, in declaration order."""
    names: dict[str, None] = {}
    for _, leaf in leaves(value):
        if isinstance(leaf, Ref):
            for entry in leaf.entries:
                names.update(dict.fromkeys(symbols(entry)))
        elif isinstance(leaf, Index):
            names.update(dict.fromkeys(symbols(leaf.expr)))
        elif isinstance(leaf, Unknown):
            names.update(dict.fromkeys(sorted(leaf.dims)))
    return universe.ordered(tuple(names))


def lift(expr: ix.Expr) -> ConstantNumber | Index:
    """An index expression as a value; a constant becomes a number."""
    from_constant = constant(expr)
    return Index(expr) if from_constant is None else ConstantNumber(from_constant)


def constant(expr: ix.Expr) -> int | bool | None:
    """The value of a constant index expression or condition."""
    value = getattr(expr, "value", None)
    return value if isinstance(value, int) else None


def describe(value: Value) -> str:
    """The kind of a value, for messages: "a record", "the function `f`"."""
    match value:
        case ConstantNumber(value=bool()):
            return "a bool"
        case ConstantNumber():
            return "a number"
        case ConstantText():
            return "a string"
        case Index():
            return "an index expression"
        case Ref() | Typed():
            return "a tensor"
        case Listing():
            return "a list"
        case RecordValue():
            return "a record"
        case Several(items=items):
            return f"{len(items)} results"
        case Closure(definition=d):
            return f"the function `{d.name.name}`"
        case Builtin(name=name):
            return f"the function `{name}`"
        case PythonFunction(definition=e):
            return f"the function `{e.name.name}`"
        case Package(name=name):
            return f"the module `{name}`"
        case _:
            return "unknown"
