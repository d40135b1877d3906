"""Draws of users' functions for many keys, on a CPU: position by position, rounds written out.

JAX computes all positions of all keys in a loop of five turns. Of each turn XLA for CPUs makes two
functions, one a word, each with all rounds of both, and soon splits them among threads, which takes
longer than the rounds. Here one turn of a loop computes one position of all keys, a vector, with
the same numbers.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import JaxprEqn

_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_ROUNDS = 5
_WORD = 32


def is_draw(eqn: JaxprEqn, keys: int) -> bool:
    """Whether an operator draws words, or keys, for at least so many keys.

    And at most so many times as many positions as there are keys: a turn of a loop is one of them.
    """
    name, how = eqn.primitive.name, eqn.params
    if name not in ("random_bits", "random_split") or how.get("bit_width", _WORD) != _WORD:
        return False
    key, positions = eqn.invars[0].aval, math.prod(how["shape"])
    plain = str(key.dtype) == "key<fry>" and jax.config.jax_threefry_partitionable
    return plain and key.size >= keys and 0 < positions <= keys * key.size


def drawn(eqn: JaxprEqn, keys: Any) -> Any:
    """What such an operator draws: with an axis, or several, for the keys, then its own."""
    shape, points = eqn.params["shape"], keys.shape
    words = jax.random.key_data(keys).reshape(-1, 2)
    positions, first, second = math.prod(shape), words[:, 0], words[:, 1]
    splits = eqn.primitive.name == "random_split"
    turns = max(2, positions)  # XLA would write out a single turn, once for each consumer
    zeros = jnp.zeros((turns, len(words), 2) if splits else (turns, len(words)), jnp.uint32)

    def draw(turn: Any, made: Any) -> Any:
        place = jnp.minimum(turn, positions - 1).astype(jnp.uint32)
        x, y = _threefry(first, second, place)
        new = jnp.stack((x, y), -1) if splits else x ^ y
        return lax.dynamic_update_index_in_dim(made, new, turn, 0)

    made = jnp.moveaxis(lax.fori_loop(0, turns, draw, zeros)[:positions], 0, 1)
    if splits:
        return jax.random.wrap_key_data(made.reshape(*points, *shape, 2), impl="threefry2x32")
    return made.reshape(*points, *shape)


def _threefry(first: Any, second: Any, place: Any) -> tuple[Any, Any]:
    """Two words for each key, of two words, and a position."""
    schedule = first, second, first ^ second ^ jnp.uint32(_PARITY)
    x, y = first, second + place
    for k in range(_ROUNDS):
        for r in _ROTATIONS[k % 2]:
            x = x + y
            y = (y << r | y >> (_WORD - r)) ^ x
        x, y = x + schedule[(k + 1) % 3], y + schedule[(k + 2) % 3] + jnp.uint32(k + 1)
    return x, y
