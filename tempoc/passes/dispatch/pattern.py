"""Entries of a table of kernels: formulas as graphs, and the functions that compute them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tempoc.ops.definition.types import DType
from tempoc.sdg.graph.graph import Graph
from tempoc.symbolic import expr as ix

GivenNumber = bool | int | float
OWN_FUNCTIONS = {"attention": ("scale", "causal", "window")}
"""Functions of the compiler's own that entries may name, and what they may be given by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaPattern:
    """A formula as a graph with one output, after the passes that programs go through before.

    Inputs stand for any tensors, its bounds for extents. ``numbers`` are inputs that stand for
    constants, with the value of one that a program leaves out (a factor of 1), or ``None``.
    """

    graph: Graph
    arguments: tuple[str, ...]
    numbers: Mapping[str, float | None]

    @property
    def result(self) -> str:
        """The node whose value the function gives."""
        return self.graph.outputs[0].source


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelEntry:
    """What a table says: a function computes a formula, on some devices, for some extents.

    ``pattern`` makes the formula's graph for a dtype. ``module`` is empty for a function of the
    compiler's own. ``given`` are its arguments by name: numbers, or names of extents and numbers of
    the pattern. ``when`` is a condition over extents; ``dtypes`` those of the arguments. ``sizes``
    are extents at which the function may be compared with the formula.
    """

    name: str
    pattern: Callable[[DType], FormulaPattern]
    module: str
    function: str
    given: Mapping[str, GivenNumber | ix.Expr] = field(default_factory=dict)
    device: str = ""
    when: ix.Expr = ix.TRUE
    dtypes: tuple[DType, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
