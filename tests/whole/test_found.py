"""Programs that once went wrong, found by generating programs and cut down by hand."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree, all_equal
from tests.support.session.long import chosen

# Nobody needs `y`: neither is it computed, nor is there a kernel without results.
UNNEEDED = """
dim t < T
input x[t]: f32
y[t] = tanh(x)
z = x + 1.0
output z
"""

# No point takes `n`, as `L` is 3.
IDLE = """
dim l < L = 3
input x[l]: f32
s[l] = x when l < 3
s[l+1] = n
n = tanh(s)
output s
"""

# A slice that is empty where the axis is shorter than the window.
SHORT_AXIS = """
dim i < I
y[i] = 1.0 + sum(y[max(0, i-3):i-1])
output y
"""

# Without `i < I - 2`, which no point fulfils if `I` is 1, the tensor of the guard has no element.
NEGATIVE_EXTENT = """
dim i < I
input w[i]: f32
y[i] = y[i+1] - 0.3 * y[i+2] + (w - w[i = I - 1 - i]) when i < I - 2
y[i] = i
output y
"""

# `max(0, I-1-i)` elements are `I-1-i`, also as a factor.
PRODUCT_OF_EXTENTS = """
dim i < I = 3
dim j < J
input x[i, j]: f32
y[i] = sum(reshape(x[i:I-1, 1:J], [-1]))
output y
"""

# The extent of the slice is `k` only because `I` is fixed; padding does not know that.
FIXED_EXTENT = """
dim i < I = 4
dim k < K = max(I - 1, 1)
y[k] = sum(cumsum(y[max(0, k-3):k])) + k * -1.0
output y
"""

# One kernel writes `y.if` at some points and reads what another one wrote at the rest.
GIVEN_AWAY = """
dim i < I
input x[i]: f32
y[i] = x
z[i] = x * 1.0 * (y[i] if i <= 1 or i >= 4 else 0.5)
output z
"""

# What one kernel writes now and then lives in an array that is empty if `I` is 1.
EMPTY_TARGET = """
dim i < I
input x[i]: f32
y[i] = x[i % 3:i+1:3] @ x[i % 3:i+1:3]
z[I-1] = 0.5
z[i] = z[i+1] + x if i >= 1 else y
v[0] = 0.5
v[1] = 1.0
v[i+2] = v[i] + y
output z, v[0:I] as v
"""

# A ragged tensor whose number of elements is a product.
LIMIT_OF_PRODUCT = """
dim i < I
dim j < I
input x[i, j]: f32
y[i, j] = reshape(x[i:I:2, j:I], [-1])
z[i, j] = sum(y[i, max(j - 1, 0)]) + sum(y[0, j] * 2.0)
output z
"""

# The type of a list of what is not known yet is not known yet.
UNKNOWN_IN_A_LIST = """
dim i < I
y[i] = 0.1 * logsumexp(concat([y[0:i:2], ones([1])], 0)) + i
output y
"""

# A branch of the second derivative that no point takes.
NOBODY_READS = """
dim i < I
input x[i]: f32
y[i] = x[i] when i >= 2
y[i] = x[i] * (x[i] if i >= 1 else 2.0)
z[i] = y[i-1] when i >= 1
z[i] = 3.0
l = z[i] * x[i]
g = grad(l, x)
h = grad(g ** 2, x)
output h
"""

# Products of slices whose lengths differ from reader to reader are no one contraction.
OUTER_PRODUCT = """
dim i < I
input w[i]: f32
y[i] = sum(einsum("i,j->ij", w[i:I], w[i:I]))
g = grad(y, w)
output g
"""

# One state in two recurrences, of which only one can be a scan.
BOTH_WAYS = """
dim i < I
dim j < J
input x[i]: f32
input y[j]: f32
h[0, j] = 0.0
h[i, 0] = 0.0
near[i, j] = maximum(h[i-1, j] - 1.5, h[i, j-1] - 1.5) when i >= 1 and j >= 1
h[i, j] = maximum(maximum(0.0, h[i-1, j-1] + x[i] * y[j]), near)
output h
"""

# Divisors that are known, and one that may be 0.
DIVISORS = """
dim t < T
x = t * 7 - 12
none = x // (t - 1) + x % (t - 1)
some = x // 3 * 100 + x % 3
less = x // -3 * 100 + x % -3
back = x // -1
output none, some, less, back
"""

# Numbers that NumPy does not have, given straight to a kernel: JAX imports what knows them.
SHORT_NUMBERS = """
dim t < T
input x[t]: bf16
y = x + x
output y
"""

# What reads `y[j]` only where `j < J - 1` never reads the branch for the last one.
NEVER_TAKEN = """
dim i < I until stop
dim j < J = 2
input x[i, j]: f32
input w[i]: f32
stop[i] = w > 0.9
y0[i, j] = x[i, j] when i == 0
y0[i, j] = 0.5 * y0[i-1, j] + x[i, j]
y1[i, j] = x[i, j] * 0.5
y3[i, j] = (y0[j = j-1] if j % 2 == 1 else (y0[j = j+1] if j < J - 1 else y1[i, j]))
output y1, y3
"""

# The derivative for `y` at each `j` reads those for all `j`, which no tile of them can give.
ALL_AT_EACH = """
dim i < I
dim j < J
dim k < K = (I + 1) // 2
input x[i, j, k]: f32
input w[i]: f32
y0[i, 0, k] = 0.5
y0[i, j, k] = cond(x[i, j, k] > 0.1, 0.5 * y0[i, j-1, k] - w[i], 0.5 * x[i, j, k] - w[i])
y1[i, j, k] = (y0[j = j % 2:j+1:2])[0] - (y0[j = 0:J])[J - 1 - j]
y2 = tanh(y1)
y4l = 0.5 * y0[i, j, k] - y2[i, j, k] * x + w[i]
y4g = grad(y4l, w)
y4 = tanh(grad(y4g ** 2, x))
output y0, y1, y4
"""

# The gradient says for all `b` at once where `t` ends, and what it reads differs with `b`.
ENDS_AT_ONCE = """
dim t < T until stop
dim b < B
input x[t, b]: f32
input e[t]: f32
stop[t] = e > 0.4
y[t, b] = x[t, B-1-b] when t == T-1
y[t, b] = x[0, max(b-t, 0)] * y[t+1, b] + x[t, max(b-t, 0)]
l = sum(tanh(y[0:T, 0:B]))
g = grad(l, x)
output y, g
"""

# How many points an equation has is known when `t` has ended, not when JAX traces.
RANGE_OF_A_LENGTH = """
dim t < T until stop
dim b < B
input x[b]: f32
input e[t]: f32
stop[t] = e > 0.4
y[b] = x * 2.0 when b < T
y[b] = tanh(x) + T
z = sum(y[0:B])
g = grad(z, x)
u[b] = x * 3.0 when b >= T-1
u[b] = exp(x)
output y, g, u
"""

PROGRAMS = {
    name: text
    for name, text in globals().items()
    if name.isupper() and isinstance(text, str) and name != "PROGRAMS"
}
AT_ONE = ("SHORT_AXIS", "NEGATIVE_EXTENT", "EMPTY_TARGET")
"""Those that went wrong for the smallest bounds."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_the_evaluator(name: str) -> None:
    """Every third one at -O0 as well, others only in the long run at -O1, which does less."""
    text = PROGRAMS[name]
    large = name == "ALL_AT_EACH"  # literally it takes long to compile
    turn = [*PROGRAMS].index(name) % 3
    plain = (0,) if turn == 0 and not large else (1,) if chosen["long"] and not large else ()
    agree(text, *all_equal(text, 1, 3 if large else 5), levels=(*plain, 2))
    if name in AT_ONE:
        agree(text, *all_equal(text, 1))


def test_a_state_that_is_not_there_after_the_last_step() -> None:
    text = """
    dim t < T
    dim k < K = 3
    input x[t]: f32[3]
    s[0] = zeros([3])
    s[t+1] = y
    y = tanh(s + x)
    r[t, 0] = zeros([3])
    r[t, k+1] = tanh(r[t, k] + 2.0 * y + r[max(t-1, 0), k])
    output r, s
    """
    agree(text, {"T": 1}, {"T": 3}, levels=(1, 2))


def test_a_state_that_is_not_there_before_the_first_step() -> None:
    """What is read of it there has another value, in derivatives of a loop that counts down."""
    text = """
    dim t < T
    input u[t]: f32
    s[T-1] = u[T-1]
    a = sin(s + (s[t+1] if t < T - 1 else 1.0))
    y = sigmoid(a + u)
    s[t-1] = y
    loss = sum((a + y)[t = 0:T])
    du = grad(loss, u)
    output du
    """
    agree(text, {"T": 1}, {"T": 3}, levels=(1, 2))


def test_a_node_that_is_two_branches() -> None:
    """It writes one register for each, at different points."""
    text = """
dim i < I
input x[i]: f32
t = exp(x)
y[i] = t when i % 2 == 0
y[i] = x * x when i == 1
y[i] = t when i >= 3
z = y * 2.0
output z
"""
    agree(text, *all_equal(text, 1, 2, 5), passes="canonicalize")


@pytest.mark.parametrize("passes", ["vectorize,tile", "vectorize,fuse"])
def test_what_nothing_needs(passes: str) -> None:
    agree(UNNEEDED, *all_equal(UNNEEDED, 1, 3), passes=passes)
    agree(IDLE, {}, passes=passes)


@pytest.mark.long("real sizes")
def test_a_condition_on_a_step() -> None:
    """Within a loop on the device it is about a variable that no dimension has."""
    text = """
dim i < I until stop
dim j < J = I + 1
input x[i, j]: f32
input w[i]: f32
input n[i, j]: i32
stop = w > -0.5
def smooth(v, dim d, k = 0.5) {
  m[0] = v[d = 0]
  m[d] = k * m[d-1] + v when d >= 1
  return m
}
def both(p, q) = 0.5 * p * q
y0[i, j] = 0.4 * y0[i, j-1] - 0.3 * y0[i, j-2] + x[i, j] when j >= 2
y0[i, j] = x[i, j]
y1[0, j] = w[0]
y1l = tanh((y1[i, j] * w[i] - x[i, j]) ** 2)
y1[i+1, j] = y1[i, j] - 0.1 * grad(y1l, y1)
y2c = [smooth(w[i] + 0. * (i + j), j, k = 0.1 * q) for q in range(2)]
y2[i, j] = (y1[j = j-1] if j % 2 == 1 else (y1[j = j+1] if j < J - 1 else x[i, j])) + y2c[i, j][1]
y3[i, j] = (y1[i = 0:i+1])[-1] - (y1[i = 0:I])[I - 1 - i]
y4l = 0.5 * y0[i, j] - w[i] * y2[i, j] + x[i, j]
y4ls = sum((tanh(y4l) + 0. * (i + j))[i = 0:I, j = 0:J])
y4g = grad(y4ls, x)
y4 = tanh(grad(y4g ** 2, y0))
output y0, y1, y2, y3, y4
"""
    agree(text, *all_equal(text, 3))


def test_names_that_python_and_kernels_need() -> None:
    """Dimensions and bounds may be called like a keyword, a module or a part of a kernel."""
    text = """
dim at < None
dim carry < steps until lambda
input x[at, carry]: f32
input w[carry]: f32
lambda = w > 0.5
y[at, 0] = x[at, 0]
y[at, carry] = 0.5 * y[at, carry-1] + x * at
z[at, carry] = max(x[at, max(0, carry-2):carry+1]) + None - f32(carry)
at_ = mean(z[0:None, carry] * y[0:None, carry])
output y, z, at_
"""
    agree(text, {"None": 3, "steps": 4}, levels=(0, 2))
