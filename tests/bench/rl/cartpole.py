"""An iteration of `examples/rl/gym.rt`, 64 carts of gymnasium, against a loop in Python and JAX."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tests.bench.compiled import ready
from tests.bench.measure import Row, per_step
from tests.bench.rl.carts import FOLDER, environment

CARTS, STEPS = 64, 100
GAMMA, RATE = 0.99, 1e-2


def log_probs(net: list[dict[str, jax.Array]], x: jax.Array) -> jax.Array:
    for k, layer in enumerate(net):
        x = x @ layer["w"].T + layer["b"]
        x = jnp.tanh(x) if k < len(net) - 1 else x
    return jax.nn.log_softmax(x)


@jax.jit
def act(net: list[dict[str, jax.Array]], obs: jax.Array, key: jax.Array) -> jax.Array:
    return jax.random.categorical(key, log_probs(net, obs))


@jax.jit
def learn(
    net: list[dict[str, jax.Array]], state: optax.OptState, seen: tuple[jax.Array, ...]
) -> tuple[list[dict[str, jax.Array]], optax.OptState]:
    obs, action, r, alive = seen

    def back(g: jax.Array, r: jax.Array) -> tuple[jax.Array, jax.Array]:
        return r + GAMMA * g, r + GAMMA * g

    g = jax.lax.scan(back, jnp.zeros(CARTS), r, reverse=True)[1]

    def loss(net: list[dict[str, jax.Array]]) -> jax.Array:
        nll = -jnp.take_along_axis(log_probs(net, obs), action[..., None], -1)[..., 0]
        return (alive * nll * (g - g.mean(1, keepdims=True))).mean()

    change, state = optax.adam(RATE).update(jax.grad(loss)(net), state)
    return optax.apply_updates(net, change), state


def train(carts: object, iterations: int) -> np.ndarray:
    """The mean length of an episode, for each iteration."""
    key = jax.random.key(0)
    sizes = (4, 32, 32, 2)
    net = [
        {"w": jax.random.normal(k, (m, n)) / n**0.5, "b": jnp.zeros(m)}
        for k, n, m in zip(jax.random.split(key, 3), sizes, sizes[1:], strict=False)
    ]
    state = optax.adam(RATE).init(net)
    scores = []
    for i in range(iterations):
        obs = carts.reset(10000 * i + np.arange(CARTS))
        alive = np.ones(CARTS, np.float32)
        seen: list[tuple[np.ndarray, ...]] = []
        for t in range(STEPS):
            action = np.asarray(act(net, obs, jax.random.fold_in(key, i * STEPS + t)))
            after, reward, done = carts.step(action)
            seen.append((obs, action, alive * reward, alive))
            obs, alive = after, np.where(done, 0.0, alive).astype(np.float32)
        stacked = tuple(np.stack(x) for x in zip(*seen, strict=True))
        net, state = learn(net, state, stacked)
        scores.append(stacked[2].sum() / CARTS)
    return np.array(scores)


def cartpole() -> Iterator[Row]:
    """Seconds for one more iteration."""
    carts = environment("gym_cartpole")
    bounds = {"B": CARTS, "T": STEPS}
    program = ready(FOLDER / "gym.rt", bounds=bounds, extern_path=[FOLDER])

    def ours(iterations: int) -> np.ndarray:
        return program(I=iterations).outputs["score"]

    def theirs(iterations: int) -> np.ndarray:
        return train(carts, iterations)

    # Both draw their own numbers; that they learn alike shows in how long episodes last.
    np.testing.assert_allclose(ours(15)[-5:].mean(), theirs(15)[-5:].mean(), rtol=0.3)
    mine, other = per_step(ours, theirs, few=1, many=4, rounds=5)
    yield Row(name=f"gymnasium, {CARTS} carts for {STEPS} steps", ours=mine, theirs=other)
