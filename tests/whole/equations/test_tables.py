"""Tables filled row by row: triangles, factorizations, and derivatives of reads of many points."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree

TABLES = {
    "a triangle whose first row differs": """
    dim m < N
    dim i < I = N
    input r[m]: f32
    k[0] = r[0]
    k[m] = r[m] * (1.0 + sum(a[m-1, 0:m]))
    a[m, i] = 0.0 when i > m
    a[m, i] = k[m] when i == m
    a[m, i] = 0.5 * a[m-1, i] + k[m] * a[m-1, m-1-i]
    output a, k
    """,
    "a distribution that grows": """
    dim b < B
    dim t < N
    dim k < K = N
    input x[b, t]: f32
    p[b, t, k] = exp(-(x[b, t] - 0.1 * k) ** 2) when k <= t
    r[b, 0, 0] = 1.0
    r[b, t+1, k+1] = 0.9 * r[b, t, k] * p[b, t, k] / z[b, t] when k <= t
    r[b, t+1, 0] = 0.1
    z[b, t] = sum((r * p)[k = 0:t+1])
    best[b, t] = argmax(r[b, t, 0:t+1])
    output best, z
    """,
    "a factor, by columns": """
    dim i < N
    dim j < M = N
    input x[i]: f32
    a[i, j] = exp(-(x[i] - x[j]) ** 2) + (0.5 if i == j else 0.0)
    l[i, j] = 0.0 when j > i
    l[i, j] = sqrt(a[i, i] - sum(l[i, 0:i] ** 2)) when i == j
    l[i, j] = (a[i, j] - l[i, 0:j] @ l[j, 0:j]) / l[j, j]
    output l
    """,
    "a factor and its gradient": """
    dim i < N
    dim j < M = N
    input x[i]: f32
    a[i, j] = exp(-(x[i] - x[j]) ** 2) + (0.5 if i == j else 0.0)
    l[i, j] = sqrt(a[i, i] - sum(l[i, 0:i] ** 2)) when i == j
    l[i, j] = (a[i, j] - l[i, 0:j] @ l[j, 0:j]) / l[j, j] when i > j
    size = sum(log(l[i, i])[i = 0:N])
    slope = grad(size, x)
    output size, slope
    """,
    "rows from the last": """
    dim i < N
    dim j < M = N
    input x[i]: f32
    c[N-1, j] = x[N-1] * j
    c[i, j] = x[i] + c[i+1, j] when j > i
    c[i, j] = tanh(c[i+1, min(j+1, N-1)] * x[i])
    output c
    """,
    "a triangle that is read beside itself": """
    dim i < N
    dim j < M = N
    input x[i]: f32
    c[i, 0] = x[i]
    c[i, j] = c[i-1, j-1] + c[i-1, j] * x[i] when j < i
    c[i, j] = c[i-1, j-1] when i == j
    last = c[N-1, 0:N]
    output last
    """,
}
GRADIENTS = {
    "of elements that data choose": """
    dim t < N
    dim s < S
    input x[t, s]: f32
    j[t] = (t * 7 + 3) % 5 - (t * 7 + 3) % 5 // 2
    h[0, s] = x[0, s]
    h[t, s] = tanh(h[t = minimum(j, t - 1) in 0:t] * 1.5 + x[t, s])
    loss = sum(h[0:N, 0:S] ** 2)
    slope = grad(loss, x)
    output slope
    """,
    "of vectors that data choose": """
    dim t < N
    input x[t]: f32[3]
    input w: f32[3, 3]
    h[0] = x[0]
    h[t] = tanh(h[t = t // 2 in 0:t] @ w + h[t = t - 1 in max(t-2, 0):t] + x[t])
    loss = sum(h[N-1] ** 2)
    slope = grad(loss, w)
    own = grad(loss, x)
    output slope, own
    """,
    "of ranges that grow": """
    dim t < N
    input x[t]: f32
    h[0] = x[0]
    h[t] = tanh(x[t] + sum(h[0:t] * x[0:t] * 0.5))
    loss = h[N-1] + sum(h[0:N] ** 2)
    slope = grad(loss, x)
    output slope
    """,
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_a_table_is_what_its_equations_say(text: str) -> None:
    sizes = [{"N": n, **({"B": 2} if "< B" in text else {})} for n in (1, 2, 5)]
    agree(text, *sizes)


@pytest.mark.parametrize("text", GRADIENTS.values(), ids=GRADIENTS)
def test_an_element_gets_its_part_of_each_derivative(text: str) -> None:
    agree(text, *({"N": n, **({"S": 2} if "< S" in text else {})} for n in (1, 2, 5)))
