"""Ends of tensors, `x[t:T]` for all `t` at once: read whole, with garbage first."""

from __future__ import annotations

import re

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tests.support.agreement import agree, all_equal
from tests.support.session.long import sampled

PLAIN = "canonicalize,vectorize,fuse"
"""Passes that keep every NaN where it is."""
HEAD = """import nn
dim b < B
dim t < T
input q[b, t]: f32[3]
input x[b, t]: f32[3]
input w[b, t]: f32[3]
input v[t]: f32[2, 3]
"""
WHOLE = {
    "scores of all to come": "y = max(x[t = t:T] @ q)",
    "a product with weights": 'y = einsum("s,sd->d", sum(q[t = t:T], axis = 1), x[t = t:T])',
    "weights on the right": 'y = einsum("sd,s->d", x[t = t:T], sum(q[t = t:T], axis = 1))',
    "a product of matrices": "y = transpose(x[t = t:T], [1, 0]) @ q[t = t:T]",
    "attention to what comes": "y = nn.softmax(x[t = t:T] @ q) @ w[t = t:T]",
    "attention to what comes after": "y = tanh(x[t = t+1:T] @ q) @ w[t = t+1:T]",
    "a contraction without rows": 'y = einsum("sd,sd->d", x[t = t+1:T], w[t = t+1:T])',
    "heads": 'y = sum(einsum("shd,d->sh", v[t:T], x), axis = 0)',
    "no batch": "y = sum(exp(v[t:T]), axis = 0) / sum(v[t+1:T] > 0.0)",
    "where": "y = sum(where(x[t = t:T] > q, x[t = t:T], w[t = t:T]), axis = 0)",
    "two masks of an array": "y = sum(v[t:T], axis = 0) * sum(v[0:T-t], axis = 0)",
    "two columns": "y = sum(x[t = t:T][:, 0] * w[t = t:T][:, 1])",
}
MOVED = {
    "with positions": "y = sum(x[t = t:T] * expand_dims(f32(arange(T - t)), 1), axis = 0)",
    "the first weight": "y = nn.softmax(x[t = t:T] @ q)[0]",
    "the first of the end": "y = x[t = t:T][0] + q",
    "the greatest": "y = argmax(x[t = t:T], axis = 0)",
    "a scan": "y = sum(cumsum(x[t = t:T], axis = 0)[0:1])",
    "beside others": "y = sum(concat([x[t = t:T], w[t = 0:t]], 0) * w[t = 0:T], axis = 0)",
    "turned around": "y = sum(flip(x[t = t:T], 0) * w[t = t:T], axis = 0)",
    "the variance": "y = var(x[t = t:T], axis = 0) + logsumexp(x[t = t:T], axis = 0)",
    "kept": "e = x[t = t:T] * 2.0\ny = sum(e, axis = 0) + max(e, axis = 0)\nr = e[t = t]\n"
    "z = sum(r * w[t = t:T])",
    "both ends of an array": "y = max(x[t = t:T] - x[t = 0:T-t]) + max(x[t = 0:T-t])",
    "a window": "y = sum(x[t = t:min(t+2, T)] * w[t = t:min(t+2, T)], axis = 0)",
    "spread": "y = sum(broadcast_to(q, [T - t, 3]) * x[t = t:T], axis = 0)",
}


def outputs(text: str) -> str:
    names = [line.split(" = ")[0] for line in text.split("\n")]
    return "\noutput " + ", ".join(n for n in names if n in ("y", "z"))


def kernels(text: str) -> str:
    options = Options(level=2, verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options).emitted.kernels


@pytest.mark.parametrize("name", sampled([*WHOLE, *MOVED], "more programs", of=2))
def test_ends_mean_the_same(name: str) -> None:
    text = (WHOLE | MOVED)[name]
    text = HEAD + text + outputs(text)
    agree(text, *all_equal(text, 1, 5))
    agree(text, *all_equal(text, 2), special=True, passes=PLAIN)


@pytest.mark.parametrize("name", WHOLE)
def test_nothing_is_shifted(name: str) -> None:
    assert "jnp.take(" not in kernels(HEAD + WHOLE[name] + outputs(WHOLE[name]))


def test_the_smaller_operand_is_moved() -> None:
    text = "y = cos(f32(arange(T - t))) @ x[t = t:T]"
    agree(HEAD + text + outputs(text), *all_equal(HEAD, 1, 5))
    found = kernels(HEAD + text + outputs(text))
    assert re.findall(r"jnp.take\((\w+)", found) == ["y_cos"]


def test_scores_are_masked_and_no_operand() -> None:
    text = WHOLE["attention to what comes"]
    found = kernels(HEAD + text + outputs(text))
    assert "jnp.arange(T, dtype=jnp.int32) >= t" in found
    assert "jnp.matmul(softmax_div, w) if finite else" in found


def test_gradients_of_attention() -> None:
    heads = HEAD.replace("input v[t]:", "input k[b, t]: f32[2, 3]\ninput v[b, t]:")
    text = f"""{heads}y = nn.multi_head_attention(k, k[t = 0:t+1], v[t = 0:t+1])
cost = mean((y * y)[b = 0:B, t = 0:T])
dk, dv = grad(cost, k), grad(cost, v)
output dk, dv"""
    agree(text, *all_equal(text, 1, 5))
    agree(text, *all_equal(text, 3), special=True, passes=PLAIN)
    found = kernels(text)
    assert "in_axes" in found and "jnp.take(" not in found and "dynamic_index" not in found
