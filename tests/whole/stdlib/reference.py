"""Expressions on library functions against JAX functions: values, and gradients by every input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.whole.stdlib.both import both, narrow, wide

Case = tuple[str, Callable[[dict[str, Any]], Any]]
"""An expression, and the function of all data that it should be; axes of dimensions lead."""

DECLARED = re.compile(r"^input (\w+)(\[.*?\])?: (\w+)", re.MULTILINE)


def check(
    head: str,
    cases: Mapping[str, Case],
    bounds: Mapping[str, int],
    data: Any,
    *,
    by: str = "",
    atol: float = 1e-8,
) -> None:
    """Each case alone: its value, and the derivative of a weighted sum of it by what it names, or
    by those of them that stand in ``by``.

    All cases are one program, which is evaluated in float64 and compiled; a case varies with all
    dimensions of the head.
    """
    dims = len(bounds)
    exact = wide(data)
    inputs = [m[1] for m in DECLARED.finditer(head) if m[3] == "f32"]
    inputs = [k for k in inputs if not by or k in by.split()]
    used = {n: [k for k in inputs if re.search(rf"\b{k}\b", e)] for n, (e, _) in cases.items()}

    def everything(exact: dict[str, Any]) -> dict[str, Any]:
        wanted = {}
        for name, (_, reference) in cases.items():
            wanted[name] = reference(exact)
            free = {k: exact[k] for k in used[name]}
            slopes = jax.grad(weighted)(free, reference, dims, exact)
            wanted |= {f"{name}_by_{k}": slope for k, slope in slopes.items()}
        return wanted

    with jax.enable_x64(True):
        wanted = jax.jit(everything)(exact)
    text = head
    for name, (expression, _) in cases.items():
        text += f"{name} = {expression}\noutput {name}\n"
        text += f"{name}_sum = sum({name} * {ramp(wanted[name].shape[dims:])})\n"
        for k in used[name]:
            text += f"{name}_by_{k} = grad({name}_sum, {k})\noutput {name}_by_{k}\n"
    found = both(text, bounds, data, rtol=2e-4, atol=2e-5)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=atol, err_msg=name)


def weighted(free: dict[str, Any], reference: Any, dims: int, exact: dict[str, Any]) -> Any:
    """What is differentiated: all elements of the value, each with another weight."""
    value = reference({**exact, **free})
    shape = value.shape[dims:]
    count = int(np.prod(shape))
    return jnp.sum(value * jnp.cos(jnp.arange(count)).reshape(shape))


def ramp(shape: tuple[int, ...]) -> str:
    """The same weights in the language."""
    count = int(np.prod(shape))
    return f"reshape(cos(arange({count}, dtype = f32)), {list(shape)})"


def normal(seed: int, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
    """Data of these shapes."""
    random = np.random.default_rng(seed)
    return {name: narrow(random.standard_normal(s)) for name, s in shapes.items()}
