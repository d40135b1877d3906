"""Where the statements of a first or last step stand among those of the steps of its loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tempoc.codegen.steps.at_steps import Conditions, Items, at_step, is_known, step_count
from tempoc.codegen.steps.leaves import Leaf, freed, leaves, reads, together
from tempoc.program.analysis.live import written_stores
from tempoc.program.analysis.traversal import calls, touched_stores
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMatch:
    """A ``body`` beside a last step, and what of that is ``left``.

    ``matched`` are statements of the last step by their places in the body. A loop among them may
    do less than that in the body, whose further statements are ``inner`` ones of its place. Where
    none is matched, only the first is said to be ``left``.
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


def matched_step(body: Sequence[Leaf], last: Iterable[Leaf], known: Conditions) -> StepMatch:
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
    remaining = iter(last)
    for leaf in remaining:
        here = replace(leaf, statement=placed(leaf.statement))
        parts = ((n, _further(steps[n], here, known)) for n in range(start, len(body)))
        place, further = next(((n, f) for n, f in parts if f is not None), (None, ()))
        if place is None and isinstance(leaf.statement, prog.Free):
            left.append(leaf)
            dead |= touched_stores(leaf.statement)
        elif place is None or dead & touched_stores(leaf.statement):
            left += (leaf, *remaining) if matched else (leaf,)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RotatedLoop:
    """A loop of which steps begin further down, what is left around it, and what it takes over.

    ::

        a(0)                            for i in range(0, N):
        for i in range(1, N):               a(i)
            b(i)                  ->        if i < N - 1:
            a(i)                                b(i + 1)

    The condition is not there if b(N) stands behind the loop; that is then ``shared`` as a(0) is.
    """

    before: Items
    loop: prog.Loop
    after: Items
    shared: Items
    is_whole: bool


def rotated(
    before: Items,
    loop: prog.Loop,
    after: Items,
    known: Conditions,
    checked: Collection[str],
) -> RotatedLoop | None:
    """The loop, plain and by 1 or -1, with the end of a step, in front of it, as its beginning.

    ``known`` are conditions that hold for all, ``checked`` kernels that may find a fault: the order
    of these stays. ``None`` where there is nothing of a step in front of it, or it is a whole one,
    or steps would have to copy arrays.
    """
    body = leaves(loop.body, {}, known)
    taken, rest = _last_of_step(before, loop, body, known)
    head = [k for k in range(len(body)) if k in taken]
    tail = [k for k in range(len(body)) if k not in taken]
    if not head or not tail:
        return None
    if any(_conflict(body[m], body[n], checked) for m in head for n in tail if m < n):
        return None
    if not _follows([body[k] for k in tail], [body[k] for k in head]):
        return None
    always = tuple(c for c in body[0].when if all(c in leaf.when for leaf in body))
    if not is_known(ix.compare(">=", step_count(loop), ix.ZERO), (*known, *always)):
        return None
    shared = tuple(body[k].statement for k in head)
    others = _without_step([body[k] for k in tail], {loop.var: loop.upper}, after, known)
    last = ix.sub(loop.upper, ix.Const(loop.step))
    inside = ix.compare("<" if loop.step > 0 else ">", ix.Sym(loop.var), last)
    own = [body[k] for k in head]
    final = [leaf for leaf in own if _is_final(leaf, loop.var, last)]
    items: list[prog.ProgramStatement | None]
    items = [leaf.guarded() for leaf in own if leaf not in final]
    ends = (leaves(leaf.guarded(), {loop.var: last}, known) for leaf in final)
    following = {loop.var: ix.add(ix.Sym(loop.var), ix.Const(loop.step))}
    for leaf in (body[k] for k in tail):
        now = at_step(leaf.guarded(), following)
        items.append(now if now is None or others is not None else _under(inside, now))
    steps = prog.Sequence(items=together(tuple(s for s in items if s is not None)))
    if others is not None:
        shared += tuple(body[k].statement for k in tail)
    return RotatedLoop(
        before=rest,
        loop=replace(loop, lower=ix.sub(loop.lower, ix.Const(loop.step)), body=steps),
        after=(
            *(end.guarded() for parts in ends for end in parts),
            *(after if others is None else others),
        ),
        shared=shared,
        is_whole=others is not None,
    )


def _is_final(leaf: Leaf, var: str, last: ix.Expr) -> bool:
    """Whether a statement frees what only the last step no longer needs, by its condition."""
    there = ix.sub(ix.Sym(var), last)
    gaps = (there, ix.sub(ix.ZERO, there))
    equal = (c for c in leaf.when if isinstance(c, ix.Relation) and c.op == "==")
    is_at_last = any(ix.sub(c.left, c.right) in gaps for c in equal)
    return isinstance(leaf.statement, prog.Free) and is_at_last


def _under(condition: ix.Expr, s: prog.ProgramStatement) -> prog.Guard:
    """A statement under a further condition."""
    if isinstance(s, prog.Guard):
        return replace(s, condition=ix.conjunction(condition, s.condition))
    return prog.Guard(condition=condition, body=s)


def _last_of_step(
    before: Items, loop: prog.Loop, body: Sequence[Leaf], known: Conditions
) -> tuple[set[int], Items]:
    """Which statements of a loop stand last before it, as of a step in front, and what is left."""
    at = {loop.var: ix.sub(loop.lower, ix.Const(loop.step))}
    there = [_placed_leaves(leaf.guarded(), at, known) for leaf in body]
    taken: set[int] = set()
    start = len(body)
    while before:
        parts = leaves(before[-1], {}, known)
        left = len(parts)
        while left:
            one = [replace(parts[left - 1], statement=placed(parts[left - 1].statement))]
            place = next((k for k in reversed(range(start)) if there[k] == one), None)
            if place is None:
                break
            taken.add(place)
            start, left = place, left - 1
        if left == len(parts) > 0:
            break
        before = (*before[:-1], *together(tuple(part.guarded() for part in parts[:left])))
        if left:
            break
    return taken, before


def _without_step(
    tail: Sequence[Leaf], at: Mapping[str, ix.Expr], after: Items, known: Conditions
) -> Items | None:
    """What follows a loop without statements of a step behind it; ``None`` if it has not all."""
    step = [leaf for part in tail for leaf in _placed_leaves(part.guarded(), at, known)]
    while step and after:
        parts = leaves(after[0], {}, known)
        n = min(len(parts), len(step))
        if [replace(p, statement=placed(p.statement)) for p in parts[:n]] != step[:n]:
            return None
        left = together(tuple(part.guarded() for part in parts[n:]))
        step, after = step[n:], (*left, *after[1:])
    return None if step else after


def _placed_leaves(
    s: prog.ProgramStatement, at: Mapping[str, ix.Expr], known: Conditions
) -> list[Leaf]:
    return [replace(p, statement=placed(p.statement)) for p in leaves(s, at, known)]


def _follows(tail: Sequence[Leaf], head: Sequence[Leaf]) -> bool:
    """Whether what overwrites the arrays that others of a step read has to wait for results of it.

    Where it has not, XLA copies the arrays for those in each step, which made steps of an adaptive
    filter half as long again.
    """
    read = {store for leaf in head for store, _ in reads(leaf.statement)}
    made = {store for leaf in head for store in written_stores(leaf.statement)}
    for leaf in tail:
        written = {*written_stores(leaf.statement)}
        if not made.isdisjoint(store for store, _ in reads(leaf.statement)):
            made |= written
        elif not written.isdisjoint(read):
            return False
    return True


def _conflict(one: Leaf, other: Leaf, checked: Collection[str]) -> bool:
    """Whether the order of two statements matters."""
    s, t = one.statement, other.statement
    changed = [{*written_stores(x), *freed([x])} for x in (s, t)]
    both = [any(call.kernel in checked for call in calls(x)) for x in (s, t)]
    apart = changed[0].isdisjoint(touched_stores(t)) and changed[1].isdisjoint(touched_stores(s))
    return all(both) or not apart


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
