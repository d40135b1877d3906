"""Derivatives of the user's functions, by ``jax.vjp``."""

from __future__ import annotations

from dataclasses import fields

from tempoc.ops.control.externs import ExternJax, ExternVjp
from tempoc.ops.gradients.calculus import Calculus, Derivatives, Rules, Term, Terms

RULES = Rules()


@RULES.of(ExternJax, ExternVjp)
def extern_jax(op: ExternJax, c: Calculus, args: Terms, results: Terms, cots: Terms) -> Derivatives:
    """All cotangents in one call, which is differentiated by the same rule."""
    attributes = {f.name: getattr(op, f.name) for f in fields(ExternJax)}
    order = op.order + 1 if isinstance(op, ExternVjp) else 1
    floats = [a.type.dtype.is_float for a in args]
    given = [g for g, r in zip(cots, results, strict=True) if r.type.dtype.is_float]
    if not any(floats) or not given:
        return tuple(None for _ in args)
    cotangents = iter(c.several(ExternVjp(**attributes, order=order), *args, *given))
    parts: list[Term | None] = [next(cotangents) if is_float else None for is_float in floats]
    return tuple(parts)
