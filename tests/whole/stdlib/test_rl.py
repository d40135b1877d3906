"""`stdlib/rl.rt` and its gradients against rlax, distrax and NumPy; evaluator and compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import compiled
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
n_8 = rl.n_step_returns(r, v, done, last, 8, t, 0.9)
lambdas = rl.lambda_returns(r, v, done, last, t, 0.9, 0.8)
td = rl.td_errors(r, v, done, last, t, 0.9)
gae = rl.gae(r, v, done, last, t, 0.9, 0.8)
targets, vtrace = rl.vtrace(r, v, done, last, ratio, t, 0.9, 0.8, 1.2, 1.1)
one = sin(sum_3) * returns + n_1 ** 2 + n_3 * n_8 + lambdas ** 2 + td ** 3
loss = sum((weight * (one + sin(gae) + targets * vtrace))[b = 0:B, t = 0:T])
d_r = grad(loss, r)
d_v = grad(loss, v)
d_last = grad(loss, last)
d_ratio = grad(loss, ratio)
output sum_3, returns, n_1, n_3, n_8, lambdas, td, gae, targets, vtrace, d_r, d_v, d_last, d_ratio
"""


def by_rlax(r: Any, v: Any, last: Any, ratio: Any, done: Any) -> Arrays:
    """The functions for one sequence."""
    import rlax

    discount = GAMMA * (1.0 - done)
    after = jnp.append(v[1:], last)
    errors, advantages, _ = rlax.vtrace_td_error_and_advantage(
        v, after, r, discount, ratio, LAM, 1.2, 1.1, stop_target_gradients=False
    )
    steps = range(len(r))
    return {
        "sum_3": jnp.stack([sum(0.9**k * x for k, x in enumerate(r[t : t + 3])) for t in steps]),
        "returns": rlax.discounted_returns(r, discount, jnp.append(v[:-1], last)),
        **{f"n_{n}": rlax.n_step_bootstrapped_returns(r, discount, after, n) for n in (1, 3, 8)},
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
        jnp.sin(x["sum_3"]) * x["returns"] + x["n_1"] ** 2 + x["n_3"] * x["n_8"],
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
    with jax.enable_x64(True):
        wide = {k: jnp.asarray(x.astype(np.float64)) for k, x in given.items()}
        args = [wide[k] for k in ("r", "v", "last", "ratio", "done")]
        found = jax.jit(jax.vmap(by_rlax))(*args)
        slopes = jax.jit(jax.vmap(jax.grad(total, (0, 1, 2, 3))))(*args, wide["weight"])
        names = ("d_r", "d_v", "d_last", "d_ratio")
        every = found | dict(zip(names, slopes, strict=True))
        return {k: np.asarray(x) for k, x in every.items()}


def same(found: Arrays, wanted: Arrays, tolerance: float) -> None:
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.long("all of a family: examples have most")
def test_recurrences_agree_with_rlax(tmp_path: Path) -> None:
    graph = graph_of(RECURRENCES)
    out = compiled(RECURRENCES, tmp_path)
    for steps in (1, 2, 7):
        given = sequences(3, steps)
        bounds = {"B": 3, "T": steps}
        wanted = rows_by_rlax(given)
        same(evaluate(graph, bounds, given, {}, float64=True), wanted, 1e-9)
        same(run(out, bounds, given).outputs, wanted, 2e-5)


POINTWISE = """import rl
dim t < T
input logits[t]: f32[2, 3]
input other[t]: f32[2, 3]
input third[t]: f32[2, 3]
input a[t]: i32[2]
input adv[t]: f32[2]
input old[t]: f32[2]
input done[t]: bool[2]
input x[t]: f32[2, 3]
log_prob = rl.categorical_log_prob(logits, a)
entropy = rl.categorical_entropy(logits)
pg = rl.policy_gradient_loss(log_prob, adv)
ppo = rl.ppo_loss(log_prob, old, adv, 0.1)
value = rl.value_loss(adv, old)
clipped = rl.clipped_value_loss(adv, 0.9 * adv + 0.1, old, 0.2)
dqn = rl.dqn_error(logits, a, adv, done, other, 0.9)
double = rl.double_dqn_error(logits, a, adv, done, other, third, 0.9)
gauss = rl.gaussian_log_prob(logits, other, x)
gauss_entropy = rl.gaussian_entropy(other)
squashed = rl.squashed_log_prob(logits, other, tanh(x))
even = rl.standardized(adv, adv[0:T])
rows = rl.discounted_sum(x[t:T], 0.9)
parts = [log_prob, entropy, pg, ppo, value, clipped, dqn, double, gauss, gauss_entropy, squashed,
  even]
one = sum(concat([expand_dims(sin(p), 0) for p in parts], 0)) + sum(sin(rows))
loss = sum(one[t = 0:T])
d_logits = grad(loss, logits)
d_other = grad(loss, other)
d_adv = grad(loss, adv)
d_x = grad(loss, x)
output log_prob, entropy, pg, ppo, value, clipped, dqn, double, gauss, gauss_entropy, squashed, even
output rows, d_logits, d_other, d_adv, d_x
"""


def by_libraries(logits: Any, other: Any, adv: Any, x: Any, rest: Arrays) -> Arrays:
    """The pointwise functions on whole arrays."""
    # Not by each worker: it takes most of a second.
    import distrax
    import rlax

    policy = distrax.Categorical(logits=logits)
    log_prob = policy.log_prob(rest["a"])
    frozen, old = jax.lax.stop_gradient(adv), rest["old"]
    ratio = jnp.exp(log_prob - old)
    surrogate = jax.vmap(
        jax.vmap(lambda p, g: rlax.clipped_surrogate_pg_loss(p[None], g[None], 0.1))
    )
    before = jax.lax.stop_gradient(0.9 * adv + 0.1)
    near = before + jnp.clip(adv - before, -0.2, 0.2)
    each = lambda f: jax.vmap(jax.vmap(f))  # noqa: E731
    discount = 0.9 * (1.0 - rest["done"])
    gauss = distrax.MultivariateNormalDiag(logits, jnp.exp(other))
    squash = distrax.Transformed(gauss, distrax.Block(distrax.Tanh(), 1))
    q = jax.lax.stop_gradient(other)
    return {
        "log_prob": log_prob,
        "entropy": policy.entropy(),
        "pg": -log_prob * frozen,
        "ppo": surrogate(ratio, frozen),
        "value": 0.5 * (adv - old) ** 2,
        "clipped": jnp.maximum(0.5 * (adv - old) ** 2, 0.5 * (near - old) ** 2),
        "dqn": each(rlax.q_learning)(logits, rest["a"], frozen, discount, q),
        "double": each(rlax.double_q_learning)(
            logits, rest["a"], frozen, discount, q, rest["third"]
        ),
        "gauss": gauss.log_prob(x),
        "gauss_entropy": gauss.entropy(),
        "squashed": squash.log_prob(jnp.tanh(x)),
        "even": (adv - adv.mean()) / (adv.std() + 1e-8),
        "rows": jnp.stack(
            [sum(0.9**k * row for k, row in enumerate(x[t:])) for t in range(len(x))]
        ),
    }


def total_of_parts(logits: Any, other: Any, adv: Any, x: Any, rest: Arrays) -> Any:
    """The loss of the program."""
    return sum(jnp.sum(jnp.sin(v)) for v in by_libraries(logits, other, adv, x, rest).values())


def steps_of(count: int) -> Arrays:
    random = np.random.default_rng(count)
    given: Arrays = {
        n: random.normal(size=(count, 2, 3)).astype(np.float32)
        for n in ("logits", "other", "third", "x")
    }
    given |= {n: random.normal(size=(count, 2)).astype(np.float32) for n in ("adv", "old")}
    given["a"] = random.integers(0, 3, (count, 2)).astype(np.int32)
    given["done"] = random.random((count, 2)) < 0.3
    return given


@pytest.mark.long("all of a family")
def test_losses_and_policies_agree_with_libraries(tmp_path: Path) -> None:
    graph = graph_of(POINTWISE)
    out = compiled(POINTWISE, tmp_path)
    for count in (1, 5):
        given = steps_of(count)
        with jax.enable_x64(True):
            wide = {
                k: jnp.asarray(x.astype(np.float64) if x.dtype == np.float32 else x)
                for k, x in given.items()
            }
            args = [wide[k] for k in ("logits", "other", "adv", "x")]
            found = jax.jit(by_libraries)(*args, wide)
            slopes = jax.jit(jax.grad(total_of_parts, (0, 1, 2, 3)))(*args, wide)
            names = ("d_logits", "d_other", "d_adv", "d_x")
            every = found | dict(zip(names, slopes, strict=True))
        wanted = {k: np.asarray(v) for k, v in every.items()}
        bounds = {"T": count}
        same(evaluate(graph, bounds, given, {}, float64=True), wanted, 1e-9)
        same(run(out, bounds, given).outputs, wanted, 5e-5)
