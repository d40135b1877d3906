"""What a step changes under a condition: the functions of emitted text that choose it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.codegen.program.module import REGION_HELPERS
from tempoc.codegen.regions.prelude import UPDATED


@pytest.mark.parametrize("name", ["taken_if", "selected_if"])
@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("holds", [False, True])
def test_arrays_of_layers_are_chosen(
    name: str, device: str, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in a dict, into which the step writes."""
    functions: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec("".join(REGION_HELPERS[n] for n in ("branched", "is_brief", "taken_if", name)), functions)
    monkeypatch.setattr(jax, "default_backend", lambda: device)

    def step(carry: tuple[dict[int, jax.Array]]) -> tuple[dict[int, jax.Array]]:
        (layers,) = carry
        layers[1] = layers[0] + layers[1]
        return (layers,)

    given = {0: jnp.float32(1), 1: jnp.float32(2)}
    (new,) = functions[name](jnp.bool_(holds), step, (given,))
    assert (float(new[0]), float(new[1])) == (1, 3 if holds else 2)


@pytest.mark.parametrize("holds", [False, True])
def test_branches_are_given_no_axes_of_length_one(holds: bool) -> None:
    """Neither of what they change nor of what they read; the arrays keep these axes."""
    functions: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(REGION_HELPERS["squeezed"] + REGION_HELPERS["branched"], functions)

    def run(row: jax.Array, read: jax.Array, number: jax.Array) -> Any:
        def step(carry: tuple[dict[int, jax.Array]]) -> tuple[dict[int, jax.Array]]:
            return ({0: carry[0][0] + read[1] * number},)

        return functions["branched"](jnp.bool_(holds), step, ({0: row},))

    given = jnp.ones((3, 1)), jnp.full((2, 3, 1), 4.0), jnp.float32(2)
    (branch,) = (e for e in jax.make_jaxpr(run)(*given).eqns if e.primitive.name == "cond")
    assert [v.aval.shape for v in branch.invars[1:]] == [(3,), (2, 3), ()]
    np.testing.assert_array_equal(run(*given)[0][0], np.full((3, 1), 9 if holds else 1))


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("tail", [(), (1,)])
@pytest.mark.parametrize(("own", "place"), [(True, 2), (True, -1), (False, 2)])
def test_rows_that_are_put_into_large_arrays_are_selected(
    own: bool, place: int, tail: tuple[int, ...], holds: bool
) -> None:
    """No branch is given the array, of which XLA would copy all; one that is made anew has one.

    A row that is before the first one is put there, as by `updated`.
    """
    functions: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec("".join((UPDATED, *REGION_HELPERS.values())), functions)

    def run(array: jax.Array, number: jax.Array) -> Any:
        def step(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            array, number = carry
            row = array[1] * number
            into = array if own else array + 1
            start = [jnp.int32(place), 0, *(0 for _ in tail)]
            return functions["updated"](into, row[None], start), number + 1

        return functions["selected_if"](number < (9 if holds else 0), step, (array, number))

    given = jnp.arange(15_000, dtype=jnp.int32).reshape(3, 5000, *tail), jnp.int32(2)
    names = [e.primitive.name for e in jax.make_jaxpr(run)(*given).eqns]
    assert ("cond" in names) != own
    new, number = run(*given)
    expected = np.array(given[0])
    if holds:
        expected += 0 if own else 1
        expected[max(place, 0)] = given[0][1] * 2
    np.testing.assert_array_equal(new, expected)
    assert number == (3 if holds else 2)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 130])
def test_strips_have_all_steps(device: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of steps is passed; arrays have axes of length 1."""
    functions: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    for name in ("squeezed", "looped", "strip_mined_loop", "looped_in_strips"):
        exec(REGION_HELPERS[name], functions)
    monkeypatch.setattr(jax, "default_backend", lambda: device)

    def step(k: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        row, total = carry
        return row.at[0, k % 3].add(1), total + k

    def run(end: jax.Array) -> tuple[jax.Array, jax.Array]:
        start = jnp.zeros((1, 3), jnp.int32), jnp.int32(0)
        return functions["looped_in_strips"](2, end, step, start, (0,))  # type: ignore[no-any-return]

    row, total = jax.jit(run)(jnp.int32(2 + count))
    steps = np.arange(2, 2 + count)
    np.testing.assert_array_equal(row[0], np.bincount(steps % 3, minlength=3))
    assert total == steps.sum()
