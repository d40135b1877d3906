"""What a step changes under a condition: the functions of emitted text that choose it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tempoc.codegen.program.module import REGION_HELPERS


@pytest.mark.parametrize("name", ["taken_if", "selected_if"])
@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("holds", [False, True])
def test_arrays_of_layers_are_chosen(
    name: str, device: str, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in a dict, into which the step writes."""
    functions: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(REGION_HELPERS["taken_if"] + REGION_HELPERS[name], functions)
    monkeypatch.setattr(jax, "default_backend", lambda: device)

    def step(carry: tuple[dict[int, jax.Array]]) -> tuple[dict[int, jax.Array]]:
        (layers,) = carry
        layers[1] = layers[0] + layers[1]
        return (layers,)

    given = {0: jnp.float32(1), 1: jnp.float32(2)}
    (new,) = functions[name](jnp.bool_(holds), step, (given,))
    assert (float(new[0]), float(new[1])) == (1, 3 if holds else 2)
