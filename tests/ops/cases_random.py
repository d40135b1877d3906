"""What is tried of the random draws: dtypes, ragged shapes, logits with infinities."""

from __future__ import annotations

from tempoc.ops.definition.types import DType
from tempoc.ops.random.draws import (
    Bernoulli,
    Categorical,
    Gumbel,
    Integers,
    Normal,
    Permutation,
    RandomKey,
    Uniform,
)
from tempoc.symbolic.parse import parse
from tests.ops.harness import Arg, Case, shape

K, F, D, H, Z = DType.KEY, DType.F32, DType.F64, DType.BF16, DType.I32
KEY = Arg(K, (2,), values=[7, 4000000000])
SHAPES = ((), (4,), ("t + 1",), ("t", 3), (2, "T - t"), ("t + 1", "T - t", 2), (0, 3))
INF, NAN = float("inf"), float("nan")

RANDOM = [
    Case(RandomKey(place=1), (KEY,)),
    Case(RandomKey(place=4294967295, at=(parse("t"), parse("t * 3 + T"))), (KEY,)),
    *(Case(Uniform(shape=shape(*s)), (KEY,), rtol=0, atol=0) for s in SHAPES),
    *(Case(Uniform(shape=shape(3, "t + 1"), dtype=d), (KEY,)) for d in (H, DType.F16)),
    *(Case(Normal(shape=shape(*s)), (KEY,)) for s in SHAPES),
    *(Case(Normal(shape=shape(3), dtype=d), (KEY,)) for d in (H, DType.F16)),
    *(Case(Bernoulli(), (KEY, Arg(d, ("t + 1", 3), low=0, high=1))) for d in (F, H, Z)),
    Case(Bernoulli(), (KEY, Arg(F))),
    *(Case(Gumbel(shape=shape(*s)), (KEY,), rtol=0, atol=0) for s in SHAPES),
    *(Case(Categorical(), (KEY, Arg(d, s))) for d in (F, H, Z)
      for s in ((5,), ("t + 1",), (4, "t + 1"), ("t", 3))),
    Case(Categorical(), (KEY, Arg(F, (4,), values=[-INF, 0, -INF, -INF]))),
    Case(Categorical(), (KEY, Arg(F, ("t + 1",), values=-INF))),
    Case(Categorical(), (KEY, Arg(F, (4,), values=[0, NAN, INF, NAN]))),
    *(Case(Integers(shape=shape(*s), low=parse(a), high=parse(b)), (KEY,), rtol=0, atol=0)
      for s, a, b in (((3, "t + 1"), "0", "100000"), ((), "-t - 3", "T"),
                      ((7,), "-2147483648", "2147483647"))),
    *(Case(Permutation(n=parse(n)), (KEY,)) for n in ("6", "t + 1", "t", "0")),
]  # fmt: skip
