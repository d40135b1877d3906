"""One function for arrays of many lengths, whatever their padding holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.runtime.rewriting.lengths.form import UnlikeError
from tempoc.runtime.rewriting.lengths.kernels import (
    TracedKernel,
    common_form,
    for_length,
    require_padded,
    traced,
    with_rows,
)

MOST = 11
Function = Callable[[int, Any, Any], Any]


def _looped(n: int, x: Any, i: Any) -> Any:
    return lax.fori_loop(1, n - 1, lambda t, s: s * 0.5 + x[t] * i[t - 1], x[0])


def _looped_numpy(n: int, x: Any, i: Any) -> Any:
    s = x[0]
    for t in range(1, n - 1):
        s = s * 0.5 + x[t] * i[t - 1]
    return s


def _scanned(n: int, x: Any, i: Any) -> Any:
    def step(s: Any, row: Any) -> Any:
        return s + row, s * row

    return lax.scan(step, x[-1], x[1:], reverse=True)


def _scanned_numpy(n: int, x: Any, i: Any) -> Any:
    s = x[-1]
    made: list[Any] = []
    for row in x[:0:-1]:
        made.insert(0, s * row)
        s = s + row
    return s, np.array(made)


def _searched(n: int, x: Any, i: Any) -> Any:
    def steps(limit: Any) -> Any:
        return lax.while_loop(lambda k: k * k < limit, lambda k: k + 1, jnp.int32(0))

    return jax.vmap(steps)(i)


CASES: list[tuple[Function, Function]] = [
    (lambda n, x, i: jnp.sum(x, 0), lambda n, x, i: x.sum(0)),
    (lambda n, x, i: x.sum() / n, lambda n, x, i: x.sum() / n),
    (lambda n, x, i: jnp.max(x), lambda n, x, i: x.max()),
    (lambda n, x, i: jnp.min(i), lambda n, x, i: i.min()),
    (lambda n, x, i: jnp.prod(x, 0), lambda n, x, i: x.prod(0)),
    (lambda n, x, i: jnp.argmax(x, 0), lambda n, x, i: x.argmax(0)),
    (lambda n, x, i: jnp.argmin(-x, 0), lambda n, x, i: (-x).argmin(0)),
    (lambda n, x, i: jnp.all(i >= 0), lambda n, x, i: (i >= 0).all()),
    (lambda n, x, i: jnp.any(x > 2, 0), lambda n, x, i: (x > 2).any(0)),
    (lambda n, x, i: x.T @ x, lambda n, x, i: x.T @ x),
    (lambda n, x, i: (x @ x.T) @ x, lambda n, x, i: x @ x.T @ x),
    (lambda n, x, i: jnp.flip(x, 0), lambda n, x, i: x[::-1]),
    (lambda n, x, i: jnp.cumsum(x, 0), lambda n, x, i: x.cumsum(0)),
    (lambda n, x, i: lax.cumsum(x, 0, reverse=True), lambda n, x, i: x[::-1].cumsum(0)[::-1]),
    (lambda n, x, i: lax.cummax(i, 0, reverse=True),
     lambda n, x, i: np.maximum.accumulate(i[::-1])[::-1]),
    (lambda n, x, i: jnp.concatenate([x[:2], x]), lambda n, x, i: np.concatenate([x[:2], x])),
    (lambda n, x, i: jnp.concatenate([x[1:], x, x[:1]]),
     lambda n, x, i: np.concatenate([x[1:], x, x[:1]])),
    (lambda n, x, i: lax.pad(i, 7, ((1, 2, 0),)),
     lambda n, x, i: np.pad(i, (1, 2), constant_values=7)),
    (lambda n, x, i: lax.pad(i, 7, ((0, 2, 1),))[: 2 * n + 1],
     lambda n, x, i: np.array([*np.stack([i, 0 * i + 7], 1).reshape(-1), 7])),
    (lambda n, x, i: lax.pad(i, 7, ((-1, -1, 0),)), lambda n, x, i: i[1:-1]),
    (lambda n, x, i: x[-1], lambda n, x, i: x[-1]),
    (lambda n, x, i: x[n - 2 : n] * n, lambda n, x, i: x[-2:] * n),
    (lambda n, x, i: x.reshape(-1), lambda n, x, i: x.reshape(-1)),
    (lambda n, x, i: x.T.reshape(-1), lambda n, x, i: x.T.reshape(-1)),
    (lambda n, x, i: x.T.reshape(-1).reshape(n, 3), lambda n, x, i: x.T.reshape(n, 3)),
    (lambda n, x, i: jnp.take(x, i, axis=0, mode="clip"), lambda n, x, i: x[i.clip(0, n - 1)]),
    (lambda n, x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=5),
     lambda n, x, i: np.where((i < n)[:, None], x[i.clip(0, n - 1)], 5)),
    (lambda n, x, i: jnp.zeros(6).at[i].add(x[:, 0], mode="drop"),
     lambda n, x, i: np.array([x[i == k, 0].sum() for k in range(6)])),
    (lambda n, x, i: jnp.zeros(n).at[jnp.arange(2)].max(9.0, mode="clip"),
     lambda n, x, i: np.where(np.arange(n) < 2, 9, 0)),
    (lambda n, x, i: lax.dynamic_update_slice(x, x[:-1], (1, 0)),
     lambda n, x, i: np.concatenate([x[:1], x[:-1]])),
    (lambda n, x, i: lax.dynamic_update_slice(x, x[1:], (0, 0)),
     lambda n, x, i: np.concatenate([x[1:], x[-1:]])),
    (lambda n, x, i: lax.dynamic_update_slice(x, x[:1], (i[0] + 50, 0)),
     lambda n, x, i: np.concatenate([x[:-1], x[:1]])),
    (lambda n, x, i: lax.dynamic_slice(x, (i[0] + 50, 0), (2, 3)), lambda n, x, i: x[-2:]),
    (lambda n, x, i: jnp.sort(x, 1), lambda n, x, i: np.sort(x, 1)),
    (lambda n, x, i: jnp.tile(x, (1, 2)), lambda n, x, i: np.tile(x, (1, 2))),
    (lambda n, x, i: jnp.stack([x, -x]), lambda n, x, i: np.stack([x, -x])),
    (lambda n, x, i: jax.nn.softmax(x, 0), lambda n, x, i: np.exp(x) / np.exp(x).sum(0)),
    (lambda n, x, i: lax.cond(i[0] > 1, lambda a: a.sum(0), lambda a: a[0], x),
     lambda n, x, i: x.sum(0) if i[0] > 1 else x[0]),
    (lambda n, x, i: lax.reduce(i, 0, lambda a, b: a | b, (0,)),
     lambda n, x, i: np.bitwise_or.reduce(i)),
    (lambda n, x, i: jnp.linalg.solve(2 * jnp.eye(3) + x[:, :, None] * x[:, None], x[..., None]),
     lambda n, x, i: np.linalg.solve(2 * np.eye(3) + x[:, :, None] * x[:, None], x[..., None])),
    (_looped, _looped_numpy),
    (_scanned, _scanned_numpy),
    (_searched, lambda n, x, i: np.ceil(np.sqrt(i)).astype(int)),
    (lambda n, x, i: jax.grad(lambda a: jnp.sum(jnp.tanh(a[1:] * a[:-1])))(x)[0],
     lambda n, x, i: x[1] * (1 - np.tanh(x[1] * x[0]) ** 2)),
]  # fmt: skip


def _data(n: int) -> tuple[Any, Any]:
    random = np.random.default_rng(n)
    x = random.uniform(-2, 2, (n, 3)).astype(np.float32)
    return x, random.integers(0, 8, n).astype(np.int32)


def _dirty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """An array for padding: of what a sum, a product or a position must not be made."""
    return np.full(shape, np.nan if dtype.kind == "f" else 1 << 20, dtype)


class _Dirty:
    """Arrays in which nothing is set stay dirty where others have zeros."""

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return _dirty(shape, dtype).view(_Unset)


class _Unset(np.ndarray[Any, Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        if not np.isscalar(value):
            super().__setitem__(key, value)


def _trace(function: Callable[..., Any], n: int) -> TracedKernel:
    return traced(lambda *given: function(n, *given), _data(n))


def test_all_operators_for_all_lengths() -> None:
    def every(n: int, x: Any, i: Any) -> Any:
        return [case(n, x, i) for case, _ in CASES]

    one, other = _trace(every, 5), _trace(every, 8)
    form = common_form(one, other, (5, 8))
    function = with_rows(form, one.results, MOST, every)
    require_padded(form, function, _data(5), MOST)
    kernel = jax.jit(function)
    for n in (3, 4, 8, MOST):
        assert common_form(one, _trace(every, n), (5, n)) == form
        made = for_length(kernel, form, n, MOST, _Dirty.empty)(*_data(n))
        for k, ((_, wanted), found) in enumerate(zip(CASES, made, strict=True)):
            for a, b in zip(jax.tree.leaves(found), _leaves(wanted(n, *_data(n))), strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5, err_msg=f"case {k}, {n}")
    assert kernel._cache_size() == 1


def _leaves(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(
    "function",
    [
        lambda n, x, i: x[::2],
        lambda n, x, i: x.at[1:].set(x[:-1]),
        lambda n, x, i: x[: n // 2],
        lambda n, x, i: x[: 12 - n],
        lambda n, x, i: jnp.zeros((20, 3))[n : 2 * n] + x,
        lambda n, x, i: jnp.sort(x, 0),
        lambda n, x, i: lax.top_k(x, 2, axis=0)[0],
        lambda n, x, i: x * np.float32(0.0 if n > 5 else -0.0),
        lambda n, x, i: x.sum() if n % 3 else x.max(),
        lambda n, x, i: x * np.float32(1 / n),
        lambda n, x, i: jax.random.uniform(jax.random.key(0), (n,)),
        lambda n, x, i: x + np.arange(n, dtype=np.float32)[:, None],
    ],
)
def test_what_is_not_linear_or_has_no_rule_is_refused(function: Function) -> None:
    one, other = _trace(function, 5), _trace(function, 9)
    with pytest.raises(UnlikeError):
        form = common_form(one, other, (5, 9))
        require_padded(form, with_rows(form, one.results, MOST, function), _data(5), MOST)


def test_a_number_is_no_guess() -> None:
    """The remainders of two odd lengths are the same, that of an even one is another."""

    def last(n: int, x: Any, i: Any) -> Any:
        return x[n % 2]

    one = _trace(last, 5)
    assert common_form(one, _trace(last, 7), (5, 7)) == common_form(one, _trace(last, 9), (5, 9))
    with pytest.raises(UnlikeError):
        common_form(one, _trace(last, 8), (5, 8))
