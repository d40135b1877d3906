"""CartPole-v1 of gymnasium, several at once. They live here, between the calls.

    extern host reset(seed: i32) -> (obs: f32[4])           from "envs.gym_cartpole:reset" over b
    extern host step(action: i32)
                -> (obs: f32[4], reward: f32, done: bool)   from "envs.gym_cartpole:step" over b

`over b`: one call for all `b`, with a leading axis everywhere. `reset` starts as many carts as
there are seeds. When an episode ends, after 500 steps at the latest, `step` gives the first
observation of a new one.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

carts: VectorEnv | None = None


def reset(seed: np.ndarray) -> Any:
    """Seeds [B] -> observations [B, 4]."""
    global carts
    if carts is None or carts.num_envs != len(seed):
        carts = gymnasium.make_vec(
            "CartPole-v1",
            num_envs=len(seed),
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        )
    return carts.reset(seed=seed.tolist())[0]


def step(action: np.ndarray) -> Any:
    """Actions [B] -> observations [B, 4], rewards [B], done [B]."""
    if carts is None:
        raise RuntimeError("call reset first")
    obs, reward, terminated, truncated, _ = carts.step(action)
    return obs, reward.astype(np.float32), terminated | truncated
