"""What users' functions draw for many keys at once has the same numbers as JAX's draws."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.runtime.rewriting.whole_loops import with_whole_loops


def played(key):
    """Draws as in the step of a game: two keys, a number from one and three from the other."""
    own, other = jax.random.split(key)
    return jax.random.uniform(own) + jax.random.uniform(other, (3,)).sum()


def stepped(keys):
    """A loop whose turns draw for all keys in a branch."""

    def turn(t, total):
        now = jax.vmap(lambda key: jax.random.fold_in(key, t))(keys.reshape(-1)).reshape(keys.shape)
        play = played
        for _ in keys.shape:
            play = jax.vmap(play)
        return lax.cond(t % 2 == 0, lambda: total + play(now), lambda: total)

    return lax.fori_loop(0, 3, turn, jnp.zeros(keys.shape))


@pytest.mark.parametrize(
    ("shape", "written_out"), [((16,), True), ((3, 7), True), ((15,), False), ((0,), False)]
)
def test_draws_for_many_keys_are_written_out(shape, written_out):
    keys = jax.random.split(jax.random.key(7), shape)
    loop = jax.jit(with_whole_loops(stepped, 32768, 4096, 16))
    assert ("random_bits" not in str(jax.make_jaxpr(loop)(keys))) == written_out
    if written_out:
        np.testing.assert_allclose(loop(keys), jax.jit(stepped)(keys), rtol=1e-5)


@pytest.mark.parametrize(
    "draw",
    [
        lambda key: jax.random.bits(key, (), "uint8"),
        lambda key: jax.random.bits(key, (33, 9)),  # too many positions for such a loop
        lambda key: jax.random.bits(jax.random.wrap_key_data(jnp.tile(key, 2), impl="rbg")),
        lambda key: jax.random.split(key, (2, 3)),
        lambda key: jax.random.bits(key, (5, 2)),
        lambda key: jax.random.bits(key, (0, 2)).sum(),
    ],
)
def test_all_kinds_of_draws_are_the_same(draw):
    words = jax.random.bits(jax.random.key(1), (16, 2))

    def loop(words):
        drawn = jax.vmap(draw)
        return lax.fori_loop(0, 2, lambda t, _: drawn(words), jnp.zeros_like(drawn(words)))

    found = jax.jit(with_whole_loops(loop, 32768, 4096, 16))(words)
    np.testing.assert_array_equal(found, jax.vmap(draw)(words))
