"""User functions in Python that a program calls: their modules and signatures."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.symbolic.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayType:
    """An argument or result of a function: its name, with fields (``net.w``), dtype and extents."""

    name: str
    dtype: str
    shape: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extern:
    """A Python function ``module.function`` that the source of the program calls ``name``.

    ``alias`` is its name here, different from all others: ``kernels.py`` imports it as that, or
    the runner calls it (``host``). The extents of its types are expressions over bounds, for a host
    function also over the coordinates of the point, and over the ``free`` names: such a name is
    bound to the extent of an argument whose type has it as an extent of its own.
    """

    name: str
    alias: str
    host: bool
    module: str
    function: str
    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    free: tuple[str, ...] = ()
