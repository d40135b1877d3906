"""The order in the source of what is seen outside: host functions called, prints, saves."""

from __future__ import annotations

from dataclasses import replace

from tempoc.frontend.environment.draft_node import Draft
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.externs import ExternHost


def number_turns(drafts: list[Draft]) -> None:
    """Number them as a reader of the source would execute them: arguments before the call."""
    found = [d for d in drafts if isinstance(d.op, ExternHost | EffectOp)]
    for number, draft in enumerate(sorted(found, key=lambda d: d.turn)):
        assert isinstance(draft.op, ExternHost | EffectOp)
        draft.op = replace(draft.op, turn=number)
