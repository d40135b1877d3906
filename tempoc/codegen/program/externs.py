"""The user's Python functions in a program: names in ``kernels.py``, types for the runner."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.base.names import Names
from tempoc.base.python_text import identifier
from tempoc.codegen.text.naming import RESERVED
from tempoc.ops.control.externs import ExternCall, ExternHost, ExternJax, signature_type
from tempoc.ops.definition.operator import ImportedFunction
from tempoc.program.nodes import functions
from tempoc.program.nodes.spelling import variable
from tempoc.sdg.graph.graph import Graph


def imports(graph: Graph) -> dict[ImportedFunction, str]:
    """A name for each function that kernels call: its own where that is free."""
    return _named(graph, ExternJax, [])


def host_imports(
    graph: Graph, others: Mapping[ImportedFunction, str]
) -> dict[ImportedFunction, str]:
    """A name for each function that the runner calls, different from those of the ``others``."""
    return _named(graph, ExternHost, list(others.values()))


def _named(graph: Graph, kind: type[ExternCall], others: list[str]) -> dict[ImportedFunction, str]:
    universe = graph.universe
    own = (*(d.name for d in universe.dims), *(b.name for b in universe.bounds))
    names = Names([*RESERVED, *map(variable, own), *others])
    ops = (n.op for n in graph.nodes.values() if isinstance(n.op, kind))
    declared = dict.fromkeys(op.declared for op in ops)
    return {one: names.fresh(identifier(one.function.rpartition(".")[2])) for one in declared}


def externs(
    kernels: Mapping[ImportedFunction, str], hosts: Mapping[ImportedFunction, str]
) -> tuple[functions.Extern, ...]:
    """All functions of the user's, each declaration once, with their types."""
    return (
        *(extern(one, name) for one, name in kernels.items()),
        *(extern(one, name, host=True) for one, name in hosts.items()),
    )


def extern(one: ImportedFunction, alias: str, *, host: bool = False) -> functions.Extern:
    """One function; ``alias`` is its name in the program."""
    return functions.Extern(
        name=one.extern,
        alias=alias,
        host=host,
        module=one.module,
        function=one.function,
        arguments=_types(one.takes, one.arguments),
        results=_types(one.gives, one.results),
        free=one.free,
    )


def _types(names: tuple[str, ...], texts: tuple[str, ...]) -> tuple[functions.ArrayType, ...]:
    """Types of a signature; those of graphs written by hand may have no names."""
    named = names or tuple(str(k + 1) for k in range(len(texts)))
    types = ((name, signature_type(text)) for name, text in zip(named, texts, strict=True))
    return tuple(
        functions.ArrayType(name=name, dtype=t.dtype.value, shape=t.shape) for name, t in types
    )
