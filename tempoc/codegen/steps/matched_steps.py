"""Where the statements of a last step stand among those of the steps of its loop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tempoc.codegen.steps.at_steps import Conditions
from tempoc.codegen.steps.leaves import Leaf, leaves
from tempoc.program.analysis.traversal import touched_stores
from tempoc.program.nodes import nodes as prog


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMatch:
    """A ``body`` beside a last step, and what of that is ``left``.

    ``matched`` are statements of the last step by their places in the body. A loop among them may
    do less than that in the body, whose further statements are ``inner`` ones of its place.
    """

    body: Sequence[Leaf]
    matched: dict[int, prog.ProgramStatement]
    inner: dict[int, tuple[Leaf, ...]]
    left: tuple[Leaf, ...]

    @property
    def extra(self) -> tuple[Leaf, ...]:
        """What the last step does not do, of loops that it has only their statements."""
        return tuple(
            part
            for k, leaf in enumerate(self.body)
            for part in (self.inner.get(k, ()) if k in self.matched else (leaf,))
        )

    @property
    def is_unique(self) -> bool:
        """Whether nothing that the last step has too much is as well one of its own statements."""
        own = [part for s in self.matched.values() for part in _parts(s)]
        return not any(leaf.statement in own for leaf in self.extra)


def matched_step(body: Sequence[Leaf], last: Sequence[Leaf], known: Conditions) -> StepMatch:
    """Match a last step with the steps of its loop, from the first statement on.

    What is freed in between can wait until after the loop. Short loops behind it are the host's, in
    it the device's. ``known`` are conditions that hold for both.
    """
    steps = [replace(leaf, statement=placed(leaf.statement)) for leaf in body]
    matched: dict[int, prog.ProgramStatement] = {}
    inner: dict[int, tuple[Leaf, ...]] = {}
    left: list[Leaf] = []
    dead: set[str] = set()
    start = 0
    for k, leaf in enumerate(last):
        here = replace(leaf, statement=placed(leaf.statement))
        parts = ((n, _further(steps[n], here, known)) for n in range(start, len(body)))
        place, further = next(((n, f) for n, f in parts if f is not None), (None, ()))
        if place is None and isinstance(leaf.statement, prog.Free):
            left.append(leaf)
            dead |= touched_stores(leaf.statement)
        elif place is None or dead & touched_stores(leaf.statement):
            left += last[k:]
            break
        else:
            matched[place] = here.statement
            inner |= {place: further} if further else {}
            start = place + 1
    return StepMatch(body=body, matched=matched, inner=inner, left=tuple(left))


def _further(step: Leaf, last: Leaf, known: Conditions) -> tuple[Leaf, ...] | None:
    """What a statement does beside another one; ``None`` unless it does all of that."""
    if step == last:
        return ()
    one, other = step.statement, last.statement
    if not isinstance(one, prog.Loop) or not isinstance(other, prog.Loop):
        return None
    if step.when != last.when or replace(one, body=other.body) != other:
        return None
    match = matched_step(leaves(one.body, {}, known), leaves(other.body, {}, known), known)
    return None if match.left or not match.matched else match.extra


def _parts(s: prog.ProgramStatement) -> Iterable[prog.ProgramStatement]:
    """A statement, or those of a loop, without conditions."""
    if not isinstance(s, prog.Loop):
        return (s,)
    return (part for leaf in leaves(s.body, {}, ()) for part in _parts(leaf.statement))


def placed(s: prog.ProgramStatement) -> prog.ProgramStatement:
    """A statement all loops of which are on the device."""
    match s:
        case prog.Sequence(items=items):
            return replace(s, items=tuple(map(placed, items)))
        case prog.Guard(body=body):
            return replace(s, body=placed(body))
        case prog.Loop(body=body):
            return replace(s, body=placed(body), place="device")
        case _:
            return s
