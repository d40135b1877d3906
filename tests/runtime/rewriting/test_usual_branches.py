"""Kernels on CPUs have their usual branches alone; where these are wrong, nothing of it counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.interpreters.partial_eval import dce_jaxpr

from tempoc.ops.emission.prelude import HELPERS
from tempoc.runtime.rewriting.usual_branches import _usual_alone, compiled_as_usual

KERNELS = '''
def ahead(x, y):
    """Two conditions, one within the usual branch of the other; one in a function of a batch."""
    part = lambda y: usually(y[0] < 9, lambda: jnp.sin(y), lambda: jnp.cos(y))
    x = usually(jnp.isfinite(jnp.sum(x)), lambda: part(y) + x, lambda: x * 0 - 1)
    shared = lambda x: usually(jnp.max(x) < 5, lambda: x * 2, lambda: -x)
    shared = jax.custom_batching.custom_vmap(shared)
    shared.def_vmap(lambda size, mapped, x: (shared(x), True))
    return (x, jax.vmap(shared)(jnp.stack([y, x])))


def in_loops(x, y):
    """In one of known length, which makes rows, within one that would wait forever else."""
    def step(x, k):
        x = usually(x[0] < 3, lambda: x + y, lambda: x + 20)
        return x, x * k
    def outer(state):
        x, rows = lax.scan(step, state[0], jnp.arange(1.0, 3.0))
        return jnp.where(x[0] < 9, x, 100.0), rows
    return lax.while_loop(lambda state: state[0][1] < 5, outer, (x, jnp.zeros((2, 3))))


def otherwise(x, y):
    """A branch of somebody else, within a usual one."""
    other = lambda: lax.cond(x[0] > 0, lambda: x, lambda: y)
    return (usually(x[0] < 3, other, lambda: x * 0),)


def turned(x):
    return usually(x[0] < 3, lambda: x * 2, lambda: -x)


def within_others(x, y):
    """Usual branches in those of somebody else, in a loop there, and beside them."""
    x = usually(x[0] < 99, lambda: x + y, lambda: -x)
    branch = lax.cond(y[0] > 0, lambda: turned(x), lambda: x)
    looped = lambda: lax.fori_loop(0, 1, lambda _, x: turned(x), x)
    many = lax.switch(jnp.int32(y[1] + 1), [lambda: turned(x), lambda: x + 9, looped])
    return branch, many, jax.jit(turned)(x - 9)


def in_a_test(x, y):
    """In the test of a loop, where its condition would be lost."""
    x = usually(x[0] < 99, lambda: x + y, lambda: -x)
    few = lambda x: usually(x[0] < 3, lambda: x[0] < 2, lambda: x[0] < 9)
    return (lax.while_loop(few, lambda x: usually(x[1] < 99, lambda: x + 1, lambda: x), x),)


def with_a_derivative(x, y):
    """In a function with a derivative of its own, and in one that is computed again."""
    other = jax.custom_vjp(turned)
    other.defvjp(lambda x: (turned(x), None), lambda _, y: (y,))
    return other(x), jax.checkpoint(turned)(x)


def of_points(x, y):
    """Conditions that each point has, in a loop over rows, too, and one for all of them."""
    rows = jax.vmap(turned)(jnp.stack([x, x + 1, y]))
    scanned = jax.vmap(lambda x: lax.scan(lambda c, y: (turned(c + y), c), x, x)[0])(rows - 9)
    return rows, scanned, usually(y[0] < 9, lambda: {"of": y}, lambda: {"of": -y})["of"]


def both_wrong(x, y):
    """Two conditions, and an integer and a boolean among results."""
    flag, count = usually(x[0] < 3, lambda: (x < 1, 1), lambda: (x > 1, 2))
    return (flag, count + usually(y[0] < 3, lambda: jnp.int32(10), lambda: jnp.int32(20)))


def noting(x, y):
    """What is traced."""
    usual = lambda: traced.append("usual") or x + 1
    return (usually(x[0] < 3, usual, lambda: traced.append("rare") or -x),)


def waiting(x, y):
    """A loop of somebody else, which NaN of the usual branch would keep from its end."""
    x = usually(jnp.isfinite(x[2]), lambda: x * y, lambda: y)
    return (lax.while_loop(lambda x: ~(x[1] <= 1), lambda x: x / 2, x),)


def counting(x, y):
    """It ends whatever it computes, if the number of its steps is known late, too."""
    x = usually(jnp.isfinite(x[2]), lambda: x * y, lambda: y)
    return (lax.fori_loop(0, jnp.int32(y[0]), lambda _, x: x / 2, x),)
'''
TEXT: dict[str, object] = {"jax": jax, "jnp": jnp, "lax": lax}
exec(HELPERS["usually"] + KERNELS, TEXT)


def compiled(name, donated=()):
    """The kernel, and the functions that JAX compiles, by which of both they are."""
    made = {}

    def make(function, which):
        made[which] = jax.jit(function)
        return made[which]

    return compiled_as_usual(make, TEXT[name], donated), made


X, Y = jnp.arange(3, dtype=jnp.float32), jnp.ones(3, jnp.float32)


@pytest.mark.parametrize(
    ("name", "x", "y", "right"),
    [
        ("ahead", X, Y, True),
        ("ahead", X * jnp.inf, Y, False),
        ("ahead", X, Y * 9, False),
        ("ahead", X, Y * 6, False),
        ("in_loops", X, Y * X * 2, True),
        ("in_loops", X, 4 - 5 * X, False),
        ("otherwise", X, Y, True),
        ("otherwise", X + 1, Y, True),
        ("otherwise", X + 3, Y, False),
        ("within_others", X, Y, True),
        ("within_others", X, Y * 0, True),
        ("within_others", X + 3, Y, False),
        ("within_others", X + 3, -Y, True),
        ("within_others", X + 4, -Y, False),
        ("within_others", X + 3, Y * 0, True),
        ("within_others", X + 99, Y, False),
        ("of_points", X, Y, True),
        ("of_points", X + 2, Y, False),
        ("of_points", X, Y * 9, False),
        ("both_wrong", X, Y, True),
        ("both_wrong", X + 3, Y, False),
        ("both_wrong", X, Y * 3, False),
        ("both_wrong", X + 3, Y * 3, False),
    ],
)
def test_rare_branches_are_compiled_when_data_take_them(name, x, y, right):
    kernel, made = compiled(name)
    assert_same(kernel, name, x, y, x, y)
    assert [*made] == ["usually"] + [""] * (not right)


def assert_same(kernel, name, *arrays):
    """A kernel gives what its function does, for two arrays after the other."""
    for x, y in zip(arrays[::2], arrays[1::2], strict=True):
        for result, wanted in zip(kernel(x, y), TEXT[name](x, y), strict=True):
            wanted = jnp.asarray(wanted)
            assert result.aval == wanted.aval
            np.testing.assert_allclose(result, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [
        ("ahead", X * jnp.nan, Y),
        ("in_loops", X, 4 - 5 * X),
        ("within_others", X + 3, Y),
        ("of_points", X + 2, Y),
        ("both_wrong", X + 3, Y * 3),
    ],
)
def test_rare_branches_are_computed_whenever_data_take_them(name, x, y):
    usual = (X, Y * X * 2) if name == "in_loops" else (X, Y)
    for calls in ((x, y, *usual, x, y, x, y, x, y, *usual), (*usual, *usual, x, y, *usual, x, y)):
        kernel, made = compiled(name)
        assert_same(kernel, name, *calls)
        assert [*made] == ["usually", ""]


@pytest.mark.parametrize("name", ["in_a_test", "with_a_derivative"])
def test_branches_of_which_nothing_would_be_told_are_all_compiled(name):
    for x in (X, X + 1, X + 2, X + 3, X + 99):
        kernel, made = compiled(name)
        assert_same(kernel, name, x, Y, x + 1, Y)
        assert [*made] == ["usually"]
        assert "cond[" in str(jax.make_jaxpr(made["usually"])(X, Y))


def test_rare_branches_are_traced_when_data_take_them():
    traced = TEXT["traced"] = []
    kernel, _ = compiled("noting")
    np.testing.assert_array_equal(kernel(X, Y)[0], X + 1)
    np.testing.assert_array_equal(kernel(X + 1, Y)[0], X + 2)
    assert traced == ["usual"]
    np.testing.assert_array_equal(kernel(X + 3, Y)[0], -X - 3)
    assert traced == ["usual", "usual", "rare"]


def test_kernels_in_several_threads_take_the_branches_of_their_own_data():
    kernels = [(name, compiled(name)[0]) for name in ("ahead", "of_points", "both_wrong")]
    data = [(X, Y), (X * jnp.nan, Y), (X + 3, Y * 9)]
    tasks = [(kernel, name, *arrays) for name, kernel in kernels for arrays in data * 3]
    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(assert_same, *task) for task in tasks]:
            done.result()


def test_a_mark_that_stays_is_an_error():
    mark = jax.jit(lambda x: _usual_alone(x[0] < 3, lambda: x, lambda: -x))
    with pytest.raises(NotImplementedError):
        mark(X)


def test_rare_branches_are_left_out():
    _, made = compiled("ahead")
    plain, usual = (str(jax.make_jaxpr(f)(X, Y)) for f in (TEXT["ahead"], made["usually"]))
    assert "cond[" in plain and "cos " in plain
    assert "cond[" not in usual and "cos " not in usual


def test_a_loop_that_waits_for_a_number_is_compiled_with_all_branches():
    for name, waits in (("waiting", True), ("counting", False)):
        kernel, made = compiled(name)
        np.testing.assert_array_equal(kernel(X * jnp.nan, Y)[0], Y / (1 if waits else 2))
        assert ("cond[" in str(jax.make_jaxpr(made["usually"])(X, Y))) == waits


def test_what_overwrites_arguments_is_compiled_as_it_is():
    kernel, made = compiled("ahead", donated=(0,))
    kernel(X, Y)
    assert [*made] == [""]


def test_functions_that_are_traced_or_mapped():
    kernel, _ = compiled("otherwise")
    both = jnp.stack([X, X + 3])
    np.testing.assert_array_equal(jax.jit(kernel)(X + 3, Y)[0], [0, 0, 0])
    np.testing.assert_array_equal(jax.vmap(kernel, (0, None))(both, Y)[0], [[1, 1, 1], [0, 0, 0]])


CHECKED = '''
def checked(x, y):
    """Faults of points and of values of a point, and one in each step of a loop."""
    def point(x):
        return x + 1, first_wrong(wrong_value(x, x < 9), wrong_value(jnp.stack([x, -x]), True))
    new, faults = jax.vmap(point)(x)
    def step(k, fault):
        code = wrong_value(y + k, y + k < 600)
        return jnp.where(fault != 0, fault, code)
    return new, jnp.stack(first_lane(faults)), lax.fori_loop(0, 5, step, jnp.int32(0))


def of_few(x, y):
    """Too few codes for the kernel to be waited for."""
    return (x, wrong_value(x[:99], x[:99] < 9))


def both(x, y):
    """Two checks in each step, of as many codes, and one of others."""
    def step(k, fault):
        code = first_wrong(wrong_value(y + k, y < 5), wrong_value(y - k, y > -5))
        return jnp.where(fault != 0, fault, first_wrong(code, wrong_value(x[:400], x[:400] < 5)))
    return (lax.fori_loop(0, 3, step, jnp.int32(0)),)


def masked(x, y):
    """A fault that is seen, but does not count."""
    return (jnp.where(y[0] == 0, 0, wrong_value(x, x < 9)),)
'''
exec("".join(HELPERS[h] for h in ("first_lane", "wrong_value", "first_wrong")) + CHECKED, TEXT)
MANY, SOME = np.zeros(33000, np.int32), np.zeros(300, np.int32)


def but(x, elements):
    """Other elements at some places: by NumPy, as JAX would compile that to collect the tests."""
    x = x.copy()
    x[[*elements]] = [*elements.values()]
    return x


@pytest.mark.parametrize(
    ("x", "y", "fault", "later"),
    [
        (MANY, SOME, (0, 33000), 0),
        (but(MANY, {7: 11, 32900: 30}), SOME, (46, 7), 0),
        (but(MANY, {32999: 30}), SOME, (122, 32999), 0),
        (MANY, but(SOME, {200: 598, 100: 597}), (0, 33000), 1201),
    ],
)
def test_which_check_fails_first_is_looked_for_when_one_did(x, y, fault, later):
    kernel, made = compiled("checked")
    new, first, second = kernel(x, y)
    np.testing.assert_array_equal(new, x + 1)
    assert (tuple(map(int, first)), int(second)) == (fault, later)
    assert [*made] == ["usually"] + [""] * (fault[0] > 0 or later > 0)
    assert "reduce[" not in str(jax.make_jaxpr(made["usually"])(x, y))
    kernel, made = compiled("of_few")
    kernel(x, y)
    assert "reduce[" in str(jax.make_jaxpr(made["usually"])(x, y))


@pytest.mark.parametrize(
    ("x", "y", "fault"),
    [
        (MANY, SOME, False),
        (MANY, but(SOME, {299: 5}), True),
        (MANY, but(SOME, {299: -5}), True),
        (but(MANY, {399: 6}), SOME, True),
        (but(MANY, {399: 6}), but(SOME, {0: -5}), True),
    ],
)
def test_codes_of_checks_of_one_shape_are_looked_through_once(x, y, fault):
    """After the loop, of which no step looks for one; that it was right is looked for as well."""
    kernel, made = compiled("both")
    code = kernel(x, y)[0]
    assert code == TEXT["both"](x, y)[0]
    assert (code != 0) == fault
    assert [*made] == ["usually"] + [""] * fault
    (call,) = jax.make_jaxpr(made["usually"])(x, y).eqns
    inside = call.params["jaxpr"]
    (loop,) = (e for e in inside.eqns if e.primitive.name == "scan")
    body = loop.params["jaxpr"].jaxpr
    step, _ = dce_jaxpr(body, [True] * len(body.outvars))  # no value becomes a part of a code
    assert not {"reduce_or", "abs"} & {e.primitive.name for e in step.eqns}
    assert str(inside).count("reduce_or") == 3


def test_data_that_stay_unusual_are_computed_once():
    calls = []

    def make(function, which):
        jitted = jax.jit(function)
        return lambda *arrays: calls.append(which) or jitted(*arrays)

    kernel = compiled_as_usual(make, TEXT["masked"], ())
    for x in (MANY + 30, MANY, MANY + 30, MANY + 30, MANY + 30, MANY):
        assert int(kernel(x, SOME)[0]) == 0
    assert calls == ["usually", "", "usually", "usually", "", "usually", "", "", ""]
