"""What prevents that one CUDA graph holds a function or a loop, in words of the source.

XLA's command buffers hold kernels and copies, and steps of loops. They cannot hold whole loops
(`program/nodes/gpu_commands.py`), calls of libraries that XLA does not record, nor what the host
does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.driver.capture.functions import (
    LaunchedCall,
    device_loops,
    growing_stores,
    moved_stores,
    new_arrays,
)
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.host_loops import Finding, HostLoops
from tempoc.driver.slow.words import Words, quoted
from tempoc.ops.control.externs import ExternJax
from tempoc.ops.control.recurrence import Recurrence
from tempoc.program.analysis.open_loops import is_open, known_bounds
from tempoc.program.analysis.traversal import calls
from tempoc.program.nodes import nodes as prog
from tempoc.sdg.graph.graph import Node
from tempoc.symbolic.walk import symbols


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacles:
    """The findings about a function or a loop of the host.

    What ``hosts`` do and ``libraries`` no graph holds, of ``users`` what JAX traces. ``loops``
    within a step have graphs of their own, and the host reads ``ends``, which decide how long a
    loop goes on. ``notes`` say what makes XLA build graphs again, or update them.
    """

    hosts: tuple[Finding, ...] = ()
    libraries: tuple[Finding, ...] = ()
    users: tuple[Finding, ...] = ()
    ends: tuple[Finding, ...] = ()
    loops: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()

    @property
    def all(self) -> tuple[Finding, ...]:
        """Each once, the gravest first."""
        some = (*self.hosts, *self.libraries, *self.users, *self.ends, *self.loops, *self.notes)
        return (*dict.fromkeys(some),)


class CaptureFindings:
    """Finds the obstacles of one program; ``bounds`` has the values of all bounds."""

    def __init__(self, compilation: Compilation, words: Words, bounds: Mapping[str, int]) -> None:
        self.program = compilation.emitted.program
        self.members = compilation.emitted.members
        self.graph = compilation.optimized
        self.words = words
        self.hosts = HostLoops(compilation, words)
        self.bounds = bounds
        self.known = known_bounds(self.program)

    def of_host_loop(self, loop: prog.Loop) -> Obstacles:
        """Why the host runs a loop, and what it moves in each step."""
        reasons = [self.hosts.of(loop.var)]
        moved = self.tensors(moved_stores(loop))
        if moved:
            why = f"{quoted(moved)} {_be(moved)} copied between host and device in each step"
            help_ = "a larger --memory-budget keeps on the device what fits"
            reasons.append(Finding(why=why, help=help_))
        return Obstacles(hosts=tuple(reasons))

    def of_call(self, call: LaunchedCall, repeated: bool) -> Obstacles:
        """What is in a function of the device; ``repeated``: it is called more than once."""
        return Obstacles(
            libraries=(*self.libraries(call),),
            users=(*self.users(call),),
            loops=(
                *self.inner_loops(call),
                *self.kernel_loops(call),
            ),
            ends=(*self.until(call),),
            notes=(*self.notes(call, repeated),),
        )

    def nodes(self, call: LaunchedCall) -> list[Node]:
        """The nodes that a function computes."""
        names = (m for c in calls(call) for m in self.members.get(c.kernel, ()))
        return [self.graph.nodes[m] for m in dict.fromkeys(names)]

    def libraries(self, call: LaunchedCall) -> Iterator[Finding]:
        """Operators for which XLA calls libraries."""
        for node in self.nodes(call):
            line = self.words.line(node)
            if node.op.library:
                yield Finding(
                    why=f"{line} computes `{self.words.name(node.name)}` with `{node.op.name}`, "
                    f"for which XLA calls {node.op.library}: a graph ends there, and another "
                    f"begins behind it"
                )

    def users(self, call: LaunchedCall) -> Iterator[Finding]:
        """Functions of the user."""
        for node in self.nodes(call):
            if isinstance(node.op, ExternJax):
                line = self.words.line(node)
                yield Finding(
                    why=f"{line} calls `{node.op.extern}`: XLA records what JAX traces of it, but "
                    f"no call back to Python (`jax.pure_callback`)",
                )

    def until(self, call: LaunchedCall) -> Iterator[Finding]:
        """Loops whose length data decide, if they are in the function."""
        if isinstance(call, prog.Region | prog.Block):
            ended = {
                e.bound
                for loop in device_loops(call, self.bounds)
                for c in calls(loop)
                for e in c.endings
            }
            for bound in dict.fromkeys(symbols(call.lengths[k])[0] for k in call.endings):
                if bound in ended:
                    stop = self.hosts.until(bound)
                    yield Finding(
                        why=f"the host reads after each step whether there is another one: {stop} "
                        f"decides"
                    )

    def ending(self, call: LaunchedCall) -> Iterator[Finding]:
        """Loops of the host that end by what a function finds."""
        ended = {
            e.bound
            for loop in device_loops(call, self.bounds)
            for c in calls(loop)
            for e in c.endings
        }
        for bound in dict.fromkeys(e.bound for c in calls(call) for e in c.endings):
            if bound not in ended:
                yield Finding(
                    why=f"the host waits for it to know whether there is another step: "
                    f"{self.hosts.until(bound)} decides"
                )

    def inner_loops(self, call: LaunchedCall) -> Iterator[Finding]:
        """Loops within a step, or within a block."""
        for loop in device_loops(call, self.bounds):
            is_root = isinstance(call, prog.Region) and loop is call.loop
            if not is_root and not any(c.endings for c in calls(loop)):
                varies = ", and the host reads after each of its steps whether there is another one"
                varies = varies if is_open(loop, self.known) else ""
                yield Finding(
                    why=f"the loop over `{loop.var}` within it: each of its steps has a graph of "
                    f"its own{varies}"
                )

    def kernel_loops(self, call: LaunchedCall) -> Iterator[Finding]:
        """Recurrences that a kernel computes step by step."""
        for node in self.nodes(call):
            if isinstance(node.op, Recurrence):
                line, name = self.words.line(node), self.words.name(node.name)
                yield Finding(
                    why=f"{line} computes `{name}` in a loop within a kernel: each of its steps "
                    f"has a graph of its own"
                )

    def notes(self, call: LaunchedCall, repeated: bool) -> Iterator[Finding]:
        """Sizes and addresses that differ from call to call."""
        yield from self.ending(call)
        growing = self.tensors(growing_stores(call, self.program))
        if growing and repeated:
            yield Finding(
                why=f"{quoted(growing)} {_be(growing)} allocated for more steps when these are "
                f"needed: then the function is compiled for the new size, with new graphs",
                help="`--bucket 0` allocates all steps at once",
            )
        made = self.tensors(new_arrays(call, self.program))
        if made and repeated:
            yield Finding(
                why=f"new arrays at each call, whose addresses in the graph XLA updates if they "
                f"lie elsewhere: {quoted(made)}"
            )

    def tensors(self, stores: tuple[str, ...]) -> tuple[str, ...]:
        """The tensors of the source that stores hold."""
        return tuple(dict.fromkeys(self.words.name(name) for name in stores))


def _be(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"
