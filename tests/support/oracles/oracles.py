"""The numbered examples as plain NumPy loops in float64, written from their comments alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.oracles import oracles_science as science

Arrays = dict[str, Any]


def fibonacci(bounds: dict[str, int], data: Arrays) -> Arrays:
    numbers = [0, 1]
    while len(numbers) < bounds["N"]:
        numbers.append(numbers[-1] + numbers[-2])
    numbers = numbers[: bounds["N"]]
    return {"fib": np.array(numbers), "last": np.array(numbers[-1])}


def moving_average(bounds: dict[str, int], data: Arrays) -> Arrays:
    x = data["x"]
    smooth = [x[0]]
    for value in x[1:]:
        smooth.append(0.9 * smooth[-1] + 0.1 * value)
    average = [x[max(0, t - 3) : t + 1].mean() for t in range(len(x))]
    return {"average": average, "smooth": smooth, "total": np.cumsum(x)}


def heat_equation(bounds: dict[str, int], data: Arrays) -> Arrays:
    u = data["start"].copy()
    heat = [u.mean()]
    for _ in range(bounds["T"] - 1):
        u[1:-1] += 0.2 * (u[:-2] - 2 * u[1:-1] + u[2:])
        heat.append(u.mean())
    return {"heat": heat, "final": u}


def discounted_returns(bounds: dict[str, int], data: Arrays) -> Arrays:
    r, v, steps = data["reward"], data["value"], bounds["T"]
    total = [sum(0.95**k * x for k, x in enumerate(r[t:])) for t in range(steps)]
    near = [sum(0.95**k * x for k, x in enumerate(r[t : t + 5])) for t in range(steps)]
    guess = [0.95**5 * v[t + 5] if t + 5 < steps else 0.0 for t in range(steps)]
    lately = [r[max(0, t - 4) : t + 1].sum() for t in range(steps)]
    return {"ahead": total, "back": total, "n_step": np.add(near, guess), "lately": lately}


def rnn(bounds: dict[str, int], data: Arrays) -> Arrays:
    h, states = np.zeros(16), []
    for x in data["x"]:
        h = np.tanh(data["input.weight"] @ x + data["state.weight"] @ h + data["bias"])
        states.append(h)
    return {"h": states, "last": h}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm(bounds: dict[str, int], data: Arrays) -> Arrays:
    h, c, g = np.zeros(5), np.zeros(5), np.zeros(5)
    forth, back = [], []
    for x in data["x"]:
        gates = data["forth.w"] @ x + data["forth.u"] @ h + data["forth.b"]
        enter, forget, new, leave = np.split(gates, 4)
        c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(new)
        h = sigmoid(leave) * np.tanh(c)
        forth.append(h)
    for x in data["x"][::-1]:
        r, z, n = np.split(data["retour.w"] @ x + data["retour.b"], 3)
        gr, gz, gn = np.split(data["retour.u"] @ g + data["retour.c"], 3)
        z, n = sigmoid(z + gz), np.tanh(n + sigmoid(r + gr) * gn)
        g = (1 - z) * n + z * g
        back.append(g)
    return {"both": np.concatenate([forth, back[::-1]], 1), "cell": c}


def attend(q: Any, k: Any, v: Any) -> Any:
    scores = k @ q / np.sqrt(len(q))
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return weights @ v, weights


def causal_attention(bounds: dict[str, int], data: Arrays) -> Arrays:
    q, k, v = (data["x"] @ data[f"W{name}"].T for name in "qkv")
    rows = [attend(q[t], k[: t + 1], v[: t + 1]) for t in range(bounds["T"])]
    return {"a": [row for row, _ in rows], "surprise": [-np.log(w.max()) for _, w in rows]}


def windowed_attention(bounds: dict[str, int], data: Arrays) -> Arrays:
    near, sparse = [], []
    for q, k, v in zip(*(data[name] for name in "qkv"), strict=True):
        for t in range(bounds["T"]):
            last = slice(max(0, t - 3), t + 1)
            near.append(attend(q[t], k[last], v[last])[0])
            second = slice(t % 2, t + 1, 2)
            sparse.append(attend(q[t], k[second], v[second])[0])
    shape = (bounds["B"], bounds["T"], 8)
    return {"near": np.reshape(near, shape), "sparse": np.reshape(sparse, shape)}


def edit_distance(bounds: dict[str, int], data: Arrays) -> Arrays:
    left, right = data["left"], data["right"]
    d = np.add.outer(np.arange(len(left) + 1), np.arange(len(right) + 1))
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            d[i + 1, j + 1] = min(d[i, j] + (a != b), d[i, j + 1] + 1, d[i + 1, j] + 1)
    return {"d": d, "distance": d[-1, -1]}


def viterbi(bounds: dict[str, int], data: Arrays) -> Arrays:
    score = data["start"] + data["emit"][data["seen"][0]]
    origins = []
    for seen in data["seen"][1:]:
        reach = score[:, None] + data["move"]
        origins.append(reach.argmax(0))
        score = reach.max(0) + data["emit"][seen]
    path = [int(score.argmax())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    return {"path": path[::-1], "likelihood": score.max()}


def collatz(bounds: dict[str, int], data: Arrays) -> Arrays:
    c = [int(data["start"])]
    while c[-1] != 1 and len(c) < bounds["T"]:
        c.append(3 * c[-1] + 1 if c[-1] % 2 else c[-1] // 2)
    odd = sum(n % 2 for n in c)
    return {"c": np.array(c), "peak": max(c), "odd": odd, "steps": len(c) - 1, "last": c[-1]}


def large_vocabulary(bounds: dict[str, int], data: Arrays) -> Arrays:
    mix, head, loss = np.zeros_like(data["mix"]), np.zeros_like(data["head"]), 0.0
    for place, word in zip(data["place"], data["word"], strict=True):
        h = np.tanh(place @ data["mix"])
        share = np.exp(h @ data["head"])
        share /= share.sum()
        loss -= np.log(share[word]) / bounds["T"]
        away = (share - np.eye(len(share))[word]) / bounds["T"]
        head += np.outer(h, away)
        mix += np.outer(place, (data["head"] @ away) * (1 - h * h))
    return {"loss": loss, "slope.mix": mix, "slope.head": head}


ORACLES = {
    "01_fibonacci": fibonacci,
    "02_moving_average": moving_average,
    "03_heat_equation": heat_equation,
    "04_discounted_returns": discounted_returns,
    "05_rnn": rnn,
    "06_lstm": lstm,
    "07_causal_attention": causal_attention,
    "08_windowed_attention": windowed_attention,
    "09_edit_distance": edit_distance,
    "10_viterbi": viterbi,
    "11_collatz": collatz,
    "12_kalman": science.kalman,
    "13_lbfgs": science.lbfgs,
    "14_learned_rates": science.learned_rates,
    "15_s5": science.s5,
    "16_large_vocabulary": large_vocabulary,
}


def expected(name: str, bounds: dict[str, int], arrays: Arrays) -> dict[str, np.ndarray]:
    """What the example `name` gives on these inputs and parameters."""
    data = {
        key: value.astype(np.float64) if value.dtype.kind == "f" else value
        for key, value in arrays.items()
    }
    return {key: np.asarray(value) for key, value in ORACLES[name](bounds, data).items()}
