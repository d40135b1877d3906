"""Windows that are read as they lie in their rings, and those whose order somebody looks at."""

from __future__ import annotations

import pytest

from tests.support.agreement import agree, all_equal, compile_text
from tests.whole.device.test_buckets import emitted

LOOPS = "canonicalize,fuse"
START = """
import nn
const w = 3
dim t < T
input x[t]: f32[4]
k[0] = x[0]
k[t] = tanh(0.5 * k[t-1] + x[t]) when t >= 1
"""
AS_THEY_LIE = {
    "attention": """
s = k[max(0, t - w + 1):t+1] @ x[t]
y = nn.softmax(s) @ k[max(0, t - w + 1):t+1]
output y
""",
    "largest": """
y = max(abs(k[max(0, t - w + 1):t+1]) * x[t], axis = 0)
output y
""",
    "heads": """
m = reshape(k, [2, 2])
s = einsum("hd,shd->hs", reshape(x, [2, 2]), m[max(0, t - w + 1):t+1])
y = einsum("hs,shd->hd", nn.softmax(s), m[max(0, t - w + 1):t+1])
output y
""",
    "distances": """
d = k[max(0, t - w + 1):t+1] - x[t]
y = sum(sum(d * d, axis = 1) @ d)
output y
""",
}
IN_ORDER = {
    "weighted": """
y = mean(transpose(k[max(0, t - w + 1):t+1]) * (arange(min(w, t+1)) + 1), axis = 1)
output y
""",
    "running": """
y = sum(cumsum(k[max(0, t - w + 1):t+1], 0), axis = 0)
output y
""",
    "oldest": """
y = k[max(0, t - w + 1):t+1][0]
output y
""",
    "kept": """
y = k[max(0, t - w + 1):t+1][0:1] * 2.
output y
""",
    "late": """
y = sum(k[max(0, t - 2 * w):max(0, t - w + 1)], axis = 0)
output y
""",
    "matrix": """
pairs = k[max(0, t - w + 1):t+1] @ transpose(k[max(0, t - w + 1):t+1])
y = sum(pairs * pairs[0], axis = 1)[0]
output y
""",
}
SIZES = (1, 8)


@pytest.mark.parametrize("name", AS_THEY_LIE)
def test_sums_take_rings_as_they_lie(name: str) -> None:
    text = START + AS_THEY_LIE[name]
    assert "jnp.take(" not in emitted(text, LOOPS, regions=False).kernels
    agree(text, *all_equal(text, *SIZES), passes=LOOPS, regions=False)
    agree(text, *all_equal(text, 3, 9), passes=LOOPS, regions=True)


@pytest.mark.parametrize("name", IN_ORDER)
def test_who_looks_at_the_order_gets_it(name: str) -> None:
    text = START + IN_ORDER[name]
    agree(text, *all_equal(text, *SIZES), passes=LOOPS, regions=False)


def test_what_is_not_a_number_stays_where_it_is() -> None:
    text = START + AS_THEY_LIE["attention"]
    agree(text, *all_equal(text, 5, 8), passes=LOOPS, special=True)


def test_heads_stand_in_front() -> None:
    text = START + AS_THEY_LIE["heads"]
    _, loaded = compile_text(text, 2, LOOPS)
    store = next(s for s in loaded.program.stores if s.name == "m")
    assert [a.behind for a in store.axes] == [1]
