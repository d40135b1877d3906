"""The user's Python functions in a program: names in ``kernels.py``, types for the runner."""

from __future__ import annotations

from collections.abc import Mapping

from tempoc.base.names import Names
from tempoc.codegen.arith import to_arith
from tempoc.codegen.naming import RESERVED
from tempoc.ops.externs import Extern, ExternHost, ExternJax, signature_type
from tempoc.ops.opdef import Import
from tempoc.program import nodes
from tempoc.sdg.graph import Graph


def imports(graph: Graph) -> dict[Import, str]:
    """A name for each function that kernels call: its own where that is free."""
    return _named(graph, ExternJax, [])


def hosted(graph: Graph, others: Mapping[Import, str]) -> dict[Import, str]:
    """A name for each function that the runner calls, different from those of the ``others``."""
    return _named(graph, ExternHost, list(others.values()))


def _named(graph: Graph, kind: type[Extern], others: list[str]) -> dict[Import, str]:
    universe = graph.universe
    taken = (*(d.name for d in universe.dims), *(b.name for b in universe.bounds))
    names = Names([*RESERVED, *taken, *others])
    ops = (n.op for n in graph.nodes.values() if isinstance(n.op, kind))
    found = dict.fromkeys(op.declared for op in ops)
    return {one: names.fresh(one.function.rpartition(".")[2]) for one in found}


def externs(kernels: Mapping[Import, str], hosts: Mapping[Import, str]) -> tuple[nodes.Extern, ...]:
    """All functions of the user's, each declaration once, with their types."""
    return (
        *(extern(one, name) for one, name in kernels.items()),
        *(extern(one, name, host=True) for one, name in hosts.items()),
    )


def extern(one: Import, alias: str, *, host: bool = False) -> nodes.Extern:
    """One function; ``alias`` is its name in the program."""
    return nodes.Extern(
        name=one.extern,
        alias=alias,
        host=host,
        module=one.module,
        function=one.function,
        arguments=tuple(map(_type, one.arguments)),
        results=tuple(map(_type, one.results)),
        free=one.free,
    )


def _type(text: str) -> nodes.ArrayType:
    found = signature_type(text)
    return nodes.ArrayType(dtype=found.dtype.value, shape=tuple(map(to_arith, found.shape)))
