"""The syntax tree of `.rt`: what the user wrote, nothing resolved yet.

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
make the bracket that follows spatial (`Group`). Two nodes are equal when they mean the same text:
spans do not take part in comparison. Nesting is bounded by `parse.MAX_DEPTH`.
"""

from dataclasses import dataclass, field
from typing import Literal

from tempoc.base.source import Span

DTYPES = ("bool", "i32", "i64", "u32", "bf16", "f16", "f32", "f64", "key")
"""The names of element types."""

BinaryOp = Literal["or", "and", "+", "-", "*", "/", "//", "%", "@", "**"]
CompareOp = Literal["==", "!=", "<", "<=", ">", ">="]
UnaryOp = Literal["-", "not"]

@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Anything with a place in the source."""

    span: Span = field(compare=False, repr=False)

@dataclass(frozen=True, slots=True, kw_only=True)
class Ident(Node):
    """A name where it is introduced, or where only a name may stand."""

    name: str

@dataclass(frozen=True, slots=True, kw_only=True)
class Name(Node):
    """A name used as a value: a tensor, dimension, bound, constant, function or module."""

    name: str

@dataclass(frozen=True, slots=True, kw_only=True)
class Number(Node):
    """`12`, `1.5`, `1e-3`, `inf`: the literal as written."""

    text: str

    @property
    def value(self) -> int | float:
        """Its value: an int for digits alone, else a float."""
        return int(self.text) if self.text.isdigit() else float(self.text)

@dataclass(frozen=True, slots=True, kw_only=True)
class String(Node):
    """`"..."`; `value` has its escapes replaced."""

    value: str

@dataclass(frozen=True, slots=True, kw_only=True)
class Bool(Node):
    """`true` or `false`."""

    value: bool

@dataclass(frozen=True, slots=True, kw_only=True)
class ListExpr(Node):
    """`[a, b, c]`."""

    items: "tuple[Expr, ...]"

@dataclass(frozen=True, slots=True, kw_only=True)
class ListComp(Node):
    """`[element for name in over]`."""

    element: "Expr"
    name: Ident
    over: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class RecordField(Node):
    """`name: value` in a record."""

    name: str
    value: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class RecordExpr(Node):
    """`{w: a, b: c}`; field names are distinct."""

    fields: tuple[RecordField, ...]

@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Node):
    """`(x)` around a bare name: a bracket after it is spatial. It means `x` otherwise."""

    value: Name

@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Node):
    """`-a`, `not a`."""

    op: UnaryOp
    operand: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Node):
    """`a + b` and the like; `and` and `or` too."""

    op: BinaryOp
    left: "Expr"
    right: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class Compare(Node):
    """`a < b` and the like; never chained."""

    op: CompareOp
    left: "Expr"
    right: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class IfExpr(Node):
    """`then if condition else orelse`."""

    condition: "Expr"
    then: "Expr"
    orelse: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class Slice(Node):
    """`lo:hi:step` in a bracket; what is left out is None."""

    lo: "Expr | None" = None
    hi: "Expr | None" = None
    step: "Expr | None" = None

@dataclass(frozen=True, slots=True, kw_only=True)
class DataPoint(Node):
    """`index in lo:hi` in a bracket: one element of the slice, chosen by data."""

    index: "Expr"
    within: Slice

@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Node):
    """One entry of a bracket; `name` is None when it is positional."""

    name: Ident | None = None
    value: "Expr | Slice | DataPoint"

@dataclass(frozen=True, slots=True, kw_only=True)
class Access(Node):
    """`base[entries]`: at least one entry, all positional or all keyword."""

    base: "Expr"
    entries: tuple[Entry, ...]

@dataclass(frozen=True, slots=True, kw_only=True)
class Argument(Node):
    """`name = value` in a call."""

    name: Ident
    value: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Node):
    """`function(args, name = value)`; positional arguments come first, names are distinct."""

    function: "Expr"
    args: "tuple[Expr, ...]" = ()
    kwargs: tuple[Argument, ...] = ()

@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Node):
    """`base.name`: a record's field or a module's member."""

    base: "Expr"
    name: str
    name_span: Span = field(compare=False, repr=False)

@dataclass(frozen=True, slots=True, kw_only=True)
class Transpose(Node):
    """`base.T`."""

    base: "Expr"

@dataclass(frozen=True, slots=True, kw_only=True)
class AsType(Node):
    """`value as type`: a shape assertion, which may bind extents to new names."""

    value: "Expr"
    type: "TypeExpr"


Expr = (
    Name | Number | String | Bool | ListExpr | ListComp | RecordExpr | Group | Unary | Binary
    | Compare | IfExpr | Access | Call | Field | Transpose | AsType
)  # fmt: skip

@dataclass(frozen=True, slots=True, kw_only=True)
class TensorType(Node):
    """`f32` (no extents) or `f32[D, t+1]`; `dtype` is one of `DTYPES`."""

    dtype: str
    extents: tuple[Expr, ...] = ()

@dataclass(frozen=True, slots=True, kw_only=True)
class TypeField(Node):
    """`name: type` in a record type or in the signature of an extern."""

    name: str
    type: "TypeExpr"

@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType(Node):
    """`{w: f32[D, D], b: f32[D]}`; field names are distinct."""

    fields: tuple[TypeField, ...]


TypeExpr = TensorType | RecordType

@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Node):
    """`name`, `name[entries]`, either with `: type`. `entries` is None without a bracket.

    Entries hold expressions only, no slices and no data points.
    """

    name: Ident
    entries: tuple[Entry, ...] | None = None
    type: TypeExpr | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Equation(Node):
    """`targets = values when guard`.

    One value for one target, one call for several targets, or as many values as targets; the
    parser refuses other counts, except that one value of any form may serve several targets.
    """

    targets: tuple[Target, ...]
    values: tuple[Expr, ...]
    guard: Expr | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class For(Node):
    """`for name in over { body }`, unrolled at compile time; only inside a def."""

    name: Ident
    over: Expr
    body: "tuple[Equation | For, ...]"

@dataclass(frozen=True, slots=True, kw_only=True)
class Return(Node):
    """`return a, b`: the last statement of a def's body."""

    values: tuple[Expr, ...]


Statement = Equation | For | Return

@dataclass(frozen=True, slots=True, kw_only=True)
class DefParam(Node):
    """`x`, `lr = 1e-3`, `dim i`."""

    name: Ident
    is_dim: bool = False
    default: Expr | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Def(Node):
    """`def name(params) = expr` or `def name(params) { body }`.

    The body ends with its only `Return`; the first form (`inline`) is a body of just that.
    """

    name: Ident
    params: tuple[DefParam, ...]
    doc: str | None = None
    body: tuple[Statement, ...]
    inline: bool = False

@dataclass(frozen=True, slots=True, kw_only=True)
class Dim(Node):
    """`dim name < bound = default until stop`."""

    name: Ident
    bound: Ident
    default: Expr | None = None
    until: Ident | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Const(Node):
    """`const name = value`."""

    name: Ident
    value: Expr

@dataclass(frozen=True, slots=True, kw_only=True)
class Assume(Node):
    """`assume condition`."""

    condition: Expr

@dataclass(frozen=True, slots=True, kw_only=True)
class ImportItem(Node):
    """`nn`, `nn as n` (a standard module) or `"file.rt" as name`; `alias` is always set."""

    module: str | None = None
    path: str | None = None
    alias: Ident

@dataclass(frozen=True, slots=True, kw_only=True)
class Import(Node):
    """`import nn, optim`."""

    items: tuple[ImportItem, ...]

@dataclass(frozen=True, slots=True, kw_only=True)
class Input(Node):
    """`input name[dims]: type`."""

    name: Ident
    dims: tuple[Ident, ...] = ()
    type: TypeExpr

@dataclass(frozen=True, slots=True, kw_only=True)
class Param(Node):
    """`param name[dims]: type from "template" = default`; a type or a default is there."""

    name: Ident
    dims: tuple[Ident, ...] = ()
    type: TypeExpr | None = None
    template: String | None = None
    default: Expr | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Extern(Node):
    """`extern kind name(args) -> (results) from "module:function" over dim`."""

    kind: Literal["jax", "host"]
    name: Ident
    args: tuple[TypeField, ...]
    results: tuple[TypeField, ...]
    path: String
    over: Ident | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class OutputItem(Node):
    """`value as alias`; the value is a name with brackets and fields after it."""

    value: Expr
    alias: Ident | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Output(Node):
    """`output a, net[I-1] as policy`."""

    items: tuple[OutputItem, ...]

@dataclass(frozen=True, slots=True, kw_only=True)
class Save(Node):
    """`save value to "file-{i}.safetensors" when guard`."""

    value: Expr
    path: String
    guard: Expr | None = None

@dataclass(frozen=True, slots=True, kw_only=True)
class Print(Node):
    """`print value when guard`."""

    value: Expr
    guard: Expr | None = None

Item = (
    Dim | Const | Assume | Import | Input | Param | Extern | Output | Save | Print | Def | Equation
)

@dataclass(frozen=True, slots=True, kw_only=True)
class Module(Node):
    """A whole file, items in source order; `lost`: names whose statements were refused."""

    doc: str | None = None
    items: tuple[Item, ...]
    lost: tuple[str, ...] = ()
