"""Builtins on slices that grow, shrink and move: what is outside must not matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.whole.language.harness import Case

Array = Any
SLICES: dict[str, tuple[str, Callable[[int, int], slice]]] = {
    "past": ("0:t+1", lambda t, T: slice(0, t + 1)),
    "window": ("t:min(t+3, T)", lambda t, T: slice(t, t + 3)),
    "future": ("t:T:2", lambda t, T: slice(t, T, 2)),
}
# Of `s: [n, 3]` and `u: [n]`, the slice of two inputs.
PLAIN: dict[str, Callable[[Array, Array], Array]] = {
    "sum(s, axis = 0)": lambda s, u: s.sum(0),
    "mean(s)": lambda s, u: s.mean(),
    "prod(s, axis = 0)": lambda s, u: s.prod(0),
    "max(s, axis = 0, keepdims = true)": lambda s, u: s.max(0, keepdims=True),
    "argmax(s, axis = 0)": lambda s, u: s.argmax(0),
    "argmin(u)": lambda s, u: u.argmin(),
    "all(s > -1., axis = 0)": lambda s, u: (s > -1).all(0),
    "var(s, axis = [0, 1])": lambda s, u: s.var(),
    "logsumexp(-1e30 * abs(s), axis = 0)": lambda s, u: np.logaddexp.reduce(-1e30 * abs(s), 0),
    "u @ s": lambda s, u: u @ s,
    "s.T @ s": lambda s, u: s.T @ s,
    'einsum("nd,nd,n->", s, s, u)': lambda s, u: np.einsum("nd,nd,n->", s, s, u),
    "take(s, arange(2) * 0, axis = 0)": lambda s, u: s[[0, 0]],
    "segment_sum(s, argmax(s, axis = 1), 3)": lambda s, u: np.stack(
        [s[s.argmax(1) == k].sum(0) for k in range(3)]
    ),
    "segment_max(u, 0 * argmax(s, axis = 1), 1)": lambda s, u: u.max(keepdims=True),
    'searchsorted(sort(u), s[t][0], side = "right")': lambda s, u: np.searchsorted(
        np.sort(u), s[0], side="right"
    ),
    "s[t][argmax(u)]": lambda s, u: s[u.argmax()],
    "s[t][-1, 1]": lambda s, u: s[-1, 1],
    "sum(1. / u) + size(s, 0)": lambda s, u: (1 / u).sum() + len(u),
}
# Those that keep the leading extent (times, plus) and are padded to a fixed one.
LONG: dict[str, tuple[int, Callable[[Array, Array], Array]]] = {
    "cumsum(s, axis = 0, reverse = true)": (2, lambda s, u: s[::-1].cumsum(0)[::-1]),
    "cummax(s, axis = 0)": (2, lambda s, u: np.maximum.accumulate(s, 0)),
    "cumprod(u, reverse = true)": (1, lambda s, u: u[::-1].cumprod()[::-1]),
    "sort(s, axis = 0)": (2, lambda s, u: np.sort(s, 0)),
    "argsort(u)": (1, lambda s, u: u.argsort(kind="stable")),
    "searchsorted(sort(u), u)": (1, lambda s, u: np.searchsorted(np.sort(u), u)),
    "flip(s)": (2, lambda s, u: s[::-1, ::-1]),
    "concat([s, ones([1, 3]), s], 0)": (2, lambda s, u: np.concatenate([s, np.ones((1, 3)), s])),
    "stack([u, u * 2.], axis = -1)": (2, lambda s, u: np.stack([u, 2 * u], -1)),
    "split(concat([s, s], 0), 2, 0)[1]": (2, lambda s, u: s),
    "pad(u, [[1, 1]], value = 7.)": (1, lambda s, u: np.pad(u, 1, constant_values=7)),
    "reshape(s, [-1])": (1, lambda s, u: s.ravel()),
    "take_along(s, argsort(s, axis = 0), 0)": (2, lambda s, u: np.sort(s, 0)),
    "one_hot(argmax(s, axis = 1), 3)": (2, lambda s, u: np.eye(3)[s.argmax(1)]),
    "put(s, -1, sum(u))": (
        2,
        lambda s, u: np.concatenate([s[:-1], np.full_like(s[:1], u.sum())]),
    ),
    "s[t][::2, 1:]": (2, lambda s, u: s[::2, 1:]),
    'einsum("nd,md->nm", s, s) @ u': (1, lambda s, u: s @ s.T @ u),
    "softplus(u) * arange(size(u, 0))": (1, lambda s, u: np.logaddexp(u, 0) * np.arange(len(u))),
}


def _text(where: str) -> str:
    lines = ["dim t < T", "input x[t]: f32[3]", "input v[t]: f32"]
    lines += [f"s[t] = x[{where}]", f"u[t] = v[{where}]"]
    for k, text in enumerate(PLAIN):
        lines.append(f"y{k}[t] = {text}")
    for k, (text, (rank, _)) in enumerate(LONG.items()):
        rest = ", [0, 0]" * (rank - 1)
        lines.append(f"r{k}[t] = {text}")
        lines.append(f"z{k}[t] = pad(r{k}, [[0, 3*T + 3 - size(r{k}, 0)]{rest}], value = -9)")
    names = [f"y{k}" for k in range(len(PLAIN))] + [f"z{k}" for k in range(len(LONG))]
    return "\n".join([*lines, "output " + ", ".join(names)])


def _oracle(at: Callable[[int, int], slice]) -> Callable[..., Any]:
    def expected(T: int, x: Array, v: Array) -> Any:
        parts = [(x[at(t, T)], v[at(t, T)]) for t in range(T)]
        found = {f"y{k}": np.stack([f(*p) for p in parts]) for k, f in enumerate(PLAIN.values())}
        for k, (_, f) in enumerate(LONG.values()):
            rows = []
            for p in parts:
                row = np.asarray(f(*p))
                widths = [(0, 3 * T + 3 - len(row))] + [(0, 0)] * (row.ndim - 1)
                rows.append(np.pad(row, widths, constant_values=-9))
            found[f"z{k}"] = np.stack(rows)
        return found

    return expected


def _special(*shape: int) -> Array:
    """Numbers that spoil everything they touch, at the ends."""
    found = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    if len(found) > 2:
        found[0], found[-1] = -np.inf, np.nan
    return found


CASES = [
    Case(
        name=name,
        text=_text(where),
        bounds=({"T": 1}, {"T": 5}),
        oracle=_oracle(at),
        given={"x": lambda T: _special(T, 3), "v": lambda T: _special(T)},
    )
    for name, (where, at) in SLICES.items()
]
