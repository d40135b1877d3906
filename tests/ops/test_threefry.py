"""The generator is the one of `jax.random`, and what is made of its bits has the right shape."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.base.names import Names
from tempoc.ops.definition.operator import EmittedValue
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.ops.random import threefry
from tempoc.ops.random.draws import KEY, Categorical, RandomKey
from tempoc.ops.random.kernel_text import DRAWING
from tempoc.symbolic.expr import Const, Sym

SEEDS = (0, 1, 2**31, 2**40 + 3)
SHAPES = ((), (7,), (3, 5), (2, 0))
MANY = 100_000


def keys(seed: int, number: int = 5):
    key = threefry.fold_in(threefry.root(seed), number)
    return key, jax.random.wrap_key_data(jnp.asarray(key), impl="threefry2x32")


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_are_jax_keys(seed: int) -> None:
    with jax.enable_x64(True):
        root = jax.random.key(seed, impl="threefry2x32")
        assert list(jax.random.key_data(root)) == list(threefry.root(seed))
        for number in (0, 1, 2**32 - 1):
            folded = jax.random.key_data(jax.random.fold_in(root, np.uint32(number)))
            assert list(folded) == list(threefry.fold_in(threefry.root(seed), number))


def test_seeds_have_64_bits() -> None:
    assert list(threefry.root(2**64 - 1)) == [2**32 - 1] * 2
    for wrong in (-1, 2**64):
        with pytest.raises(ValueError):
            threefry.root(wrong)


@pytest.mark.parametrize("shape", SHAPES)
def test_bits_and_uniform_numbers_are_those_of_jax(shape: tuple[int, ...]) -> None:
    ours, theirs = keys(3)
    bits = jax.random.bits(theirs, shape, "uint32")
    np.testing.assert_array_equal(threefry.bits(ours, shape), bits)
    with jax.enable_x64(True):
        for dtype in (jnp.float32, jnp.float64, jnp.float16, jnp.bfloat16):
            expected = np.asarray(jax.random.uniform(theirs, shape, dtype))
            found = threefry.uniform(ours, shape, expected.dtype)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-6), ("float64", 1e-11)])
def test_normal_numbers_are_close_to_those_of_jax(dtype: str, tolerance: float) -> None:
    ours, theirs = keys(4)
    with jax.enable_x64(True):
        expected = np.asarray(jax.random.normal(theirs, (2000,), dtype))
    found = threefry.normal(ours, (2000,), np.dtype(dtype))
    assert found.dtype == expected.dtype
    near = np.abs(expected) < 3  # where JAX's own single precision is good
    np.testing.assert_allclose(found[near], expected[near], rtol=tolerance, atol=tolerance)


def test_a_longer_draw_begins_like_a_shorter_one() -> None:
    key, _ = keys(1)
    short, long = (threefry.bits(key, (n,)) for n in (5, 9))
    np.testing.assert_array_equal(long[:5], short)


def test_erfinv_is_good_near_the_ends() -> None:
    u = np.array([1e-6, 0.5, 0.99, 1 - 1e-5, 1 - 2.0**-23], np.float32)
    back = np.array([math.erfc(x) for x in threefry.erfinv(u).astype(np.float64)])
    np.testing.assert_allclose(back, 1 - u.astype(np.float64), rtol=1e-5)


def test_logarithms() -> None:
    words = np.array([1, 2, 3, 255, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)
    found = threefry.minus_log(words) / 2**threefry.UNIT
    np.testing.assert_allclose(found, 32 * math.log(2) - np.log(words), atol=3e-7)


def test_gumbel_noise_has_its_distribution() -> None:
    key, _ = keys(2)
    noise = np.sort(threefry.gumbel(key, (MANY,)).astype(np.float64))
    expected = np.exp(-np.exp(-noise))
    steps = (np.arange(MANY) + 0.5) / MANY
    assert np.abs(expected - steps).max() < 1.63 / math.sqrt(MANY)  # Kolmogorov and Smirnov, 1 %


def test_uniform_and_normal_numbers_have_their_moments() -> None:
    key, _ = keys(6)
    single = np.dtype(np.float32)
    u, z = threefry.uniform(key, (MANY,), single), threefry.normal(key, (MANY,), single)
    assert u.min() >= 0 and u.max() < 1
    moments = [u.mean() - 0.5, u.var() - 1 / 12, z.mean(), z.var() - 1, (z**3).mean()]
    assert np.abs(moments).max() < 0.03


@pytest.mark.parametrize("path", [(7,), (7, 0), (2**32 - 1, 3, 5)])
def test_kernels_find_the_same_keys_in_a_loop(path: tuple[int, ...]) -> None:
    """A loop of one turn would be none: then XLA copies its rounds into all that reads the key."""
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    exec("\n".join(DRAWING[n] for n in ("threefry", "random_fold", "random_key")), scope)
    words = [np.uint32(number) for number in path]
    root = threefry.root(9)
    made = jax.jit(scope["random_key"]).lower(root, *words).compile()
    expected = root
    for number in path:
        expected = threefry.fold_in(expected, number)
    assert list(np.asarray(made(root, *words))) == list(expected)
    assert " while(" in made.as_text()
    points = np.arange(3, dtype=np.uint32)
    key = scope["random_key"](root, *words)
    many = jax.vmap(lambda n: scope["random_fold"](key, n, 4))(points)
    ones = [threefry.fold_in(threefry.fold_in(expected, n), 4) for n in points]
    np.testing.assert_array_equal(many, ones)


@pytest.mark.parametrize(
    "mapped, text",
    [
        ((), "random_key(seed, 7, t, b)"),
        (("b",), "random_fold(random_key(seed, 7, t), b)"),
        (("t",), "random_fold(random_key(seed, 7), t, b)"),
    ],
)
def test_keys_of_many_points_share_what_they_can(mapped: tuple[str, ...], text: str) -> None:
    dims = ("t", "b")
    out = KernelEmitter(dims=dims, bound=lambda e: e, names=Names(dims), mapped=mapped)
    op = RandomKey(place=7, at=(Sym("t"), Sym("b")))
    assert op.emit((EmittedValue("seed", KEY, KEY.shape),), (KEY,), out) == (text,)


def test_choices_among_numbers_of_the_program_compile() -> None:
    """XLA compiles for minutes what chooses by draws alone: each of 500 rows, or some of them."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": jax.lax}
    exec("\n".join(DRAWING.values()), names)
    type = TensorType(DType.F32, (Const(500),))

    def chosen(key: jax.Array, some: jax.Array) -> tuple[jax.Array, ...]:
        names.update(key=key, alike=jnp.zeros(500), some=jnp.where(some, 0.0, -1e30))
        texts = []
        for logits in ("alike", "some"):
            args = (EmittedValue("key", KEY, KEY.shape), EmittedValue(logits, type, type.shape))
            out = KernelEmitter(dims=(), bound=str, names=Names([*names]))
            (text,) = Categorical().emit(args, (), out)
            for line in out.lines:
                exec(line, names)
            texts.append(eval(text, names))
        return tuple(texts)

    key, _ = keys(3)
    some = np.arange(500) % 7 == 0
    noise = threefry.gumbel(key, (500,))
    wanted = [int(np.argmax(noise)), 7 * int(np.argmax(noise[some]))]
    assert [int(k) for k in jax.jit(chosen)(key, some)] == wanted
