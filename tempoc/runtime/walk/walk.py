"""A walk as text with all that it names; ``write_walk.py`` writes it, the machine runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

from tempoc.program.analysis.traversal import blocks, calls, regions
from tempoc.program.nodes.nodes import Call, Effect, Host, Program
from tempoc.runtime.device.stores import Layout

FILE = "<walk>"
"""Where Python says that a walk's lines are."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WalkText:
    """The text of ``def walk(): ...`` and, for each line (from 1), the call on it.

    By names in the text: ``constants`` are points without variables, ``zeros`` the stores of which
    a cell of zeros is passed. ``effects`` are performed, ``hosts`` called by their numbers.
    ``straight`` is what is given and one call takes, and nobody else.
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
        """The code of the function, to which every run gives names of its own."""
        constants = compile(self.text, FILE, "exec").co_consts
        return next(c for c in constants if isinstance(c, CodeType))

    @cached_property
    def lines(self) -> tuple[int, None, list[str], str]:
        """The text as ``linecache`` wants it: Python shows its lines in tracebacks."""
        return len(self.text), None, self.text.splitlines(keepends=True), FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkOptions:
    """What the text should do beside walking: count calls, keep the ledger.

    ``rehearse``: of long loops only the steps that tell what the ledger would say of all of them.
    ``hold``: let the machine hold the run at boundaries, and go on from one.
    """

    count: bool = False
    account: bool = False
    sample: bool = False
    suspend: bool = False


def is_local(store: Layout) -> bool:
    """Whether a store is one cell: no keys, or all reduced to a single slot."""
    return all(m == 1 for m in store.moduli)


def filled_stores(program: Program) -> frozenset[str]:
    """Stores whose cells start as zeros: arrays with axes, and what a call updates in place."""
    stores = {store.name for store in program.stores if store.axes}
    for call in calls(program.tree):
        stores |= {c.store for c in call.results if c.when is None and c in call.args}
    for region in regions(program.tree):
        stores |= {cells.store for cells in (*region.carried, *region.read)}
    return frozenset(stores)


def stores_read_as_zeros(program: Program) -> frozenset[str]:
    """Stores of which a cell that nobody has written is zeros, be it that nobody reads these."""
    return filled_stores(program) | {
        cells.store
        for block in blocks(program.tree)
        for cells in (*block.carried, *block.made, *block.read)
    }
