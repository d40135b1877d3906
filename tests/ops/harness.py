"""Runs an operator three ways: shape rule, NumPy meaning, emitted JAX; padded with garbage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tempoc.base.names import Names
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import EmittedValue, Interval, Op
from tempoc.ops.definition.types import DType, TensorType
from tempoc.ops.emission.emitter import KernelEmitter
from tempoc.ops.emission.prelude import helpers_in
from tempoc.ops.emission.ragged_layout import resolve_layout
from tempoc.symbolic.expr import Expr, Sym, sub
from tempoc.symbolic.parse import parse
from tempoc.symbolic.walk import evaluate, substitute, symbols
from tests.support.session.long import in_share

Array = np.ndarray[Any, np.dtype[Any]]
BOUNDS = (1, 5)
SAMPLES = [{"T": T, "t": t} for T in range(1, 9) for t in range(T)]


class Sampled:
    """Facts decided by trying all small points: enough for the extents used here."""

    def __init__(self, least: int = 0) -> None:
        self.points = [p for p in SAMPLES if p["t"] >= least]

    def equal(self, a: Expr, b: Expr) -> bool:
        return all(evaluate(a, p) == evaluate(b, p) for p in self.points)

    def holds(self, condition: Expr) -> bool:
        return all(evaluate(condition, p) for p in self.points)


def upper(e: Expr) -> Expr:
    """A bound of an extent over ``T``, found by trying a few."""
    tried = [substitute(e, {"t": Sym("T") - 1}), substitute(e, {"t": parse("0")}), parse("T*T")]
    return next(x for x in tried if all(evaluate(x, p) >= evaluate(e, p) for p in SAMPLES))


def shape(*extents: str | int) -> tuple[Expr, ...]:
    return tuple(parse(str(e)) for e in extents)


@dataclass
class Arg:
    """An operand: dtype, extents, and how its elements are drawn."""

    dtype: DType
    extents: tuple[str | int, ...] = ()
    low: float = -3
    high: float = 3
    special: bool = False
    weak: bool = False
    values: Any = None

    @property
    def type(self) -> TensorType:
        return TensorType(self.dtype, shape(*self.extents), self.weak)

    def draw(self, rng: np.random.Generator, at: Mapping[str, int]) -> Array:
        size = [evaluate(e, at) for e in self.type.shape]
        dtype = numpy_dtype(self.dtype)
        if self.values is not None:
            return np.broadcast_to(np.asarray(self.values, dtype), size).copy()
        if self.dtype is DType.BOOL:
            return rng.random(size) < 0.5
        if not self.dtype.is_float:
            low = max(self.low, 0) if self.dtype.is_unsigned else self.low
            return rng.integers(int(low), int(self.high) + 1, size).astype(dtype)
        x = rng.uniform(self.low, self.high, size).astype(np.float32).astype(dtype)
        if self.special and x.size:
            flat = x.reshape(-1)
            flat[rng.integers(0, x.size)] = np.nan
            flat[rng.integers(0, x.size)] = np.inf
            flat[rng.integers(0, x.size)] = -np.inf
        return x

    def padded(self, x: Array, sizes: tuple[int, ...], last: bool = False) -> Array:
        """The array in the first, or last, corner of one that is otherwise NaN, or absurd."""
        kind = x.dtype.kind
        worst = (
            True if kind == "b" else np.iinfo(x.dtype).max & 0x7F7F7F7F if kind in "iu" else np.nan
        )
        full = np.full(sizes, worst, x.dtype)
        starts = [(m - n) * last for n, m in zip(x.shape, sizes, strict=True)]
        full[tuple(slice(k, k + n) for k, n in zip(starts, x.shape, strict=True))] = x
        return full


@dataclass
class Case:
    """An operator with operands; ``least``: the first ``t`` at which it is used.

    ``last``: the operands whose valid elements come last.
    """

    op: Op
    args: tuple[Arg, ...] = ()
    least: int = 0
    rtol: float = 2e-6
    atol: float = 2e-6
    label: str = ""
    extra: int = 0
    last: tuple[int, ...] = ()

    def __str__(self) -> str:
        operands = ",".join(f"{a.dtype.value}{list(a.extents)}" for a in self.args)
        return f"{self.label or self.op}({operands})".replace("DType.", "")

    @property
    def types(self) -> tuple[TensorType, ...]:
        return self.op.infer(tuple(a.type for a in self.args), Sampled(self.least))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of which the shapes or the operator's attributes speak."""
        shapes = (t.shape for t in (*(a.type for a in self.args), *self.types))
        found = [s for extents in shapes for e in extents for s in symbols(e)]
        return tuple(found) + tuple(n for n in ("t", "T") if f"'{n}'" in repr(self.op))


@dataclass
class Kernel:
    """Emitted code as a function, its messages, and the padded extents of operands and results."""

    text: str
    call: Any
    messages: list[str]
    operands: list[tuple[Expr, ...]]
    results: list[tuple[Expr, ...]]


def emitted(case: Case) -> Kernel:
    """The operator's kernel; ``extra`` makes operands longer than their own bounds ask for."""
    names = Names(["t", "T", "jnp", "lax", "jax"])
    out = KernelEmitter(dims=("t",), bound=upper, names=names)
    args, operands = [], []
    for k, a in enumerate(case.args):
        sizes = tuple(out.pad(e) for e in a.type.shape)
        grown = tuple(
            s + case.extra if s != e else s for s, e in zip(sizes, a.type.shape, strict=True)
        )
        operands.append(grown)
        ends = enumerate(zip(a.type.shape, grown, strict=True))
        valid = {axis: Interval(sub(s, e), s) for axis, (e, s) in ends if k in case.last and e != s}
        args.append(EmittedValue(names.fresh(f"x{k}"), a.type, grown, valid=valid))
    parameters = ", ".join(["t", *(a.text for a in args), "*", "T"])
    types, same = case.types, Sampled(case.least).equal
    laid, valid_results = resolve_layout(case.op, tuple(args), types, same, out)
    texts = case.op.emit(laid, types, out)
    results = [tuple(out.pad(e) for e in r.shape) for r in types]
    if case.last:
        rows = zip(texts, types, results, valid_results, strict=True)
        values = (EmittedValue(out.bind("y", x), t, p, valid=v) for x, t, p, v in rows)
        texts = tuple(out.first(y).text for y in values)
    failure = out.failure()
    body = "".join(f"    {line}\n" for line in out.lines)
    returned = f"    return ({''.join(f'{x}, ' for x in texts)}), {failure}\n"
    text = f"def kernel({parameters}):\n{body}{returned}"
    scope: dict[str, Any] = {"jnp": jnp, "lax": lax, "jax": jax}
    exec("\n\n".join([*helpers_in(text), text]), scope)
    call = jax.jit(scope["kernel"], static_argnames="T")
    return Kernel(text, call, out.checks, operands, results)


def points(case: Case) -> list[dict[str, int]]:
    """The points at which a case is tried; one is enough where nothing varies.

    Where valid elements come last, padding is in front of them; with the least bound hardly any is.
    That bound is another compilation: `make test` tries it with a quarter of the other cases.
    """
    few = case.last or (case.symbols and not in_share(str(case), of=4))
    bounds = BOUNDS[1:] if few else BOUNDS
    spread = [{"T": T, "t": t} for T, t in product(bounds, range(max(BOUNDS)))]
    found = [p for p in spread if case.least <= p["t"] < p["T"]]
    return found if case.symbols else found[:1]


@dataclass
class Trial:
    """A case at a point: operands, the same as kernels take them, and what its kernel gave."""

    at: Mapping[str, int]
    arrays: tuple[Array, ...]
    given: tuple[Any, ...]
    found: Any = None


def tried(cases: Sequence[Case]) -> list[tuple[Kernel, list[Trial]]]:
    """Cases at all their points; one compilation for all of them at each `T`.

    Where a case cannot be compiled, nothing is found for any of them.
    """
    both = [(kernel := emitted(case), trials(case, kernel)) for case in cases]
    for T in BOUNDS:
        rows = [(k.call, [x for x in found if x.at["T"] == T]) for k, found in both]
        rows = [(call, found) for call, found in rows if found]
        calls = partial(all_of, [partial(call.__wrapped__, T=T) for call, _ in rows])
        together = jax.jit(calls)
        for n in range(max((len(found) for _, found in rows), default=0)):
            now = [found[min(n, len(found) - 1)] for _, found in rows]
            try:
                results = together([trial.given for trial in now])
            except Exception:
                return [(kernel, []) for kernel, _ in both]
            for trial, result in zip(now, results, strict=True):
                trial.found = result
    return both


def all_of(calls: Sequence[Callable[..., Any]], given: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [call(*some) for call, some in zip(calls, given, strict=True)]


def trials(case: Case, kernel: Kernel) -> list[Trial]:
    """Data for a case at its points."""
    rng = np.random.default_rng(7)
    found = []
    for at in points(case):
        arrays = tuple(a.draw(rng, at) for a in case.args)
        sizes = [tuple(evaluate(e, at) for e in o) for o in kernel.operands]
        rows = enumerate(zip(case.args, arrays, sizes, strict=True))
        given = [a.padded(x, s, k in case.last) for k, (a, x, s) in rows]
        found.append(Trial(at, arrays, (np.int32(at["t"]), *given)))
    return found


def check(case: Case, kernel: Kernel, trials: Sequence[Trial]) -> None:
    """All three agree at all points, in value, shape and dtype."""
    types = case.types
    assert len(trials) == len(points(case)) > 0
    for trial in trials:
        expected = case.op.evaluate(trial.arrays, trial.at)
        found, failure = trial.found
        assert int(failure) == 0, kernel.text
        assert len(found) == len(expected) == len(types)
        for y, e, type_, padded in zip(found, expected, types, kernel.results, strict=True):
            compare(case, np.asarray(y), np.asarray(e), type_, padded, trial.at, kernel.text)


def compare(
    case: Case, y: Array, e: Array, type_: TensorType, padded: tuple[Expr, ...],
    at: Mapping[str, int], text: str,
) -> None:  # fmt: skip
    """One result of the kernel against the meaning."""
    where = f"{case} at {dict(at)}\n{text}"
    true = tuple(evaluate(x, at) for x in type_.shape)
    assert e.shape == true, where
    e = e.astype(numpy_dtype(type_.dtype))
    assert y.dtype == e.dtype, f"{y.dtype} is not {e.dtype}: {where}"
    assert y.shape == tuple(evaluate(x, at) for x in padded), f"{y.shape}: {where}"
    y = y[tuple(slice(n) for n in true)]
    if type_.dtype.is_float:
        half = type_.dtype in (DType.BF16, DType.F16)
        a, b = y.astype(np.float64), e.astype(np.float64)
        rtol, atol = (2e-2, 2e-2) if half else (case.rtol, case.atol)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=where)
    else:
        np.testing.assert_array_equal(y, e, err_msg=where)
