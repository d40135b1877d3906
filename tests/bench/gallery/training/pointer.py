"""Two scans and attention, `jax.value_and_grad`, and a scan over batches."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

H = 32


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    """Random numbers and their order."""
    random = np.random.default_rng(0)
    x = random.random((sizes["I"], sizes["B"], sizes["T"])).astype(np.float32)

    def matrix(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    params = {"start.w1": matrix(H, H), "start.w2": matrix(H, H), "start.v": matrix(H)}
    for part in ("enc", "dec"):
        params[f"start.{part}.w"], params[f"start.{part}.u"] = matrix(4 * H, 1), matrix(4 * H, H)
        params[f"start.{part}.b"] = np.zeros(4 * H, np.float32)
    return {"x": x, "order": np.argsort(x, -1).astype(np.int32)}, params


State = tuple[jax.Array, jax.Array]


def cell(p: Tensors, part: str, state: State, x: jax.Array) -> tuple[State, jax.Array]:
    """A step of an LSTM for a batch."""
    h, c = state
    w, u, b = (p[f"start.{part}.{name}"] for name in "wub")
    enter, forget, new, leave = jnp.split(x @ w.T + h @ u.T + b, 4, -1)
    c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(new)
    h = jax.nn.sigmoid(leave) * jnp.tanh(c)
    return (h, c), h


def loss(p: Tensors, x: jax.Array, order: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The loss of a batch, and how often the pointer is right."""
    none = jnp.zeros((x.shape[0], H))
    last, h = jax.lax.scan(lambda s, x: cell(p, "enc", s, x), (none, none), x.T[..., None])
    keys = (h @ p["start.w1"].T).transpose(1, 0, 2)
    given = jnp.pad(jnp.take_along_axis(x, order, 1)[:, :-1], ((0, 0), (1, 0)))
    _, s = jax.lax.scan(lambda s, x: cell(p, "dec", s, x), last, given.T[..., None])
    asked = (s @ p["start.w2"].T).transpose(1, 0, 2)
    score = jnp.tanh(keys[:, None] + asked[:, :, None]) @ p["start.v"]
    nll = -jnp.take_along_axis(jax.nn.log_softmax(score), order[..., None], -1)
    return jnp.mean(nll), jnp.mean(jnp.argmax(score, -1) == order)


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    """Adam by hand."""

    def run(given: Tensors) -> Tensors:
        start = {name: x for name, x in given.items() if name.startswith("start")}
        zeros = jax.tree.map(jnp.zeros_like, start)
        Weights = tuple[Tensors, Tensors, Tensors]

        def train(
            carry: Weights, batch: tuple[jax.Array, ...]
        ) -> tuple[Weights, tuple[jax.Array, jax.Array]]:
            p, m, v = carry
            x, order, i = batch
            results, g = jax.value_and_grad(loss, has_aux=True)(p, x, order)
            m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
            v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)

            def moved(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
                rate = 0.01 / (1 - 0.9 ** (i + 1))
                return p - rate * m / (jnp.sqrt(v / (1 - 0.999 ** (i + 1))) + 1e-8)

            return (jax.tree.map(moved, p, m, v), m, v), results

        batches = given["x"], given["order"], jnp.arange(sizes["I"], dtype=jnp.float32)
        _, (losses, hits) = jax.lax.scan(train, (start, zeros, zeros), batches)
        return {"loss": losses, "hits": hits}

    return run


PAIR = Pair(
    data=data,
    twin=twin,
    sizes={"I": 20, "B": 32, "T": 10, "O": 10},
    small={"I": 2, "B": 2, "T": 3, "O": 3},
    tolerance=1e-2,
)
