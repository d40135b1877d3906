"""Breakout of MinAtar, in gymnax: catch the ball with the paddle, break the bricks.

    extern jax reset(key: key)
               -> (state: f32[109], obs: f32[10, 10, 4])  from "envs.breakout:reset"
    extern jax step(key: key, state: f32[109], action: i32)
               -> (state: f32[109], obs: f32[10, 10, 4],
                   reward: f32, done: bool)               from "envs.breakout:step"

Actions: 0 stay, 1 left, 2 right. The channels of an observation: paddle, ball, its trail, bricks.
An episode ends when the ball is lost or after 1000 steps; the next step is the first of a new one.
`reset_all` and `step_all` play many games at once, as one axis in front, like those of CartPole.
"""

from __future__ import annotations

from typing import Any

import jax

from .arrays import Environment

BREAKOUT = Environment("Breakout-MinAtar")
reset, step = BREAKOUT.reset, BREAKOUT.step


def reset_all(key: Any, games: Any) -> tuple[Any, Any]:
    """A key, something for each game -> states, observations."""
    return jax.vmap(reset)(jax.random.split(key, len(games)))


def step_all(key: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
    """A key, states, actions -> states, observations, rewards, done."""
    return jax.vmap(step)(jax.random.split(key, len(state)), state, action)
