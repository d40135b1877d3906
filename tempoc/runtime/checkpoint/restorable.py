"""Whether a run can go on from a checkpoint: what it says fits the frame that it would fill.

Its digest tells what was damaged, not who wrote it. All functions raise ``ValueError``, with a
reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tempoc.program.analysis.traversal import variables
from tempoc.program.nodes.bounds import bounds_set_by_run
from tempoc.runtime.checkpoint.state import RestoredCheckpoint, State
from tempoc.runtime.data.bounds import LIMIT
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.device.stores import CellArrays, Layout
from tempoc.runtime.walk.code import HostCode, OpenLoop
from tempoc.runtime.walk.frame import RunFrame

ON_DEVICE, ON_HOST, BOTH = "device", "host", "both"
"""Where a cell is."""


def check_restored(
    restored: RestoredCheckpoint,
    frame: RunFrame,
    given: Mapping[str, Mapping[Any, Any]] | Mapping[str, CellArrays],
    code: HostCode,
) -> None:
    """Check that a checkpoint fits a frame with these given cells, and its code."""
    state = restored.state
    _require(0 <= state.position < len(code.resume), "it stands at no point of the program")
    _check_numbers(state, frame)
    around = code.around[state.position]
    _check_loops(state, frame, around)
    _check_cells(state, restored.arrays.keys(), frame, given)
    for store, _, source, _ in state.cells:
        if source in restored.arrays:
            layout = frame.layouts[frame.storage.numbers[store]]
            _check_array(restored.arrays[source](), layout, state.capacities, source)


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise ValueError(reason)


def _check_numbers(state: State, frame: RunFrame) -> None:
    """Bounds, lengths, capacities and counts."""
    late = bounds_set_by_run(frame.program.bounds, frame.program.lengths)
    _require(state.bounds.keys() == frame.bounds.keys(), "it has other bounds")
    for name, value in state.bounds.items():
        fits = 1 <= value < LIMIT if name in late else value == frame.bounds[name]
        _require(fits, f"its bound {name} is {value}")
    _require(state.lengths.keys() == frame.ends.keys(), "it has other lengths")
    for n in frame.program.lengths:
        points = [point for point, _ in state.lengths[n.bound]]
        fits = all(len(point) == len(n.outer) for point in points)
        _require(
            fits and len(points) == len({*map(tuple, points)}), f"its {n.bound} are no lengths"
        )
        for _, length in state.lengths[n.bound]:
            _require(1 <= length <= frame.bounds[n.bound], f"its length {n.bound} is {length}")
    sizes = frame.capacities.sizes
    fits = len(state.capacities) == len(sizes) and all(
        capacity in some for capacity, some in zip(state.capacities, sizes, strict=True)
    )
    _require(fits, "its capacities are none of the program")
    tops = [len(top) for _, top in frame.ledger.peaks()]
    fits = [len(top) for _, top in state.tops] == tops and len(state.copied) == 2
    counts = (state.done, state.printed, *state.copied, *(peak for peak, _ in state.tops))
    _require(fits and min(counts) >= 0, "its counts are none of the program")


def _check_loops(state: State, frame: RunFrame, around: tuple[OpenLoop, ...]) -> None:
    """The remaining steps of the loops around the point are some of theirs."""
    known = {*variables(frame.program.tree)}
    _require(state.variables.keys() <= known, "it has variables of other loops")
    _require(
        max(map(abs, state.variables.values()), default=0) < LIMIT, "its variables are too large"
    )
    _require(len(state.loops) == len(around), "it is in other loops")
    values = frame.variables | state.variables
    for loop, (var, start, stop, step, divided) in zip(around, state.loops, strict=True):
        _require((var, divided) == (loop.var, loop.divided), "it is in other loops")
        _require(var in state.variables, f"it does not say where the loop over {var} is")
        steps = loop.steps(values)
        _require(step == steps.step, f"its loop over {var} takes other steps")
        rest = range(start, stop, step)
        fits = not rest or (rest[0] in steps and rest[-1] in steps)
        _require(
            fits and (divided or state.variables[var] in steps), f"its loop over {var} leaves it"
        )


def _check_cells(
    state: State, arrays: Any, frame: RunFrame, given: Mapping[str, Mapping[Any, Any]]
) -> None:
    """Each cell is once there, is of a store, and is where such a cell can be."""
    numbers, sizes = frame.storage.numbers, dict(frame.program.dims)
    seen: dict[tuple[str, tuple[int, ...] | None], str] = {}
    for store, key, source, where in state.cells:
        _require(store in numbers, f"there is no store {store}")
        layout = frame.layouts[numbers[store]]
        cell = store, None if key is None else tuple(key)
        _require(cell not in seen, f"it has a cell of {store} twice")
        seen[cell] = source
        _check_key(layout, key, [frame.bounds[sizes[d]] for d in layout.keys])
        places = [ON_DEVICE, *((ON_HOST, BOTH) if layout.away else ())]
        if store in given and layout.is_chunked and source != "none":
            _require(source == "given", f"it has a part of {store}, which is given")
            places = [*map(chunk_place, range(chunk_count(layout, frame)))]
        _require(where in places, f"no cell of {store} is at the place {where!r}")
        if source == "given":
            bare = () if key is None else key[0] if len(key) == 1 else tuple(key)
            _require(bare in given.get(store, {}), f"no cell of {store} is given")
        else:
            _require(source == "none" or source in arrays, f"it lacks the tensor {source}")
    single = [layout.name for layout in frame.layouts if layout.is_single]
    lacking = [name for name in single if (name, None) not in seen]
    _require(not lacking, f"it says nothing about {', '.join(lacking)}")
    more = [name for name in arrays if name not in seen.values()]
    _require(not more, f"no store has its tensor {', '.join(more)}")


_CHUNK = "chunk "


def chunk_place(number: int) -> str:
    """The place of the cell of an input of which a chunk is on the device."""
    return f"{_CHUNK}{number}"


def chunk_of(place: str) -> int:
    """The number of the chunk at such a place."""
    return int(place.removeprefix(_CHUNK))


def chunk_count(layout: Layout, frame: RunFrame) -> int:
    """The number of chunks of an input."""
    (dim,), (size,) = layout.axes, layout.rings
    return -(-frame.bounds[dict(frame.program.dims)[dim]] // size)


def _check_key(layout: Layout, key: list[int] | None, sizes: list[int]) -> None:
    if layout.is_single:
        _require(key is None, f"{layout.name} is one cell")
        return
    fits = key is not None and len(key) == len(layout.keys)
    ends = [m or n for m, n in zip(layout.moduli, sizes, strict=True)]
    fits = fits and all(0 <= k < end for k, end in zip(key or (), ends, strict=True))
    _require(fits, f"{layout.name} has no cell {key}")


def _check_array(array: HostArray, layout: Layout, capacities: list[int], source: str) -> None:
    shape, dtype = layout.shaped(capacities), NUMPY[layout.dtype]
    fits = array.shape == shape and array.dtype == dtype
    _require(fits, f"{source} is {array.dtype}{[*array.shape]}, not {dtype}{[*shape]}")
