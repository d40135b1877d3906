"""Loops on the device: regions compute what the equations say, in place, and say what failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tempoc.base.cost_model import MODEL
from tempoc.base.names import Names
from tempoc.cli.main import status
from tempoc.codegen.program.assemble import EmittedProgram
from tempoc.codegen.regions.context import ProgramContext
from tempoc.codegen.regions.regions import Regions
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.traversal import regions, statements_in
from tempoc.program.nodes import nodes
from tempoc.program.nodes.buffers import Buffer, BufferAxis
from tempoc.runtime.device import backend
from tempoc.runtime.load.load import namespace
from tempoc.schedule.placement import regions as places
from tempoc.symbolic.expr import ONE, ZERO, Const, Sym
from tempoc.symbolic.parse import parse_expr
from tests.support.agree import agreed
from tests.support.agreement import agree, compile_text

LOOPS = "canonicalize,fuse"
"""Passes that leave all loops as they are."""

RNN = """
dim t < T
input x[t]: f32[4]
input W: f32[4, 4]
h[0] = tanh(x[0])
h[t] = tanh(W @ h[t-1] + x[t]) when t >= 1
output h
"""
BACKWARDS = """
dim t < T
input r[t]: f32
g[T-1] = r[T-1]
g[t] = r[t] + 0.5 * g[t+1] when t < T - 1
output g[0]
"""
WINDOW = """
import nn
const w = 3
dim t < T
input x[t]: f32[4]
k[0] = x[0]
k[t] = tanh(k[t-1] + x[t]) when t >= 1
s = k[max(0, t - w + 1):t+1] @ x[t]
y = nn.softmax(s) @ k[max(0, t - w + 1):t+1]
output y
"""
CAUSAL = """
import nn
dim t < T
input x[t]: f32[4]
k[0] = x[0]
y = nn.softmax(k[0:t+1] @ x[t]) @ k[0:t+1]
k[t] = tanh(y[t-1] + x[t]) when t >= 1
output y
"""
LAYERS = """
dim t < T
dim l < L = 3
input x[t]: f32[4]
input W[l]: f32[4, 4]
before = x[t] if l == 0 else s[t, max(l - 1, 0)]
s[t, l] = tanh(W[l] @ before + 0.5 * s[max(t - 1, 0), L - 1]) when t >= 1
s[0, l] = W[l] @ x[0]
output s[0:T, L-1] as last
"""
TABLE = """
dim i < N
dim j < M
input x[i]: i32
input y[j]: i32
d[0, j] = j
d[i, 0] = i when i >= 1
other = where(x[i] == y[j], 0, 1)
d[i, j] = minimum(minimum(d[i-1, j], d[i, j-1]) + 1, d[i-1, j-1] + other) when i >= 1 and j >= 1
output d[N-1, M-1] as distance
"""
FEW = """
dim i < I
dim t < T
input x[t]: f32
w[0] = 0.1
m[i, 0] = w[i] * x[0]
m[i, t] = tanh(m[i, t-1] + w[i] * x[t]) when t >= 1
w[i+1] = w[i] + m[i, T-1] when i < I - 1
output w
"""
SKIPS = """
dim t < T
input x[t]: f32
a[0] = x[0]
a[t] = a[t-1] + x[t] when t >= 1 and t % 3 != 1
a[t] = 0.5 * a[t-1] when t >= 1 and t % 3 == 1
output a
"""
WIDE = """
dim t < T
input x[t]: f64
a[0] = x[0]
a[t] = sin(a[t-1]) + x[t] when t >= 1
output a
"""
PROGRAMS = {
    "rnn": RNN, "backwards": BACKWARDS, "window": WINDOW, "causal": CAUSAL, "layers": LAYERS,
    "table": TABLE, "few": FEW, "skips": SKIPS, "wide": WIDE,
}  # fmt: skip


def emitted(text: str, passes: str | None = LOOPS) -> EmittedProgram:
    options = Options(passes=passes, verify_each=True, regions=True)
    return Compilation(load_source(Source("m.rt", text)), options).emitted


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree(name: str) -> None:
    text = PROGRAMS[name]
    assert [*regions(emitted(text).program.tree)]
    given = [b.name for b in emitted(text).program.bounds if b.value is None]
    sizes = ({b: size + k for k, b in enumerate(given)} for size in (1, 8))
    agree(text, *sizes, passes=LOOPS, regions=True)


def test_loops_are_compiled_also_where_jax_is_told_not_to() -> None:
    with jax.disable_jit():
        agree(PROGRAMS["wide"], {"T": 1}, passes=LOOPS, regions=True)


def test_a_long_loop_takes_several_calls() -> None:
    agree(RNN.replace("4", "2"), {"T": 300}, passes=LOOPS, regions=True)


def test_text() -> None:
    text = emitted(LAYERS).kernels
    found = text[text.index("def loop_t") :]
    assert "for l in range(0, L):" in found or "for l in range(1, L):" in found
    assert "lax.fori_loop(0, count, step_t, " in found


@pytest.mark.parametrize("effect", ['save h[t] to "h-{t}.safetensors"', "print h[0:t+1]"])
def test_loops_with_other_effects_than_small_prints_stay_with_the_host(effect: str) -> None:
    program = emitted(f"{RNN}{effect}\n").program
    assert not [*regions(program.tree)]


def test_stores_are_updated_in_place() -> None:
    """No copy of a whole store in a step, and all that is carried is given away for good."""
    found = emitted(RNN + "y = h[t] * 2.\noutput y\n")
    (region,) = regions(found.program.tree)
    loop = namespace(found.kernels, "kernels.py")[region.kernel]
    size = 50_000
    kernel = next(k for k in found.program.kernels if k.name == region.kernel)
    arrays = [shape(found.program, cells, size) for cells in (*region.carried, *region.read)]
    donated = tuple(k + 1 for k in kernel.donated)
    bounds = dict.fromkeys(kernel.bounds, size)
    at = jax.ShapeDtypeStruct((2 + len(region.point),), np.int32)
    lowered = jax.jit(lambda *a: loop(*a, **bounds), donate_argnums=donated).lower(at, *arrays)
    memory = lowered.compile().memory_analysis()
    carried = sum(4 * int(np.prod(a.shape)) for a in arrays[: len(region.carried)])
    assert memory.alias_size_in_bytes == carried
    assert memory.temp_size_in_bytes < 10_000


def shape(program: nodes.Program, cells: nodes.Cells, size: int) -> jax.ShapeDtypeStruct:
    store = next(s for s in program.stores if s.name == cells.store)
    sizes = [a.size.value if isinstance(a.size, Const) else size for a in store.axes]
    inner = [e.value for e in store.shape if isinstance(e, Const)]
    return jax.ShapeDtypeStruct((*sizes, *inner), np.float32)


CHECKED = """
dim t < T
input x[t]: f32[5]
input n[t]: i32
a[0] = x[0]
a[t] = a[t-1] + x[t][n[t]] when t >= 1
output a
"""


@pytest.mark.parametrize("wrong", [1, 3, 7])
def test_what_failed_first(wrong: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, data = tmp_path / "m.rt", tmp_path / "data.npz"
    source.write_text(CHECKED)
    n = np.zeros(9, np.int32)
    n[[wrong, 8]] = 5
    np.savez(data, x=np.ones((9, 5), np.float32), n=n)
    said = []
    for level in ("-O1", "-O2"):
        out = str(tmp_path / f"out{level}")
        more = ["--regions", "--passes", LOOPS] if level == "-O2" else []
        assert status(["compile", str(source), "-o", out, level, *more]) == 0
        assert status(["run", out, "--input", str(data)]) == 1
        said.append(capsys.readouterr().err)
    assert f"t = {wrong}" in said[1]
    assert said[0] == said[1]


def test_they_are_the_default_of_the_last_level() -> None:
    def found(**options: Any) -> list[nodes.Region]:
        loaded = load_source(Source("m.rt", TABLE))
        return [*regions(Compilation(loaded, Options(**options)).emitted.program.tree)]

    assert found()
    assert found(level=1, regions=True)
    assert not found(level=1)
    assert not found(regions=False)


def remarks(text: str, **options: Any) -> list[str]:
    compilation = Compilation(load_source(Source("m.rt", text)), Options(**options))
    assert compilation.emitted
    return [r.message for r in compilation.remarks if r.step == "regions"]


def test_it_is_said_which_loops_run_on_the_device() -> None:
    assert "the loop over `t` runs on the device" in remarks(RNN, passes=LOOPS)
    assert "the loop over `t` runs on the device" in remarks(RNN + "print h[t]\n", passes=LOOPS)
    for effect, reason in (
        ('save h[t] to "h-{t}.safetensors"', "is saved"),
        ("print h[0:t+1]", "is printed, and may have more than"),
    ):
        (why,) = remarks(f"{RNN}{effect}\n", passes=LOOPS)
        assert "is not on the device" in why and reason in why


def test_too_many_layers_are_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay with the host where they have weights, else they are a loop of the device."""
    monkeypatch.setattr(places, "MODEL", MODEL._replace(unrolled_ms=3 * MODEL.compile_ms_per_op))
    weights = LAYERS.replace("input W", "param W")
    found = remarks(weights, passes=LOOPS)
    assert any("with the loop over `l` written out it would have" in said for said in found)
    assert not [*regions(emitted(weights).program.tree)]
    assert "lax.fori_loop(1, L, step_l" in emitted(LAYERS).kernels
    agree(LAYERS, *({"T": size} for size in (1, 2, 8)), passes=LOOPS)


EPOCHS = """
dim i < I
dim e < E = 3
dim k < K = 2
input x[i, k]: f32[20]
w[0, 0, 0] = ones([20])
loss[i, e, k] = sum((w * x - 1.0) ** 2)
v[i, e, k] = w - 0.1 * grad(loss, w)
w[i, e, k+1] = v
w[i, e+1, 0] = v[i, e, K-1]
w[i+1, 0, 0] = v[i, E-1, K-1]
output loss
"""


def test_steps_that_take_over_what_was_made_are_not_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor is a last step apart whose loops are short, so that the host might have them."""
    assert "step_k" not in emitted(EPOCHS).kernels, "few operators are written out"
    monkeypatch.setattr(places, "MODEL", MODEL._replace(carried_ms=0))
    (region,) = regions(emitted(EPOCHS).program.tree)
    found = [s for s in statements_in(region.loop) if isinstance(s, nodes.Loop)]
    assert {s.place for s in found} == {"device"}
    agree(EPOCHS, *({"I": size} for size in (1, 2, 3, 5)))


LEARNED = """
dim i < I
dim l < L = 3
input x[i]: f32[20]
w[0, l] = ones([20])
h[i, 0] = x
h[i, l+1] = tanh(w * h)
loss = sum(h[l = L-1] ** 2)
w[i+1, l] = w - 0.1 * grad(loss, w)
output loss
"""


@pytest.mark.parametrize("limit", [{"carried_ms": 0}, {"passing_steps": 1}])
def test_steps_that_read_layers_are_written_out(
    monkeypatch: pytest.MonkeyPatch, limit: dict[str, Any]
) -> None:
    """Those of which another loop reads what they leave, but no later step of the loop around, are
    not if they are many, or much to compile."""
    shared = LEARNED.replace("w[0, l]", "w[0]").replace("w[i+1, l]", "w[i+1]")

    def inner(text: str) -> set[str]:
        (region,) = regions(emitted(text).program.tree)
        return {str(s.place) for s in statements_in(region.loop) if isinstance(s, nodes.Loop)}

    assert "unrolled" in inner(LEARNED) & inner(shared)
    monkeypatch.setattr(places, "MODEL", MODEL._replace(**limit))
    assert "unrolled" in inner(LEARNED) - inner(shared)
    agree(shared, {"I": 1}, {"I": 3}, passes=LOOPS)


def test_steps_that_compute_little_are_not_written_out() -> None:
    """XLA makes one function of them for a CPU, also where they stand in a longer loop."""
    text = """
dim t < T
dim l < L = 6
input x[t]: f32[D]
const D = 4
h[0, 0] = x[0]
h[t+1, 0] = sin(h[t, L-1]) + x[t+1]
h[t, l+1] = tanh(h[t, l])
output h[0:T, L-1] as y
"""
    written_out = "for l in range(0, L - 1):"
    assert written_out not in emitted(text).kernels
    wide = text.replace("D = 4", f"D = {MODEL.quick_elements + 1}")
    assert written_out in emitted(wide).kernels
    agree(text, {"T": 1}, {"T": 3}, passes=LOOPS)


NEWTON = """
dim b < B
dim t < T
dim k < K = 4
input a[b]: f32
y[b, 0] = 1.0
u[b, t, 0] = y
slope = 3.0 * u * u + a
u[b, t, k+1] = u - (u * u * u + a * u - y) / slope
y[b, t+1] = u[b, t, K-1]
output y
"""


def test_elements_that_steps_read_several_times_are_not_written_out() -> None:
    """XLA would compute each step again for every reader in the next one."""
    written_out = "for k in range("
    assert written_out not in emitted(NEWTON).kernels
    once = NEWTON.replace("u - (u * u * u + a * u - y) / slope", "sin(u)")
    assert written_out in emitted(once).kernels
    agree(NEWTON, {"B": 1, "T": 1}, {"B": 2, "T": 2}, {"B": 3, "T": 5})


SHORT = """
dim l < L = 6
dim n < N
input x[n]: f32
input W[l]: f32
h[0, n] = x[n]
h[l+1, n] = tanh(h[l, n] + W[l] * h[l, N-1-n])
output h[L-1, 0:N] as y
"""


@pytest.mark.parametrize("steps", [2, 3, 5])
def test_of_two_steps_as_well(steps: int) -> None:
    """Where nothing is stored apart for each, a call for each kernel of each step gains nothing.

    Refining five slots of each of 32 pictures three times, with gradients: 6.8 ms, now 3.7.
    """
    text = RNN.replace("t < T", f"t < T = {steps + 1}")
    assert "the loop over `t` runs on the device" in remarks(text, passes=LOOPS)
    agree(text, {}, passes=LOOPS)


def test_few_steps_are_on_the_device_unless_they_read_weights() -> None:
    """A layer of weights that are stacked is copied; of data a step is a slice anyway."""
    assert [*regions(emitted(SHORT, None).program.tree)]
    assert not [*regions(emitted(SHORT.replace("input W", "param W"), None).program.tree)]
    agree(SHORT, {"N": 1}, {"N": 2}, {"N": 5})


LAYERWISE = """
dim l < L = 3
dim i < I
input x: f32[2]
param start[l]: f32[2]
h[0] = x
h[l+1] = tanh(w[l, I-1] * h[l])
w[l, 0] = start[l]
w[l, i+1] = w + 0.1 * (h[l] - w * w)
output h[L-1] as y, w[0:L, I-1] as learned
"""


def test_weights_that_state_begins_with_are_copied_anyway(tmp_path: Path) -> None:
    assert "the loop over `l` runs on the device" in remarks(LAYERWISE)
    x, start = np.float32([0.5, -1.0]), np.float32([[1.0, 0.5], [0.25, 2.0], [-0.5, 1.5]])
    for steps in (1, 2, 5):
        agreed(LAYERWISE, tmp_path, {"I": steps}, {"x": x}, {"start": start})


TRIANGLE = """
dim p < P
dim q < Q = P
input x[q]: f32
power[p, q] = left_shift(p, q % 3)
state[0, 0] = 1.0
state[p, 0] = next[p-1, p-1]
state[p, q] = next[p, q-1] when q <= p
next[p, q] = 0.5 * state + f32(power) * x[q] when q <= p
output next[P-1, P-1] as y
"""
SORTED = """
dim p < P
dim q < Q = P
dim n < N
input x[n]: f32
away[p, q] = right_shift(left_shift(1, p), q)
other[p, q, n] = bitwise_xor(n, away)
y[0, 0, n] = x
y[p, 0, n] = z[p-1, p-1, n]
y[p, q, n] = z[p, q-1, n] when q <= p
z[p, q, n] = 0.5 * y + f32(other) when q <= p
output z[P-1, Q-1, 0:N] as y
"""


@pytest.mark.parametrize("text", [TRIANGLE, SORTED])
def test_what_a_triangle_needs_leaves_no_loop_on_the_host(text: str) -> None:
    assert isinstance(compile_text(text, 2)[1].program.tree, nodes.Block)
    bounds = {"N": 3} if "N" in text else {}
    agree(text, *({"P": size, **bounds} for size in (1, 2, 3, 6)))


CHECKED_POINTS = """
dim t < T
dim k < K
input x[t]: f32
y[t, 0] = x[t]
y[t, k+1] = sin(y[t, k]) + f32(t * k)
z[0] = 0.
z[t+1] = z[t] + y[t, K-1]
output z
"""
THIN = """
dim b < B
dim t < T
dim l < L = 2
input x[b, t]: f32[3]
input pick[b]: i32
input W[l]: f32[3, 3]
h[b, 0, l] = x[b, 0] * 0.5
h[b, t, l] = tanh(W[l] @ h[b, t-1, l] + mean(h[b, 0:t, L-1], axis = 0) + x[b, t]) when t >= 1
late[b, t] = sum(h[b, max(0, t-2):t+1, 0], axis = 0)
back[b, T-1] = late[b, T-1]
back[b, t-1] = 0.5 * back[b, t] + late[b, t-1] * x[b, t][pick[b] % 3]
output h, back
"""
"""All `b` at once: axes of length 1 where there is one, in stores that loops update."""


def test_axes_of_length_one() -> None:
    text = emitted(THIN, passes=None).kernels
    assert "= updated(" in text and "= looped(" in text
    sizes = ((1, 1), (1, 2), (1, 5), (3, 1), (2, 4))
    agree(THIN, *({"B": b, "T": t} for b, t in sizes), levels=(1, 2))


def test_a_store_that_is_never_there_is_not_squeezed() -> None:
    """A kernel updates two stores; the loop knows that one of them is for longer batches only."""
    axis = BufferAxis(dim="t", size=Sym("T"))
    stores = {n: Buffer(name=n, dtype="f32", axes=(axis,), shape=(ONE,)) for n in ("a", "b")}
    cells = nodes.Cell(store="a"), nodes.Cell(store="b", when=parse_expr("B >= 5"))
    call = nodes.Call(kernel="k", point=(Sym("t"),), args=cells, results=cells)
    context = ProgramContext(
        stores=stores,
        kernels={"k": nodes.Kernel(name="k", dims=("t",), donated=(0, 1))},
        bounds={"T": None, "B": 2},
        x64=False,
        narrow={"k": frozenset(stores)},
    )
    loop = nodes.Loop(var="t", lower=ZERO, upper=Sym("T"), step=1, body=call, place="device")
    regions = Regions(context=context, names=Names([]))
    regions.convert(loop, frozenset(stores))
    (region,) = regions.emitted
    assert "(a,) = looped(0, count, step_t, (a,), (0,))" in region.text


@pytest.mark.usefixtures("each_its_own")
def test_coordinates_stay_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of the host and of the device, which get no coordinates from it in most steps."""
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(backend, "compiles_late", lambda: True)
    agree(CHECKED_POINTS, {"T": 1, "K": 2}, {"T": 4, "K": 3}, regions=False)
    agree(CHECKED_POINTS, {"T": 9, "K": 3})


NAMED = """
dim t < T
input x[t]: f32[8]
input j[t]: i32
s[0] = zeros([8])
{name} = tanh(s + (x)[j])
s[t+1] = {name} @ ones([8, 8]) + x
output s, {name}
"""


@pytest.mark.parametrize("name", ["code", "fault"])
def test_kernels_have_other_names_than_variables(name: str) -> None:
    agree(NAMED.format(name=name), {"T": 2}, passes=None)
    assert f"def {name}2(" in emitted(NAMED.format(name=name), None).kernels
