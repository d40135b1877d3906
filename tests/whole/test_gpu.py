"""What XLA makes of loops for a GPU, without one (see ``tests/support/cuda.py``).

Stores are updated in place there too, no step copies one, and the host is not asked after each step
whether there is another one: the number of steps is known.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tempoc.base.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.copies_text import audit
from tempoc.driver.options import Options
from tempoc.frontend.modules import load_source
from tempoc.runtime import blocks
from tests.support.cuda import IS_THERE, Gpu, gpu
from tests.support.examples import EXAMPLES, ROOT, compiled
from tests.whole.test_copies import SEQUENCES, SIZES

__all__ = ["gpu"]
pytestmark = pytest.mark.skipif(not IS_THERE, reason="XLA's compiler for CUDA is not installed")


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str, gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LONG", 0)
    monkeypatch.setattr(blocks, "BRIEF", 0)
    source = load_source(Source("m.rt", SEQUENCES[name]))
    bounds = {"T": 512, "B": 1} if "dim b" in source.main.source.text else {"T": 512}
    look(Compilation(source, Options()), bounds, gpu, tmp_path)


@pytest.mark.parametrize("name", [e.name for e in EXAMPLES])
def test_examples(name: str, gpu: Gpu, tmp_path: Path) -> None:
    compilation = compiled(ROOT / "examples" / f"{name}.rt")
    free = [b.name for b in compilation.emitted.program.bounds if b.value is None]
    look(compilation, {name: SIZES.get(name, 7) for name in free}, gpu, tmp_path)


def look(compilation: Compilation, bounds: dict[str, int], gpu: Gpu, folder: Path) -> None:
    compilation.write(str(folder / "out"))
    for function in audit(str(folder / "out"), bounds):
        assert function.copies == ()
        if function.loop:
            assert function.updated == function.given
        loops = re.findall(r" while\(.*", gpu.texts[function.kernel])
        unknown = [w for w in loops if "known_trip_count" not in w]
        assert bool(unknown) == (bool(loops) and ends_by_data(compilation, function.kernel))


def ends_by_data(compilation: Compilation, kernel: str) -> bool:
    """Whether only data, or an outer loop, say how often loops of the function are run."""
    text = compilation.emitted.kernels.partition(f"def {kernel}(")[2].partition("\n\n\n")[0]
    steps = re.findall(r"fori_loop\((.*), (?:\w+), ", text)
    return "while_loop(" in text or any(re.search(r"\b[a-z]\b", ends) for ends in steps)
