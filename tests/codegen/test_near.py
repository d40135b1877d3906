"""Windows of many points: a part of an array for some neighbours, of which each sees its own."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tempoc.base.cost_model import MODEL
from tempoc.codegen.kernels import shared_windows as windows
from tempoc.codegen.kernels.vmap_batches import CUT_ROWS, PUT_ROWS, in_batches
from tempoc.codegen.program.assemble import EmittedProgram, assemble
from tempoc.codegen.regions.prelude import UPDATED
from tempoc.diagnostics.source import Source
from tempoc.driver import compilation
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.ops.definition.product_padding import TERM_BY_TERM
from tempoc.ops.tensor.contraction import MATVEC
from tempoc.ops.tensor.reduction import EXTREME
from tests.support.agreement import agree
from tests.support.session.long import sampled

PLAIN = "canonicalize,vectorize,fuse"
"""Passes that keep every NaN where it is."""
HEAD = """import nn
dim b < B
dim t < T
dim s < T
input q[b, t]: f32[3]
input k[b, t]: f32[3]
input v[t]: f32[3]
input h[t]: f32[2, 3]
input m[t]: f32
input z[s]: f32[3]
"""
BEFORE, AFTER, AROUND = "max(0, t-3):t+1", "t:min(t+4, T)", "max(0, t-2):min(t+3, T)"
NEAR = {
    "attention": f"y = nn.softmax(v[{BEFORE}] @ v) @ v[{BEFORE}]",
    "attention to what comes": f"y = nn.softmax(v[{AFTER}] @ v) @ v[{AFTER}]",
    "attention on both sides": f"y = nn.softmax(v[{AROUND}] @ v) @ v[{AROUND}]",
    "batches": f"y = nn.softmax(k[t = {BEFORE}] @ q) @ v[{BEFORE}]",
    "heads": f'y = einsum("sh,shd->hd", einsum("hd,shd->sh", h, h[{BEFORE}]), h[{BEFORE}])',
    "a bias by distance": f"y = nn.softmax(v[{BEFORE}] @ v - 0.5 * f32(arange(min(4, t+1))))"
    f" @ v[{BEFORE}]",
    "a mask": f"y = where(m[{BEFORE}] > 0.0, v[{BEFORE}] @ v, 0.0) @ v[{BEFORE}]",
    "positions": f"y = (v[{AFTER}] @ v * f32(arange(t, min(t+4, T)))) @ v[{AFTER}]",
    "half steps": "y = (v[max(0, t//2-2):t//2+1] @ v) @ v[max(0, t//2-2):t//2+1]",
    "other steps": f"y = (z[s = {BEFORE}] @ v) @ z[s = {BEFORE}]",
    "scores that are kept": f"e = v[{BEFORE}] @ v\ny = sum(e * e)\nx = sum(e[t = max(0, t-1)])",
    "the first and the greatest": f"e = v[{BEFORE}] @ v\ny = e[0] + f32(argmax(e))",
    "two windows": f"y = (v[{BEFORE}] @ v) @ v[{BEFORE}] + (v[{AFTER}] @ v) @ v[{AFTER}]",
    "without the last": f"y = (v[{BEFORE}] @ v)[0:min(3, t)] @ v[max(0, t-3):t]",
    "a running maximum": f"y = sum(cumsum(v[{BEFORE}] @ v) * (v[{BEFORE}] @ v))",
    "from the second on": f"x[0] = v[0]\nx[t] = (v[{BEFORE}] @ v) @ v[{BEFORE}]\ny = x * x",
    "more of the heads": f"y = nn.softmax(v[{BEFORE}] @ transpose(h)[:, 0]) @ h[{BEFORE}][:, 1]",
}
CALL = r"in_windows\(\s*point,"
TWO = ("two windows", "without the last")
"""One of these is copied."""
GRADIENTS = {
    "what was before": (BEFORE, "d, e = grad(cost, v), grad(cost, k)"),
    "what comes": (AFTER, "d, e = grad(cost, v), grad(cost, k)"),
    "both sides": (AROUND, "d, e = grad(cost, v), grad(cost, k)"),
    "every second": ("max(0, t//2-2):t//2+1", "d, e = grad(cost, v), grad(cost, k)"),
}


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short windows count, too, and few points are computed at a time."""
    monkeypatch.setattr(windows, "MODEL", MODEL._replace(shared_window=1, shared_points=2))


@pytest.mark.parametrize("name", sampled(NEAR, "more windows", of=2))
def test_windows_mean_the_same(name: str) -> None:
    text = source(name)
    agree(text, *({"B": 2, "T": n} for n in (1, 11)), levels=(2,))


@pytest.mark.parametrize("name", ["attention", "batches", "a mask", "scores that are kept"])
def test_what_is_no_number_stays_in_its_window(name: str) -> None:
    agree(source(name), {"B": 2, "T": 7}, special=True, passes=PLAIN)


@pytest.mark.parametrize("name", [n for n in NEAR if n not in TWO])
def test_no_window_is_copied(name: str) -> None:
    found = kernels(source(name))
    assert re.search(CALL, found) and "_near" in found
    assert not re.search(r"(take|dynamic_slice_in_dim)\(\s*[vkhz](_near)?, ", found)


@pytest.mark.parametrize("name", sampled(GRADIENTS, "more windows", of=2))
def test_gradients(name: str) -> None:
    window, last = GRADIENTS[name]
    text = f"""{HEAD}y = nn.softmax(k[t = {window}] @ q) @ v[{window}]
cost = mean((y * y)[b = 0:B, t = 0:T])
{last}
output cost, d, e
"""
    agree(text, *({"B": 2, "T": n} for n in (2, 9)), levels=(2,))
    found = kernels(text)
    assert len(re.findall(CALL, found)) > 1
    for helper in (UPDATED, MATVEC, TERM_BY_TERM, EXTREME):
        found = found.replace(helper, "")
    assert " == " not in found  # nobody is searched for


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many points at a time as memory allows, also fewer than a window has elements."""

    def small(*parts: Any, batch: int, blocks: bool) -> EmittedProgram:
        return assemble(*parts, batch=min(batch, 40), blocks=blocks)

    monkeypatch.setattr(compilation, "assemble", small)
    for name in ("batches", "heads", "two windows"):
        agree(source(name), {"B": 3, "T": 7}, levels=(2,))


def test_wide_ones_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert "in_windows(" not in kernels(source("attention"))
    assert "in_windows(" in kernels(source("attention").replace("t-3", "t-15"))


def test_ends_are_no_windows() -> None:
    """What begins or ends at one place for all points is read whole."""
    for end in ("t:T", "0:t+1", "0:T"):
        assert "in_windows(" not in kernels(f"{HEAD}y = (v[{end}] @ v) @ v[{end}]\noutput y\n")


def source(name: str) -> str:
    text = NEAR[name]
    made = [line.split(" = ")[0] for line in text.split("\n")]
    return f"{HEAD}{text}\noutput {', '.join(dict.fromkeys(n for n in made if n in 'xy'))}\n"


def kernels(text: str) -> str:
    options = Options(level=2, verify_each=True)
    return Compilation(load_source(Source("m.rt", text)), options).emitted.kernels


def test_blocks_on_cpus_are_half_as_long_as_windows() -> None:
    def point(y: Any, x: Any, start: Any) -> Any:
        return jnp.full(3, x.size)

    near = helpers()["in_windows"](point, lambda n: n - 99, 100, 0, (None, 0), (0, None))
    sizes = near(jnp.arange(1000), jnp.arange(1000.0))
    assert (sizes == 50 - 1 + 100).all(), "what 50 neighbours read"


def helpers() -> dict[str, Any]:
    """What is emitted for parts and batches, as functions."""
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(CUT_ROWS + PUT_ROWS + windows.in_windows(2**20) + in_batches(100), scope)
    return scope


def test_parts_and_batches_are_traced_once() -> None:
    scope = helpers()
    traced: list[tuple[int, ...]] = []

    def point(y: Any, x: Any, start: Any) -> Any:
        traced.append(x.shape)
        return jnp.sum(x) * y, start

    x = jnp.arange(300, dtype=jnp.float32)
    near = scope["in_windows"](point, lambda n: n - 5, 8, 0, axes=(None, 0), in_axes=(0, None))
    sums, starts = jax.jit(near)(x, x)
    ((rows,),) = traced
    for k in (0, 1, 60, 150, 298, 299):
        start = int(starts[k])
        assert start <= max(0, k - 5) and k < start + rows <= 300
        assert int(sums[k]) == k * int(x[start : start + rows].sum())
    traced.clear()
    table = jnp.arange(21, dtype=jnp.float32).reshape(3, 7)
    batches = scope["in_batches"](lambda x: (point(x[0], x, 0)[0], x), 30, 1, (0, 1))
    sums, same = jax.jit(batches)(table)
    assert traced == [(3,)]
    assert (same == table).all() and (sums == table.sum(0) * table[0]).all()


@pytest.mark.parametrize("name", ["in_windows", "in_batches"])
def test_parts_of_several_arrays_are_slices(name: str) -> None:
    """JAX makes gathers and scatters of slices under jax.vmap."""
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(CUT_ROWS + PUT_ROWS + windows.in_windows(100) + in_batches(100), scope)

    def point(y: Any, x: Any, start: Any = 0) -> Any:
        return jnp.sum(y * x) + start

    near = {"first": lambda n: n - 5, "width": 8, "axes": (None, 0)} if name == "in_windows" else {}
    call = scope[name](point, size=30, in_axes=(0, None), **near)
    y, x = jnp.arange(400.0).reshape(2, 200), jnp.arange(600.0).reshape(2, 300)
    for axes, given in (((0, 0), x), ((0, None), x[0])):
        every = jax.vmap(call, axes)
        text = str(jax.make_jaxpr(every)(y, given))
        assert "dynamic_update_slice" in text and "gather" not in text and "scatter" not in text
        wanted = jnp.stack([call(y[k], x[k] if axes[1] == 0 else given) for k in range(2)])
        assert (every(y, given) == wanted).all()


def test_each_array_may_be_cut_at_a_place_of_its_own() -> None:
    scope: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax}
    exec(CUT_ROWS + PUT_ROWS, scope)
    x, starts = jnp.arange(12.0).reshape(2, 6), jnp.array([1, 3])
    cut = jax.vmap(lambda x, start: scope["cut_rows"](x, start, 2, 0))(x, starts)
    assert cut.tolist() == [[1, 2], [9, 10]]
    put = jax.vmap(lambda rows, start: scope["put_rows"](x[0], rows, start, 0))(cut, starts)
    assert put.tolist() == [[0, 1, 2, 3, 4, 5], [0, 1, 2, 9, 10, 5]]
