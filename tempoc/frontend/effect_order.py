"""Numbers effects (host calls, prints, saves) in source order."""

from __future__ import annotations

from dataclasses import replace

from tempoc.frontend.environment.draft_node import Draft
from tempoc.ops.control.effects import EffectOp
from tempoc.ops.control.externs import ExternHost


def number_effects(drafts: list[Draft]) -> None:
    """Set `turn` of all effects in the order of plain evaluation: arguments before the call."""
    effects = [d for d in drafts if isinstance(d.op, ExternHost | EffectOp)]
    for number, draft in enumerate(sorted(effects, key=lambda d: d.turn)):
        assert isinstance(draft.op, ExternHost | EffectOp)
        draft.op = replace(draft.op, turn=number)
