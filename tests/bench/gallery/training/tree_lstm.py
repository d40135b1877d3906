"""The twin scans over the nodes of each tree, whose states stand in an array, under ``vmap``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.bench.compiled import Arrays
from tests.bench.gallery.compare import Pair, Sizes, Tensors

D, H, C, K = 32, 48, 5, 2
GATES = {"i": "Wi", "o": "Wo", "u": "Wu", "f": "Wf"}


def data(sizes: Sizes) -> tuple[Arrays, Arrays]:
    rng = np.random.default_rng(0)
    trees, nodes = sizes["B"], sizes["N"]

    def weights(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) / shape[-1] ** 0.5).astype(np.float32)

    child = np.full((trees, nodes, K), -1, np.int32)
    for tree in child:
        roots: list[int] = []
        for node in range((nodes + 1) // 2, nodes) if nodes > 1 else ():
            roots = roots or [*range((nodes + 1) // 2)]
            for k in range(min(K, len(roots))):
                tree[node, k] = roots.pop(rng.integers(len(roots)))
            roots.append(node)
    params = {w: weights(H, D) for w in GATES.values()}
    params |= {f"U{w[1]}": weights(H, H) for w in GATES.values()}
    words = rng.normal(size=(trees, nodes, D)).astype(np.float32)
    label = rng.integers(0, C, trees).astype(np.int32)
    return {"word": words, "child": child, "label": label}, {**params, "Wc": weights(C, H)}


def twin(sizes: Sizes) -> Callable[[Tensors], Tensors]:
    nodes = sizes["N"]

    def cost(p: Tensors, word: jax.Array, child: jax.Array, label: jax.Array) -> jax.Array:
        x = {gate: word @ p[w].T for gate, w in GATES.items()}

        def step(carry: Any, each: Any) -> tuple[Any, None]:
            h, s = carry
            n, own, x = each
            there = (own >= 0).astype(jnp.float32)[:, None]
            below, kept = h[jnp.maximum(own, 0)] * there, s[jnp.maximum(own, 0)] * there
            total = below.sum(0)
            i = jax.nn.sigmoid(x["i"] + p["Ui"] @ total)
            o = jax.nn.sigmoid(x["o"] + p["Uo"] @ total)
            u = jnp.tanh(x["u"] + p["Uu"] @ total)
            f = jax.nn.sigmoid(x["f"] + below @ p["Uf"].T)
            new = i * u + (f * kept).sum(0)
            return (h.at[n].set(o * jnp.tanh(new)), s.at[n].set(new)), None

        none = jnp.zeros((nodes, H))
        (h, _), _ = lax.scan(step, (none, none), (jnp.arange(nodes), child, x))
        logits = p["Wc"] @ h[nodes - 1]
        return jax.nn.logsumexp(logits) - logits[label]

    def run(given: Tensors) -> Tensors:
        p = {name: x for name, x in given.items() if name[0] in "WU"}

        def loss(p: Tensors) -> jax.Array:
            each = jax.vmap(lambda *tree: cost(p, *tree))
            return each(given["word"], given["child"], given["label"]).mean()

        value, g = jax.value_and_grad(loss)(p)
        return {"loss": value, "gUf": g["Uf"], "gWc": g["Wc"], "gWi": g["Wi"]}

    return run


PAIR = Pair(data=data, twin=twin, sizes={"B": 32, "N": 61}, small={"B": 2, "N": 3})
