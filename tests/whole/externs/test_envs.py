"""The environments of `examples/rl`, called from programs, against the libraries themselves."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.runtime.run import run
from tests.support.examples import ROOT
from tests.support.session.long import sampled

# They are imported by those who use them: that takes seconds.
pytestmark = pytest.mark.skipif(
    not (find_spec("gymnax") and find_spec("gymnasium")), reason="no gymnax, no gymnasium"
)

Arrays = dict[str, Any]
FOLDER = ROOT / "examples" / "rl"

PLAY = """dim b < B
dim t < T
extern jax reset(key: key) -> (s: f32[N], o: SHAPE) from "envs.FILE:RESET"
extern jax step(key: key, s: f32[N], a: i32) -> (s: f32[N], o: SHAPE, r: f32, d: bool)
  from "envs.FILE:STEP"
input a[b, t]: i32
s[b, 0], o[b, 0] = reset(random.key())
s[b, t+1], o[b, t+1] = s2, o2
s2, o2, r, d = step(random.key(), s, a)
output s, s2, o, o2, r, d
"""

MANY = """dim t < T
extern jax reset(key: key, n: i32[n]) -> (s: f32[n, N], o: f32[n, SHAPE) from "envs.FILE:RESET"
extern jax step(key: key, s: f32[n, N], a: i32[n])
  -> (s: f32[n, N], o: f32[n, SHAPE, r: f32[n], d: bool[n]) from "envs.FILE:STEP"
input a[t]: i32[3]
s[0], o[0] = reset(random.key(), arange(3))
s[t+1], o[t+1] = s2, o2
s2, o2, r, d = step(random.key(), s, a)
output s, s2, o, o2, r, d
"""

GYM = """dim b < B
dim i < I
dim t < T
extern host reset(seed: i32) -> (o: f32[4]) from "envs.gym_cartpole:reset" over b
extern host step(a: i32) -> (o: f32[4], r: f32, d: bool) from "envs.gym_cartpole:step" over b
input a[b, i, t]: i32
o[b, i, 0] = reset(10 * i + b)
o[b, i, t+1] = o2
o2, r, d = step(a)
output o, o2, r, d
"""


def play(text: str, folder: Path, bounds: dict[str, int], actions: Any, **words: str) -> Arrays:
    """The outputs of a program, in which some words stand for others."""
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    path = folder / "m.rt"
    path.write_text(text)
    Compilation.from_path(str(path), Options(verify_each=True)).write(str(folder / "out"))
    inputs = {"a": np.asarray(actions, np.int32)}
    return run(folder / "out", bounds, inputs, seed=3, extern_path=[FOLDER]).outputs


@cache
def made(name: str) -> tuple[Any, Any, list[Any], Any]:
    """An environment of the library, its parameters, the leaves and the structure of its state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import gymnax
    env, params = gymnax.make(name)
    return env, params, *jax.tree.flatten(env.reset(jax.random.key(0), params)[1])


def stepped(name: str, vector: Any, action: int) -> tuple[Any, ...]:
    """What the library says comes after a state; a new episode does not, since it is random."""
    env, params, leaves, tree = made(name)
    at = np.cumsum([0, *(leaf.size for leaf in leaves)])
    parts = [
        vector[k:m].reshape(leaf.shape).astype(leaf.dtype)
        for leaf, k, m in zip(leaves, at[:-1], at[1:], strict=True)
    ]
    state = jax.tree.unflatten(tree, parts)
    _, after, reward, terminated, truncated, info = env.step(
        jax.random.key(0), state, action, params
    )
    flat = np.concatenate([np.ravel(leaf).astype(np.float32) for leaf in jax.tree.leaves(after)])
    return flat, info["final_observation"], reward, bool(terminated | truncated)


GAMES = {
    "cartpole": ("CartPole-v1", 2, {"N": "4", "SHAPE": "f32[4]", "RESET": "reset", "STEP": "step"}),
    "cartpole_v1": (
        "CartPole-v1",
        2,
        {"N": "5", "SHAPE": "f32[4]", "RESET": "reset_v1", "STEP": "step_v1"},
    ),
    "breakout": (
        "Breakout-MinAtar",
        3,
        {"N": "109", "SHAPE": "f32[10, 10, 4]", "RESET": "reset", "STEP": "step"},
    ),
}


@pytest.mark.parametrize("game", GAMES)
def test_games_of_gymnax(game: str, tmp_path: Path) -> None:
    name, choices, words = GAMES[game]
    actions = np.random.default_rng(2).integers(0, choices, (2, 25))
    actions[0] = 0
    found = play(PLAY, tmp_path, {"B": 2, "T": 25}, actions, FILE=game.split("_")[0], **words)
    assert found["d"][0].any() and not found["d"].all()
    unlike = {tuple(s) for s in found["s"][:, 0]}
    assert len(unlike) == 2 or game == "breakout"
    for b in range(2):
        for t in range(25):
            now = found["s"][b, t]
            padded = now if game != "cartpole" else np.concatenate([[0.0], now])
            state, obs, reward, done = stepped(name, padded, int(actions[b, t]))
            assert (found["r"][b, t], bool(found["d"][b, t])) == (reward, done)
            if not done:
                np.testing.assert_allclose(found["s2"][b, t], state[-len(now) :], rtol=1e-5)
                np.testing.assert_allclose(found["o2"][b, t], obs, rtol=1e-5)
            elif game == "cartpole_v1":
                assert found["s2"][b, t, 0] == 0  # no step of the new episode yet
                assert np.abs(found["s2"][b, t]).max() <= 0.05


def test_an_episode_of_cartpole_v1_ends_after_500_steps(tmp_path: Path) -> None:
    start = "x, y = reset(random.key())\ns[b, 0], o[b, 0] = 499.0 * one_hot(0, 5), y"
    text = PLAY.replace("s[b, 0], o[b, 0] = reset(random.key())", start)
    words = GAMES["cartpole_v1"][2]
    found = play(text, tmp_path, {"B": 1, "T": 2}, [[0, 1]], FILE="cartpole", **words)
    assert found["d"].tolist() == [[True, False]]


@pytest.mark.parametrize("game", sampled(["cartpole", "breakout"], "more games", of=2))
def test_many_games_as_one_axis(game: str, tmp_path: Path) -> None:
    name, choices, words = GAMES["cartpole_v1" if game == "cartpole" else game]
    words = words | {"RESET": "reset_all", "STEP": "step_all", "SHAPE": words["SHAPE"][4:]}
    actions = np.random.default_rng(2).integers(0, choices, (4, 3))
    found = play(MANY, tmp_path, {"T": 4}, actions, FILE=game, **words)
    assert len({tuple(s) for s in found["s"][0]}) > 1
    for t in range(4):
        for b in range(3):
            state, obs, reward, done = stepped(name, found["s"][t, b], int(actions[t, b]))
            assert (found["r"][t, b], bool(found["d"][t, b])) == (reward, done)
            np.testing.assert_allclose(found["s2"][t, b], state, rtol=1e-5)
            np.testing.assert_allclose(found["o2"][t, b], obs, rtol=1e-5)


def test_carts_of_gymnasium(tmp_path: Path) -> None:
    import gymnasium

    actions = np.random.default_rng(2).integers(0, 2, (3, 2, 30))
    found = play(GYM, tmp_path, {"B": 3, "I": 2, "T": 30}, actions)
    assert found["d"].any()
    for b in range(3):
        for i in range(2):
            env = gymnasium.make("CartPole-v1")
            obs, _ = env.reset(seed=10 * i + b)
            for t in range(30):
                np.testing.assert_array_equal(found["o"][b, i, t], obs)
                obs, reward, terminated, truncated, _ = env.step(int(actions[b, i, t]))
                done = terminated or truncated
                assert (found["r"][b, i, t], bool(found["d"][b, i, t])) == (reward, done)
                obs = env.reset()[0] if done else obs
                np.testing.assert_array_equal(found["o2"][b, i, t], obs)
