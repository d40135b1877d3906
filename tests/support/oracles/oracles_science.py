"""The examples of estimation and learning: by other formulas where there are some."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Arrays = dict[str, Any]
STEP = 1e-5  # of finite differences, in float64
TURNS = STEP * np.eye(2)


def kalman(bounds: dict[str, int], data: Arrays) -> Arrays:
    """The states of all times are one normal vector, conditioned on all that is seen."""
    steps, force, error = bounds["T"], data["log_force"], data["log_error"]

    def given(log_force: float, log_error: float, seen: int) -> tuple[Any, Any, float]:
        return conditioned(data, steps, log_force, log_error, seen)

    def slope(a: float, b: float) -> float:
        up = given(force + a * STEP, error + b * STEP, steps)[2]
        return (up - given(force - a * STEP, error - b * STEP, steps)[2]) / (2 * STEP)

    smooth, cov, likelihood = given(force, error, steps)
    return {
        "now": [given(force, error, t + 1)[0][t] for t in range(steps)],
        "smooth": smooth,
        "smooth_cov": [cov[t, :, t] for t in range(steps)],
        "likelihood": likelihood,
        "by_force": slope(1, 0),
        "by_error": slope(0, 1),
    }


def conditioned(
    data: Arrays, steps: int, log_force: float, log_error: float, seen: int
) -> tuple[Any, Any, float]:
    """Mean and covariance of all states given the first sightings, and how likely these are."""
    cov = joint(steps, np.exp(log_force))
    rows = [4 * t + k for t in range(seen) if data["valid"][t] for k in (0, 1)]
    y = np.array([data["seen"][row // 4, row % 4] for row in rows])
    spread = cov[np.ix_(rows, rows)] + np.exp(log_error) * np.eye(len(rows))
    gain = np.linalg.solve(spread, cov[rows]).T
    likelihood = -0.5 * (y @ np.linalg.solve(spread, y) + np.linalg.slogdet(2 * np.pi * spread)[1])
    left = (cov - gain @ cov[rows]).reshape(steps, 4, steps, 4)
    return (gain @ y).reshape(steps, 4), left, likelihood


def joint(steps: int, force: float) -> Any:
    """The covariance of the states of all times before anything is seen."""
    move = np.kron([[1, 0.5], [0, 1]], np.eye(2))
    pushed = np.kron([[0.125], [0.5]], np.eye(2))
    cov = np.zeros((steps, 4, steps, 4))
    own = 25.0 * np.eye(4)
    for s in range(steps):
        block = own
        for t in range(s, steps):
            cov[t, :, s], cov[s, :, t] = block, block.T
            block = move @ block
        own = move @ own @ move.T + force * pushed @ pushed.T
    return cov.reshape(4 * steps, 4 * steps)


def lbfgs(bounds: dict[str, int], data: Arrays) -> Arrays:
    x, label = data["x"], data["label"]

    def objective(w: Any) -> Any:
        return np.mean(np.logaddexp(0, x @ w) - label * (x @ w)) + 1e-2 * w @ w

    def gradient(w: Any) -> Any:
        return x.T @ (1 / (1 + np.exp(-x @ w)) - label) / len(x) + 2e-2 * w

    w, losses, pairs = np.zeros(5), [], list[Any]()
    for i in range(bounds["I"]):
        losses.append(objective(w))
        direction = -two_loops(gradient(w), pairs[-4:])
        slope = gradient(w) @ direction
        size = next(
            s
            for s in 0.5 ** np.arange(13)
            if objective(w + s * direction) <= losses[-1] + 1e-4 * s * slope
        )
        pairs.append((size * direction, gradient(w + size * direction) - gradient(w)))
        if i + 1 < bounds["I"]:
            w = w + size * direction
    return {"loss": losses, "weights": w}


def two_loops(gradient: Any, pairs: list[Any]) -> Any:
    """Nocedal and Wright, algorithm 7.4: the approximate inverse Hessian times the gradient."""
    q, alphas = gradient, []
    for s, y in reversed(pairs):
        alphas.append(s @ q / (s @ y))
        q = q - alphas[-1] * y
    if pairs:
        s, y = pairs[-1]
        q = q * (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q = q + s * (alpha - y @ q / (s @ y))
    return q


def learned_rates(bounds: dict[str, int], data: Arrays) -> Arrays:
    """The inner gradient by hand, the outer one by finite differences."""
    rates, rows = np.array([-3.0, -3.0]), []
    for _ in range(bounds["I"]):
        train, test = inner_run(bounds["K"], data, rates)
        rows.append((train, test, rates[0], rates[1]))
        ends = [[inner_run(bounds["K"], data, rates + s * d)[1] for s in (1, -1)] for d in TURNS]
        rates = rates - 0.3 * np.array([up - down for up, down in ends]) / (2 * STEP)
    names = ("train", "test", "rates.0", "rates.1")
    return {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def inner_run(steps: int, data: Arrays, rates: Any) -> tuple[list[float], float]:
    """The errors on the way, and the one on new points at the end."""
    w, b, v, c = (data[f"start.{k}.{p}"] for k in (0, 1) for p in "wb")
    train = []
    for step in range(steps):
        hidden = np.tanh(np.outer(data["x"], w) + b)
        off = hidden @ v[0] + c - data["y"]
        train.append(np.mean(off**2))
        if step + 1 < steps:
            back = 2 * off / len(off)
            inside = np.outer(back, v) * (1 - hidden**2)
            first, second = np.exp(rates)
            w = w - first * (data["x"] @ inside)[:, None]
            b = b - first * inside.sum(0)
            v, c = v - second * back @ hidden, c - second * back.sum()
    new = np.tanh(np.outer(data["new_x"], w) + b) @ v[0] + c
    return train, np.mean((new - data["new_y"]) ** 2)


def s5(bounds: dict[str, int], data: Arrays) -> Arrays:
    y, cost = layer(data, data["layer.frequency"])
    turns = STEP * np.eye(len(data["layer.frequency"]))
    slope = [
        (layer(data, data["layer.frequency"] + d)[1] - layer(data, data["layer.frequency"] - d)[1])
        / (2 * STEP)
        for d in turns
    ]
    return {
        "y": y,
        "cost": cost,
        "slope": slope,
        "y_scan": y,
        "cost_scan": cost,
        "slope_scan": slope,
    }


def layer(data: Arrays, pitch: Any) -> tuple[Any, float]:
    """The layer in complex numbers: its outputs, and how far they are from the target."""
    from_inputs, back = (data[f"layer.{k}.re"] + 1j * data[f"layer.{k}.im"] for k in "bc")
    pole = -np.exp(data["layer.log_decay"]) + 1j * pitch
    keep = np.exp(pole * np.exp(data["layer.log_step"]))
    state, outputs = np.zeros(len(pitch), complex), []
    for u in data["u"]:
        centered = u - u.mean()
        heard = centered / np.sqrt(np.mean(centered**2) + 1e-5)
        heard = heard * data["norm.scale"] + data["norm.bias"]
        state = keep * state + (keep - 1) / pole * (from_inputs @ heard)
        z = 2 * (back @ state).real + data["layer.d"] * heard
        outputs.append(u + z * 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2))))
    return np.array(outputs), np.mean((np.array(outputs) - data["target"]) ** 2)
