"""Ways to compile a program that give the same outputs, of which one may be faster than another.

Which one is cannot always be told before: it depends on the device, on sizes, on the version of
XLA. Each *knob* makes ways out of one that is there; ``tuning.py`` measures them.

- *loops*: run by the host, a call of a kernel for each step; or point by point, all that is
  independent too, in loops on the device (``-O1`` with regions);
- *room*: how many steps that have room at first in what grows with the sequence;
- *tiles*: what takes more than so many bytes is computed tile by tile, so that it stays in caches;
- *again*: cheap values are made again instead of kept;
- *commands*: what a GPU is told at once, for all kernels, then for each loop and block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.driver.search.budget import about_tiles
from tempoc.driver.search.variants import tiles_word
from tempoc.passes.memory.rematerialize import waits
from tempoc.passes.tiling.tile import Tile
from tempoc.program.analysis.traversal import every, regions
from tempoc.program.nodes.arithmetic import evaluate
from tempoc.program.nodes.gpu_commands import COMMON, WAYS
from tempoc.program.nodes.nodes import Block, Program, Region
from tempoc.runtime.data.bounds import resolve
from tempoc.runtime.device import backend

ROOMS = (0, 128, 2048)
"""Steps for which there may be room at first; 0: for all."""
LIMITS = (1 << 22, 1 << 18)
"""Bytes above which tensors may be cut into tiles: a part of what caches of CPUs hold."""
MANY = 8
"""Where there are more loops and blocks on the device, none is looked at by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A way to compile a program; ``name`` and ``about`` say what is different, in short and not.

    Both are empty for the way that is there.
    """

    compilation: Compilation
    name: str = ""
    about: str = ""

    def but(self, compilation: Compilation, name: str, about: str) -> Candidate:
        """The same with one more thing that is different."""
        names, texts = (f"{self.name}-{name}", f"{self.about}, {about}")
        return Candidate(compilation=compilation, name=names.lstrip("-"), about=texts.lstrip(", "))


Move = Callable[[Candidate, Mapping[str, int]], Iterator[Candidate]]
"""Ways that differ in one thing; the mapping has the values of all bounds that are given."""


def loops(way: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Loops somewhere else."""
    options, program = way.compilation.options, way.compilation.emitted.program
    if not _is_free(options):
        return
    if any(True for _ in regions(program.tree)):
        compilation = _recompiled(way, replace(options, regions=False))
        yield way.but(compilation, "loops-by-host", "loops run by the host")
    elif not options.on_device:
        compilation = _recompiled(way, replace(options, regions=True))
        yield way.but(compilation, "loops-on-device", "loops run on the device")
    if options.level == 2 and options.recompute is None:
        compilation = _recompiled(way, replace(options, level=1, regions=True, limit=None))
        yield way.but(compilation, "points", "point by point, in loops on the device")


def room(way: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Other sizes for what grows, as far as it comes to them."""
    options = way.compilation.options
    most = max(_growing(way.compilation.emitted.program, sizes), default=0)
    for size in ROOMS if _is_free(options) else ():
        if size < most and size != options.bucket:
            compilation = _recompiled(way, replace(options, bucket=size))
            text = f"room for {size} steps at first" if size else "room for all steps at first"
            yield way.but(compilation, f"bucket-{size}", text)


def tiles(way: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Smaller tiles, where that makes a difference."""
    options, previous = way.compilation.options, way.compilation
    has_tiles = any(isinstance(s, Tile) for s in previous.steps)
    if options.tile is not None or not has_tiles or not _is_free(options):
        return
    for limit in (n for n in LIMITS if options.limit is None or n < options.limit):
        compilation = _recompiled(way, replace(options, limit=limit, sizes=dict(sizes)))
        if compilation.passes.graph != previous.passes.graph:
            yield way.but(compilation, tiles_word(limit), about_tiles(limit))
            previous = compilation


def again(way: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """Cheap values made again instead of kept."""
    options = way.compilation.options
    if options.recompute is None and options.level > 0 and _is_free(options):
        compilation = _recompiled(way, replace(options, recompute="cheap", sizes=dict(sizes)))
        if waits(compilation.passes.graph):
            yield way.but(compilation, "recompute-cheap", "values that cost little made again")


def commands(way: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """On a GPU, command buffers for nothing, or for whole loops, too."""
    if backend.has_commands():
        for mode in WAYS[1:]:
            yield _with_commands(way, "", mode)


def commands_of_loop(number: int, way: Candidate, sizes: Mapping[str, int]) -> Iterator[Candidate]:
    """The same by itself for one of several functions that are loops, or many kernels."""
    tree = way.compilation.emitted.program.tree
    names = [part.kernel for part in every(tree) if isinstance(part, Region | Block)]
    if backend.has_commands() and 1 < len(names) <= MANY and number < len(names):
        name, current = names[number], way.compilation.options.commands
        for mode in (w for w in WAYS if w != current.get(name, current.get("", COMMON))):
            yield _with_commands(way, name, mode)


MOVES: tuple[Move, ...] = (
    loops,
    room,
    tiles,
    again,
    commands,
    *(partial(commands_of_loop, number) for number in range(MANY)),
)
"""In the order in which they are turned: each begins with the best way so far."""
_COMMAND_TEXTS = {
    "default": "command buffers as usual",
    "none": "no command buffers",
    "loops": "command buffers for whole loops",
}


def _with_commands(way: Candidate, kernel: str, mode: str) -> Candidate:
    compilation = way.compilation.with_commands({kernel: mode})
    place = f" in {kernel}" if kernel else ""
    return way.but(
        compilation, f"commands-{mode}" + f"-{kernel}" * bool(kernel), _COMMAND_TEXTS[mode] + place
    )


def _is_free(options: Options) -> bool:
    """Whether anything else may change: not where stores by name, or passes, were chosen."""
    return not (options.away or options.apart or options.walk) and options.passes is None


def _recompiled(way: Candidate, options: Options) -> Compilation:
    return way.compilation.variant(options)


def _growing(program: Program, sizes: Mapping[str, int]) -> Iterator[int]:
    """How large stores become that grow."""
    values = resolve(program, sizes, (), {}).values
    for store in program.stores:
        for axis in store.axes:
            if axis.least:
                yield evaluate(axis.size, values)
