"""Which loops run on the device: nests without anything that the host must do.

    for t in 0..T:                          for t in 0..T on device:
      for l in 0..L:             ->           for l in 0..L unrolled:
        layer[l, t]                             layer[l, t]

A *region* is an outermost loop on the device; one call runs many of its steps. Within it, a loop of
a few steps that is the same in every run is written out: its tensors (the weights of layers) are
arrays of their own, and stay so. A short loop that stands outside is left to the host, which loses
nothing there. Effects, calls of Python functions, and whatever decides how long a run lasts are the
host's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tempoc.ops.externs import ExternHost
from tempoc.schedule.tree import Execute, Guard, Loop, Place, Sequence, Tree, executed
from tempoc.sdg.graph import Graph
from tempoc.sdg.statements import Statement, Statements
from tempoc.symbolic.expr import Const, Entry, Expr, Slice
from tempoc.symbolic.walk import substitute, substitute_entry, symbols

SHORT = 64
"""Most steps of a loop that is written out, or left to the host."""
MANY = 512
"""Most calls of kernels that loops are written out to."""


def with_regions(tree: Tree, statements: Statements, graph: Graph) -> Tree:
    """The tree with a place for each loop."""
    return _Places(statements, graph).outside(tree)


@dataclass(slots=True)
class _Places:
    statements: Statements
    graph: Graph

    def outside(self, tree: Tree) -> Tree:
        """A part that the host walks."""
        match tree:
            case Sequence(items=items):
                return replace(tree, items=tuple(map(self.outside, items)))
            case Guard(body=body):
                return replace(tree, body=self.outside(body))
            case Loop(body=body):
                if self.steps(tree) is None and self.is_free(tree):
                    return replace(tree, body=self.inside(body, 1), place="device")
                return replace(tree, body=self.outside(body))
            case Execute():
                return tree

    def inside(self, tree: Tree, copies: int) -> Tree:
        """A part of a region; ``copies`` of it are written out."""
        match tree:
            case Sequence(items=items):
                return replace(tree, items=tuple(self.inside(item, copies) for item in items))
            case Guard(body=body):
                return replace(tree, body=self.inside(body, copies))
            case Loop(body=body):
                steps = self.steps(tree)
                place: Place = "device"
                if steps is not None and steps * copies * _size(body) <= MANY:
                    place, copies = "unrolled", steps * copies
                return replace(tree, body=self.inside(body, copies), place=place)
            case Execute():
                return tree

    def steps(self, loop: Loop) -> int | None:
        """How many steps a loop has, if these are few and the same in every run."""
        fixed: dict[str, Expr] = {
            b.name: b.value for b in self.graph.universe.bounds if isinstance(b.value, Const)
        }
        low, high = (substitute(e, fixed) for e in (loop.lower, loop.upper))
        if not (isinstance(low, Const) and isinstance(high, Const)):
            return None
        steps = len(range(low.value, high.value, loop.step))
        return steps if steps <= SHORT else None

    def is_free(self, tree: Tree) -> bool:
        """Whether the host has nothing to do in a part."""
        by_name = {s.name: s for s in self.statements.statements}
        return all(self.is_computed(by_name[e.statement]) for e in executed(tree))

    def is_computed(self, statement: Statement) -> bool:
        """Whether a statement computes, and nothing else."""
        if statement.turn is not None or statement.ends or statement.mentions:
            return False
        if any(isinstance(self.graph.nodes[m].op, ExternHost) for m in statement.members):
            return False
        tensors = self.statements.tensors
        return all(tensors[w.tensor].origin == "computed" for w in statement.writes)


def _size(tree: Tree) -> int:
    return sum(1 for _ in executed(tree))


# ---------------------------------------------------------------- what moves on the device


def moving(tree: Tree, statements: Statements) -> Mapping[str, frozenset[str]]:
    """For each tensor the dimensions whose index moves with a loop on the device.

    Of such a dimension nobody can pick one array out of many; it must be an axis.
    """
    found: dict[str, set[str]] = {}
    by_name = {s.name: s for s in statements.statements}
    for execute, variables in _with_variables(tree, ()):
        statement = by_name[execute.statement]
        at = dict(zip(statement.domain.dims, execute.point, strict=True))
        accesses = [(r.tensor, r.entries) for r in statement.reads]
        accesses += [(w.tensor, w.entries) for w in statement.writes]
        for tensor, entries in accesses:
            dims = statements.tensors[tensor].domain.dims
            for dim, entry in zip(dims, entries, strict=True):
                if _moves(entry, at, variables):
                    found.setdefault(tensor, set()).add(dim)
    return {tensor: frozenset(dims) for tensor, dims in found.items()}


def _moves(entry: Entry, at: Mapping[str, Expr], variables: tuple[str, ...]) -> bool:
    here = substitute_entry(entry, dict(at))
    ends = (here.lo, here.hi) if isinstance(here, Slice) else (here,)
    return any(v in symbols(e) for e in ends for v in variables)


def _with_variables(
    tree: Tree, variables: tuple[str, ...]
) -> Iterator[tuple[Execute, tuple[str, ...]]]:
    """Every execution with the variables of loops on the device around it."""
    match tree:
        case Sequence(items=items):
            for item in items:
                yield from _with_variables(item, variables)
        case Guard(body=body):
            yield from _with_variables(body, variables)
        case Loop(var=var, body=body, place=place):
            more = (var,) if place == "device" else ()
            yield from _with_variables(body, (*variables, *more))
        case Execute():
            yield tree, variables
