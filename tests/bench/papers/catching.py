"""The game of `tests/bench/rl/catching.py` with pictures of any size, in one row of numbers.

`place` is `arange(side)`: it tells the functions how large a picture is.

    extern jax reset(key: key, place: i32[n]) -> (state: i32[3], obs: f32[3*n*n])
               from "catching:reset"
    extern jax step(key: key, state: i32[3], action: i32, place: i32[n])
               -> (state: i32[3], obs: f32[3*n*n], reward: f32, done: bool)
               from "catching:step"
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


def reset(key: Any, place: Any) -> tuple[Any, Any]:
    """A key -> state, observation."""
    ball, player = jax.random.randint(key, (2,), 0, len(place))
    state = jnp.stack([ball, jnp.int32(0), player])
    return state, picture(state, place)


def step(key: Any, state: Any, action: Any, place: Any) -> tuple[Any, Any, Any, Any]:
    """A key, a state, an action -> state, observation, reward, done."""
    ball, row, player = state
    last = len(place) - 1
    player = jnp.clip(player + action - 1, 0, last)
    done = row + 1 == last
    caught = jnp.where(jnp.abs(ball - player) <= 1, 1.0, -1.0)
    new, _ = reset(key, place)
    after = jnp.where(done, new, jnp.stack([ball, row + 1, player]))
    return after, picture(after, place), jnp.where(done, caught, 0.0).astype(jnp.float32), done


def picture(state: Any, place: Any) -> Any:
    """What one sees of a state: the ball, its column, the player."""
    ball, row, player = state
    column = jnp.broadcast_to(place == ball, (len(place), len(place)))
    there = column & (place == row)[:, None]
    bottom = (place == len(place) - 1)[:, None] & (jnp.abs(place - player) <= 1)
    return jnp.stack([there, column, bottom]).astype(jnp.float32).reshape(-1)


@dataclass(frozen=True)
class Catching:
    """The game with pictures of `side` times `side`, as `ppo_jax.train` wants it."""

    side: int

    def reset_v1(self, key: Any) -> tuple[Any, Any]:
        return reset(key, jnp.arange(self.side))

    def step_v1(self, key: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
        return step(key, state, action, jnp.arange(self.side))
