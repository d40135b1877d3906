"""State space layers in all their forms, and their gradients, against plain scans in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.elaborated import graph_of
from tests.whole.stdlib.both import both
from tests.whole.stdlib.reference import Case, check, normal

Data = dict[str, Any]
STEPS, WIDTH, STATES = 6, 3, 2
SOME = "x decay turn length cim"

HEAD = """import ssm
dim t < T
input x[t]: f32[3]
input decay: f32[{0}2]
input turn: f32[{0}2]
input length: f32[{1}]
input bre: f32[2, 3]
input bim: f32[2, 3]
input cre: f32[3, 2]
input cim: f32[3, 2]
input d: f32[3]
"""
LAYER = "{log_decay: decay, frequency: turn, log_step: length, c: {re: cre, im: cim}, d: d}"
LAYER5 = LAYER[:-1] + ", b: {re: bre, im: bim}}"


def run(step: Callable[..., Any], xs: Any, start: Any) -> Any:
    def body(h: Any, x: Any) -> Any:
        h, y = step(h, x)
        return h, y

    return jax.lax.scan(body, start, xs)[1]


def held(d: Data, step: Any) -> tuple[Any, Any]:
    """Zero-order hold."""
    a = -jnp.exp(d["decay"]) + 1j * d["turn"]
    p = jnp.exp(a * step)
    return p, (p - 1) / a


def s4d(d: Data) -> Any:
    p, q = held(d, jnp.exp(d["length"])[:, None])
    c = d["cre"] + 1j * d["cim"]

    def step(h: Any, x: Any) -> Any:
        h = p * h + q * x[:, None]
        return h, 2 * (c * h).sum(-1).real + d["d"] * x

    return run(step, d["x"], jnp.zeros((WIDTH, STATES), complex))


def s5(d: Data) -> Any:
    p, q = held(d, jnp.exp(d["length"]))
    b, c = d["bre"] + 1j * d["bim"], d["cre"] + 1j * d["cim"]

    def step(h: Any, x: Any) -> Any:
        h = p * h + (q[:, None] * b) @ x
        return h, 2 * (c @ h).real + d["d"] * x

    return run(step, d["x"], jnp.zeros(STATES, complex))


S4D: dict[str, Case] = {
    "steps": (f"ssm.s4d(x, {LAYER}, t)", s4d),
    "whole": (f"(ssm.s4d_scan(x[0:T], {LAYER}))[t]", s4d),
    "convolved": (f"ssm.convolve(ssm.s4d_kernel({LAYER}, t), x, t) + d * x", s4d),
}
S5: dict[str, Case] = {
    "steps": (f"ssm.s5(x, {LAYER5}, t)", s5),
    "whole": (f"(ssm.s5_scan(x[0:T], {LAYER5}))[t]", s5),
}


def weights(lead: tuple[int, ...], steps: int) -> Data:
    shapes = {"x": (STEPS, WIDTH), "decay": (*lead, 2), "turn": (*lead, 2), "length": (steps,)}
    shapes |= dict.fromkeys(("bre", "bim"), (2, 3)) | dict.fromkeys(("cre", "cim"), (3, 2))
    given = normal(11, shapes | {"d": (3,)})
    given["length"] = 0.5 * given["length"] - 1
    return given


def test_s4d() -> None:
    check(HEAD.format("3, ", 3), S4D, {"T": STEPS}, weights((3,), 3), by=SOME)


@pytest.mark.long("one of two kinds, and an example")
def test_s5() -> None:
    check(HEAD.format("", 2), S5, {"T": STEPS}, weights((), 2), by=SOME + " bim")


SELECTIVE_HEAD = """import ssm
dim t < T
input x[t]: f32[3]
input step[t]: f32[3]
input a: f32[3, 2]
input b[t]: f32[2]
input c[t]: f32[2]
input d: f32[3]
input w: f32[3, 4]
"""


def selective(d: Data) -> Any:
    a = -jnp.exp(d["a"])

    def step(h: Any, now: Any) -> Any:
        x, length, b, c = now
        h = jnp.exp(length[:, None] * a) * h + (length * x)[:, None] * b
        return h, h @ c + d["d"] * x

    return run(step, (d["x"], jnp.exp(d["step"]), d["b"], d["c"]), jnp.zeros((3, 2)))


def filtered(d: Data) -> Any:
    padded = jnp.concatenate([jnp.zeros((3, 3)), d["x"]])
    return sum(d["w"][:, k] * padded[k : k + STEPS] for k in range(4))


SELECTIVE: dict[str, Case] = {
    "steps": ("ssm.selective(x, exp(step), -exp(a), b, c, d, t)", selective),
    "whole": (
        "(ssm.selective_scan(x[0:T], exp(step[0:T]), -exp(a), b[0:T], c[0:T], d))[t]",
        selective,
    ),
    "filtered": ("ssm.causal_filter(x, w, t)", filtered),
}


def test_selective() -> None:
    shapes = dict.fromkeys(("x", "step"), (STEPS, 3)) | dict.fromkeys(("b", "c"), (STEPS, 2))
    given = normal(12, shapes | {"a": (3, 2), "d": (3,), "w": (3, 4)})
    check(SELECTIVE_HEAD, SELECTIVE, {"T": STEPS}, given)


MAMBA_HEAD = """import ssm
dim t < T
input x[t]: f32[2]
input into: f32[6, 2]
input w: f32[3, 4]
input bias: f32[3]
input choose: f32[5, 3]
input low: f32[3, 1]
input base: f32[3]
input decay: f32[3, 2]
input d: f32[3]
input out: f32[2, 3]
"""
MAMBA = (
    "ssm.mamba(x, {into: into, filter: w, bias: bias, choose: choose, step: {w: low, b: base}, "
    "log_decay: decay, d: d, out: out}, t)"
)


def mamba(d: Data) -> Any:
    parts = d["x"] @ d["into"].T
    u = jax.nn.silu(filtered({"x": parts[:, :3], "w": d["w"]}) + d["bias"])
    low, b, c = jnp.split(u @ d["choose"].T, [1, 3], axis=1)
    length = jnp.log(jax.nn.softplus(low @ d["low"].T + d["base"]))
    y = selective({"x": u, "step": length, "a": d["decay"], "b": b, "c": c, "d": d["d"]})
    return (y * jax.nn.silu(parts[:, 3:])) @ d["out"].T


def test_mamba() -> None:
    shapes = {"x": (STEPS, 2), "into": (6, 2), "w": (3, 4), "bias": (3,), "choose": (5, 3)}
    shapes |= {"low": (3, 1), "base": (3,), "decay": (3, 2), "d": (3,), "out": (2, 3)}
    given = normal(13, shapes)
    check(MAMBA_HEAD, {"y": (MAMBA, mamba)}, {"T": STEPS}, given, by="x into w choose low decay")


def test_discretization() -> None:
    """Against SciPy, which has a matrix where we have one number."""
    from scipy import signal  # takes long to load

    text = """import ssm
input re: f32[4]
input im: f32[4]
input step: f32[4]
zp, zq = ssm.zoh({re: re, im: im}, step)
bp, bq = ssm.bilinear({re: re, im: im}, step)
output zp, zq, bp, bq
"""
    random = np.random.default_rng(14)
    given = {"re": -np.exp(random.normal(size=4)), "im": random.normal(size=4)}
    given["step"] = np.exp(random.normal(size=4) - 1)
    found = both(text, {}, given)
    for k in range(4):
        a, step = (np.float64(np.float32(given[n][k])) for n in ("re", "step"))
        turn = np.float64(np.float32(given["im"][k]))
        system = np.array([[a, -turn], [turn, a]]), np.eye(2), np.eye(2), np.zeros((2, 2))
        for name, method in (("z", "zoh"), ("b", "bilinear")):
            p, q, *_ = signal.cont2discrete(system, step, method)
            for letter, matrix in (("p", p), ("q", q)):
                number = found[f"{name}{letter}.re"][k], found[f"{name}{letter}.im"][k]
                np.testing.assert_allclose(number, matrix[:, 0], rtol=1e-6, atol=1e-9)


def test_start() -> None:
    """S4D-Inv is spread like the eigenvalues of HiPPO-LegS; what is drawn has the right shapes."""
    text = """import ssm
inv = ssm.s4d_inv(64)
lin = ssm.s4d_lin(3)
a = ssm.s4d_init(3, 2)
b = ssm.s5_init(3, 2)
c = ssm.mamba_init(4, 3, states = 2, rank = 1)
steps = ssm.step_init(1000)
noise = ssm.complex_normal([2000], 0.5)
output inv, lin, a, b, c, steps, noise
"""
    found = evaluate(graph_of(text), {}, {}, {}, seed=2)
    n = np.arange(128)
    r = np.sqrt(2 * n + 1)
    legs = -np.where(n[:, None] > n, r[:, None] * r, np.diag(n + 1.0))
    normal_part = legs + 0.5 * r[:, None] * r
    wanted = np.sort(np.linalg.eigvals(normal_part).imag)[-64:]
    got = np.sort(found["inv.im"])
    np.testing.assert_allclose(got, wanted, rtol=0.4)
    np.testing.assert_allclose(got, 128 / np.pi * (128 / np.arange(127, 0, -2) - 1), rtol=1e-5)
    np.testing.assert_array_equal(found["inv.re"], np.full(64, -0.5))
    np.testing.assert_allclose(found["lin.im"], np.pi * np.arange(3), rtol=1e-6)
    assert found["a.frequency"].shape == (3, 2) and found["b.b.re"].shape == (2, 3)
    assert found["c.choose"].shape == (5, 3) and found["c.filter"].shape == (3, 4)
    lengths = np.log1p(np.exp(found["c.step.b"]))
    assert np.all((lengths > 0.99e-3) & (lengths < 0.101))
    assert np.log(1e-3) <= found["steps"].min() and found["steps"].max() <= np.log(1e-1)
    assert abs(found["steps"].mean() - np.log(1e-2)) < 0.15
    variance = (found["noise.re"] ** 2 + found["noise.im"] ** 2).mean()
    assert abs(variance - 0.5) < 0.06


def test_real_scans() -> None:
    from scipy import signal  # takes long to load

    text = """import ssm
dim t < T
input a[t]: f32
input u[t]: f32[2]
x = ssm.recur(a, u, t)
y = ssm.scan(expand_dims(a[0:T], 1), u[0:T])
z = ssm.scan(0.5, u[0:T])
output x, y, z
"""
    given = normal(15, {"a": (STEPS,), "u": (STEPS, 2)})
    found = both(text, {"T": STEPS}, given)
    np.testing.assert_allclose(found["x"], found["y"], rtol=1e-9)
    wanted = signal.lfilter([1], [1, -0.5], given["u"].astype(np.float64), axis=0)
    np.testing.assert_allclose(found["z"], wanted, rtol=1e-6)
