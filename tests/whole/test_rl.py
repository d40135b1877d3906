"""`stdlib/rl.rt` and its gradients against rlax, distrax and NumPy; evaluator and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import rlax
from jax.scipy.stats import norm

from tempoc.runtime.run import run
from tempoc.sdg.interpret import evaluate
from tests.support.agree import LEVELS, compiled
from tests.support.elaborated import graph_of

Arrays = dict[str, Any]
GAMMA, LAM = 0.9, 0.8

RECURRENCES = """import rl
dim b < B
dim t < T
input r[b, t]: f32
input v[b, t]: f32
input done[b, t]: bool
input last[b]: f32
input ratio[b, t]: f32
input weight[b, t]: f32
sum_3 = rl.discounted_sum(r[b, t:min(t+3, T)], 0.9)
returns = rl.returns(r, done, last, t, 0.9)
n_1 = rl.n_step_returns(r, v, done, last, 1, t, 0.9)
n_3 = rl.n_step_returns(r, v, done, last, 3, t, 0.9)
n_64 = rl.n_step_returns(r, v, done, last, 64, t, 0.9)
lambdas = rl.lambda_returns(r, v, done, last, t, 0.9, 0.8)
td = rl.td_errors(r, v, done, last, t, 0.9)
gae = rl.gae(r, v, done, last, t, 0.9, 0.8)
targets, vtrace = rl.vtrace(r, v, done, last, ratio, t, 0.9, 0.8, 1.2, 1.1)
one = sin(sum_3) * returns + n_1 ** 2 + n_3 * n_64 + lambdas ** 2 + td ** 3
loss = sum((weight * (one + sin(gae) + targets * vtrace))[b = 0:B, t = 0:T])
d_r = grad(loss, r)
d_v = grad(loss, v)
d_last = grad(loss, last)
d_ratio = grad(loss, ratio)
output sum_3, returns, n_1, n_3, n_64, lambdas, td, gae, targets, vtrace, d_r, d_v, d_last, d_ratio
"""


def by_rlax(r: Any, v: Any, last: Any, ratio: Any, done: Any) -> Arrays:
    """The functions for one sequence."""
    discount = GAMMA * (1.0 - done)
    after = jnp.append(v[1:], last)
    errors, advantages, _ = rlax.vtrace_td_error_and_advantage(
        v, after, r, discount, ratio, LAM, 1.2, 1.1, stop_target_gradients=False
    )
    steps = range(len(r))
    return {
        "sum_3": jnp.stack([sum(0.9**k * x for k, x in enumerate(r[t : t + 3])) for t in steps]),
        "returns": rlax.discounted_returns(r, discount, jnp.append(v[:-1], last)),
        **{
            f"n_{n}": rlax.n_step_bootstrapped_returns(r, discount, after, n) for n in (1, 3, 64)
        },
        "lambdas": rlax.lambda_returns(r, discount, after, LAM),
        "td": r + discount * after - v,
        "gae": rlax.truncated_generalized_advantage_estimation(
            r, discount, LAM, jnp.append(v, last)
        ),
        "targets": v + errors,
        "vtrace": advantages,
    }


def total(r: Any, v: Any, last: Any, ratio: Any, done: Any, weight: Any) -> Any:
    """The loss of the program for one sequence."""
    x = by_rlax(r, v, last, ratio, done)
    parts = (
        jnp.sin(x["sum_3"]) * x["returns"] + x["n_1"] ** 2 + x["n_3"] * x["n_64"],
        x["lambdas"] ** 2 + x["td"] ** 3 + jnp.sin(x["gae"]) + x["targets"] * x["vtrace"],
    )
    return jnp.sum(weight * sum(parts))


def sequences(rows: int, steps: int) -> Arrays:
    random = np.random.default_rng(steps)
    names = ("r", "v", "ratio", "weight")
    given: Arrays = {n: random.normal(size=(rows, steps)).astype(np.float32) for n in names}
    given["ratio"] = np.exp(given["ratio"])
    given["last"] = random.normal(size=rows).astype(np.float32)
    given["done"] = random.random((rows, steps)) < 0.3
    given["done"][0] = False
    given["done"][1, -1] = True
    return given


def rows_by_rlax(given: Arrays) -> Arrays:
    """The program's outputs, a sequence after the other, in double precision."""
    rows = []
    with jax.enable_x64(True):
        for b in range(len(given["last"])):
            wide = {k: x[b].astype(np.float64) for k, x in given.items()}
            args = [jnp.asarray(wide[k]) for k in ("r", "v", "last", "ratio", "done")]
            found = by_rlax(*args)
            slopes = jax.grad(total, (0, 1, 2, 3))(*args, jnp.asarray(wide["weight"]))
            names = ("d_r", "d_v", "d_last", "d_ratio")
            rows.append({k: np.asarray(x) for k, x in (found | dict(zip(names, slopes, strict=True))).items()})
    return {k: np.stack([row[k] for row in rows]) for k in rows[0]}


def same(found: Arrays, wanted: Arrays, tolerance: float) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(
            found[name], value, rtol=tolerance, atol=tolerance, err_msg=name
        )


@pytest.mark.slow
def test_recurrences_agree_with_rlax(tmp_path: Path) -> None:
    graph = graph_of(RECURRENCES)
    programs = [compiled(RECURRENCES, tmp_path, level) for level in LEVELS]
    for steps in (1, 2, 3, 7):
        given = sequences(3, steps)
        bounds = {"B": 3, "T": steps}
        wanted = rows_by_rlax(given)
        same(evaluate(graph, bounds, given, {}, float64=True), wanted, 1e-9)
        for out in programs:
            same(run(out, bounds, given).outputs, wanted, 2e-5)
