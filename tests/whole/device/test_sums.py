"""Programs with sums at which the library of XLA for CPUs is slow, from 4096 elements on."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree
from tests.support.session.long import chosen

LEVELS = (0, 1, 2) if chosen["long"] else (2,)

MEMORY = """
dim b < B
dim m < M
dim k < K
const V = 20
const D = 8
input word[b, m, k]: f32
input query[b]: f32[D]
input code[k]: f32[D]
input table: f32[V, D]
place[b, m, k] = i32(floor(clip(abs(word), 0.0, 1.0) * 19.0))
key[b, m] = sum((table[place[b, m, k]] * code[k])[k = 0:K], axis = 0)
score[b] = key[b, 0:M] @ query[b]
weight[b] = exp(score[b] - max(score[b]))
read[b] = (weight[b] / sum(weight[b])) @ key[b, 0:M]
cost = mean(sum(read ** 2)[b = 0:B])
by_table = grad(cost, table)
by_code = grad(cost, code)
output key, cost, by_table, by_code
"""
CLASSES = """
dim n < N
input x[n]: f32[5]
p = exp(x - max(x)) / sum(exp(x - max(x)))
entropy = logsumexp(x) - min(x) + sum(x ** 2)
output p, entropy
"""
FILTERS = """
dim b < B
dim t < T
input x[b, t]: f32[16]
input w[t]: f32[16]
y[b] = sum((x[b, t] * w[t])[t = 0:T], axis = 0)
cost = mean(mean(y ** 2)[b = 0:B])
by_w = grad(cost, w)
output y, by_w
"""
LONG = """
dim n < N
input x[n]: f32[32768]
total = sum(x[0:N], axis = 0)
greatest = max(x[0:N], axis = 0)
output total, greatest
"""


def test_sums_of_what_is_gathered() -> None:
    agree(MEMORY, {"B": 1, "M": 1, "K": 1}, {"B": 9, "M": 13, "K": 5})


@pytest.mark.parametrize("special", [False, True])
def test_few_classes(special: bool) -> None:
    agree(CLASSES, {"N": 1}, {"N": 821}, special=special, levels=LEVELS)


def test_factors_in_common() -> None:
    agree(FILTERS, {"B": 1, "T": 2}, {"B": 13, "T": 21}, levels=LEVELS)


@pytest.mark.parametrize("special", [False, True])
def test_long_rows(special: bool) -> None:
    agree(LONG, {"N": 1}, {"N": 3}, special=special)
