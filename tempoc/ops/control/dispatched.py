"""Calls of functions that a table of kernels names for a formula of the program.

They are like calls of ``extern jax`` functions, but the program does not name them: the pass
``dispatch`` makes them, of all points of a dimension at once. What varies with the device and must
be known when JAX traces, such as the width of a window, is given by name.
"""

from __future__ import annotations

from dataclasses import dataclass

from tempoc.ops.control.externs import ExternJax
from tempoc.ops.definition import padding as pads
from tempoc.ops.definition.operator import EmittedValues, Emitter
from tempoc.ops.definition.types import Types
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchedCall(ExternJax):
    """A call of ``module.function`` with one result; ``given`` are arguments by name."""

    given: tuple[tuple[str, bool | int | float | ix.Expr], ...] = ()

    name = "dispatched"

    def emit(self, args: EmittedValues, results: Types, out: Emitter) -> tuple[str, ...]:
        """A call, with numbers as Python has them."""
        texts = [pads.with_own_padding(a, out).text for a in args]
        for name, value in self.given:
            text = out.static(value) if isinstance(value, ix.Expr) else f"{value}"
            texts.append(f"{name}={text}")
        return (f"{out.imported(self.declared)}({', '.join(texts)})",)
