"""The text of ``kernels.py``: its header, then one function for each statement."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tempoc.codegen.batches import IN_BATCHES
from tempoc.codegen.kernels import Function
from tempoc.ops.draw_text import helpers_in
from tempoc.ops.opdef import Import

_HEADER = '''"""Kernels of {name}, written by tempoc: one function for each statement.

``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces.
"""
'''
# What a kernel may name, and the line that brings it in.
_IMPORTS = (
    ("jax.", "import jax"),
    ("jnp.", "import jax.numpy as jnp"),
    ("lax.", "from jax import lax"),
)


def module(
    name: str, functions: tuple[Function, ...], own: Mapping[Import, str] = MappingProxyType({})
) -> str:
    """The whole file; ``own`` are the user's functions by name. Equal functions, equal bytes."""
    kernels = "\n\n".join(f.text for f in functions)
    batches = [IN_BATCHES] if "in_batches(" in kernels else []
    body = "\n\n".join([*helpers_in(kernels), *batches, kernels])
    imports = [line for used, line in _IMPORTS if used in body]
    if own:
        imports += ["", *(_import(place, alias) for place, alias in own.items())]
    return "\n".join([_HEADER.format(name=name), *imports, "", "", body])


def _import(place: Import, alias: str) -> str:
    outer, dot, inner = place.function.partition(".")
    line = f"from {place.module} import {outer}" + ("" if alias == outer else f" as {alias}")
    return f"{line}\n{alias} = {alias}.{inner}" if dot else line
