"""Stores are updated in place by loops on the device: no step copies one."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.copies import audit
from tempoc.footprint.compiled import Compiled
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.walk import blocks
from tests.support.examples import EXAMPLES, ROOT, compiled
from tests.support.session.long import sampled

FEEDBACK = """
import nn
dim t < T
input x[t]: f32[16]
param w: f32[4, 16, 16]
before[0] = x[0]
before[t] = x[t] + 0.1 * y[t-1] when t >= 1
k = w[0] @ before
v = w[1] @ before
y1 = before + nn.softmax(k[SEEN] @ before) @ v[SEEN]
k2 = w[2] @ y1
v2 = w[3] @ y1
y = y1 + nn.softmax(k2[SEEN] @ y1) @ v2[SEEN]
output y
"""
"""Two layers of attention over what they said themselves: XLA copies `y` if `before` is carried."""
BATCH = """
import nn
dim b < B
dim t < T
input x[b]: f32[16]
param w: f32[3, 64, 16]
param back: f32[16, 64]
before[b, 0] = x
before[b, t] = y[b, t-1] when t >= 1
q = reshape(w[0] @ before, [2, 2, 16])
k = reshape(w[1] @ before, [2, 32])[:, 0:16]
v = reshape(w[2] @ before, [2, 32])[:, 16:32]
y = tanh(before + back @ reshape(nn.grouped_attention(q, k[t=0:t+1], v[t=0:t+1]), [64]))
output y[t = T-1] as last
"""
SEQUENCES = {
    "causal": FEEDBACK.replace("SEEN", "0:t+1"),
    "window": FEEDBACK.replace("SEEN", "max(0, t-7):t+1"),
    "one of a batch": BATCH,
    "one of a batch, fed back": BATCH.replace("y[t = T-1] as last", "y"),
    "one of a batch, until": BATCH.replace("t < T", "t < T until stop")
    + "u = sum(y)\nstop = sum(u[b = 0:B]) > 100.0\n",
    "until": """
dim t < T until stop
input a: f32[16]
x[0] = a
y[t] = 0.5 * x[t] + 1.0
x[t+1] = sin(y[t]) + y[t]
stop = sum(x[t]) < 0.0
output x, y
""",
    "a row put into a table that is read then": """
dim t < T
input a: f32[80]
table[0] = zeros([80, 80])
table[t] = put(table[t-1], t % 80, row[t-1]) when t >= 1
rest = concat([table[t][1:80], zeros([1, 80])], 0)
row = tanh(max(expand_dims(a, 1) + rest, axis = 0) + f32(t))
output row[T-1] as last
""",
    "two rows": """
dim t < T
input a[t]: f32[16]
re[0] = a[0]
im[0] = a[0]
re[t] = 0.9 * re[t-1] - a[t] * im[t-1] when t >= 1
im[t] = 0.9 * im[t-1] + a[t] * re[t-1] when t >= 1
output re, im
""",
}
"""Programs with one loop each; that of the last becomes one recurrence of two tensors."""
SIZES = {"N": 500, "M": 400, "T": 600, "I": 8}
"""Bounds of examples at which stores are larger than what steps compute; 7 for all others."""
COPIED = {
    "03_heat_equation": {"f32[500]": ("u",)},
    "09_edit_distance": {"s32[2,401]": ("d.rows",)},
}
"""Copies that are known. One step makes each element of its neighbours in the row before; one
makes a diagonal of the two before it; one takes the element before as an index and checks it: XLA
does not see in which order that works.
"""

COPIED_BY_OLD_XLA = {
    "causal": {"f32[512,16]": ("k", "v", "k2", "v2", "y")},
    "14_learned_rates": {"f32[7,500,10]": ("train.predict.tanh", "test.d.train.predict.tanh.sub")},
}
"""Further copies, which the XLA of JAX 0.8 makes."""


def known_copies(name: str) -> dict[str, tuple[str, ...]]:
    """The stores that XLA copies, by their type."""
    is_old = jax.__version_info__[:2] == (0, 8)
    return COPIED.get(name, {}) | (COPIED_BY_OLD_XLA.get(name, {}) if is_old else {})


@pytest.mark.usefixtures("operations_as_users")
@pytest.mark.parametrize("name", sampled(SEQUENCES, "more loops", of=2))
def test_sequences(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "single_call_blocks", lambda *_: frozenset())
    source = load_source(Source("m.rt", SEQUENCES[name]))
    bounds = {"T": 512, "B": 1} if "dim b" in source.main.source.text else {"T": 512}
    found = _audit(Compilation(source, Options()), bounds, tmp_path)
    loops = [c for c in found if c.loop]
    assert bool(loops) == (name != "two rows")
    for function in loops:
        assert function.updated == function.given > 0
    _check_copies(found, name)


@pytest.mark.usefixtures("operations_as_users")
@pytest.mark.parametrize(
    "name",
    sampled(
        [e.name for e in EXAMPLES],
        "all examples",
        keep=lambda name: name in COPIED or name.startswith(("05", "08")),
    ),
)
def test_examples(name: str, tmp_path: Path) -> None:
    compilation = compiled(ROOT / "examples" / f"{name}.rt")
    free = [b.name for b in compilation.emitted.program.bounds if b.value is None]
    found = _audit(compilation, {name: SIZES.get(name, 7) for name in free}, tmp_path)
    assert found
    for function in found:
        if function.loop:
            assert function.updated == function.given
    _check_copies(found, name)


def _check_copies(functions: tuple[Compiled, ...], name: str) -> None:
    """XLA copies what is known; for other devices than CPUs it may leave out some of it."""
    found, known = _copies(functions), known_copies(name)
    assert found == known or (jax.default_backend() != "cpu" and found.items() <= known.items())


def _copies(functions: tuple[Compiled, ...]) -> dict[str, tuple[str, ...]]:
    return {copy.type: copy.stores for function in functions for copy in function.copies}


def _audit(compilation: Compilation, bounds: dict[str, int], folder: Path) -> tuple[Compiled, ...]:
    compilation.write(str(folder / "out"))
    return audit(str(folder / "out"), bounds)
