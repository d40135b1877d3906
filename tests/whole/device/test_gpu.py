"""What XLA makes of loops for a GPU, without one (see ``tests/support/gpu/cuda.py``).

Stores are updated in place there too, no step copies one, and after a step of a loop that is
compiled for a number of steps nobody asks the host whether there is another one.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tempoc.base.cost_model import MODEL
from tempoc.cli.reports.copies import compiled_launches
from tempoc.diagnostics.source import Source
from tempoc.driver.capture.capture import capture_report
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.copies import audit
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.program.analysis.recorded_loops import counted_regions
from tempoc.runtime.walk import blocks
from tests.support.examples import EXAMPLES, ROOT, compiled
from tests.support.gpu.cuda import IS_THERE, Gpu, gpu
from tests.whole.device.test_copies import COPIED, SEQUENCES, SIZES

__all__ = ["gpu"]
pytestmark = pytest.mark.skipif(not IS_THERE, reason="XLA's compiler for CUDA is not installed")


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str, gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "single_call_blocks", lambda *_: frozenset())
    source = load_source(Source("m.rt", SEQUENCES[name]))
    bounds = {"T": 512, "B": 1} if "dim b" in source.main.source.text else {"T": 512}
    look(Compilation(source, Options()), bounds, gpu, tmp_path, COPIED_ONCE.get(name, ()))


@pytest.mark.parametrize("name", [e.name for e in EXAMPLES])
def test_examples(name: str, gpu: Gpu, tmp_path: Path) -> None:
    compilation = compiled(ROOT / "examples" / f"{name}.rt")
    free = [b.name for b in compilation.emitted.program.bounds if b.value is None]
    bounds = {name: SIZES.get(name, 7) for name in free}
    rows = (store for stores in COPIED.get(name, {}).values() for store in stores)
    look(compilation, bounds, gpu, tmp_path, tuple(rows))


COPIED_ONCE = {"two rows": ("re.rows", "re.rows.out1")}
"""Rows that take the place of prefixes that are not finite, all at once."""


def look(
    compilation: Compilation,
    bounds: dict[str, int],
    gpu: Gpu,
    folder: Path,
    once: tuple[str, ...] = (),
) -> None:
    """Look at all functions, of which one copies these stores ``once``."""
    compilation.write(str(folder / "out"))
    program = compilation.emitted.program
    counted = counted_regions(program)
    for function in audit(str(folder / "out"), bounds):
        assert all(copy.stores == once for copy in function.copies)
        if function.loop:
            assert function.updated == function.given
        loops = re.findall(r" while\(.*", gpu.texts[function.kernel])
        known = ["known_trip_count" in loop for loop in loops]
        assert all(known) or function.kernel not in counted
        # The host does not bring the places of slices into their arrays.
        assert "dynamic_slice_config" not in gpu.texts[function.kernel]


LOOP = "dim t < T\nparam w: f32[8, 8]\nx[0] = ones([8])\nx[t+1] = "
GRAPHS = {
    "kernels": ("tanh(w @ sort(w @ sort(x[t])))", (), True),
    "a library": ("irfft(rfft(sort(w @ x[t])), 8)", ("Fft",), False),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str, gpu: Gpu) -> None:
    """What `explain --capture` says of the structure is what XLA makes of it."""
    step, between, is_whole = GRAPHS[name]
    source = load_source(Source("m.rt", f"{LOOP}{step}\noutput x[T-1]\n"))
    compilation = Compilation(source, Options())
    bounds = {"T": MODEL.block_us + 2}
    (launched,) = [m for n, m in compiled_launches(compilation, bounds).items() if "loop" in n]
    assert (launched.between, launched.graphs) == (between, 1)
    report = capture_report(compilation, bounds, None)
    said = next(p for p in report.parts if p.title.startswith("`loop")).graphs
    assert said.startswith("one graph") == is_whole


ATTENTION = """import nn
dim b < B
dim t < T
input q[b, t]: f32[2, 3, 64]
input k[b, t]: f32[2, 64]
a = nn.grouped_attention(q, k[t = 0:t+1], k[t = 0:t+1])
output a
"""


def test_attention_is_a_kernel_without_scores(gpu: Gpu, tmp_path: Path) -> None:
    source = load_source(Source("m.rt", ATTENTION))
    look(Compilation(source, Options(device="gpu")), {"B": 2, "T": 500}, gpu, tmp_path)
    (text,) = gpu.texts.values()
    assert text.count("triton_kernel_call") >= 1 or "__gpu$xla.gpu.triton" in text
    assert not re.search(r"f32\[[\d,]*500,500[\],]", text)
