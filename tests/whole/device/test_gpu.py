"""What XLA makes of loops for a GPU, without one (see ``tests/support/gpu/cuda.py``).

Stores are updated in place there too, no step copies one, and the host is not asked after each step
whether there is another one: the number of steps is known.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.report.copies import audit
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.walk import blocks
from tests.support.examples import EXAMPLES, ROOT, compiled
from tests.support.gpu.cuda import IS_THERE, Gpu, gpu
from tests.whole.device.test_copies import SEQUENCES, SIZES

__all__ = ["gpu"]
pytestmark = pytest.mark.skipif(not IS_THERE, reason="XLA's compiler for CUDA is not installed")


# Loops of which data say how long they last, or loops around them.
UNKNOWN = ("until", "one of a batch, until", "11_collatz", "13_lbfgs")


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str, gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "single_call_blocks", lambda *_: frozenset())
    source = load_source(Source("m.rt", SEQUENCES[name]))
    bounds = {"T": 512, "B": 1} if "dim b" in source.main.source.text else {"T": 512}
    assert look(Compilation(source, Options()), bounds, gpu, tmp_path) == (name not in UNKNOWN)


@pytest.mark.parametrize("name", [e.name for e in EXAMPLES])
def test_examples(name: str, gpu: Gpu, tmp_path: Path) -> None:
    compilation = compiled(ROOT / "examples" / f"{name}.rt")
    free = [b.name for b in compilation.emitted.program.bounds if b.value is None]
    bounds = {name: SIZES.get(name, 7) for name in free}
    assert look(compilation, bounds, gpu, tmp_path) == (name not in UNKNOWN)


def look(compilation: Compilation, bounds: dict[str, int], gpu: Gpu, folder: Path) -> bool:
    """Look at all functions; whether XLA knows how many steps their loops have."""
    compilation.write(str(folder / "out"))
    found = []
    for function in audit(str(folder / "out"), bounds):
        assert function.copies == ()
        if function.loop:
            assert function.updated == function.given
        found += re.findall(r" while\(.*", gpu.texts[function.kernel])
    return all("known_trip_count" in loop for loop in found)


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
