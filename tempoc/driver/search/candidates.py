"""Candidates: compilations of a program that give the same outputs with other costs.

Two searches derive them from a compilation, by the same functions where they do the same, and name
how they differ by the same words: ``budget.py`` predicts peaks, and has an order of its own;
``tuning.py`` measures times, since these depend on the device, the sizes and the version of XLA.
For it, each *move* derives candidates from the best one so far by changing one thing:

- *loops*: run by the host, with a kernel call per step; or everything point by point, in loops on
  the device (``-O1`` with regions);
- *initial capacity*: in steps, of stores that grow with the sequence;
- *tiles* of tensors above a limit of bytes, so that they stay in caches;
- *rematerialization* of cheap values;
- *commands*: command buffers of a GPU, for all kernels, then for each loop and block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import NamedTuple

from tempoc.base.cost_model import MODEL, CostModel, row
from tempoc.base.effort import EFFORT
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.offload.chunks import NoChunks
from tempoc.passes.memory.rematerialize import is_rematerialized
from tempoc.passes.tiling.tile import Tile
from tempoc.program.analysis.traversal import regions, statements_in
from tempoc.program.nodes.gpu_commands import COMMON, NONE, WAYS
from tempoc.program.nodes.nodes import Block, Program, Region
from tempoc.runtime.data.bounds import bound_values, resolve
from tempoc.runtime.data.dtypes import NUMPY
from tempoc.runtime.device import backend
from tempoc.runtime.messages.units import size_text
from tempoc.symbolic.walk import evaluate

AS_IT_IS = "as it is"
_SHOWN = 4


def device_row() -> CostModel:
    """The row of the cost model for the device of this process."""
    return row("gpu" if backend.has_commands() else "cpu")


class Difference(NamedTuple):
    """How a compilation differs: ``name`` in the name of a folder, ``about`` in words."""

    name: str
    about: str


BY_HOST = Difference("loops-by-host", "loops run by the host")
OUTER_BY_HOST = Difference("outer-loops-by-host", "loops that move it run by the host")
APART = Difference("points-apart", "one array per point of inputs and outputs, room for no more")
IN_TURN = Difference("large-points-in-turn", "large points one after the other")
RUNNING = Difference("running-sums", "large sums added up step by step")
POINTS = Difference("points", "point by point, in loops on the device")
RECOMPUTED = {
    "cheap": Difference("recompute-cheap", "cheap values rematerialized"),
    "all": Difference("recompute-all", "values rematerialized"),
}
"""By ``Options.recompute``."""


def tiles_above(limit: int) -> Difference:
    """Tiles of tensors above a limit of bytes."""
    size = size_text(limit)
    short = size.replace(" ", "").replace(".00", "")
    return Difference(f"tiles-{short}", f"tiles of what takes more than {size}")


def differences(options: Options) -> Iterator[Difference]:
    """How a variant for a memory budget differs from the plain compilation."""
    if options.chunks:
        yield Difference("chunks", f"{_listed([*options.chunks])} in chunks")
    if options.recompute is not None:
        yield RECOMPUTED[options.recompute]
    if options.running:
        yield RUNNING
    if options.limit is not None:
        yield tiles_above(options.limit)
    if options.away:
        yield Difference("offload", f"{_listed([*options.away])} with the host between uses")
    if options.chunks and options.on_device:
        yield from (POINTS,) if options.level < 2 else ()
        yield from (IN_TURN,) if options.walk else ()
    elif options.apart:
        rolled = OUTER_BY_HOST if options.hosted else APART
        name, about = rolled if options.on_device else BY_HOST
        about += " point by point" if options.level < 2 else ""
        if options.walk:
            name, about = f"{IN_TURN.name}-{name}", f"{about}, {IN_TURN.about}"
        yield Difference(name, about)
    elif options.walk:
        yield IN_TURN


def _listed(names: Sequence[str]) -> str:
    """Names of stores, the first ones if there are many."""
    shown, more = [f"`{name}`" for name in names], len(names) - _SHOWN
    return ", ".join(shown) if more < 2 else f"{', '.join(shown[:_SHOWN])} and {more} more"


def chunked(
    compilation: Compilation, most: Sequence[int], sizes: Mapping[str, int]
) -> Iterator[tuple[int, Compilation]]:
    """The compilation with its large inputs in chunks, with the bytes of a chunk.

    At first without chunks, but with no room for more steps than there are. There are three ways
    of reading chunks, each with chunks of at most so many bytes, for each number in ``most``. A way
    is given up where no chunk has what a call needs, of whatever size.
    """
    options, program = compilation.options, compilation.emitted.program
    if options.passes is not None or options.level < 2:
        return
    walked = replace(options, apart=True, bucket=0, walk=True, sizes=dict(sizes))
    point = replace(walked, walk=False, level=1, regions=options.on_device)
    exact, serial = (compilation.variant(o) for o in (replace(walked, walk=False), walked))
    yield 0, exact
    if is_alike(serial, exact):
        walked = exact.options
    else:
        yield 0, serial
    for base, is_tiled in ((walked, False), (walked, True), (point, False)):
        if is_tiled and not is_tileable(compilation):
            continue
        for nbytes in most:
            rows = chunk_rows(program, nbytes, sizes)
            limit = nbytes if is_tiled else base.limit
            if rows:
                variant = compilation.variant(replace(base, chunks=rows, limit=limit))
                try:
                    variant.emitted  # noqa: B018
                except NoChunks:
                    if not is_tiled:
                        break
                    continue
                yield nbytes, variant


def chunk_rows(program: Program, nbytes: int, sizes: Mapping[str, int]) -> dict[str, int]:
    """The rows of a chunk, a power of two, for each input of one dimension that has more.

    All have the same number, so that loops over their rows come to the ends of chunks together.
    """
    rows = {
        name: (size, length)
        for name, (size, length) in input_rows(program, sizes).items()
        if size * length >= MODEL.small_bytes
    }
    count = max(1, nbytes // max(1, sum(size for size, _ in rows.values())))
    count = 1 << (count.bit_length() - 1)
    return {name: count for name, (_, length) in rows.items() if length > count}


def chunked_bytes(compilation: Compilation, sizes: Mapping[str, int]) -> int:
    """The bytes of the inputs that are with the host, and read in chunks."""
    chunks = compilation.options.chunks
    rows = input_rows(compilation.emitted.program, sizes) if chunks else {}
    return sum(size * length for name, (size, length) in rows.items() if name in chunks)


def input_rows(program: Program, sizes: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """For each input of one dimension the bytes of a row, and the number of rows."""
    values, lengths = bound_values(program, sizes), dict(program.dims)
    rows: dict[str, tuple[int, int]] = {}
    for item in program.inputs:
        if len(item.dims) == 1 and item.dtype != "key":
            elements = prod(evaluate(e, values) for e in item.shape)
            nbytes = elements * NUMPY[item.dtype].itemsize
            rows[item.store] = nbytes, values[lengths[item.dims[0]]]
    return rows


def is_tileable(compilation: Compilation) -> bool:
    """Whether the pipeline tiles, by a limit and not by a fixed size."""
    return compilation.options.tile is None and any(isinstance(s, Tile) for s in compilation.steps)


def tiled(compilation: Compilation, limit: int, sizes: Mapping[str, int]) -> Compilation:
    """The compilation with tensors tiled that take more bytes than a limit at these bounds."""
    return compilation.variant(replace(compilation.options, limit=limit, sizes=dict(sizes)))


def rematerialized(
    compilation: Compilation, work: str, sizes: Mapping[str, int]
) -> Compilation | None:
    """The compilation with values rematerialized (``RECOMPUTE``); ``None`` if none are."""
    if compilation.options.recompute is not None:
        return None
    options = replace(compilation.options, recompute=work, sizes=dict(sizes))
    variant = compilation.variant(options)
    return variant if is_rematerialized(variant.passes.graph) else None


def running(compilation: Compilation, sizes: Mapping[str, int]) -> Compilation | None:
    """The compilation with large sums accumulated where summands are computed; ``None`` if none."""
    options = compilation.options
    if options.passes is not None or options.level < 2 or options.running:
        return None
    variant = compilation.variant(replace(options, running=True, sizes=dict(sizes)))
    return None if is_alike(variant, compilation) else variant


def is_alike(a: Compilation, b: Compilation) -> bool:
    """Whether two compilations have the same graph after all passes."""
    return a.passes.graph == b.passes.graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A compilation; ``name`` (short) and ``about`` (in words) say how it differs.

    Both are empty for the compilation that the search starts from.
    """

    compilation: Compilation
    name: str = ""
    about: str = ""

    def but(self, compilation: Compilation, name: str, about: str) -> Candidate:
        """The candidate with one more difference."""
        names, texts = (f"{self.name}-{name}", f"{self.about}, {about}")
        return Candidate(compilation=compilation, name=names.lstrip("-"), about=texts.lstrip(", "))


Move = Callable[[Candidate, Mapping[str, int]], Iterator[Candidate]]
"""Derives candidates that differ in one thing; the mapping has the values of the free bounds."""


def loops(candidate: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Loops on the host instead of the device, or the reverse; or all points in loops."""
    options, program = candidate.compilation.options, candidate.compilation.emitted.program
    if not _is_free(options):
        return
    if any(True for _ in regions(program.tree)):
        compilation = _recompiled(candidate, replace(options, regions=False))
        yield candidate.but(compilation, *BY_HOST)
    elif not options.on_device:
        compilation = _recompiled(candidate, replace(options, regions=True))
        yield candidate.but(compilation, "loops-on-device", "loops run on the device")
    if options.level == 2 and options.recompute is None:
        compilation = _recompiled(candidate, replace(options, level=1, regions=True, limit=None))
        yield candidate.but(compilation, *POINTS)


def initial_capacity(candidate: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Other initial capacities of growing stores, below the size that they reach."""
    options = candidate.compilation.options
    most = max(_growing(candidate.compilation.emitted.program, sizes), default=0)
    for size in MODEL.tuned_capacities if _is_free(options) else ():
        if size < most and size != options.bucket:
            compilation = _recompiled(candidate, replace(options, bucket=size))
            text = f"initial capacity for {size or 'all'} steps"
            yield candidate.but(compilation, f"bucket-{size}", text)


def tiles(candidate: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Smaller tiles, where they change the graph."""
    options, previous = candidate.compilation.options, candidate.compilation
    if not is_tileable(previous) or not _is_free(options):
        return
    for limit in (n for n in MODEL.tuned_limits if options.limit is None or n < options.limit):
        compilation = tiled(candidate.compilation, limit, sizes)
        if not is_alike(compilation, previous):
            yield candidate.but(compilation, *tiles_above(limit))
            previous = compilation


def rematerialization(candidate: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Rematerialization of cheap values, where it changes the graph."""
    options = candidate.compilation.options
    if options.level > 0 and _is_free(options):
        compilation = rematerialized(candidate.compilation, "cheap", sizes)
        if compilation is not None:
            yield candidate.but(compilation, *RECOMPUTED["cheap"])


def commands(candidate: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """On a GPU: no command buffers."""
    if backend.has_commands():
        for mode in WAYS[1:]:
            yield _with_commands(candidate, "", mode)


def commands_of_loop(
    number: int, candidate: Candidate, sizes: Mapping[str, int]
) -> Iterator[Candidate]:
    """Other command buffers for one of several kernels that are loops or blocks."""
    tree = candidate.compilation.emitted.program.tree
    names = [part.kernel for part in statements_in(tree) if isinstance(part, Region | Block)]
    if backend.has_commands() and 1 < len(names) <= EFFORT.tuned_kernels and number < len(names):
        name, current = names[number], candidate.compilation.options.commands
        for mode in (w for w in WAYS if w != current.get(name, current.get("", COMMON))):
            yield _with_commands(candidate, name, mode)


MOVES: tuple[Move, ...] = (
    loops,
    initial_capacity,
    tiles,
    rematerialization,
    commands,
    *(partial(commands_of_loop, number) for number in range(EFFORT.tuned_kernels)),
)
"""In the order in which they are tried: each starts from the best candidate so far."""


def most_candidates(moves: Sequence[Move]) -> int:
    """At most so many candidates do moves derive."""
    most: dict[Move, int] = {
        loops: 2,
        initial_capacity: len(MODEL.tuned_capacities),
        tiles: len(MODEL.tuned_limits),
        rematerialization: 1,
    }
    on_gpu = len(WAYS) - 1 if backend.has_commands() else 0
    return sum(most.get(move, on_gpu) for move in moves)


_COMMAND_TEXTS = {COMMON: "command buffers", NONE: "no command buffers"}


def _with_commands(candidate: Candidate, kernel: str, mode: str) -> Candidate:
    compilation = candidate.compilation.with_commands({kernel: mode})
    place = f" in {kernel}" if kernel else ""
    return candidate.but(
        compilation, f"commands-{mode}" + f"-{kernel}" * bool(kernel), _COMMAND_TEXTS[mode] + place
    )


def _is_free(options: Options) -> bool:
    """Whether moves may change options: not with offloaded stores or a pipeline of the user."""
    return not (options.away or options.apart or options.walk) and options.passes is None


def _recompiled(candidate: Candidate, options: Options) -> Compilation:
    return candidate.compilation.variant(options)


def _growing(program: Program, sizes: Mapping[str, int]) -> Iterator[int]:
    """The final sizes of growing axes."""
    values = resolve(program, sizes, (), {}).values
    for store in program.stores:
        if store.growing and store.growing.least:
            yield evaluate(store.growing.size, values)
