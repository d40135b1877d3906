"""gymnax environments as functions of plain arrays, which is what `extern jax` passes.

A state becomes a vector of float32. That is exact: games count far below 2**24.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import gymnax


class Environment:
    """`reset` and `step` of a gymnax environment. After an episode's last step comes the state
    and the observation of a new one (auto-reset)."""

    def __init__(self, name: str) -> None:
        self.env, self.params = gymnax.make(name)
        state = jax.eval_shape(self.env.reset, jax.random.key(0), self.params)[1]
        self.leaves, self.tree = jax.tree.flatten(state)

    def reset(self, key: Any) -> tuple[Any, Any]:
        """A key -> state, observation."""
        obs, state = self.env.reset(key, self.params)
        return self.pack(state), obs

    def step(self, key: Any, state: Any, action: Any) -> tuple[Any, Any, Any, Any]:
        """A key, a state, an action -> state, observation, reward, done."""
        found = self.env.step(key, self.unpack(state), action, self.params)
        obs, after, reward, terminated, truncated, _ = found
        return self.pack(after), obs, jnp.float32(reward), terminated | truncated

    def pack(self, state: Any) -> Any:
        """The numbers of a state, one after the other."""
        return jnp.concatenate([jnp.float32(leaf).ravel() for leaf in jax.tree.leaves(state)])

    def unpack(self, vector: Any) -> Any:
        """The state that `pack` made a vector of."""
        parts, at = [], 0
        for leaf in self.leaves:
            size = math.prod(leaf.shape)
            parts.append(vector[at : at + size].reshape(leaf.shape).astype(leaf.dtype))
            at += size
        return jax.tree.unflatten(self.tree, parts)
