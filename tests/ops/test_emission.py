"""What the emitter writes, run-time checks, and kernels in 64-bit mode."""

from __future__ import annotations

import re
from functools import partial

import jax
import numpy as np
import pytest
from jax import lax

from tempoc.base.names import Names
from tempoc.ops.control.control import Ensure
from tempoc.ops.control.data_length import DataLength
from tempoc.ops.definition.dtype_text import number, numpy_dtype
from tempoc.ops.definition.operator import EmittedValue, Interval, Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.ops.emission.prelude import HELPERS
from tempoc.ops.indexing.indexing import Take
from tempoc.ops.indexing.pick import Pick
from tempoc.ops.tensor.contraction import Einsum
from tempoc.ops.tensor.reduction import Sum
from tempoc.ops.tensor.reshape import Reshape
from tempoc.runtime.messages.faults import message
from tempoc.symbolic.expr import Const
from tempoc.symbolic.parse import parse
from tempoc.symbolic.walk import evaluate
from tests.ops.harness import Arg, Case, emitted, shape, upper
from tests.ops.test_agreement import CASES

F, Z = DType.F32, DType.I32


def emitter() -> KernelEmitter:
    return KernelEmitter(dims=("t",), bound=upper, names=Names(["t", "T", "x"]))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("T - t", "T-t"),
        ("min(t + 2, T)", "jnp.minimum("),
        ("max(T, 3)", "max("),
        ("min(t, 2*T)//2", "jnp.minimum("),
        ("t >= 1 and t < T - 1", "(t >= 1) & (t < "),
        ("t >= 3 or t < T - 1", "(t >= 3) | (t < "),
        ("T > 1 and T < 5", "T > 1 and T < 5"),
        ("0 == 0", "True"),
    ],
)
def test_index_text(text: str, written: str) -> None:
    found = emitter().index(parse(text))
    names = {"jnp": np, "t": np.int32(2), "T": 4}
    assert int(eval(found, names)) == evaluate(parse(text), {"t": 2, "T": 4})
    assert written in found


def test_static_text_names_no_dimension() -> None:
    with pytest.raises(ValueError, match="t\\+1 is not known"):
        emitter().static(parse("t + 1"))


def test_masks_are_written_once() -> None:
    out = emitter()
    v = EmittedValue("x", TensorType(F, shape("t + 1", 3)), shape("T", 3))
    first = out.masked(v, (0, 1), "jnp.float32(0.0)")
    assert out.masked(v, (0,), "jnp.float32(0.0)") == first == "x_masked"
    assert out.masked(v, (1,), "jnp.float32(0.0)") == "x"
    assert out.lines == [
        "valid = (jnp.arange(T, dtype=jnp.int32) < t+1)[:, None]",
        "x_masked = jnp.where(valid, x, 0.0)",
    ]
    out.assign("x", "x + 1")
    assert out.masked(v, (0,), "jnp.float32(0.0)") == "x_masked2"


def test_sums_are_masked_instead_of_what_is_summed() -> None:
    out = emitter()
    v = EmittedValue("x", TensorType(F, shape("t + 1", 3, 2)), shape("T", 3, 2))
    (text,) = Sum(axes=(0, 1)).emit((v,), (TensorType(F, shape(2)),), out)
    assert out.lines == [
        "x_sums = jnp.sum(x, axis=1, keepdims=True)",
        "valid = (jnp.arange(T, dtype=jnp.int32) < t+1)[:, None, None]",
        "x_sums_masked = jnp.where(valid, x_sums, 0.0)",
    ]
    assert text == "jnp.sum(x_sums_masked, axis=(0, 1))"


def test_align_cuts_and_lengthens() -> None:
    out = emitter()
    v = EmittedValue("x", TensorType(F, shape("t", 3)), shape("T", 3))
    assert out.align(v, shape("T", 3)) is v
    assert out.align(v, shape("T - 1", 3)).padded == shape("T - 1", 3)
    assert out.align(v, shape("2*T", 3)).text == "x3"
    assert out.lines == [
        "x2 = x[:T-1]",
        "x3 = lax.pad(x, jnp.float32(0.0), ((0, T, 0), (0, 0, 0)))",
    ]


def test_rows_with_more_padding_than_elements_are_reshaped_in_their_order() -> None:
    bounds = {parse("t"): parse("T"), parse("2*t"): parse("max(2*T - 2, 1)")}
    out = KernelEmitter(dims=("t",), bound=lambda e: bounds.get(e, e), names=Names(["t", "T", "x"]))
    v = EmittedValue("x", TensorType(F, shape("2*t")), shape("max(2*T - 2, 1)"))
    texts = Reshape(shape=shape("t", 2)).emit((v,), (TensorType(F, shape("t", 2)),), out)
    assert texts == ("jnp.reshape(flat2, (T, 2))",)
    assert out.lines == [
        "flat = jnp.reshape(x, (max(1, 2*T-2),))",
        "flat2 = lax.pad(flat, jnp.float32(0.0), ((0, min(2, 2*T-1), 0),))",
    ]


def test_valid_elements_at_the_end() -> None:
    out = emitter()
    (start, end) = shape("t", "T")
    v = EmittedValue("x", TensorType(F, shape("T - t")), (end,), valid={0: Interval(start, end)})
    assert v.is_last(0)
    assert out.masked(v, (0,), "jnp.float32(0.0)") == "x_masked"
    cut = out.align(v, shape("T - 1"))
    assert cut.valid == {0: Interval(*shape("t - 1", "T - 1"))}
    assert out.align(v, shape("2*T")).valid == {0: Interval(*shape("T + t", "2*T"))}
    assert out.first(v).valid == {}
    assert out.lines == [
        "valid = jnp.arange(T, dtype=jnp.int32) >= t",
        "x_masked = jnp.where(valid, x, 0.0)",
        "x2 = x[1:]",
        "x3 = lax.pad(x, jnp.float32(0.0), ((T, 0, 0),))",
        'x4 = jnp.take(x, t + jnp.arange(T, dtype=jnp.int32), axis=0, mode="clip")',
    ]


def test_valid_elements_amid() -> None:
    out = emitter()
    amid = Interval(*shape("t", "t + 5", "first"))
    v = EmittedValue("x", TensorType(F, shape(5)), shape("n"))
    moved = out.moved(v, 0, amid)
    assert moved.valid == {0: amid} and not moved.is_last(0)
    assert out.valid(moved, 0) == "valid"
    assert out.align(moved, shape("T")).valid == {}
    assert out.lines == [
        "spots = first + jnp.arange(n, dtype=jnp.int32)",
        'x2 = jnp.take(x, spots - t, axis=0, mode="clip")',
        "valid = (spots >= t) & (spots < t+5)",
        'x22 = jnp.take(x2, t-first + jnp.arange(n, dtype=jnp.int32), axis=0, mode="clip")',
        "x222 = lax.pad(x22, jnp.float32(0.0), ((0, T-n, 0),))",
    ]


def test_numbers_read_back() -> None:
    assert [number(v, F) for v in (0.1, 1, float("inf"), float("-inf"), float("nan"))] == [
        "0.1", "1.0", "jnp.inf", "-jnp.inf", "jnp.nan",
    ]  # fmt: skip
    assert (number(3, Z), number(1, DType.BOOL)) == ("3", "True")
    # JAX says a warning of what is too large.
    assert [number(v, F) for v in (-1e39, 1e38)] == ["-jnp.inf", "1e+38"]


@pytest.mark.parametrize(("position", "failed"), [(0, 0), (2, 0), (-3, 0), (3, 1), (-4, 1)])
def test_positions_are_checked(position: int, failed: int) -> None:
    kernel = emitted(Case(Take(), (Arg(F, (3,)), Arg(Z, (1,)))))
    _, failure = kernel.call(np.int32(0), np.zeros(3, "f4"), np.array([position], "i4"), T=1)
    assert (int(failure) > 0) == failed
    assert kernel.messages == ["index {value} is out of range for axis 0 of extent 3"]
    if failed:
        wanted = f"index {position} is out of range for axis 0 of extent 3"
        assert message(kernel.messages, int(failure), {}) == wanted


@pytest.mark.parametrize(
    ("op", "args"),
    [
        (Take(), (np.zeros(3, "f4"), [0])),
        (Pick(lo=Const(0), hi=Const(3)), (np.zeros(3, "f4"), 0)),
        (DataLength(most=Const(2)), (0,)),
    ],
)
@pytest.mark.parametrize(
    ("dtype", "wrong"), [(DType.U32, (2**32 - 1,)), (DType.I64, (2**32, -(2**40)))]
)
def test_wide_integers_do_not_wrap(
    op: Op, args: tuple[object, ...], dtype: DType, wrong: tuple[int, ...]
) -> None:
    *rest, zero = args
    shapes = [Arg(F, (3,))] * len(rest)
    with jax.enable_x64(True):
        kernel = emitted(Case(op, (*shapes, Arg(dtype, np.shape(zero)))))
        for value in (2, 3, *wrong):
            given = np.full(np.shape(zero), value, numpy_dtype(dtype))
            fault = int(kernel.call(np.int32(0), *rest, given, T=1)[1])
            assert (fault > 0) == (value != 2)
            if fault:
                told = 3 if value == 3 else "(too large to tell)"
                assert str(told) in message(kernel.messages, fault, {})


def test_the_true_extent_counts_and_padding_is_not_judged() -> None:
    kernel = emitted(Case(Take(), (Arg(F, ("t + 1",)), Arg(Z, ("t",)))))
    x, idx = np.zeros(5, "f4"), np.array([2, 9, 9, 9], "i4")
    failures = [int(kernel.call(np.int32(t), x, idx, T=5)[1]) for t in range(4)]
    assert [f % 2 for f in failures] == [0, 1, 1, 1]
    assert message(kernel.messages, failures[3], {}).startswith("index 9 is")
    idx = np.array([1, 2, 9, 9], "i4")
    assert [int(kernel.call(np.int32(t), x, idx, T=5)[1]) % 2 for t in range(4)] == [0, 0, 0, 1]


def test_promised_extents_are_checked() -> None:
    kernel = emitted(Case(Ensure(shape=shape("2*t")), (Arg(F, ("t + 1",)),)))
    found = [kernel.call(np.int32(t), np.zeros(5, "f4"), T=5)[1] for t in range(3)]
    assert [int(k) % 2 for k in found] == [1, 0, 1]
    assert kernel.messages == ["shape [t+1] is not [2*t]"]


KINDS: dict[str, dict[DType | None, Case]] = {}
"""Of each operator a case for each first dtype."""
for each in CASES:
    KINDS.setdefault(each.op.name, {})[each.args[0].dtype if each.args else None] = each


@pytest.mark.parametrize("operator", KINDS)
def test_64_bit_mode_changes_no_type(operator: str) -> None:
    at = {"T": 5, "t": 0}
    for case in KINDS[operator].values():
        with jax.enable_x64(True):
            kernel = emitted(case)
            args = [
                jax.ShapeDtypeStruct(tuple(evaluate(e, at) for e in o), numpy_dtype(a.dtype))
                for a, o in zip(case.args, kernel.operands, strict=True)
            ]
            call = partial(kernel.call, T=5)
            found, failure = jax.eval_shape(call, jax.ShapeDtypeStruct((), np.int32), *args)
        assert [y.dtype for y in found] == [numpy_dtype(t.dtype) for t in case.types], case
        assert failure.dtype == np.int32, case


@pytest.mark.parametrize(
    ("spec", "leads"),
    [
        ("ijk,k->ij", True),
        ("ijk,k->ji", True),
        ("k,ijk->ij", True),
        ("k,ijk->ji", True),
        ("ijkl,kl->ji", True),
        ("kij,k->ij", False),
        ("kij,k->ji", False),
        ("k,kij->ij", False),
        ("k,kij->ji", False),
    ],
)
def test_products_with_a_vector_read_the_array_as_it_lies(spec: str, leads: bool) -> None:
    """XLA for CPUs would copy it at each step, did it stand on the other side of the product."""
    operands = spec.split("->")[0].split(",")
    arrays = [
        np.arange(1.0, 3.0 ** len(o) + 1, dtype=np.float32).reshape((3,) * len(o)) for o in operands
    ]
    kernel = emitted(Case(Einsum(spec=spec), tuple(Arg(F, a.shape) for a in arrays)))
    call = partial(kernel.call, np.int32(0), T=2)
    (product,) = re.findall(
        r"dot_general\[.*?\] (\w) (\w)", str(jax.make_jaxpr(call)(*arrays)), re.S
    )
    array = "ab"[max((0, 1), key=lambda k: arrays[k].ndim)]
    assert (product[0] == array) == leads
    np.testing.assert_allclose(call(*arrays)[0][0], np.einsum(spec, *arrays))


def test_few_sums_of_long_operands_are_few_operations() -> None:
    """Not a slice for each so many places of the operands, which XLA compiles for long."""
    scope = {"jnp": jax.numpy, "lax": lax}
    exec(HELPERS["convolved_by_band"], scope)
    a, b = np.random.default_rng(0).standard_normal((2, 3000)).astype("f")
    band = partial(scope["convolved_by_band"], first="", second="", last="", start=2999, step=1)
    assert np.allclose(band(a, b, count=5), np.convolve(a, b)[2999:3004], atol=1e-3)
    assert len(jax.make_jaxpr(partial(band, count=5))(a, b).eqns) < 50
