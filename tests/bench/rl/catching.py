"""A game seen as 3 x 32 x 32 pixels: move left (0), stay (1), or move right (2) to catch a ball.

    extern jax reset(key: key) -> (state: i32[3], obs: f32[3, 32, 32])        from "catching:reset"
    extern jax step(key: key, state: i32[3], action: i32)
               -> (state: i32[3], obs: f32[3, 32, 32], reward: f32, done: bool)
               from "catching:step"

The ball falls by a row in each step; the state is its column, its row, and the column of the
player, who is in the last row and three columns wide. The first picture shows the ball, the second
one the column in which it falls, the third one the player. An episode ends with the ball in the
last row, with a reward of 1 if it is caught, else -1; the next step is the first of a new one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

SIDE = 32


def reset(key: Any) -> tuple[Any, Any]:
    """A key -> state, observation."""
    ball, player = jax.random.randint(key, (2,), 0, SIDE)
    state = jnp.stack([ball, jnp.int32(0), player])
    return state, picture(state)


def step(key: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
    """A key, a state, an action -> state, observation, reward, done."""
    ball, row, player = state
    player = jnp.clip(player + action - 1, 0, SIDE - 1)
    done = row + 1 == SIDE - 1
    caught = jnp.where(jnp.abs(ball - player) <= 1, 1.0, -1.0)
    new, _ = reset(key)
    after = jnp.where(done, new, jnp.stack([ball, row + 1, player]))
    return after, picture(after), jnp.where(done, caught, 0.0).astype(jnp.float32), done


def picture(state: Any) -> Any:
    """What one sees of a state."""
    place = jnp.arange(SIDE)
    ball, row, player = state
    column = jnp.broadcast_to(place == ball, (SIDE, SIDE))
    there = column & (place == row)[:, None]
    bottom = (place == SIDE - 1)[:, None] & (jnp.abs(place - player) <= 1)
    return jnp.stack([there, column, bottom]).astype(jnp.float32)
