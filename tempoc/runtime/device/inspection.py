"""What only the compiler asks of JAX: text and sizes of compiled functions, and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.compilation_cache import compilation_cache

from tempoc.files.temporary import temporary_folder
from tempoc.runtime.device.backend import DeviceArray, JitOptions, jitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected:
    """A compiled function: HLO text, bytes of donated arguments, bytes of temporary buffers."""

    text: str
    updated: int
    temporary: int


def inspect_kernel(
    function: Callable[..., Any], how: JitOptions, arguments: Sequence[Any]
) -> Inspected:
    """Compile a function for abstract arguments (shapes and dtypes) and inspect the result."""
    compiled = jitted(function, how).lower(*arguments).compile()
    memory = compiled.memory_analysis()
    return Inspected(
        text=compiled.as_text() or "",
        updated=memory.alias_size_in_bytes,
        temporary=memory.temp_size_in_bytes,
    )


def thunk_list(function: Callable[..., Any], how: JitOptions, arguments: Sequence[Any]) -> str:
    """What XLA launches for a function, as it dumps that for GPUs; empty if it dumps nothing."""
    kernel = jitted(function, how)
    with temporary_folder() as folder:
        # A function that JAX finds in its cache of compiled ones is not dumped.
        with _without_cache():
            lowered = kernel.lower(*arguments)
            lowered.compile(compiler_options={"xla_dump_to": folder})
        lists = sorted(Path(folder).glob("*thunk_sequence*.txt"), key=lambda p: len(p.name))
        return lists[-1].read_text() if lists else ""


@contextmanager
def _without_cache() -> Iterator[None]:
    """Compile anew within the block."""
    before = jax.config.jax_enable_compilation_cache
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    try:
        yield
    finally:
        jax.config.update("jax_enable_compilation_cache", before)
        compilation_cache.reset_cache()


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
