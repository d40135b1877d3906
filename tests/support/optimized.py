"""What passes make of programs: evaluated like the program itself, without kernels and XLA.

That takes seconds where a run takes minutes. The schedule and the memory plan are verified, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.sdg.verification.equivalence import values_at
from tests.support.agreement import data, free_bounds

PLAIN = Options(verify_each=True)


def assert_kept(
    text: str, *sizes: int | Mapping[str, int], options: Options = PLAIN
) -> Compilation:
    """The passes keep the meaning for all these values of bounds; all verifiers run.

    Both graphs are evaluated in float64, so that another order of additions does not show.
    """
    compilation = Compilation(load_source(Source("m.rt", text)), options)
    after = compilation.optimized
    assert compilation.proof is not None
    for bounds in every(text, sizes):
        given = data(compilation.graph, bounds, special=False)
        wanted = values_at(compilation.graph, bounds, given)
        found = values_at(after, bounds, {n: a for n, a in given.items() if n in after.nodes})
        assert list(found) == list(wanted)
        for name, value in wanted.items():
            where = f"{name} with {dict(bounds)}"
            assert (found[name].dtype, found[name].shape) == (value.dtype, value.shape), where
            np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-8, err_msg=where)
    return compilation


def every(text: str, sizes: Iterable[int | Mapping[str, int]]) -> list[Mapping[str, int]]:
    """Values of the bounds that a program leaves free; a number stands for all of them."""
    free = free_bounds(text)
    return [dict.fromkeys(free, size) if isinstance(size, int) else size for size in sizes]
