"""The printer of graphs, one item a line, in columns; ``parse.py`` parses the text.

::

    sdg rnn
    bound T
    dim t < T

    %x   = input                                          : [t] f32[8]            # rnn.rt:3
    %h.0 = zeros                                          : []  f32[8]            # rnn.rt:5
    %h.1 = add %h, %x                                     : [t] f32[8]            # rnn.rt:6
    %h   = merge{targets=((0,), (t+1,))} %h.0 when t == 0, %h.1[t-1] when t >= 1 : [t] f32[8]

    output h = %h[0:T]

An operand without brackets is read at the reader's own point. ``%top@1`` is the second output of a
node. A domain is its dimensions (with a star where all points are computed at once) and, after
``|``, the condition; ``~`` marks a weak type.
Attributes at their defaults are left out. Comments name the lines that a node comes from; they
are not read back.
"""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields

from tempoc.diagnostics.render import printed
from tempoc.diagnostics.source import Span
from tempoc.ops.definition.operator import Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.sdg.graph.graph import Edge, Graph, Group, Node, Output
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.text import show as show_expr

WIDEST = 60
"""Columns wider than this do not push the others to the right."""

_PLAIN = re.compile(r"[A-Za-z_][\w.']*")
_WORDS = ("sdg", "doc", "bound", "until", "over", "dim", "assume", "output", "group", "when")


def show(graph: Graph, *, sources: bool = True) -> str:
    """The text of a graph; ``sources`` adds the comments."""
    lines = [f"sdg {_label(graph.name)}"]
    if graph.doc:
        lines.append(f"doc {_quoted(graph.doc)}")
    lines += _universe(graph.universe)
    if graph.nodes:
        lines += ["", *_columns([_row(graph, node, sources) for node in graph.nodes.values()])]
    if graph.outputs:
        lines += ["", *(_output(o) for o in graph.outputs)]
    if graph.groups:
        lines += ["", *(_group(g) for g in graph.groups)]
    return "\n".join(lines) + "\n"


def show_domain(domain: Domain, vector: tuple[str, ...] = ()) -> str:
    """``[b*, t | t >= 1]``; a star marks dimensions that are computed all at once."""
    where = [] if domain.where == ix.TRUE else [f"| {show_expr(domain.where)}"]
    dims = [f"{d}*" if d in vector else d for d in domain.dims]
    return f"[{' '.join([', '.join(dims), *where]).strip()}]"


def show_type(type_: TensorType) -> str:
    """``f32[8, t+1]``, with ``~`` in front if weak."""
    extents = f"[{', '.join(show_expr(e) for e in type_.shape)}]" if type_.shape else ""
    return f"{'~' if type_.weak else ''}{type_.dtype.value}{extents}"


def show_op(op: Op) -> str:
    """``reduce{kind="sum", axis=0}``."""
    parts = []
    for field in fields(op):
        value = getattr(op, field.name)
        if field.default is MISSING or not _same(value, field.default):
            parts.append(f"{field.name}={show_value(value)}")
    return op.name + (f"{{{', '.join(parts)}}}" if parts else "")


def show_value(value: object) -> str:
    """An attribute's value."""
    match value:
        case None:
            return "none"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _quoted(value)
        case DType():
            return value.value
        case ix.Expr() | ix.Slice():
            return show_expr(value)
        case Op():
            shown = show_op(value)
            return shown if shown.endswith("}") else f"{shown}{{}}"
        case tuple():
            inner = ", ".join(show_value(v) for v in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case _:
            raise TypeError(f"not an attribute of an operator: {value!r}")


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and repr(a) == repr(b)  # tells 0.0 from -0.0 and nan from nothing


# ---------------------------------------------------------------- lines


def _universe(universe: Universe) -> list[str]:
    bounds = [
        f"bound {b.name}"
        + (f" until {b.until}" if b.until else "")
        + (f" over {', '.join(over)}" if (over := [*b.outer, *(f"{d}*" for d in b.common)]) else "")
        + (f" = {show_expr(b.value)}" if b.value is not None else "")
        for b in universe.bounds
    ]
    dims = [f"dim {d.name} < {d.bound}" for d in universe.dims]
    return bounds + dims + [f"assume {show_expr(a)}" for a in universe.assumptions]


def _row(graph: Graph, node: Node, sources: bool) -> tuple[str, str, str, str, str]:
    operands = ", ".join(_operand(graph, edge) for edge in node.inputs)
    return (
        f"%{node.name}",
        f"{show_op(node.op)} {operands}".rstrip(),
        show_domain(node.domain, node.vector),
        ", ".join(show_type(t) for t in node.types),
        _places(node.spans) if sources else "",
    )


def _columns(rows: list[tuple[str, str, str, str, str]]) -> list[str]:
    """Rows with names, operators, domains and types below each other."""

    def width(column: int) -> int:
        return max((len(r[column]) for r in rows if len(r[column]) <= WIDEST), default=0)

    names, whats, domains, types = (width(k) for k in range(4))
    lines = []
    for name, what, domain, type_, places in rows:
        line = f"{name:<{names}} = {what:<{whats}} : {domain:<{domains}} {type_:<{types}}"
        lines.append(f"{line}  # {places}" if places else line.rstrip())
    return lines


def _operand(graph: Graph, edge: Edge) -> str:
    guard = "" if edge.guard == ix.TRUE else f" when {show_expr(edge.guard)}"
    source = graph.nodes.get(edge.source)
    here = source is not None and edge.entries == tuple(ix.Sym(d) for d in source.domain.dims)
    return f"%{_port(edge.source, edge.out)}{'' if here else _entries(edge.entries)}{guard}"


def _entries(entries: tuple[ix.Entry, ...]) -> str:
    return f"[{', '.join(show_expr(e) for e in entries)}]"


def _output(output: Output) -> str:
    entries = _entries(output.entries) if output.entries else ""
    return f"output {_label(output.name)} = %{_port(output.source, output.out)}{entries}"


def _group(group: Group) -> str:
    return f"group {_label(group.name)} = " + ", ".join(f"%{m}" for m in group.members)


def _port(node: str, out: int) -> str:
    return f"{node}@{out}" if out else node


def _label(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name not in _WORDS else _quoted(name)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    shown = (c if c.isprintable() else json.dumps(c)[1:-1] for c in quoted)
    return quoted if quoted.isprintable() else "".join(shown)


def _places(spans: tuple[Span, ...]) -> str:
    """``rnn.rt:7, 9``: the lines, a file named where it changes."""
    places = [(s.source.path.replace("\\", "/").rsplit("/", 1)[-1], s.line) for s in spans]
    words: list[str] = []
    previous = ""
    for file, line in dict.fromkeys(places):
        words.append(str(line) if file == previous else f"{file}:{line}")
        previous = file
    return printed(", ".join(words))
