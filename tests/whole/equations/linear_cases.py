"""Linear algebra in recurrences and on matrices that grow."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.whole.language.harness import Case, case

Array = Any
CASES: list[Case] = []


@case(
    CASES,
    """
    dim t < T
    input x[t]: f32
    input y[t]: f32
    input at: f32[3]
    param scale: f32
    def kernel(a, b) = exp(-(expand_dims(a, 1) - expand_dims(b, 0)) ** 2 / scale ** 2)
    seen[t] = x[0:t+1]
    L[t] = cholesky(kernel(seen[t], seen[t]) + 0.1 * eye(t+1))
    z[t] = triangular_solve(L[t], y[0:t+1], lower = true)
    v[t] = triangular_solve(L[t], kernel(seen[t], at), lower = true)
    mean_at[t] = v[t].T @ z[t]
    var_at[t] = 1.0 - sum(v[t] ** 2, axis = 0)
    score[t] = -0.5 * sum(z[t] ** 2) - 0.5 * logdet(kernel(seen[t], seen[t]) + 0.1 * eye(t+1))
    slope = grad(score, scale)
    output mean_at, var_at, score, slope
    """,
    {"T": 1},
    {"T": 5},
    given={"scale": lambda: np.float32(0.7)},
)
def a_gaussian_process_that_grows(T: int, x: Array, y: Array, at: Array, scale: Array) -> Any:
    def gram(a: Array, b: Array, scale: float) -> Array:
        return np.exp(-((a[:, None] - b[None]) ** 2) / scale**2)

    def scores(scale: float) -> Array:
        found = []
        for t in range(T):
            k = gram(x[: t + 1], x[: t + 1], scale) + 0.1 * np.eye(t + 1)
            seen = y[: t + 1]
            found.append(-0.5 * seen @ np.linalg.solve(k, seen) - 0.5 * np.linalg.slogdet(k)[1])
        return np.array(found)

    means, spreads = [], []
    for t in range(T):
        k = gram(x[: t + 1], x[: t + 1], scale) + 0.1 * np.eye(t + 1)
        far = gram(x[: t + 1], at, scale)
        means.append(far.T @ np.linalg.solve(k, y[: t + 1]))
        spreads.append(1 - np.sum(far * np.linalg.solve(k, far), axis=0))
    slope = np.sum(scores(scale + 1e-6) - scores(scale - 1e-6)) / 2e-6
    return {
        "mean_at": np.stack(means), "var_at": np.stack(spreads), "score": scores(scale),
        "slope": slope,
    }  # fmt: skip


@case(
    CASES,
    """
    dim b < B
    dim t < T
    input y[b, t]: f32[2]
    param log_noise: f32
    const A = [[0.9, 0.2, 0.0], [-0.1, 0.8, 0.3], [0.0, 0.1, 0.7]]
    F = stack([stack([a + 0.0 for a in row]) for row in A])
    H = eye(2, 3)
    R = exp(log_noise) * eye(2)
    x[b, 0] = zeros([3])
    P[b, 0] = eye(3)
    S[b, t] = H @ P[b, t] @ H.T + R
    gain[b, t] = solve(S[b, t], H @ P[b, t]).T
    seen[b, t] = y[b, t] - H @ x[b, t]
    x2[b, t] = x[b, t] + gain[b, t] @ seen[b, t]
    x[b, t+1] = F @ x2[b, t]
    P[b, t+1] = F @ (eye(3) - gain[b, t] @ H) @ P[b, t] @ F.T + 0.1 * eye(3)
    score[b, t] = seen[b, t] @ inverse(S[b, t]) @ seen[b, t] + log(det(S[b, t]))
    slope = grad(score, log_noise)
    output x2, score, slope
    """,
    {"B": 1, "T": 1},
    {"B": 3, "T": 6},
    given={"log_noise": lambda: np.float32(-0.3)},
)
def kalman_filters(B: int, T: int, y: Array, log_noise: Array) -> Any:
    F = np.array([[0.9, 0.2, 0.0], [-0.1, 0.8, 0.3], [0.0, 0.1, 0.7]])
    H = np.eye(2, 3)

    def run(noise: float) -> tuple[Array, Array]:
        states, scores = np.zeros((B, T, 3)), np.zeros((B, T))
        for b in range(B):
            x, P = np.zeros(3), np.eye(3)
            for t in range(T):
                S = H @ P @ H.T + np.exp(noise) * np.eye(2)
                seen = y[b, t] - H @ x
                gain = P @ H.T @ np.linalg.inv(S)
                states[b, t] = x + gain @ seen
                scores[b, t] = seen @ np.linalg.inv(S) @ seen + np.log(np.linalg.det(S))
                x = F @ states[b, t]
                P = F @ (np.eye(3) - gain @ H) @ P @ F.T + 0.1 * np.eye(3)
        return states, scores

    states, scores = run(log_noise)
    high, low = run(log_noise + 1e-6)[1], run(log_noise - 1e-6)[1]
    return {"x2": states, "score": scores, "slope": np.sum(high - low) / 2e-6}


@case(
    CASES,
    """
    import signal
    dim b < B
    dim t < T
    input x[b, t]: f32
    input k: f32[4]
    y = signal.fft_convolve(x[b, 0:T], k)
    z[b, t] = sum(signal.magnitude(rfft(x[b, 0:t+1])) ** 2) + 0.0 * t
    slope = grad(sum(y ** 2), k)
    turned[b, t] = sum(z[b, 0:t+1])
    output y, turned, slope
    """,
    {"B": 1, "T": 1},
    {"B": 2, "T": 6},
)
def convolution_by_transforms(B: int, T: int, x: Array, k: Array) -> Any:
    y = np.stack([np.convolve(row, k) for row in x])
    power = [[np.sum(np.abs(np.fft.rfft(row[: t + 1])) ** 2) for t in range(T)] for row in x]
    slope = np.zeros(4)
    for row, out in zip(x, y, strict=True):
        slope += [2 * row @ out[j : j + T] for j in range(4)]
    return {"y": y, "turned": np.cumsum(power, axis=1), "slope": slope}
