"""Effects for the runner: the call that computes the tensors, and what to do with them."""

from __future__ import annotations

from tempoc.codegen.program.interface import to_entry
from tempoc.ops.control.effects import EffectOp, Print, Save
from tempoc.ops.definition.types import TensorType
from tempoc.program.nodes import nodes as prog

NO_CALL = prog.Call(kernel="", point=(), args=(), results=())
"""For effects whose tensors are given without a call."""


def to_effect(
    op: EffectOp, types: tuple[TensorType, ...], call: prog.Call = NO_CALL
) -> prog.Effect:
    """The runner's form of an operator with operands of these types."""
    count = len(op.names)
    parts = (op.parts if isinstance(op, Print) else ()) or ("",) * count
    places = op.places or ((),) * count
    return prog.Effect(
        kind=op.name,
        call=call,
        places=tuple(
            prog.EffectTensor(
                name=name,
                entries=tuple((dim, to_entry(e)) for dim, e in entries),
                shape=type_.shape,
                part=part,
            )
            for name, entries, type_, part in zip(op.names, places, types, parts, strict=True)
        ),
        path=op.path if isinstance(op, Save) else "",
        texts=op.texts if isinstance(op, Print) else (),
        conditional=op.conditional,
    )
