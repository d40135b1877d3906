"""`grad(loss, x)` while a program is elaborated: a placeholder of the type of `x`.

What the loss depends on is not known yet, it may depend on the gradient itself (at an earlier step
of training). So a node is made that stands for the derivative, reads the whole loss, and `x`
where it is read itself; `differentiate` replaces it when the graph is there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tempoc.frontend import gradient_errors
from tempoc.frontend.bind import Bound
from tempoc.frontend.draft import Draft
from tempoc.frontend.operate import identity, make, tensor, wire
from tempoc.frontend.problem import Problem
from tempoc.frontend.round import Frame, Round
from tempoc.frontend.values import (
    Number,
    Ref,
    Typed,
    Unknown,
    Value,
    describe,
    leaves,
    map_leaves,
    unknown_in,
)
from tempoc.ops.control import Copy, StopGradient
from tempoc.ops.opdef import Array, Emitter, Facts, Op
from tempoc.ops.opdef import Value as Emitted
from tempoc.ops.types import TensorType
from tempoc.symbolic.expr import ZERO, Slice, Sym

_NAME = re.compile(r"[A-Za-z_]\w*(\s*\.\s*\w+|\[\s*\d+\s*\])*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradient(Op):
    """The derivative by operand `losses + wrt` of the sum of the first `losses` operands.

    The operands from `losses` on are constants to each other.
    """

    losses: int
    wrt: int

    name = "grad"

    def infer(self, args: tuple[TensorType, ...], facts: Facts) -> tuple[TensorType, ...]:
        """The type of what it differentiates by."""
        return (replace(args[self.losses + self.wrt], weak=False),)

    def evaluate(self, args: tuple[Array, ...], at: Mapping[str, int]) -> tuple[Array, ...]:
        """Never called: it does not outlive elaboration."""
        raise TypeError("grad is not computed by an operator")

    def emit(
        self, args: tuple[Emitted, ...], results: tuple[TensorType, ...], out: Emitter
    ) -> tuple[str, ...]:
        """Never called: it does not outlive elaboration."""
        raise TypeError("grad is not computed by an operator")


def gradient(round: Round, frame: Frame, name: str, bound: Bound) -> Value:
    """`grad(loss, x)`, leaf by leaf of `x`. Raises `Problem`."""
    x, place = bound["x"], bound.places["x"]
    unknown = unknown_in(x)
    if unknown is not None:
        return unknown
    if not _NAME.fullmatch(place.text.strip()):
        raise Problem(gradient_errors.not_a_name(place))
    targets: list[Ref] = []
    for _, leaf in leaves(x):
        if not isinstance(leaf, Ref):
            raise Problem(gradient_errors.not_differentiable(place, describe(leaf)))
        if leaf.entries != tuple(Sym(d) for d in leaf.draft.dims):
            raise Problem(gradient_errors.not_a_name(place))
        if not leaf.type.dtype.is_float:
            raise Problem(gradient_errors.not_float(place, "x", leaf.type))
        targets.append(leaf)
    losses = _losses(round, frame, bound)
    count = iter(range(len(targets)))

    def leaf_gradient(path: tuple[str, ...], v: Value) -> Value:
        assert isinstance(v, Ref)
        draft = Draft(
            hint=".".join((frame.prefix, "grad", *path)),
            dims=v.draft.dims,
            types=(replace(v.type, weak=False),),
            origin=frame.origin,
            op=Gradient(losses=len(losses), wrt=next(count)),
            spans=(bound.span,),
            doubt=v.draft.doubt,
        )
        draft.inputs = [wire(r) for r in (*losses, *targets)]
        round.add(draft)
        return identity(round, frame, draft, bound.span)

    return map_leaves(leaf_gradient, x)


def _losses(round: Round, frame: Frame, bound: Bound) -> list[Ref]:
    """Reads of the whole loss, leaf by leaf; none while it is unknown. Raises `Problem`."""
    place = bound.places["loss"]
    if unknown_in(bound["loss"]) is not None:
        return []
    found: list[Ref] = []
    for _, leaf in leaves(bound["loss"]):
        if isinstance(leaf, (Unknown, Typed)):
            return []
        if isinstance(leaf, Number) and not isinstance(leaf.value, bool):
            continue
        ref = tensor(round, frame, leaf, place)
        if ref.type.shape:
            raise Problem(gradient_errors.not_scalar(place, ref.type))
        if not ref.type.dtype.is_float:
            raise Problem(gradient_errors.not_float(place, "the loss", ref.type))
        if ref.entries != tuple(Sym(d) for d in ref.draft.dims):
            ref = make(round, frame, Copy(), (ref,), place)[0]
        whole = tuple(Slice(ZERO, Sym(round.universe.dim(d).bound)) for d in ref.draft.dims)
        found.append(replace(ref, entries=whole))
    return found


def stop_gradient(round: Round, frame: Frame, name: str, bound: Bound) -> Value:
    """`stop_gradient(x)`, leaf by leaf."""

    def leaf(_: tuple[str, ...], v: Value) -> Value:
        if isinstance(v, Ref) and v.type.dtype.is_float:
            return make(round, frame, StopGradient(), (v,), bound.span)[0]
        return v

    return map_leaves(leaf, bound["x"])
