"""The abstract syntax tree of `.rt`; names are not resolved.

    module    = doc? item*
    item      = dim | const | assume | import | input | param | extern | output | save | print
              | def | equation
    statement = equation | for | return                     (in the braces of a def or for)
    equation  = target, ...  =  expr, ...  [when expr]
    target    = name [entries] [: type]
    entries   = [ [name =] (expr | slice | data point), ... ]
    expr      = name | number | string | bool | list | comprehension | record | group | unary
              | binary | compare | if | access | call | field | transpose | as
    type      = dtype [extents] | record type

Index expressions and tensor expressions are one family: they look alike, and only scope tells
them apart. So is every bracket: `x[t][0]` is an `Access` of an `Access`, and whether a bracket is
temporal or spatial is decided later. Parentheses vanish, except around a bare name, where they
make the bracket that follows spatial (`GroupExpr`). Two nodes are equal when they mean the same
text: spans do not take part in comparison. Nesting is bounded by `parse.MAX_DEPTH`.
"""

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Literal

from tempoc.diagnostics.source import Span
from tempoc.ops.definition.types import DType

DTYPES = tuple(dtype.value for dtype in DType)
"""The names of element types."""

BinaryOp = Literal["or", "and", "+", "-", "*", "/", "//", "%", "@", "**"]
ComparisonSign = Literal["==", "!=", "<", "<=", ">", ">="]
UnaryOp = Literal["-", "not"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SyntaxNode:
    """Anything with a place in the source.

    All classes share these methods: writing them for each one took 6 ms of every check.
    """

    span: Span = field(compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        """Whether two nodes mean the same text."""
        return (
            isinstance(other, SyntaxNode)
            and type(self) is type(other)
            and self._meaning() == other._meaning()
        )

    def __hash__(self) -> int:
        """By what is compared."""
        return hash(self._meaning())

    def __repr__(self) -> str:
        """As dataclasses write it, without spans."""
        cls: Any = type(self)
        shown = zip(_compared(cls), self._meaning(), strict=True)
        return f"{cls.__name__}({', '.join(f'{name}={value!r}' for name, value in shown)})"

    def _meaning(self) -> tuple[object, ...]:
        cls: Any = type(self)
        return tuple(getattr(self, name) for name in _compared(cls))


@cache
def _compared(cls: Any) -> tuple[str, ...]:
    """The fields of a class of nodes that are compared."""
    return tuple(one.name for one in fields(cls) if one.compare)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Ident(SyntaxNode):
    """A name where it is introduced, or where only a name may stand."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Name(SyntaxNode):
    """A name used as a value: a tensor, dimension, bound, constant, function or module."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NumberExpr(SyntaxNode):
    """`12`, `1.5`, `1e-3`, `inf`: the literal as written."""

    text: str

    @property
    def value(self) -> int | float:
        """Its value: an int for digits alone, else a float."""
        return int(self.text) if self.text.isdigit() else float(self.text)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class String(SyntaxNode):
    """`"..."`; `value` has its escapes replaced."""

    value: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Bool(SyntaxNode):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ListExpr(SyntaxNode):
    """`[a, b, c]`."""

    items: "tuple[Expression, ...]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ListComp(SyntaxNode):
    """`[element for name in over]`."""

    element: "Expression"
    name: Ident
    over: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecordField(SyntaxNode):
    """`name: value` in a record."""

    name: str
    value: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecordExpr(SyntaxNode):
    """`{w: a, b: c}`; field names are distinct."""

    fields: tuple[RecordField, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupExpr(SyntaxNode):
    """`(x)` around a bare name: a bracket after it is spatial. It means `x` otherwise."""

    value: Name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class UnaryExpr(SyntaxNode):
    """`-a`, `not a`."""

    op: UnaryOp
    operand: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Binary(SyntaxNode):
    """`a + b` and the like; `and` and `or` too."""

    op: BinaryOp
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ComparisonExpr(SyntaxNode):
    """`a < b` and the like; never chained."""

    op: ComparisonSign
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IfExpr(SyntaxNode):
    """`then if condition else orelse`."""

    condition: "Expression"
    then: "Expression"
    orelse: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SliceExpr(SyntaxNode):
    """`lo:hi:step` in a bracket; what is left out is None."""

    lo: "Expression | None" = None
    hi: "Expression | None" = None
    step: "Expression | None" = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DataPoint(SyntaxNode):
    """`index in lo:hi` in a bracket: one element of the slice, chosen by data."""

    index: "Expression"
    within: SliceExpr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BracketEntry(SyntaxNode):
    """One entry of a bracket; `name` is None when it is positional."""

    name: Ident | None = None
    value: "Expression | SliceExpr | DataPoint"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Access(SyntaxNode):
    """`base[entries]`: at least one entry, all positional or all keyword."""

    base: "Expression"
    entries: tuple[BracketEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CallArgument(SyntaxNode):
    """`name = value` in a call."""

    name: Ident
    value: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CallExpr(SyntaxNode):
    """`function(args, name = value)`; positional arguments come first, names are distinct."""

    function: "Expression"
    args: "tuple[Expression, ...]" = ()
    kwargs: tuple[CallArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Field(SyntaxNode):
    """`base.name`: a record's field or a module's member."""

    base: "Expression"
    name: str
    name_span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TransposeExpr(SyntaxNode):
    """`base.T`."""

    base: "Expression"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AsType(SyntaxNode):
    """`value as type`: a shape assertion, which may bind extents to new names."""

    value: "Expression"
    type: "TypeExpr"


Expression = (
    Name | NumberExpr | String | Bool | ListExpr | ListComp | RecordExpr | GroupExpr | UnaryExpr |
    Binary | ComparisonExpr | IfExpr | Access | CallExpr | Field | TransposeExpr | AsType
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TensorTypeExpr(SyntaxNode):
    """`f32` (no extents) or `f32[D, t+1]`; `dtype` is one of `DTYPES`, or a constant that is."""

    dtype: str
    extents: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TypeField(SyntaxNode):
    """`name: type` in a record type or in the signature of an extern."""

    name: str
    type: "TypeExpr"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecordType(SyntaxNode):
    """`{w: f32[D, D], b: f32[D]}`; field names are distinct."""

    fields: tuple[TypeField, ...]


TypeExpr = TensorTypeExpr | RecordType


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EquationTarget(SyntaxNode):
    """`name`, `name[entries]`, either with `: type`. `entries` is None without a bracket.

    Entries hold expressions only, no slices and no data points.
    """

    name: Ident
    entries: tuple[BracketEntry, ...] | None = None
    type: TypeExpr | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Equation(SyntaxNode):
    """`targets = values when guard`.

    One value for one target, one call for several targets, or as many values as targets; the
    parser refuses other counts, except that one value of any form may serve several targets.
    """

    targets: tuple[EquationTarget, ...]
    values: tuple[Expression, ...]
    guard: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ForLoop(SyntaxNode):
    """`for name in over { body }`, unrolled at compile time; only inside a def."""

    name: Ident
    over: Expression
    body: "tuple[Equation | ForLoop, ...]"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Return(SyntaxNode):
    """`return a, b`: the last statement of a def's body."""

    values: tuple[Expression, ...]


BodyStatement = Equation | ForLoop | Return


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DefParam(SyntaxNode):
    """`x`, `x: f32[n]`, `lr = 1e-3`, `dim i`; names in `type` may be bound by the argument."""

    name: Ident
    is_dim: bool = False
    type: TypeExpr | None = None
    default: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Def(SyntaxNode):
    """`def name(params) -> results = expr` or `def name(params) -> results { body }`.

    The body ends with its only `Return`; the first form (`inline`) is a body of just that. Without
    `results` nothing is said about their types.
    """

    name: Ident
    params: tuple[DefParam, ...]
    results: tuple[TypeExpr, ...] = ()
    doc: str | None = None
    body: tuple[BodyStatement, ...]
    inline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DimDecl(SyntaxNode):
    """`dim name < bound = default from "entry" until stop`; see `ConstDecl` for the entry."""

    name: Ident
    bound: Ident
    default: Expression | None = None
    entry: String | None = None
    until: Ident | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ConstDecl(SyntaxNode):
    """`const name = value from "entry"`: the entry of a configuration that replaces the value."""

    name: Ident
    value: Expression
    entry: String | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Assume(SyntaxNode):
    """`assume condition`."""

    condition: Expression


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ImportItem(SyntaxNode):
    """`nn`, `nn as n` (a standard module) or `"file.rt" as name`; `alias` is always set."""

    module: str | None = None
    path: str | None = None
    alias: Ident


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ImportDecl(SyntaxNode):
    """`import nn, optim`."""

    items: tuple[ImportItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class InputDecl(SyntaxNode):
    """`input name[dims]: type`."""

    name: Ident
    dims: tuple[Ident, ...] = ()
    type: TypeExpr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ParamDecl(SyntaxNode):
    """`param name[dims]: type from "template" = default`; a type or a default is there."""

    name: Ident
    dims: tuple[Ident, ...] = ()
    type: TypeExpr | None = None
    template: String | None = None
    default: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ExternDecl(SyntaxNode):
    """`extern kind name(args) -> (results) from "module:function" over dim`."""

    kind: Literal["jax", "host"]
    name: Ident
    args: tuple[TypeField, ...]
    results: tuple[TypeField, ...]
    path: String
    over: Ident | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OutputItem(SyntaxNode):
    """`value as alias`; the value is a name with brackets and fields after it."""

    value: Expression
    alias: Ident | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class OutputDecl(SyntaxNode):
    """`output a, net[I-1] as policy`."""

    items: tuple[OutputItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SaveDecl(SyntaxNode):
    """`save value to "file-{i}.safetensors" when guard`."""

    value: Expression
    path: String
    guard: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PrintDecl(SyntaxNode):
    """`print item, item when guard`."""

    items: tuple[Expression, ...]
    guard: Expression | None = None


Item = (
    DimDecl
    | ConstDecl
    | Assume
    | ImportDecl
    | InputDecl
    | ParamDecl
    | ExternDecl
    | OutputDecl
    | SaveDecl
    | PrintDecl
    | Def
    | Equation
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Module(SyntaxNode):
    """A file, items in source order; `lost` are names of statements dropped by error recovery."""

    doc: str | None = None
    items: tuple[Item, ...]
    lost: tuple[str, ...] = ()
