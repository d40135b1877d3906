"""The order of draft nodes where equations are evaluated ahead of their turn.

The first round evaluates equations as soon as what they define is read. Draft nodes are numbered
and named in their order, which must not depend on that: it is the order in which equations stand,
as if the types of all tensors had been known from the start. That saves a second evaluation of all
of them, half of the time of the front end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tempoc.frontend.environment.draft_node import Draft, DraftOrigin
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, Placement, TensorKey

Branch = tuple[IndexedTensor, Placement]


class DraftOrder:
    """Draft nodes by *unit*: what evaluating an equation, or finishing a tensor, has made.

    The entries of a unit: its draft nodes; keys of units, whose first mention is their place;
    branches, of which the last one is the place where its tensor is finished; the origins of random
    draws, the first of which is the place of the seed.
    """

    def __init__(self) -> None:
        self._entries: list[Draft | TensorKey | Branch | DraftOrigin] = []
        self._top = self._entries
        self._units: dict[TensorKey, list[Draft | TensorKey | Branch | DraftOrigin]] = {}
        self._callers: dict[str, TensorKey | None] = {}
        self._first_uses: list[tuple[Draft, Draft, bool]] = []
        self.ahead: list[TensorKey] = []
        self.moved = False
        self.lost = False

    def note(self, entry: Draft | TensorKey | Branch | DraftOrigin) -> None:
        """Add an entry to the unit that is being made."""
        self._entries.append(entry)

    @contextmanager
    def unit(self, key: TensorKey) -> Iterator[None]:
        """What the block makes is a unit."""
        outer = self._entries
        self._entries = self._units[key] = []
        try:
            yield
        finally:
            self._entries = outer

    @contextmanager
    def before_its_turn(self, key: TensorKey) -> Iterator[None]:
        """The block evaluates an equation whose turn has not come."""
        self.moved = True
        self.ahead.append(key)
        try:
            yield
        finally:
            self.ahead.pop()

    def call(self, wish: str, prefix: str) -> None:
        """Note who has called a function: numbers of calls must not depend on the order."""
        here = self.ahead[-1] if self.ahead else None
        for name in (wish, prefix):
            self.lost = self.lost or self._callers.setdefault(name, here) != here

    def is_first_use(self, draft: Draft, source: Draft) -> bool:
        """Whether nothing has used ``source`` before ``draft``, which must not depend on the order.

        Arguments of a function are used by several equations of it.
        """
        is_first = source.uses == 0
        self._first_uses.append((draft, source, is_first))
        return is_first

    def restored(self, seed: Draft | None) -> list[Draft] | None:
        """All draft nodes in order; None if it is not known."""
        drafts: list[Draft] = []
        mentioned: dict[TensorKey | None, None] = {}
        branches: dict[TensorKey, list[int]] = {}
        pending = [iter(self._top)]
        while pending:
            for entry in pending[-1]:
                key: TensorKey | None = None
                if isinstance(entry, Draft):
                    if entry is not seed:
                        drafts.append(entry)
                elif isinstance(entry, DraftOrigin):
                    if seed is not None and None not in mentioned:
                        mentioned[None] = None
                        seed.origin = entry
                        drafts.append(seed)
                elif isinstance(entry[0], IndexedTensor):
                    key = _finished(entry, branches)
                else:
                    key = entry
                if key in self._units and key not in mentioned:
                    mentioned[key] = None
                    pending.append(iter(self._units[key]))
                    break
            else:
                pending.pop()
        numbers = branches.values()
        is_whole = all(n == sorted(n) for n in numbers) and all(k in mentioned for k in self._units)
        return drafts if is_whole and not self.lost and self._has_first_uses(drafts) else None

    def _has_first_uses(self, drafts: list[Draft]) -> bool:
        """Whether first uses of draft nodes are the first ones in this order, too."""
        places = {draft: k for k, draft in enumerate(drafts)}
        first: dict[Draft, int] = {}
        for draft, k in places.items():
            for wire in draft.inputs:
                first.setdefault(wire.source, k)
        noted = [use for use in self._first_uses if use[0] in places]
        return all((first.get(s, places[d]) >= places[d]) == is_first for d, s, is_first in noted)


def finish_of(cell: IndexedTensor) -> TensorKey:
    """The unit in which a tensor is finished."""
    return ("finish", *cell.key)


def _finished(branch: Branch, branches: dict[TensorKey, list[int]]) -> TensorKey | None:
    """The unit in which its tensor is finished, if this is the last branch."""
    cell, place = branch
    numbers = branches.setdefault(cell.key, [])
    numbers.append(place.number)
    return finish_of(cell) if len(numbers) >= len(cell.plan.placements) else None
