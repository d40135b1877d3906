"""One function for arrays of many lengths, whatever their padding holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tempoc.runtime.rewriting.lengths.form import Form
from tempoc.runtime.rewriting.lengths.kernels import (
    TracedKernel,
    common_form,
    for_length,
    is_at,
    require_padded,
    traced,
    with_rows,
)
from tempoc.runtime.rewriting.lengths.padded import PaddedFunction
from tempoc.runtime.rewriting.lengths.sizes import Probes, UnlikeError

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


def _windows(x: Any, start: Any, by: Any, padding: Any, dilation: Any = None) -> Any:
    window = (3, 1)[: x.ndim]
    ones = (1,) * x.ndim
    return lax.reduce_window(x, start, by, window, ones, padding, window_dilation=dilation)


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
    (lambda n, x, i: jnp.take(x, i, axis=0, mode="fill"),
     lambda n, x, i: np.where((i < n)[:, None], x[i.clip(0, n - 1)], np.nan)),
    (lambda n, x, i: jnp.zeros(6).at[i].add(x[:, 0], mode="drop"),
     lambda n, x, i: np.array([x[i == k, 0].sum() for k in range(6)])),
    (lambda n, x, i: jnp.zeros(6).at[i % 6].add(x[:, 0], mode="drop"),
     lambda n, x, i: np.array([x[i % 6 == k, 0].sum() for k in range(6)])),
    (lambda n, x, i: jnp.zeros(n).at[jnp.arange(2)].max(9.0, mode="clip"),
     lambda n, x, i: np.where(np.arange(n) < 2, 9, 0)),
    (lambda n, x, i: lax.dynamic_update_slice(x, x[:-1], (1, 0)),
     lambda n, x, i: np.concatenate([x[:1], x[:-1]])),
    (lambda n, x, i: lax.dynamic_update_slice(x, x[1:], (0, 0)),
     lambda n, x, i: np.concatenate([x[1:], x[-1:]])),
    (lambda n, x, i: lax.dynamic_update_slice(x, x[:1], (i[0] + 50, 0)),
     lambda n, x, i: np.concatenate([x[:-1], x[:1]])),
    (lambda n, x, i: lax.dynamic_update_slice(jnp.zeros((16, 3)), x, (2, 0)),
     lambda n, x, i: np.pad(x, ((2, 14 - n), (0, 0)))),
    (lambda n, x, i: lax.dynamic_slice(jnp.arange(16), (2,), (n,)),
     lambda n, x, i: np.arange(2, 2 + n)),
    (lambda n, x, i: lax.dynamic_slice(x, (i[0] + 50, 0), (2, 3)), lambda n, x, i: x[-2:]),
    (lambda n, x, i: jnp.sort(x, 1), lambda n, x, i: np.sort(x, 1)),
    (lambda n, x, i: jnp.sort(x, 0), lambda n, x, i: np.sort(x, 0)),
    (lambda n, x, i: jnp.sort(i > 4), lambda n, x, i: np.sort(i > 4)),
    (lambda n, x, i: jnp.argsort(jnp.where(i > 2, jnp.nan, jnp.inf), stable=False),
     lambda n, x, i: np.argsort(i > 2, kind="stable")),
    (lambda n, x, i: lax.top_k(i // 9 + jnp.iinfo(i.dtype).min, 3)[1],
     lambda n, x, i: np.arange(3)),
    (lambda n, x, i: lax.top_k(jnp.where(i > 4, -jnp.abs(jnp.nan * x[:, 0]), -jnp.inf), 3)[1],
     lambda n, x, i: np.argsort(i > 4, kind="stable")[:3]),
    (lambda n, x, i: lax.top_k(i > 4, 3)[1], lambda n, x, i: np.argsort(i < 5, kind="stable")[:3]),
    (lambda n, x, i: jnp.tile(x, (1, 2)), lambda n, x, i: np.tile(x, (1, 2))),
    (lambda n, x, i: jnp.stack([x, -x]), lambda n, x, i: np.stack([x, -x])),
    (lambda n, x, i: jax.nn.softmax(x, 0), lambda n, x, i: np.exp(x) / np.exp(x).sum(0)),
    (lambda n, x, i: lax.cond(i[0] > 1, lambda a: a.sum(0), lambda a: a[0], x),
     lambda n, x, i: x.sum(0) if i[0] > 1 else x[0]),
    (lambda n, x, i: lax.reduce(i, 0, lambda a, b: a | b, (0,)),
     lambda n, x, i: np.bitwise_or.reduce(i)),
    (lambda n, x, i: _windows(x, 0.0, lax.add, ((2, 0), (0, 0))),
     lambda n, x, i: np.stack([x[max(0, t - 2) : t + 1].sum(0) for t in range(n)])),
    (lambda n, x, i: _windows(x, jnp.float32(0), lax.add, ((-1, 1), (0, 0))),
     lambda n, x, i: np.stack([x[t : t + 3].sum(0) for t in range(1, n - 1)])),
    (lambda n, x, i: _windows(x, -np.inf, lax.max, ((1, 1), (0, 0))),
     lambda n, x, i: np.stack([x[max(0, t - 1) : t + 2].max(0) for t in range(n)])),
    (lambda n, x, i: _windows(x, jnp.inf, lax.min, ((0, 2), (0, 0))),
     lambda n, x, i: np.stack([x[t : t + 3].min(0) for t in range(n)])),
    (lambda n, x, i: _windows(i, 0, lax.bitwise_or, ((0, 4),), (2,)),
     lambda n, x, i: np.bitwise_or.reduce(np.stack([np.pad(i, (0, 4))[k : n + k]
                                                    for k in (0, 2, 4)]))),
    (lambda n, x, i: lax.reduce_window(x, 1.0, lax.mul, (1, 3), (1, 1), "VALID"),
     lambda n, x, i: x.prod(1, keepdims=True)),
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


def _form(function: Callable[..., Any], *lengths: int) -> Form:
    one, other = lengths
    return common_form([_trace(function, n) for n in lengths], Probes((one,), (other,)))


def _is_at(form: Form, function: Callable[..., Any], n: int) -> bool:
    return is_at(form, (n,), common_form([_trace(function, n)], Probes((), ())))


def test_all_operators_for_all_lengths() -> None:
    def every(n: int, x: Any, i: Any) -> Any:
        return [case(n, x, i) for case, _ in CASES]

    form, one = _form(every, 5, 8), _trace(every, 5)
    function = with_rows(form, one.results, (MOST,), every)
    require_padded(form, function, one.arguments, (MOST,))
    kernel = jax.jit(function)
    for n in (3, 4, 8, MOST):
        assert _is_at(form, every, n)
        made = for_length(kernel, form, (n,), (MOST,), _Dirty.empty)(*_data(n))
        for k, ((_, wanted), found) in enumerate(zip(CASES, made, strict=True)):
            for a, b in zip(jax.tree.leaves(found), _leaves(wanted(n, *_data(n))), strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5, err_msg=f"case {k}, {n}")
    assert kernel._cache_size() == 1


def _leaves(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize(
    "function",
    [
        lambda n, x, i: x.at[1:].set(x[:-1]),
        lambda n, x, i: x[: 12 - n],
        lambda n, x, i: lax.dynamic_update_slice(jnp.zeros((11, 3)), x, (1, 0)),
        lambda n, x, i: lax.dynamic_update_slice(jnp.zeros((16, 3)), x, (i[0], 0)),
        lambda n, x, i: lax.dynamic_slice(jnp.zeros(11), (1,), (n,)),
        lambda n, x, i: jnp.zeros((20, 3))[n : 2 * n] + x,
        lambda n, x, i: lax.top_k(x, n - 1, axis=0)[0],
        lambda n, x, i: x * np.float32(0.0 if n > 5 else -0.0),
        lambda n, x, i: x.sum() if n % 3 else x.max(),
        lambda n, x, i: x * np.float32(1 / n),
        lambda n, x, i: jax.random.uniform(jax.random.key(0), (n,)),
        lambda n, x, i: x + np.arange(n, dtype=np.float32)[:, None],
    ],
)
def test_what_is_not_linear_or_has_no_rule_is_refused(function: Function) -> None:
    with pytest.raises(UnlikeError):
        form, one = _form(function, 5, 9), _trace(function, 5)
        padded = with_rows(form, one.results, (MOST,), function)
        require_padded(form, padded, one.arguments, (MOST,))


def test_a_rule_whose_result_jax_refuses_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run for another length compiles the kernel for that length, it does not fail."""

    def doubled(n: int, x: Any, i: Any) -> Any:
        return x + x

    def of_another_shape(self: object, form: object, given: Sequence[Any]) -> Any:
        return [lax.add(given[0], given[0][1:])]

    form, one = _form(doubled, 5, 9), _trace(doubled, 5)
    require_padded(form, with_rows(form, one.results, (MOST,), doubled), one.arguments, (MOST,))
    monkeypatch.setattr(PaddedFunction, "results", of_another_shape)
    function = with_rows(form, one.results, (MOST,), doubled)
    with pytest.raises(UnlikeError):
        require_padded(form, function, one.arguments, (MOST,))


def test_a_number_is_no_guess() -> None:
    """The remainders of two odd lengths are the same, that of an even one is another."""

    def last(n: int, x: Any, i: Any) -> Any:
        return x[n % 2]

    form = _form(last, 5, 7)
    assert _is_at(form, last, 9) and not _is_at(form, last, 8)


@pytest.mark.parametrize(
    ("kind", "step", "lengths", "others"),
    [(np.int8, 1, (140, 145), (3, 127, 200)), (np.uint32, 1, (6, 9), (3, 5)),
     (np.float16, 8192, (6, 9), (3, 11))],
)  # fmt: skip
def test_numbers_beyond_their_dtype(
    kind: type, step: int, lengths: tuple[int, int], others: tuple[int, ...]
) -> None:
    """They wrap around, or are infinite, for lengths on both sides of those that are traced."""

    def moved(n: int, x: Any, i: Any) -> Any:
        with np.errstate(over="ignore"):
            number = np.array(step * (n - 5), np.int64).astype(kind)
        return i.astype(kind) + number

    form, one, most = _form(moved, *lengths), _trace(moved, lengths[0]), (200,)
    kernel = jax.jit(with_rows(form, one.results, most, moved))
    for n in others:
        assert _is_at(form, moved, n)
        made = for_length(kernel, form, (n,), most, _Dirty.empty)(*_data(n))
        np.testing.assert_array_equal(made, moved(n, *_data(n)))


PAIRS: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda n, m, x, y: x.sum((0, 1)) / (n * m), lambda n, m, x, y: x.mean((0, 1))),
    (lambda n, m, x, y: x.reshape(-1, 3).T, lambda n, m, x, y: x.reshape(-1, 3).T),
    (lambda n, m, x, y: jnp.tanh(x.reshape(n * m, 3)).reshape(n, m * 3),
     lambda n, m, x, y: np.tanh(x).reshape(n, m * 3)),
    (lambda n, m, x, y: jnp.einsum("nmk,nm->mk", x, y),
     lambda n, m, x, y: np.einsum("nmk,nm->mk", x, y)),
    (lambda n, m, x, y: jnp.concatenate([y.reshape(-1), y[0]]),
     lambda n, m, x, y: np.concatenate([y.reshape(-1), y[0]])),
    (lambda n, m, x, y: y[:, ::2], lambda n, m, x, y: y[:, ::2]),
    (lambda n, m, x, y: y[:, : m // 2], lambda n, m, x, y: y[:, : m // 2]),
    (lambda n, m, x, y: y[:, m // 2 :] * n, lambda n, m, x, y: y[:, m // 2 :] * n),
    (lambda n, m, x, y: y[:, : m // 2 * 2].reshape(n, m // 2, 2).max(1),
     lambda n, m, x, y: y[:, : m // 2 * 2].reshape(n, m // 2, 2).max(1)),
]  # fmt: skip


@pytest.mark.parametrize("odd", [0, 1])
def test_two_lengths_at_once(odd: int) -> None:
    """Of which one is halved: odd ones and even ones have a form each."""
    random = np.random.default_rng(odd)

    def data(n: int, m: int) -> tuple[Any, ...]:
        return tuple(random.uniform(-2, 2, s).astype(np.float32) for s in ((n, m, 3), (n, m)))

    def every(n: int, m: int, *given: Any) -> Any:
        return [case(n, m, *given) for case, _ in PAIRS]

    def trace(n: int, m: int) -> TracedKernel:
        return traced(lambda *given: every(n, m, *given), data(n, m))

    probes = Probes((3, 4 + odd), (5, 6 + odd))
    form, one = common_form([trace(*n) for n in probes.lengths], probes), trace(3, 4 + odd)
    most = 6, 8 + odd
    assert form.divisor == 2
    kernel = jax.jit(with_rows(form, one.results, most, every))
    for n, m in ((2, 2 + odd), (4 + odd, 4 + odd), (3, 8 + odd), most):
        assert is_at(form, (n, m), common_form([trace(n, m)], Probes((), ())))
        given = data(n, m)
        made = for_length(kernel, form, (n, m), most, _Dirty.empty)(*given)
        for k, ((_, wanted), found) in enumerate(zip(PAIRS, made, strict=True)):
            wanted_now = wanted(n, m, *given)
            np.testing.assert_allclose(found, wanted_now, rtol=2e-5, err_msg=f"case {k}, {n}, {m}")
    assert kernel._cache_size() == 1
    assert not is_at(form, (3, 5 - odd), common_form([trace(3, 5 - odd)], Probes((), ())))
