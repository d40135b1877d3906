"""CartPole of gymnax: push the cart left (0) or right (1) so that the pole stays up.

    extern jax reset(key: key) -> (state: f32[4], obs: f32[4])           from "envs.cartpole:reset"
    extern jax step(key: key, state: f32[4], action: i32)
               -> (state: f32[4], obs: f32[4], reward: f32, done: bool)  from "envs.cartpole:step"

An episode ends when the pole falls or the cart runs off the track; the next step is the first of a
new one. `reset_v1` and `step_v1` are the same with `state: f32[5]`, which also counts steps: as in
CartPole-v1, an episode ends after 500.

For many carts that are one axis instead of a dimension:

    extern jax reset_all(key: key, carts: i32[n])
               -> (state: f32[n, 5], obs: f32[n, 4])                  from "envs.cartpole:reset_all"
    extern jax step_all(key: key, state: f32[n, 5], action: i32[n])
               -> (state: f32[n, 5], obs: f32[n, 4],
                   reward: f32[n], done: bool[n])                     from "envs.cartpole:step_all"
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from .arrays import Environment

CARTPOLE = Environment("CartPole-v1")
reset_v1, step_v1 = CARTPOLE.reset, CARTPOLE.step


def reset(key: Any) -> tuple[Any, Any]:
    """A key -> state, observation."""
    state, obs = reset_v1(key)
    return state[1:], obs


def step(key: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
    """A key, a state, an action -> state, observation, reward, done."""
    now = jnp.concatenate([jnp.zeros(1, state.dtype), state])  # the steps so far come first
    after, obs, reward, done = step_v1(key, now, action)
    return after[1:], obs, reward, done


def reset_all(key: Any, carts: Any) -> tuple[Any, Any]:
    """A key, something for each cart -> states, observations."""
    return jax.vmap(reset_v1)(jax.random.split(key, len(carts)))


def step_all(key: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
    """A key, states, actions -> states, observations, rewards, done."""
    return jax.vmap(step_v1)(jax.random.split(key, len(state)), state, action)
