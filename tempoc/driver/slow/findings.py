"""Why a part of a program costs what it does, and what would help: sentences with data behind them.

`LoopFindings` explains the loops of a part: where they run, and which cycle or which remark of a
pass made them loops. `KernelFindings` (``kernels.py``) explains what the kernels in them do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.base.report_thresholds import REPORTED
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.cycles import LoopCycle, LoopCycles, cycle_text
from tempoc.driver.slow.host_loops import Finding, HostLoops
from tempoc.driver.slow.inner_ends import InnerEndFindings
from tempoc.driver.slow.words import LONGEST, Words, bracketed, quoted
from tempoc.driver.timing.estimate import (
    Estimator,
    ProgramPart,
    TimedKernel,
    dims_of,
    is_around,
    steps_of,
)
from tempoc.pipeline.step import LoopRemark
from tempoc.runtime.messages.units import size_text
from tempoc.schedule.tree import TreeLoop, walk
from tempoc.sdg.graph.graph import Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.walk import evaluate, symbols

NOTHING = "nothing to change: each step needs the one before"


def loops_of(part: ProgramPart) -> Iterator[tuple[TreeLoop, tuple[TreeLoop, ...]]]:
    """The loops of a part that are not written out, each with those around it."""
    for tree, around in walk(part.loop) if part.loop is not None else ():
        if isinstance(tree, TreeLoop) and tree.place != "unrolled":
            yield tree, tuple(x for x in around if x.place != "unrolled")


class LoopFindings:
    """Explains the loops of one program."""

    def __init__(self, compilation: Compilation, estimator: Estimator, words: Words) -> None:
        self.compilation = compilation
        self.graph = compilation.optimized
        self.estimator = estimator
        self.words = words
        self.cycles = LoopCycles(self.graph, compilation.space_of(self.graph), words)
        self.hosts = HostLoops(compilation, words)
        self.remarks = self.hosts.remarks
        self.ends = InnerEndFindings(self.graph, self.cycles, words, estimator.values)

    def of(self, part: ProgramPart) -> Iterator[Finding]:
        """The findings about the loops of a part, outer loops first."""
        carried: dict[str, LoopCycle] = {}
        explained: set[tuple[str, str]] = set()
        for loop, around in loops_of(part):
            inside = [k for k in part.kernels if is_around(k, loop)]
            if sum(k.time for k in inside) < REPORTED.telling_share * part.time:
                continue
            on_host = self.estimator.is_on_host(loop, (*around, loop))
            if on_host and not any(self.estimator.is_on_host(x, around) for x in around):
                yield self.hosts.of(loop.var)
            if (made := self.tile(loop) or self.diagonals(loop, inside)) is not None:
                yield made
                continue
            cycle = self.carried(loop, around, inside)
            if cycle is not None:
                carried[loop.var] = cycle
                yield self.cycle(loop, cycle, self.cells(part, around, carried, loop))
                yield from self.ends.of(cycle, *self.names(part, inside))
            yield from self.state(loop, inside)
            if not on_host:
                for finding, key in self.without_cycle(part, loop, inside, cycle):
                    if key not in explained:
                        yield finding
                    explained.add(key)

    def names(self, part: ProgramPart, inside: list[TimedKernel]) -> tuple[list[str], list[str]]:
        """The nodes of kernels, and what takes the time of those that take most."""
        telling = [k for k in inside if part.share(k) >= REPORTED.telling_share]
        all_, dear = ([m for k in ks for m in k.statement.members] for ks in (inside, telling))
        return list(dict.fromkeys(all_)), [m for m in dear if not self.graph.nodes[m].op.cheap]

    def carried(
        self, loop: TreeLoop, around: tuple[TreeLoop, ...], inside: list[TimedKernel]
    ) -> LoopCycle | None:
        """The cycle of equations that makes a loop, effects aside, whose lines are in order."""
        names = [m for k in inside for m in k.statement.members if self.graph.nodes[m].op.pure]
        outer = [d for x in around for k in inside for d in dims_of(k, x)]
        for dim in dict.fromkeys(d for k in inside for d in dims_of(k, loop)):
            cycle = self.cycles.carried(names, dim, outer)
            if cycle is not None:
                return cycle
        return None

    # ------------------------------------------------------------ cycles

    def cells(
        self,
        part: ProgramPart,
        around: tuple[TreeLoop, ...],
        carried: dict[str, LoopCycle],
        loop: TreeLoop,
    ) -> str:
        """The outer loop of a nest over cells of which diagonals could be computed at once."""
        inside = [k for k in part.kernels if is_around(k, loop)]
        for outer in reversed(around):
            names = [m for k in part.kernels if is_around(k, outer) for m in k.statement.members]
            if outer.var in carried and not any(k.statement.vector for k in inside):
                dims = [(o, d) for k in inside for o in dims_of(k, outer) for d in dims_of(k, loop)]
                if dims and all(self.cycles.goes_diagonally(names, o, d) for o, d in set(dims)):
                    return outer.var
        return ""

    def cycle(self, loop: TreeLoop, cycle: LoopCycle, diagonal: str) -> Finding:
        """A cycle that a loop carries."""
        why = cycle_text(cycle, self.graph, self.words)
        if diagonal:
            return Finding(
                why=f"{why}; two loops, `{diagonal}` and `{loop.var}`, go from cell to cell",
                help=f"cells with the same `{diagonal} + {loop.var}` do not need each other: along "
                f"diagonals (a dimension `s` for `{diagonal} + {loop.var}`) all of one are "
                f"computed at once",
            )
        length = self.universe_length(loop)
        if length:
            return Finding(why=f"{why}; {length} decides how many steps there are")
        return Finding(why=why)

    def universe_length(self, loop: TreeLoop) -> str:
        """What decides the number of steps of a loop while it runs; empty if bounds do."""
        universe = self.graph.universe
        lengths = [b.name for b in universe.ended if b.name in symbols(loop.upper)]
        return self.hosts.until(lengths[0]) if lengths else ""

    # ------------------------------------------------------------ loops without a cycle

    def without_cycle(
        self, part: ProgramPart, loop: TreeLoop, inside: list[TimedKernel], cycle: LoopCycle | None
    ) -> Iterator[tuple[Finding, tuple[str, str]]]:
        """Why what is in no cycle is computed step by step; with the kernel and the reason."""
        kernels = [k for k in part.dearest if is_around(k, loop)]
        telling = [k for k in kernels if part.share(k) >= REPORTED.telling_share]
        for kernel in telling or ([] if cycle else kernels[:1]):
            members = [m for m in kernel.statement.members if not self.graph.nodes[m].op.cheap]
            members = members or [*kernel.statement.members]
            dims = dims_of(kernel, loop)
            if not dims:
                continue
            if cycle is not None:
                members = [m for m in members if not self.needs([m], cycle, inside)]
                work = self.estimator.portion(kernel, members) * part.share(kernel)
                parts = all(self.is_part(m, cycle) for m in members)
                if work < (REPORTED.main_share if parts else REPORTED.telling_share):
                    continue
            remark = self.reason(kernel, members, dims)
            finding = self.step_by_step(kernel, members, remark, cycle) if remark else None
            if remark is not None and finding is not None:
                yield finding, (kernel.statement.name, remark.reason)
                return

    def is_part(self, name: str, cycle: LoopCycle | None) -> bool:
        """Whether a node is a part of an equation of a cycle, and has no name in the source."""
        return cycle is not None and self.words.name(name) in {
            self.words.name(n) for n in cycle.nodes
        }

    def needs(self, names: list[str], cycle: LoopCycle, inside: list[TimedKernel]) -> bool:
        """Whether nodes of a loop are in its cycle, or made of what is, step by step."""
        within = {m for k in inside for m in k.statement.members}

        def operands(name: str) -> list[str]:
            sources = [e.source for e in self.graph.nodes[name].inputs]
            through = [s for n in sources for s in self.graph.nodes[n].sources]
            return [s for s in (*sources, *through) if s in within]

        reached: dict[str, None] = reachable(names, operands)
        return not cycle.nodes.isdisjoint(reached)

    def reason(
        self, kernel: TimedKernel, members: list[str], dims: tuple[str, ...]
    ) -> LoopRemark | None:
        """The remark of `vectorize` on most of some nodes, or else on all that a dimension has."""
        stars = [x for r, x in self.remarks if r.step == "vectorize" and x.dim in dims]
        own = {x: [m for m in members if m in x.nodes] for x in stars if self.is_about(x)}
        own = {x: nodes for x, nodes in own.items() if nodes}
        if own:
            return max(own, key=lambda x: self.estimator.portion(kernel, own[x]))
        return next((x for x in stars if not x.nodes), None)

    def is_about(self, remark: LoopRemark) -> bool:
        """Whether a remark explains its dimension: a condition does if it names it."""
        guards = [
            self.words.guard(self.graph.nodes[n]) for n in remark.nodes if n in self.graph.nodes
        ]
        named = any(re.search(rf"\b{remark.dim}\b", g) for g in guards if g)
        return remark.reason != "holes" or named or not any(guards)

    def step_by_step(
        self, kernel: TimedKernel, free: list[str], remark: LoopRemark, cycle: LoopCycle | None
    ) -> Finding | None:
        """Why nodes of a kernel that are in no cycle have no star; ``cycle``: that of others."""
        dim = remark.dim
        named = [m for m in free if m in remark.nodes] or free
        is_part = self.is_part(named[-1], cycle)
        if remark.reason != "cycle" and not is_part:
            recurring = self.cycles.recurring(dim)
            named = [m for m in named if self.words.origin(m) not in recurring]
        if not named:
            return None
        nodes = [self.graph.nodes[m] for m in named]
        start = f"{self.subject(nodes, is_part)} nothing of other `{dim}`"
        match remark.reason:
            case "holes":
                return self.holes(start, nodes)
            case "outside" | "partial":
                what = "reads" if remark.reason == "outside" else "writes"
                return Finding(
                    why=f"{start}, but what it {what} is not there at all `{dim}` between its "
                    f"first and its last, so they are visited one by one",
                    help="split the equation where that begins (`when`), or let it be defined "
                    "at all points and choose with `where`",
                )
            case "kept":
                return None if is_part else self.in_loop(start, kernel, nodes, dim)
            case "shown":
                return Finding(
                    why=f"{start}, but it is printed or saved as the loop goes",
                    help="print or save it after the loop, at one step",
                )
            case "length":
                bound = self.graph.universe.dim(dim).bound
                if bound not in self.graph.universe.lengths:
                    return None
                return Finding(
                    why=f"{start}, but how many there are is found out by "
                    f"{self.hosts.until(bound)}",
                )
            case "ahead":
                return self.ahead(remark)
            case "cycle":
                return self.elsewhere(start, dim)
            case _:
                return None

    def in_loop(
        self, start: str, kernel: TimedKernel, nodes: list[Node], dim: str
    ) -> Finding | None:
        """What a pass leaves in a loop, since all of it would have to be there before the loop.

        Of a gradient's own parts no equation can be written.
        """
        source = self.words.source.nodes
        given = [source.get(self.words.name(n.name)) for n in nodes]
        whole = next((n for n in given[::-1] if n and dim in n.domain.dims), None)
        if whole is None:
            return None
        steps = self.estimator.values[self.graph.universe.dim(dim).bound]
        at = {**self.estimator.values, **kernel.at}
        elements = sum(
            prod(evaluate(e, at) for e in t.shape) * t.dtype.itemsize for t in whole.types
        )
        size = steps * elements
        return Finding(
            why=f"{start}, but at all `{dim}` at once it would have to be kept for the loop as a "
            f"whole, {size_text(size)}",
            help=f"where that fits, read it as one tensor: `whole = "
            f"{bracketed(whole.name, self.whole(whole, dim))}`, then `whole[{dim}]`"
            if size <= MODEL.array_bytes
            else "",
            minor=2 * kernel.fixed > kernel.time,
        )

    def subject(self, nodes: list[Node], is_part: bool) -> str:
        """`e` and `f` (lines 3 and 4) need."""
        names = list(dict.fromkeys(self.words.name(n.name) for n in nodes))
        shown = f"{quoted(names)} ({self.words.lines(nodes)})"
        if is_part:
            return f"a part of {shown} needs"
        return f"{shown} {'needs' if len(names) == 1 else 'need'}"

    def elsewhere(self, start: str, dim: str) -> Finding | None:
        """A kernel that is in a cycle at other points than those of this loop."""
        cycle = self.cycles.carried(self.graph.nodes, dim, ())
        if cycle is None:
            return None
        why = cycle_text(cycle, self.graph, self.words)
        return Finding(
            why=f"{start} in this loop, but one kernel computes these and other steps, where {why}",
            help="write the steps that need nothing of others as equations of their own: they are "
            "computed all at once",
        )

    def whole(self, node: Node, dim: str) -> tuple[ix.Entry, ...]:
        """All points of one dimension, the same point of the others."""
        bound = ix.Sym(self.graph.universe.dim(dim).bound)
        return tuple(ix.Slice(ix.ZERO, bound) if d == dim else ix.Sym(d) for d in node.domain.dims)

    def holes(self, start: str, nodes: list[Node]) -> Finding:
        """Points that are no box: by a condition, since others are not read, or since other
        equations have them."""
        guard = next((g for n in nodes if (g := self.words.guard(n))), "")
        name = self.words.name(nodes[-1].name)
        reduced = [r for r in self.compilation.remarks if r.step == "reduce_domain"]
        if not guard and any(f"`{n.name}`" in r.message for n in nodes for r in reduced):
            dims = nodes[-1].domain.dims
            ends = [ix.Sym(self.graph.universe.dim(d).bound) for d in dims]
            box = bracketed(name, [ix.Slice(ix.ZERO, e) for e in ends])
            return Finding(
                why=f"{start}, but only what is read of it is computed, and these points are no "
                f"box, so they are visited one by one",
                help=f"read it as a whole (`whole = {box}`, then `whole[{']['.join(dims)}]`), and "
                "all of it is computed at once",
            )
        shown = f" (`when {guard}`)" if guard and len(guard) <= 2 * LONGEST else ""
        others = self.words.guards(name)
        if not guard and others:
            shown = f", without those of `when {others[0]}`,"
        each = "write one equation for each side, each with one condition on one dimension, or "
        is_one = len(self.named(guard or " ".join(others[:1]))) == 1
        return Finding(
            why=f"{start}, but the points of its equation{shown} are no box, so they are visited "
            f"one by one",
            help=f"{'' if is_one else each}choose with `where` at all points, which computes both "
            "sides, but all at once",
        )

    def named(self, guard: str) -> set[str]:
        """The dimensions that a condition names."""
        return {w for w in re.findall(r"\w+", guard) if self.graph.universe.is_dim(w)}

    def ahead(self, remark: LoopRemark) -> Finding:
        """Equations that read what no loop has computed yet."""
        inside = {n: self.graph.nodes[n] for n in remark.nodes if n in self.graph.nodes}
        reads = [
            (node, e)
            for node in inside.values()
            for e in node.inputs
            if any(self.is_ahead(x) for x in e.entries if not isinstance(x, ix.Slice))
        ]
        if not reads:
            names = quoted([self.words.name(n) for n in inside])
            return Finding(why=f"{names} need each other in an order that no plain loop has")
        node, edge = reads[0]
        entry = next(x for x in edge.entries if not isinstance(x, ix.Slice) and self.is_ahead(x))
        along = next(s for s in symbols(entry) if self.graph.universe.is_dim(s))
        name = self.words.name(edge.source)
        return Finding(
            why=f"`{remark.dim}` stays a loop because `{self.words.name(node.name)}` at "
            f"{self.words.line(node)} reads `{name}` at the next `{along}`",
            help=f"give the new place a name: compute what `{name}` reads at the next `{along}` "
            f"in an equation of its own, and read that",
        )

    def is_ahead(self, e: ix.Expr) -> bool:
        """Whether an index is a dimension plus something."""
        at = dict.fromkeys((s for s in symbols(e) if self.graph.universe.is_dim(s)), 0)
        return len(at) == 1 == len(symbols(e)) and evaluate(e, at) > 0

    # ------------------------------------------------------------ tiles

    def tile(self, loop: TreeLoop) -> Finding | None:
        """A loop over tiles of a tensor that would be large."""
        tiles = [(r, x) for r, x in self.remarks if x.reason == "tile" and x.dim == loop.var]
        if not tiles:
            return None
        remark, data = tiles[0]
        line, name = self.words.line_of(remark.span), self.words.name(data.nodes[0])
        assert data.size is not None
        size = evaluate(data.size, self.estimator.values)
        start = f"`{name}`" + (f" ({line})" if line else "")
        if len(steps_of(loop, self.estimator.values)) == 1:
            text = "here one tile has all of it"
            return Finding(
                why=f"{start} is computed in tiles where bounds are larger; {text}, "
                f"{size_text(size)}",
                help="nothing to change",
            )
        why = f"{start} is computed in tiles, since as a whole it would take {size_text(size)}"
        if size > MODEL.array_bytes:
            return Finding(why=why, help="nothing to change, unless that much memory is there")
        given = [b.name for b in self.graph.universe.bounds if b.value is None]
        facts = [
            f"`assume {name} <= {self.estimator.values[name]}`"
            for name in given
            if name in symbols(data.size)
        ]
        return Finding(
            why=f"{start} is computed in tiles, since for larger bounds it would be large; here "
            f"it takes {size_text(size)} as a whole",
            help=f"{' and '.join(facts)}, if no larger ones are needed: all at once takes less time"
            if facts and size <= MODEL.untiled_bytes
            else "nothing to change in that: all at once takes no less",
        )

    def diagonals(self, loop: TreeLoop, inside: list[TimedKernel]) -> Finding | None:
        """A loop that a pass made of the cells of a table."""
        dims = {d for k in inside for d in dims_of(k, loop)}
        parts = [r for r, x in self.remarks if x.reason == "diagonals" and x.dim in dims]
        return Finding(why=f"{parts[0].message}, one diagonal after the other") if parts else None

    def state(self, loop: TreeLoop, inside: list[TimedKernel]) -> Iterator[Finding]:
        """A state to which each step adds, where so few steps would rather go through them all."""
        for dim in dict.fromkeys(d for k in inside for d in dims_of(k, loop)):
            bound = self.graph.universe.dim(dim).bound
            steps = self.estimator.values[bound]
            states = [(r, x) for r, x in self.remarks if x.reason == "state" and x.dim == dim]
            for remark, data in states[:1]:
                assert data.size is not None
                least = evaluate(data.size, self.estimator.values)
                if steps < least:
                    name, line = self.words.name(data.nodes[0]), self.words.line_of(remark.span)
                    yield Finding(
                        why=f"`{name}` ({line}) is computed from a state to which each `{dim}` "
                        f"adds, as {bound} may be large: that pays from {bound} = {least} on",
                        help=f"say that it is small: `assume {bound} <= {steps}`, or a value, "
                        f"`dim {dim} < {bound} = {steps}`",
                    )
