"""What only the compiler asks of JAX: text and sizes of compiled functions, and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from tempoc.program.nodes.gpu_commands import COMMON
from tempoc.runtime.device.backend import HIGHEST, DeviceArray, jitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """A compiled function: HLO text, bytes of donated arguments, bytes of temporary buffers."""

    text: str
    updated: int
    temporary: int


def inspect_kernel(
    function: Callable[..., Any],
    static: Mapping[str, int],
    donated: tuple[int, ...],
    arguments: Sequence[Any],
    precision: str = HIGHEST,
) -> Inspected:
    """Compile a function for abstract arguments (shapes and dtypes) and inspect the result."""
    compiled = jitted(function, static, donated, precision, COMMON).lower(*arguments).compile()
    memory = compiled.memory_analysis()
    return Inspected(
        text=compiled.as_text() or "",
        updated=memory.alias_size_in_bytes,
        temporary=memory.temp_size_in_bytes,
    )


def vjp_function(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The vector-Jacobian product of a function with ``count`` arguments.

    It takes these, then the cotangents of the float results, and gives the cotangents of the float
    arguments.
    """

    def back(*given: DeviceArray) -> tuple[DeviceArray, ...]:
        args = given[:count]
        floats = [k for k, a in enumerate(args) if jnp.issubdtype(a.dtype, jnp.floating)]

        def float_results(*some: DeviceArray) -> tuple[DeviceArray, ...]:
            replaced = dict(zip(floats, some, strict=True))
            result = function(*(replaced.get(k, a) for k, a in enumerate(args)))
            several = result if isinstance(result, tuple) else (result,)
            return tuple(r for r in several if jnp.issubdtype(r.dtype, jnp.floating))

        pull = jax.vjp(float_results, *(args[k] for k in floats))[1]
        return tuple(pull(given[count:]))

    return back
