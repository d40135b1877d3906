"""Diagnostics of limits that a program reaches (RT106)."""

from __future__ import annotations

from tempoc.base.limits import TABLE, LimitReached, flag_name
from tempoc.diagnostics.diagnostic import Diagnostic, error
from tempoc.frontend.environment.failure import LimitReachedAt


def reached(limit: LimitReached) -> Diagnostic:
    """A limit of the compiler is reached, at an equation if it is known."""
    row, name = TABLE[limit.name], flag_name(limit.name)
    return error(
        "RT106",
        f"the limit `{name}` is reached: more than {limit.most} {row.counts}",
        limit.span if isinstance(limit, LimitReachedAt) else None,
        f"`--limit {name}={2 * limit.most}` raises it; `tempoc help limits` says what that costs",
        notes=(f"it guards against {row.guards}",),
    )
