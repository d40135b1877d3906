"""Points of a kernel that read what they have just written, and what others wrote before."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.runtime.run import run

LAYERS = """
dim l < L = 2
dim i < I
input u[i]: f32
input a[l, i]: f32
p[l, i] = 2.0 * a[l+1, i] when l < L-1
p[l, i] = u
e[l, i] = a - p when l == L-1
e[l, i] = 0.5 * p
b[l, i] = p[l-1, i] * e when l >= 1
b[l, i] = e
output b
"""


def test_a_layer_reads_itself_and_the_one_below(tmp_path: Path) -> None:
    Compilation(load_source(Source("m.rt", LAYERS)), Options()).write(tmp_path / "out")
    u, a = np.float32([1, 2, 3]), np.float32([[4, 5, 6], [7, 8, 9]])
    b = run(tmp_path / "out", {}, {"u": u, "a": a}).outputs["b"]
    np.testing.assert_array_equal(b, [a[1], 2 * a[1] * (a[1] - u)])
