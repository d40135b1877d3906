"""Host programs as flat code: a sequence of instructions, each of which names the next one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tempoc.program.nodes import nodes as prog
from tempoc.runtime.walk.frame import RunFrame
from tempoc.runtime.walk.values import Variables

Instruction = Callable[[RunFrame], int]
"""Changes the state of a run, and returns the number of the next instruction."""
END = -1
"""The number of no instruction: the run is over."""
KernelCall = prog.Call | prog.Region | prog.Block
"""What calls a kernel."""


class OpenLoop(NamedTuple):
    """A loop around a suspend point: its variable, its steps, whether calls divide them."""

    var: str
    steps: Callable[[Variables], range]
    divided: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class HostCode:
    """The instructions of a program for given bounds and given stores.

    The first is ``entry``. ``calls`` has the nodes of those that call kernels or host functions,
    ``resume`` the instruction after each suspend point, ``around`` the loops around it. ``hosts``
    are referred to by number; ``zeros`` are the stores, by number, that need zeros
    for absent arguments.
    ``straight`` are the stores of inputs and params whose arrays are passed directly to a call.
    """

    instructions: tuple[Instruction, ...]
    entry: int
    calls: Mapping[int, KernelCall | prog.Host]
    resume: tuple[int, ...]
    around: tuple[tuple[OpenLoop, ...], ...]
    loops: tuple[prog.Loop, ...]
    hosts: tuple[prog.Host, ...]
    zeros: tuple[int, ...]
    straight: frozenset[str]


def execute(code: HostCode, frame: RunFrame) -> None:
    """Run from the frame's position to the end; after an exception it says where that was."""
    instructions, number = code.instructions, frame.position
    frame.position = END
    try:
        while number >= 0:
            number = instructions[number](frame)
    except BaseException:
        if frame.position == END:  # an instruction of several actions knows which of them failed
            frame.position = number
        raise
