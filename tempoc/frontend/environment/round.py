"""One round of elaboration (`Round`), and the context of an expression in it (`Frame`).

Types of indexed tensors are inferred by Kleene iteration: a round evaluates all equations with the
types of the round before; values computed from unknown types are unknown. The last round, at the
fixpoint, yields the draft nodes and the diagnostics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from tempoc.base.limits import LIMITS, LimitReached, Limits
from tempoc.base.names import Names
from tempoc.diagnostics.diagnostic import Collector, Diagnostic, Label
from tempoc.diagnostics.source import Span
from tempoc.frontend.environment.draft_node import CallSite, Draft, DraftOrigin
from tempoc.frontend.environment.draft_order import DraftOrder
from tempoc.frontend.environment.failure import Failure, LimitReachedAt, StillUnknown
from tempoc.frontend.environment.indexed_tensor import IndexedTensor, TargetPlan, TensorKey
from tempoc.frontend.environment.scope import CastName, Scope, TensorName
from tempoc.frontend.environment.value_numbers import ValueNumbers
from tempoc.frontend.environment.values import ERROR, LATER, Unknown, Value
from tempoc.frontend.syntax import ast
from tempoc.poly.relations.sets import limit_of
from tempoc.poly.relations.space import Space
from tempoc.symbolic import expr as ix
from tempoc.symbolic.domain import Domain, Universe
from tempoc.symbolic.walk import is_affine, symbols

MAX_SITES = 4
"""Largest number of call sites in a diagnostic: the outermost and the innermost ones."""


def call_sites(calls: tuple[CallSite, ...]) -> tuple[Label, ...]:
    """The calls through which an expression is reached, the innermost first, as labels."""
    shown = calls if len(calls) <= MAX_SITES else (calls[0], *calls[1 - MAX_SITES :])
    return tuple(Label(c.span, f"in this call of `{c.name}`") for c in reversed(shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredTensor:
    """The inferred type of an indexed tensor: a tree of `Typed`, and its dimensions."""

    tree: Value
    dims: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The context in which an expression is evaluated.

    `path` identifies the inlined calls and loop iterations in all rounds; `place` does so in terms
    that are stable under edits elsewhere, `turn` in the order of the source. `prefix` is the prefix
    of node names, `where` a condition that holds at every demanded point, `draws` the domain of
    random draws. `lazy`: this is a branch of a `cond`, which may not be taken. `default`: the
    param of which this is the default.
    """

    scope: Scope
    path: TensorKey
    prefix: str
    origin: DraftOrigin
    where: ix.Expr = ix.TRUE
    place: tuple[str | int, ...] = ()
    turn: tuple[int, ...] = ()
    draws: tuple[str, ...] = ()
    lazy: bool = False
    default: str = ""

    def within(self, condition: ix.Expr) -> Frame:
        """The same context, restricted to points where a condition holds."""
        return replace(self, where=condition)


class Language(Protocol):
    """The mutually recursive entry points of the elaborator, implemented in `elaborate.py`."""

    def evaluate(self, round: Round, frame: Frame, e: ast.Expression) -> Value:
        """The value of an expression; unknown after a reported error."""

    def tensor(self, round: Round, name: TensorName, span: Span) -> Value:
        """The value of a tensor of the program at the current point."""

    def cell(self, round: Round, name: TensorName, span: Span) -> IndexedTensor:
        """An indexed tensor of the program in this round; its plan is made lazily."""

    def visit(self, round: Round, cell: IndexedTensor) -> None:
        """Evaluate equations of a tensor of the program, until its type is known."""

    def call(
        self, round: Round, frame: Frame, function: Value, arguments: Arguments, span: Span
    ) -> Value:
        """The result of a function."""

    def extent(self, round: Round, name: CastName, span: Span) -> Value:
        """The extent that a name stands for which casts introduce."""

    def place(self, span: Span) -> str:
        """The stable name of a call's or loop's position in the source."""


@dataclass(frozen=True, slots=True)
class CastExtent:
    """What a cast found a name to stand for in this round, and where it stands in its type."""

    value: Value
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class DataDimension:
    """A dimension that ends after as many steps as the data say, and one more; at most ``most``
    and one more. ``bound`` names its length.
    """

    dim: str
    bound: str
    most: ix.Expr


@dataclass(frozen=True, slots=True)
class Arguments:
    """The evaluated arguments of a call, with their spans."""

    positional: tuple[Value, ...]
    keyword: tuple[tuple[str, Value], ...]
    spans: tuple[Span, ...]
    keyword_spans: tuple[Span, ...]


@dataclass(slots=True, kw_only=True)
class Round:
    """The state of one round.

    Tensors: `assumed` are those whose lower bounds are taken for their types; `spoiled` those whose
    type is hidden by an error; `dropped` those whose lower bound was withdrawn; `unshaped` those
    typed by numbers alone, because of errors in their other equations (false: the number itself is
    the error).

    Flags: `deferred`: an expression was deferred, or evaluated with a stand-in; `changed`: a type
    changed; `firmer`: a doubt decreased; `eager`: equations are evaluated at the first read,
    until a type is known; `inferred`: a tensor got its first type; `uncertain`: a tensor was read
    whose type was not known, or not what it turned out to be; `cut_short`: one was not evaluated at
    its first read, as too many were being evaluated; `partial`, `guessing`: see `fixpoint.py`;
    `final`: no more can be inferred, so every error is reported. `doubted` counts the reads of
    tensors with doubt.

    `outer` has the dimensions over which lengths vary, `data_dims` the dimensions that calls of
    `length` and the like ask for, which are part of the universe in the next round; `counted` the
    first call for each count, and `equals` which values are one; `drawn` the domains of draws for
    unindexed targets (by offset), as far as known; `draws` and `calls` count draws and expansions
    so far.
    `done` has the equations begun, true for those finished; `extents` what casts found;
    `assumptions` what annotations assume of bounds, with the first that does.
    """

    universe: Universe
    space: Space
    table: dict[TensorKey, InferredTensor]
    language: Language
    plans: dict[TensorKey, TargetPlan]
    limits: Limits = LIMITS
    calls: int = 0
    data_dims: dict[TensorKey, DataDimension] = field(default_factory=dict)
    counted: dict[tuple[object, ...], TensorKey] = field(default_factory=dict)
    equals: ValueNumbers = field(default_factory=ValueNumbers)
    drawn: dict[int, tuple[str, ...]] = field(default_factory=dict)
    draws: int = 0
    seed: Draft | None = None
    errors: Collector = field(default_factory=Collector)
    drafts: list[Draft] = field(default_factory=list)
    order: DraftOrder = field(default_factory=DraftOrder)
    cells: dict[TensorKey, IndexedTensor] = field(default_factory=dict)
    assumptions: dict[ix.Expr, Span] = field(default_factory=dict)
    outer: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    done: dict[TensorKey, bool] = field(default_factory=dict)
    active: list[TensorName] = field(default_factory=list)
    extents: dict[CastName, list[CastExtent]] = field(default_factory=dict)
    extents_read: dict[CastName, Span] = field(default_factory=dict)
    prefixes: Names = field(default_factory=Names)
    changed: bool = False
    firmer: bool = False
    inferred: bool = False
    uncertain: bool = False
    cut_short: bool = False
    deferred: bool = False
    doubted: int = 0
    eager: bool = False
    partial: bool = False
    guessing: bool = False
    final: bool = False
    assumed: dict[TensorKey, None] = field(default_factory=dict)
    spoiled: dict[TensorKey, None] = field(default_factory=dict)
    restarted: dict[TensorKey, None] = field(default_factory=dict)
    unknown: dict[str, Unknown] = field(default_factory=dict)
    unshaped: dict[TensorKey, bool] = field(default_factory=dict)
    top: Frame | None = None

    def report(self, diagnostic: Diagnostic, calls: tuple[CallSite, ...] = ()) -> None:
        """Add an error, unless one with the same code and span is there.

        Of what a call of a function of another file gets wrong, one error of each code is enough:
        the arguments are at fault, and what the function takes is the help.
        """
        imported = next((c for c in calls if c.definition.source != c.span.source), None)
        if imported is not None:
            place = imported.span
            for d in self.errors.diagnostics:
                if d.code == diagnostic.code and any(label.span == place for label in d.secondary):
                    return
            takes = f"`{imported.name}` takes {imported.signature()}"
            diagnostic = replace(diagnostic, help=diagnostic.help or takes)
        self.errors.report(diagnostic, call_sites(calls))

    def evaluate(self, frame: Frame, e: ast.Expression) -> Value:
        """The value of an expression; unknown after a reported error."""
        return self.language.evaluate(self, frame, e)

    def attempt(self, frame: Frame, action: Callable[[], Value], *, doubted: bool = False) -> Value:
        """The result of an action; unknown if it fails, after reporting the error.

        An error that involves types with `doubt` is deferred, since the final types may be correct.
        """
        doubted_before = self.doubted
        try:
            return action()
        except Failure as problem:
            if not self.final and (doubted or self.doubted > doubted_before):
                self.deferred = True
                return Unknown(frozenset((LATER,)))
            self.report(problem.diagnostic, frame.origin.calls)
            return Unknown(frozenset((ERROR,)))
        except StillUnknown as unknown:
            self.deferred = self.deferred or LATER in unknown.value.causes
            return unknown.value
        except Exception as error:
            raise self.refused(error, frame.origin.span) from None

    def refused(self, error: Exception, span: Span) -> Exception:
        """An exception, with the span if it means that a limit is reached.

        It ends the elaboration: the next equation would reach the limit again.
        """
        limit = None if isinstance(error, LimitReachedAt) else limit_of(error, self.limits)
        return error if limit is None else LimitReachedAt(limit, span)

    @contextmanager
    def blaming(self, span: Span) -> Iterator[None]:
        """Say of a limit that the block reaches that it is because of a span."""
        try:
            yield
        except Exception as error:
            raise self.refused(error, span) from None

    def expand(self) -> None:
        """Count the expansion of a call or an iteration. Raises `LimitReached`."""
        self.calls += 1
        self.check_limit("calls", self.calls)

    def check_limit(self, name: str, count: int) -> None:
        """Raises `LimitReached` if something is more than a limit allows."""
        if count > self.limits[name]:
            raise LimitReached(name, self.limits[name])

    def add(self, draft: Draft) -> Draft:
        """Add a draft node."""
        self.drafts.append(draft)
        self.order.note(draft)
        self.check_limit("operators", len(self.drafts))
        return draft

    def domain(self, where: ix.Expr, *others: ix.Expr) -> Domain:
        """The domain of a condition, over the dimensions that the expressions name."""
        names = tuple(n for e in (where, *others) for n in symbols(e))
        return Domain(self.universe.ordered(names), where)


@dataclass(frozen=True, slots=True)
class FrameFacts:
    """Proves facts for shape rules at the points where ``where`` holds."""

    round: Round
    where: ix.Expr

    def equal(self, a: ix.Expr, b: ix.Expr) -> bool:
        """Whether the two extents are provably equal."""
        if a == b:
            return True
        return self.round.space.equal(a, b, self.round.domain(self.where, a, b))

    def holds(self, condition: ix.Expr) -> bool:
        """Whether the condition provably holds."""
        if condition == ix.TRUE:
            return True
        if not is_affine(condition):
            return False
        return self.round.space.implies(self.round.domain(self.where, condition), condition)
