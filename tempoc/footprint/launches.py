"""What a compiled function launches on a GPU, from XLA's list of thunks.

A thunk is a kernel, a copy, a call of a library, a loop or a branch; a command buffer (a CUDA
graph) is a thunk that holds others::

    001: kCopy  [source | next=002 (1)] kCopy
    002: kWhile [prev=001 (1) | sink]
    condition:
        003: kCustomKernel [source | sink] loop_compare_fusion grid: ...
      body:
        000: kCommandBuffer [source | sink]
            004: kCustomKernel [source | sink] input_reduce_fusion grid: ...

XLA writes the list where it is told to dump; it is meant for people, so what is not understood of
it counts as nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_THUNK = re.compile(r"( *)\d+: k(\w+)\s")
_LABEL = re.compile(r"\s*([a-z_0-9]+):\s*$")
GRAPH, LOOP, CONDITION = "CommandBuffer", "While", "condition"
WAITS = "Done"
"""So end kinds of thunks that wait for another one."""
RECORDED = frozenset({"CustomKernel", "Kernel", "Copy", "Memset32BitValue", "MemzeroThunk"})
"""Kinds of thunks that any graph holds."""


@dataclass(slots=True, kw_only=True)
class Thunk:
    """A thunk: its kind without ``k``, and those in it, but for conditions of loops."""

    kind: str
    inside: list[Thunk] = field(default_factory=list)


def thunks(text: str) -> list[Thunk]:
    """The outermost thunks of a list."""
    root, label = Thunk(kind=""), ""
    stack: list[tuple[int, Thunk]] = [(-1, root)]
    for line in text.splitlines():
        if section := _LABEL.match(line):
            label = section[1]  # what follows a condition is the body of its loop
        elif label != CONDITION and (thunk := _THUNK.match(line)):
            depth, entry = len(thunk[1]), Thunk(kind=thunk[2])
            while stack[-1][0] >= depth:
                stack.pop()
            stack[-1][1].inside.append(entry)
            stack.append((depth, entry))
    return root.inside


@dataclass(frozen=True, slots=True, kw_only=True)
class Launches:
    """The launches of a function, or of a step of its loop.

    ``graphs`` hold ``held`` of them, ``alone`` are others. ``whole``: one graph holds the function.
    ``loops`` are the steps of loops beside the graphs; ``between`` the kinds of other thunks that
    no graph holds.
    """

    whole: bool
    graphs: int
    held: int
    alone: int
    loops: tuple[Launches, ...]
    between: tuple[str, ...]


def launches(text: str, is_loop: bool) -> Launches | None:
    """What a list of thunks says; of a loop, its step. ``None`` if there is nothing in it."""
    outermost = thunks(text)
    if not outermost:
        return None
    if [t.kind for t in outermost] == [GRAPH]:
        held = len([*_leaves(outermost)])
        return Launches(whole=True, graphs=1, held=held, alone=0, loops=(), between=())
    step: Sequence[Thunk] = outermost
    if is_loop:
        loops = [t for t in _all(outermost) if t.kind == LOOP]
        step = max(loops, key=lambda t: len([*_all(t.inside)])).inside if loops else outermost
    return _counted(step)


def _counted(step: Sequence[Thunk]) -> Launches:
    """The launches of these thunks."""
    graphs = [t for t in step if t.kind == GRAPH]
    rest = [t for t in step if t.kind not in (GRAPH, LOOP)]
    between = dict.fromkeys(t.kind for t in _leaves(rest) if t.kind not in RECORDED)
    return Launches(
        whole=False,
        graphs=len(graphs),
        held=len([*_leaves(graphs)]),
        alone=len([*_leaves(rest)]),
        loops=tuple(_counted(t.inside) for t in step if t.kind == LOOP),
        between=(*between,),
    )


def _all(some: Sequence[Thunk]) -> Iterator[Thunk]:
    for thunk in some:
        yield thunk
        yield from _all(thunk.inside)


def _leaves(some: Sequence[Thunk]) -> Iterator[Thunk]:
    """The thunks that launch something; a loop or a branch counts for what is in it."""
    leaves = (thunk for thunk in _all(some) if not thunk.inside and thunk.kind != GRAPH)
    return (thunk for thunk in leaves if not thunk.kind.endswith(WAITS))
