"""The user's Python functions in a program: names in ``kernels.py``, types for the runner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tempoc.base.names import Names
from tempoc.codegen.arith import to_arith
from tempoc.codegen.naming import RESERVED
from tempoc.ops.emission import Import
from tempoc.ops.externs import Extern, ExternJax, signature_type
from tempoc.program import nodes
from tempoc.sdg.graph import Graph


def imports(graph: Graph) -> dict[Import, str]:
    """A name for each function that kernels call: its own where that is free."""
    universe = graph.universe
    taken = (*(d.name for d in universe.dims), *(b.name for b in universe.bounds))
    names = Names([*RESERVED, *taken])
    places = dict.fromkeys(_place(op) for op in _externs(graph) if isinstance(op, ExternJax))
    return {place: names.fresh(place[1]) for place in places}


def externs(graph: Graph, names: Mapping[Import, str]) -> tuple[nodes.Extern, ...]:
    """All functions of the user's, each once, with their types."""
    found = {_place(op): op for op in _externs(graph)}
    return tuple(extern(op, names.get(place, "")) for place, op in found.items())


def extern(op: Extern, alias: str) -> nodes.Extern:
    """One function; ``alias`` is its name in ``kernels.py``, if it has one there."""
    return nodes.Extern(
        name=op.extern,
        alias=alias,
        module=op.module,
        function=op.function,
        arguments=tuple(map(_type, op.arguments)),
        results=tuple(map(_type, op.results)),
        free=op.free,
    )


def _externs(graph: Graph) -> Iterator[Extern]:
    return (n.op for n in graph.nodes.values() if isinstance(n.op, Extern))


def _place(op: Extern) -> Import:
    return op.module, op.function, op.extern


def _type(text: str) -> nodes.ArrayType:
    found = signature_type(text)
    return nodes.ArrayType(dtype=found.dtype.value, shape=tuple(map(to_arith, found.shape)))
