"""The statements of a step of a loop one after the other, and what is read around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.codegen.steps.at_steps import (
    Conditions,
    Items,
    at_step,
    is_known,
    is_wrong,
    items_of,
    sharpened,
    substituted,
)
from tempoc.program.analysis.traversal import calls, statements_in
from tempoc.program.nodes import nodes as prog
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import conjuncts
from tempoc.symbolic.walk import substitute


@dataclass(frozen=True, slots=True)
class Leaf:
    """A ``statement`` that is no sequence or guard, and the conditions under which it runs."""

    when: Conditions
    statement: prog.ProgramStatement

    def guarded(self) -> prog.ProgramStatement:
        """The statement under its conditions."""
        if not self.when:
            return self.statement
        return prog.Guard(condition=ix.conjunction(*self.when), body=self.statement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Where a statement stands.

    ``known`` are conditions that hold there, ``outer`` the variables of loops around it, ``None``
    in a loop on the device. ``looped``: some loop is around it. ``read`` are the stores that other
    statements may read after it, with the conditions under which they do.
    """

    known: Conditions
    outer: tuple[str, ...] | None = ()
    looped: bool = False
    read: tuple[tuple[str, Conditions], ...] = ()

    def beside(self, others: Iterable[prog.ProgramStatement]) -> Around:
        """The same, where others stand beside the statement."""
        return replace(self, read=(*self.read, *(r for s in others for r in reads(s))))


def leaves(s: prog.ProgramStatement, env: Mapping[str, ix.Expr], known: Conditions) -> list[Leaf]:
    """The statements at values of variables; conditions that are known are left out."""
    match s:
        case prog.Sequence(items=items):
            return [leaf for item in items for leaf in leaves(item, env, known)]
        case prog.Guard(condition=condition, body=body):
            parts = conjuncts(substitute(condition, env))
            if any(is_wrong(c, known) for c in parts):
                return []
            unknown = tuple(sharpened(c, known) for c in parts if not is_known(c, known))
            inside = leaves(body, env, (*known, *unknown))
            return [replace(leaf, when=(*unknown, *leaf.when)) for leaf in inside]
        case prog.Call():
            call = substituted(s, env) if env else s
            results = tuple(settled(c, known) for c in call.results)
            if results and all(c.when == ix.FALSE for c in results):
                return []
            return [Leaf((), replace(call, results=results))]
        case _:
            now = at_step(s, env) if env else s
            return [] if now is None else [Leaf((), now)]


def freed(items: Iterable[prog.ProgramStatement]) -> set[str]:
    """The stores that statements free."""
    parts = (part for s in items for part in statements_in(s))
    return {c.store for part in parts if isinstance(part, prog.Free) for c in part.cells}


def settled(cell: prog.Cell, known: Conditions) -> prog.Cell:
    """A cell without a condition that is known to hold; one that fails is false."""
    if cell.when is None:
        return cell
    if is_known(cell.when, known):
        return replace(cell, when=None)
    return replace(cell, when=ix.FALSE) if is_wrong(cell.when, known) else cell


def reads(
    s: prog.ProgramStatement, conditions: Conditions = ()
) -> Iterator[tuple[str, Conditions]]:
    """The stores that a statement reads, with the conditions under which it does."""
    match s:
        case prog.Sequence(items=items):
            for item in items:
                yield from reads(item, conditions)
        case prog.Guard(condition=condition, body=body):
            yield from reads(body, (*conditions, *conjuncts(condition)))
        case prog.Loop(body=body):
            yield from reads(body, conditions)
        case prog.Call(args=args) | prog.Host(args=args):
            yield from ((cell.store, conditions) for cell in args)
        case _:
            yield from ((c.store, conditions) for call in calls(s) for c in call.args)


def together(items: Items) -> Items:
    """Statements that follow each other, those under the same condition as one."""
    together: list[prog.ProgramStatement] = []
    for s in items:
        last = together[-1] if together else None
        if not isinstance(s, prog.Guard) or not isinstance(last, prog.Guard):
            together.append(s)
        elif s.condition == last.condition:
            both = (*items_of(last.body), *items_of(s.body))
            together[-1] = replace(last, body=prog.Sequence(items=both))
        else:
            together.append(s)
    return tuple(together)
