"""The budget of a run without one: what the device has, minus what kernels need beside stores.

A program that takes less than half of the device is left as it is, without a further look. Else
the kernels are compiled for the bounds of the run: their temporary buffers have to fit beside the
stores. Tiles make both smaller, so the search is repeated with what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tempoc.base.cost_model import MODEL, CostModel
from tempoc.base.effort import EFFORT
from tempoc.diagnostics.diagnostic import RunError
from tempoc.driver.compilation import Compilation
from tempoc.driver.search.budget import BudgetFit, FilledStores, fit_budget
from tempoc.files.temporary import temporary_folder
from tempoc.footprint.compiled import compiled
from tempoc.runtime.data.bounds import bound_values
from tempoc.runtime.load.load import load


def fit_device(
    compilation: Compilation,
    bounds: Mapping[str, int],
    filled: FilledStores,
    memory: int,
    *,
    model: CostModel = MODEL,
) -> BudgetFit:
    """The cheapest variant whose stores and temporary buffers fit into ``memory`` bytes.

    If there is none with the buffers, the last one whose stores fit. Raises ``RunError`` if not
    even these do.
    """
    try:
        fitting = fit_budget(compilation, bounds, filled, memory, model=model)
    except RunError as error:
        note = "the budget is what the device has, since --memory-budget names no other"
        raise RunError(*(replace(d, notes=(*d.notes, note)) for d in error.diagnostics)) from None
    for _ in range(EFFORT.device_rounds):
        peak = fitting.chosen.peak
        if peak <= memory // 2:
            break
        beside = temporaries(fitting.chosen.compilation, bounds, filled)
        if peak + beside <= memory:
            break
        try:
            left = max(memory - beside, peak // 2)
            fitting = fit_budget(compilation, bounds, filled, left, model=model)
        except RunError:
            break
    return replace(fitting, budget=memory, of_device=True)


def temporaries(compilation: Compilation, bounds: Mapping[str, int], filled: FilledStores) -> int:
    """The most bytes of temporary buffers that a kernel needs, as XLA compiles it."""
    with temporary_folder() as folder:
        directory = Path(folder, "out")
        compilation.write(str(directory), durable=False)
        loaded = load(directory)
        program = loaded.program
        kernels = compiled(loaded, bound_values(program, bounds), filled(program))
        return max((kernel.temporary for kernel in kernels), default=0)
