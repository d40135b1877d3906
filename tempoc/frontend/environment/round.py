"""One round of elaboration, and where in it an expression is evaluated.

The types of indexed tensors are found by repetition (Kleene): a round evaluates all equations with
the types that the round before found, an unknown type making everything unknown that is computed
from it. The last round, which finds nothing new, leaves the drafts of the nodes and the
diagnostics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from tempoc.base.diagnostics import Collector, Diagnostic, Label
from tempoc.base.names import Names
from tempoc.base.source import Span
from tempoc.frontend.environment.draft_node import CallSite, Draft, DraftOrigin
from tempoc.frontend.environment.failure import Failure, StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, TargetPlan, TensorKey
from tempoc.frontend.environment.scope import Scope, TensorName
from tempoc.frontend.environment.values import ERROR, LATER, Unknown, Value
from tempoc.frontend.syntax import ast
from tempoc.poly.relations.space import Space
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.expr import TRUE, Expr
from tempoc.symbolic.walk import is_affine, symbols

MAX_SITES = 4
"""How many calls a diagnostic shows: the outermost and the innermost ones."""

MAX_CALLS = 64
"""How deep calls may be nested; far above what people write, far below Python's own limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredTensor:
    """What a round found out about an indexed tensor: a tree of `Typed`, and its dimensions."""

    tree: Value
    dims: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where an expression is evaluated.

    `path` identifies the expansion (calls and loop turns) in all rounds, `prefix` begins the
    names of nodes, `where` holds at every point at which the value is needed. `place` is the
    expansion in terms that no edit elsewhere changes, `turn` the expansion in the order of the
    source, `draws` the domain of random draws, `lazy`
    whether this is a branch of a `cond`, which may not be taken, `default` the param of which this
    is the default.
    """

    scope: Scope
    path: TensorKey
    prefix: str
    origin: DraftOrigin
    where: Expr = TRUE
    place: tuple[str | int, ...] = ()
    turn: tuple[int, ...] = ()
    draws: tuple[str, ...] = ()
    lazy: bool = False
    default: str = ""

    def within(self, condition: Expr) -> Frame:
        """The same place, where only points with this condition matter."""
        return replace(self, where=condition)


class Language(Protocol):
    """What the parts of the elaborator need of each other, tied together in `elaborate.py`."""

    def evaluate(self, round: Round, frame: Frame, e: ast.Expression) -> Value:
        """The value of an expression; mistakes are reported and leave it unknown."""

    def tensor(self, round: Round, name: TensorName, span: Span) -> Value:
        """The value of a tensor of the program at the point at hand."""

    def cell(self, round: Round, name: TensorName, span: Span) -> IndexedTensor:
        """An indexed tensor of the program in this round; its plan is made when it is wanted."""

    def visit(self, round: Round, cell: IndexedTensor) -> None:
        """Evaluate the equations of a tensor of the program before those that read it."""

    def call(
        self, round: Round, frame: Frame, function: Value, arguments: Arguments, span: Span
    ) -> Value:
        """The result of a function."""

    def place(self, span: Span) -> str:
        """The lasting name of a call's or loop's place in the source."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call, evaluated, with the places where they are written."""

    positional: tuple[Value, ...]
    keyword: tuple[tuple[str, Value], ...]
    spans: tuple[Span, ...]
    keyword_spans: tuple[Span, ...]


@dataclass(slots=True, kw_only=True)
class Round:
    """The state of one round.

    `assumed` has the tensors whose types are no longer doubted, because nothing more is to be found
    about them, `spoiled` those of which a mistake hides the type, `dropped` those whose lower
    bound was taken back. `deferred`: something was not evaluated, or with a stand-in, because of
    types that are lower bounds; `changed`: a type is new, `firmer`: one is doubted less; `doubted`
    counts the reads of such tensors. `eager`: equations are evaluated when they are first read.
    `partial`, `guessing`: see `fixpoint.py`; `final`: nothing more can be found, so that every
    mistake is one.

    `outer` has the dimensions over which lengths vary, as far as they are known;
    `unshaped` are tensors of which only numbers are left, because of mistakes in other equations
    (false: the number itself is the mistake);
    `drawn` has the domains of draws for unindexed targets (by offset) as far as they are known,
    `draws` counts the draws so far.
    """

    universe: Universe
    space: Space
    table: dict[TensorKey, InferredTensor]
    language: Language
    plans: dict[TensorKey, TargetPlan]
    drawn: dict[int, tuple[str, ...]] = field(default_factory=dict)
    draws: int = 0
    seed: Draft | None = None
    errors: Collector = field(default_factory=Collector)
    drafts: list[Draft] = field(default_factory=list)
    cells: dict[TensorKey, IndexedTensor] = field(default_factory=dict)
    assumptions: list[Expr] = field(default_factory=list)
    outer: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    done: dict[TensorKey, bool] = field(default_factory=dict)
    active: list[TensorName] = field(default_factory=list)
    prefixes: Names = field(default_factory=Names)
    changed: bool = False
    firmer: bool = False
    deferred: bool = False
    doubted: int = 0
    eager: bool = False
    partial: bool = False
    guessing: bool = False
    final: bool = False
    assumed: dict[TensorKey, None] = field(default_factory=dict)
    spoiled: dict[TensorKey, None] = field(default_factory=dict)
    dropped: dict[TensorKey, None] = field(default_factory=dict)
    unknown: dict[str, Unknown] = field(default_factory=dict)
    unshaped: dict[TensorKey, bool] = field(default_factory=dict)
    top: Frame | None = None

    def report(self, diagnostic: Diagnostic, calls: tuple[CallSite, ...] = ()) -> None:
        """Remember an error; at one place of the source one error with a code is enough."""
        place = diagnostic.primary.span if diagnostic.primary else None
        for other in self.errors.diagnostics:
            same_place = place is not None and other.primary and other.primary.span == place
            if same_place and other.code == diagnostic.code:
                return
        shown = calls if len(calls) <= MAX_SITES else (calls[0], *calls[1 - MAX_SITES :])
        sites = tuple(Label(c.span, f"in this call of `{c.name}`") for c in reversed(shown))
        self.errors.add(replace(diagnostic, secondary=(*diagnostic.secondary, *sites)))

    def evaluate(self, frame: Frame, e: ast.Expression) -> Value:
        """The value of an expression; mistakes are reported and leave it unknown."""
        return self.language.evaluate(self, frame, e)

    def attempt(self, frame: Frame, action: Callable[[], Value], *, doubted: bool = False) -> Value:
        """The result of an action, or unknown and a report if it finds a mistake.

        What is wrong with types that are only lower bounds may be right with the types themselves.
        """
        before = self.doubted
        try:
            return action()
        except Failure as problem:
            if not self.final and (doubted or self.doubted > before):
                self.deferred = True
                return Unknown(frozenset((LATER,)))
            self.report(problem.diagnostic, frame.origin.calls)
            return Unknown(frozenset((ERROR,)))
        except StillUnknown as unknown:
            self.deferred = self.deferred or LATER in unknown.value.causes
            return unknown.value

    def add(self, draft: Draft) -> Draft:
        """Remember a node."""
        self.drafts.append(draft)
        return draft

    def domain(self, where: Expr, *others: Expr) -> Domain:
        """The points where a condition holds, over the dimensions that these expressions name."""
        names = tuple(n for e in (where, *others) for n in symbols(e))
        return Domain(self.universe.ordered(names), where)


@dataclass(frozen=True, slots=True)
class FrameFacts:
    """Answers questions of shape rules, at the points that a frame needs."""

    round: Round
    where: Expr

    def equal(self, a: Expr, b: Expr) -> bool:
        """Whether the two extents are provably equal."""
        if a == b:
            return True
        return self.round.space.equal(a, b, self.round.domain(self.where, a, b))

    def holds(self, condition: Expr) -> bool:
        """Whether the condition provably holds."""
        if condition == TRUE:
            return True
        if not is_affine(condition):
            return False
        return self.round.space.implies(self.round.domain(self.where, condition), condition)
