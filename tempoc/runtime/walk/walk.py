"""The text of a walk and its names; ``write_walk.py`` writes it, the machine runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

from tempoc.program.analysis.traversal import blocks, calls, regions
from tempoc.program.nodes.nodes import Call, Effect, Host, Program
from tempoc.runtime.device.stores import Layout

FILE = "<walk>"
"""The file name of a walk in tracebacks."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkText:
    """The text of ``def walk(): ...`` and the call on each line (from 1).

    By names in the text: ``constants`` are the points without variables, ``zeros`` the stores of
    shared cells of zeros. ``effects`` and ``hosts`` are referred to by their numbers. ``straight``
    are the stores of inputs and params whose only use is a single call.
    """

    text: str
    calls: Mapping[int, Call]
    constants: Mapping[str, tuple[int, ...]]
    zeros: Mapping[str, str]
    hosts: tuple[Host, ...] = ()
    effects: tuple[Effect, ...] = ()
    straight: frozenset[str] = frozenset()

    @cached_property
    def code(self) -> CodeType:
        """The code of the function, which every run executes in its own namespace."""
        constants = compile(self.text, FILE, "exec").co_consts
        return next(c for c in constants if isinstance(c, CodeType))

    @cached_property
    def lines(self) -> tuple[int, None, list[str], str]:
        """The entry for ``linecache``, so that tracebacks show the lines."""
        return len(self.text), None, self.text.splitlines(keepends=True), FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkOptions:
    """What a walk does besides its calls: ``count`` them, ``account`` for memory in the ledger.

    ``sample``: take only the steps of long loops that determine the peak of memory (dry run).
    ``suspend``: write boundaries at which the run can be suspended and resumed.
    """

    count: bool = False
    account: bool = False
    sample: bool = False
    suspend: bool = False


def is_local(store: Layout) -> bool:
    """Whether a store is one cell: no keys, or all reduced to a single slot."""
    return all(m == 1 for m in store.moduli)


def zero_filled_stores(program: Program) -> frozenset[str]:
    """Stores whose cells start as zeros: arrays with axes, and what a call updates in place."""
    stores = {store.name for store in program.stores if store.axes}
    for call in calls(program.tree):
        stores |= {c.store for c in call.results if c.when is None and c in call.args}
    for region in regions(program.tree):
        stores |= {cells.store for cells in (*region.carried, *region.read)}
    return frozenset(stores)


def stores_read_as_zeros(program: Program) -> frozenset[str]:
    """Stores whose unwritten cells are zeros: those that start as zeros, and operands of blocks."""
    return zero_filled_stores(program) | {
        cells.store
        for block in blocks(program.tree)
        for cells in (*block.carried, *block.made, *block.read)
    }
