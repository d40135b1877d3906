"""Programs with `until`, compiled once at all levels and run often, against the evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tests.support.agree import compiled, levels_of
from tests.support.elaborated import graph_of
from tests.support.session.kernels import lengths_in_share
from tests.support.session.long import chosen, in_share

Arrays = Mapping[str, Any]


class Agreeing:
    """A program at the ``levels_of`` it, or others; a call gives what all agree on.

    Below -O2 many kernels take long to compile, and are the same for all bounds: `make test` runs
    them with the first bounds of which none is 1, and all data for these. There must be such. It
    has such levels, also where they are named, for half of the programs.
    """

    def __init__(self, text: str, folder: Path, levels: tuple[int, ...] | None = None) -> None:
        self.graph: Graph = graph_of(text)
        self.text = text
        self.plain: Mapping[str, int] | None = None
        """The bounds for levels below 2."""
        has_all = levels is None or in_share(f"levels of {text}", of=2)
        tried = [n for n in levels or levels_of(text) if has_all or n == 2]
        self.folders = {level: compiled(text, folder, level) for level in tried}
        self.lengths: dict[str, int] = {}

    def __call__(
        self,
        bounds: Mapping[str, int],
        inputs: Arrays | None = None,
        params: Arrays | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        inputs, params = inputs or {}, params or {}
        wanted = evaluate(self.graph, bounds, inputs, params, seed=seed)
        if self.plain is None and 1 not in bounds.values():
            self.plain = bounds
        for level, folder in self.folders.items():
            if level < 2 and bounds != self.plain and not chosen["long"]:
                continue
            with lengths_in_share(self.text):
                found = run(folder, bounds, inputs, params, seed=seed)
            self.lengths = dict(found.lengths)
            assert list(found.outputs) == list(wanted)
            for name, value in wanted.items():
                shown = f"{name} with {dict(bounds)} at -O{level}"
                assert found.outputs[name].shape == value.shape, shown
                np.testing.assert_allclose(
                    found.outputs[name], value, rtol=1e-4, atol=1e-5, err_msg=shown
                )
        return wanted
