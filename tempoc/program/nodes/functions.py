"""Functions of the user's that a program calls: where they are, what goes in and what comes out."""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.program.nodes.arithmetic import Arith


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayType:
    """An argument or result of a function: its name, with fields (``net.w``), dtype and extents."""

    name: str
    dtype: str
    shape: tuple[Arith, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extern:
    """A Python function ``module.function`` that the source of the program calls ``name``.

    ``alias`` is its name here, different from all others: ``kernels.py`` imports it as that, or
    the runner calls it (``host``). Its types are over bounds, for a host function also the
    coordinates of the point, and the ``free`` names, which
    stand for any extent: that of the argument in whose type they stand alone.
    """

    name: str
    alias: str
    host: bool
    module: str
    function: str
    arguments: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    free: tuple[str, ...] = ()
