"""`grad(loss, x)` while a program is elaborated: a placeholder of the type of `x`.

The dependences of the loss are not known yet; it may depend on the gradient itself (at an earlier
step of training). Therefore a placeholder node (`Gradient`) reads the loss at all points and `x` at
its own; `differentiate` replaces it once the graph is complete.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tempoc.diagnostics.source import Span
from tempoc.frontend.environment import values as val
from tempoc.frontend.environment.draft_node import Draft
from tempoc.frontend.environment.failure import Failure
from tempoc.frontend.environment.round import Frame, Round
from tempoc.frontend.errors import gradients as gradient_errors
from tempoc.frontend.expressions import apply_operator as apply
from tempoc.frontend.expressions.bind_arguments import BoundArguments
from tempoc.ops.control.control import Copy, StopGradient
from tempoc.ops.control.gradient import Gradient
from tempoc.symbolic import expr as ix

_NAME = re.compile(r"[A-Za-z_]\w*(\s*\.\s*\w+|\[\s*\d+\s*\])*")
_POINTS = re.compile(rf"({_NAME.pattern})\[[^\[\]]*\]")


def gradient(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    """`grad(loss, x)`, leaf by leaf of `x`. Raises `Failure`."""
    x, place = bound["x"], bound.places["x"]
    unknown = val.unknown_in(x)
    if unknown is not None:
        return unknown
    if not _NAME.fullmatch(place.text.strip()):
        raise _not_a_name(x, place)
    targets: list[val.Ref] = []
    for _, leaf in val.leaves(x):
        if not isinstance(leaf, val.Ref):
            raise Failure(gradient_errors.not_differentiable(place, val.describe(leaf)))
        # An entry of a list has a name, one of a tensor is another tensor, which starts here.
        if leaf.entries != tuple(ix.Sym(d) for d in leaf.draft.dims) or place in leaf.draft.spans:
            raise _not_a_name(x, place)
        if not leaf.type.dtype.is_float:
            raise Failure(gradient_errors.not_float(place, "x", leaf.type))
        targets.append(leaf)
    losses = _losses(round, frame, bound)
    count = iter(range(len(targets)))

    def leaf_gradient(path: tuple[str, ...], v: val.Value) -> val.Value:
        assert isinstance(v, val.Ref)
        draft = Draft(
            hint=".".join((frame.prefix, "grad", *path)),
            dims=v.draft.dims,
            types=(replace(v.type, weak=False),),
            origin=frame.origin,
            op=Gradient(losses=len(losses), wrt=next(count)),
            spans=(bound.span,),
            doubt=v.draft.doubt,
        )
        draft.inputs = [apply.wire(r) for r in (*losses, *targets)]
        round.add(draft)
        return apply.identity(round, frame, draft, bound.span)

    return val.map_leaves(leaf_gradient, x)


def _not_a_name(x: val.Value, place: Span) -> Failure:
    """A refusal of an expression, which may be points of a tensor."""
    points = _POINTS.fullmatch(place.text.strip())
    if points and isinstance(x, val.Ref) and x.draft.hint == points[1] and x.draft.dims:
        return Failure(gradient_errors.points(place, points[1], x.draft.dims[0]))
    return Failure(gradient_errors.not_a_name(place))


def _losses(round: Round, frame: Frame, bound: BoundArguments) -> list[val.Ref]:
    """Reads of the loss at all points, leaf by leaf; none while it is unknown. Raises `Failure`."""
    place = bound.places["loss"]
    if val.unknown_in(bound["loss"]) is not None:
        return []
    losses: list[val.Ref] = []
    for _, leaf in val.leaves(bound["loss"]):
        if isinstance(leaf, (val.Unknown, val.Typed)):
            return []
        if isinstance(leaf, val.ConstantNumber) and not isinstance(leaf.value, bool):
            continue
        ref = apply.tensor(round, frame, leaf, place)
        if ref.type.shape:
            raise Failure(gradient_errors.not_scalar(place, ref.type))
        if not ref.type.dtype.is_float:
            raise Failure(gradient_errors.not_float(place, "the loss", ref.type))
        if ref.entries != tuple(ix.Sym(d) for d in ref.draft.dims):
            ref = apply.make(round, frame, Copy(), (ref,), place)[0]
        full_entries = tuple(
            ix.Slice(ix.ZERO, ix.Sym(round.universe.dim(d).bound)) for d in ref.draft.dims
        )
        losses.append(replace(ref, entries=full_entries))
    return losses


def stop_gradient(round: Round, frame: Frame, name: str, bound: BoundArguments) -> val.Value:
    """`stop_gradient(x)`, leaf by leaf."""

    def leaf(_: tuple[str, ...], v: val.Value) -> val.Value:
        if isinstance(v, val.Ref) and v.type.dtype.is_float:
            return apply.make(round, frame, StopGradient(), (v,), bound.span)[0]
        return v

    return val.map_leaves(leaf, bound["x"])
