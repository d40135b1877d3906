"""Why a part of a program costs what it does, and what would help: sentences with data behind them.

`loop_findings` explains the loops of a part: where they run, and which cycle or which remark of a
pass made them loops. `kernel_findings` (``kernels.py``) explains what the kernels in them do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.cycles import LoopCycle, LoopCycles, cycle_text
from tempoc.driver.slow.estimate import Estimator, ProgramPart, TimedKernel, dims_of, is_around
from tempoc.driver.slow.words import Words, bracketed, listed, quoted
from tempoc.ops.control.until import Until
from tempoc.pipeline.step import LoopReason, LoopRemark
from tempoc.runtime.messages.units import size_text
from tempoc.schedule.tree import TreeLoop
from tempoc.sdg.graph.graph import Node
from tempoc.symbolic import expr as ix
from tempoc.symbolic.text import show
from tempoc.symbolic.walk import evaluate, symbols

NOTHING = "nothing to change: each step needs the one before"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A reason (``why``), and a change of the program that helps, if there is one.

    ``inherent``: the equations ask for it.
    """

    why: str
    help: str = ""
    inherent: bool = False


class LoopFindings:
    """Explains the loops of one program."""

    def __init__(self, compilation: Compilation, estimator: Estimator, words: Words) -> None:
        self.compilation = compilation
        self.graph = compilation.optimized
        self.estimator = estimator
        self.words = words
        self.cycles = LoopCycles(self.graph, compilation.space_of(self.graph))
        self.remarks = [(r, r.loop) for r in compilation.remarks if r.loop is not None]

    def of(self, part: ProgramPart) -> Iterator[Finding]:
        """The findings about the loops of a part, outer loops first."""
        chains = {id(x): k.loops for k in part.kernels for x in k.loops}
        loops = {id(x): x for k in part.kernels for x in k.loops if x.place != "unrolled"}
        carried: dict[str, LoopCycle] = {}
        for loop in loops.values():
            inside = [k for k in part.kernels if is_around(k, loop)]
            if sum(k.time for k in inside) < MODEL.telling_share * part.time:
                continue
            around = chains[id(loop)][: chains[id(loop)].index(loop)]
            if self.estimator.is_on_host(loop, (*around, loop)):
                yield self.on_host(loop)
            names = [m for k in inside for m in k.statement.members]
            dims = dict.fromkeys(d for k in inside for d in dims_of(k, loop))
            outer = [d for x in around for k in inside for d in dims_of(k, x)]
            cycle = None
            for dim in dims:
                cycle = cycle or self.cycles.carried(names, dim, outer)
            if cycle is not None:
                carried[loop.var] = cycle
                yield self.cycle(loop, cycle, self.cells(around, carried, inside, names, loop))
            yield from self.without_cycle(part, loop, inside, cycle)

    # ------------------------------------------------------------ on the host

    def on_host(self, loop: TreeLoop) -> Finding:
        """Why the host runs a loop, step by step."""
        start = f"the host runs `{loop.var}` step by step, with calls of kernels in each"
        if not self.compilation.options.on_device:
            return Finding(
                why=f"{start}: that is how it is with --no-regions, -O0 and -O1",
                help="compile with -O2",
            )
        remark = next((x for r, x in self.remarks if r.step == "regions" and x.dim == loop.var), None)
        if remark is None:
            return Finding(why=f"{start}: a loop around it does")
        why, help_ = self.host_reason(remark)
        return Finding(why=f"{start}: {why}", help=help_)

    def host_reason(self, remark: LoopRemark) -> tuple[str, str]:
        """The reason of `regions`, and what helps."""
        names = [self.graph.nodes[n] for n in remark.nodes if n in self.graph.nodes]
        node = names[-1] if names else None
        line = self.words.line(node) if node else ""
        name = f"`{self.words.name(node.name)}`" if node else ""
        step = f"each `{remark.dim}`"
        texts: dict[LoopReason, tuple[str, str]] = {
            "python": (
                f"{line} calls a Python function at {step}",
                "if JAX can trace the function, declare it `extern jax`; or let one call serve all "
                "points of a dimension (`over b`)",
            ),
            "print": (
                f"{line} prints {name} at {step}, which may have more than "
                f"{MODEL.collected_row_bytes} bytes",
                "print less of it, such as a sum or an element, or make it an output",
            ),
            "nested print": (
                f"{line} prints {name} in a loop within it, whose length a bound decides",
                "print after that loop, or at one of its steps",
            ),
            "save": (
                f"{line} saves {name} at {step}",
                "save it once, at the last step, or make it an output",
            ),
            "again": (
                "values are made again to save memory, in an order that XLA would undo",
                "compile without --recompute, or with a larger --memory-budget",
            ),
            "given": (
                f"{line} computes {name}, which a file of params may hold",
                "compute the default outside of loops",
            ),
            "unrolled": (
                "a loop within it reads weights of its own at each step, so that it would have to "
                "be written out, which takes long to compile",
                "fewer of its steps, or less in each, can be written out",
            ),
            "arrays": (
                "which arrays its calls share depends on the loops around it",
                "",
            ),
        }
        if remark.reason == "own length":
            bound = remark.nodes[0]
            lasts = next(d.name for d in self.graph.universe.dims if d.bound == bound)
            stop = self.until(bound)
            text = f"how many steps `{lasts}` has is found out for {step} ({stop})"
            return text, (
                f"let all `{remark.dim}` stop together: with a condition that does not vary with "
                f"`{remark.dim}` they run at once, as long as the longest"
            )
        return texts[remark.reason]

    def until(self, bound: str) -> str:
        """`stop`, line 5: what decides a length."""
        for node in self.graph.nodes.values():
            if isinstance(node.op, Until) and node.op.bound == bound:
                line = self.words.line(node)
                return f"`{self.words.name(node.name)}`" + (f", {line}" if line else "")
        return f"`{bound}`"

    # ------------------------------------------------------------ cycles

    def cells(
        self,
        around: tuple[TreeLoop, ...],
        carried: dict[str, LoopCycle],
        inside: list[TimedKernel],
        names: list[str],
        loop: TreeLoop,
    ) -> str:
        """The outer loop of a nest over cells of which diagonals could be computed at once."""
        for outer in reversed(around):
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
            return Finding(why=f"{why}; {length} decides how many steps there are", inherent=True)
        return Finding(why=why, inherent=True)

    def universe_length(self, loop: TreeLoop) -> str:
        """What decides the number of steps of a loop while it runs; empty if bounds do."""
        universe = self.graph.universe
        lengths = [b.name for b in universe.ended if b.name in symbols(loop.upper)]
        return self.until(lengths[0]) if lengths else ""

    # ------------------------------------------------------------ loops without a cycle

    def without_cycle(
        self, part: ProgramPart, loop: TreeLoop, inside: list[TimedKernel], cycle: LoopCycle | None
    ) -> Iterator[Finding]:
        """Why what is in no cycle is computed step by step."""
        for kernel in sorted(inside, key=lambda k: -k.time):
            members = [m for m in kernel.statement.members if not self.graph.nodes[m].op.cheap]
            dims = dims_of(kernel, loop)
            cyclic = cycle is not None and not cycle.nodes.isdisjoint(kernel.statement.members)
            if cyclic or not dims or part.share(kernel) < MODEL.telling_share:
                continue
            remark = self.reason(members or [*kernel.statement.members], dims)
            if remark is not None and (finding := self.step_by_step(kernel, remark)):
                yield finding
                return
            if remark is None and cycle is None and self.words.name(dims[0]) == loop.var:
                tile = self.tile(loop)
                if tile is not None:
                    yield tile
                    return

    def reason(self, members: list[str], dims: tuple[str, ...]) -> LoopRemark | None:
        """The last remark of `vectorize` on some nodes, or on all that a dimension has."""
        stars = [x for r, x in self.remarks if r.step == "vectorize" and x.dim in dims]
        own = [x for x in stars if set(x.nodes) & {*members}]
        return next(reversed(own or [x for x in stars if not x.nodes]), None)

    def step_by_step(self, kernel: TimedKernel, remark: LoopRemark) -> Finding | None:
        """Why a kernel outside of all cycles has no star."""
        dim = remark.dim
        members = [self.graph.nodes[m] for m in kernel.statement.members if m in remark.nodes]
        nodes = members or [self.graph.nodes[m] for m in kernel.statement.members]
        names = quoted([self.words.name(n.name) for n in nodes])
        start = f"{names} ({self.words.lines(nodes)}) does not need other `{dim}`"
        match remark.reason:
            case "holes":
                guard = self.guard(nodes)
                return Finding(
                    why=f"{start}, but its points{guard} are no box, so they are visited one by one",
                    help="one equation for each side, with one condition on one dimension "
                    f"(`when {dim} == 0`), or `where` over all points",
                )
            case "outside" | "partial":
                what = "reads" if remark.reason == "outside" else "writes"
                return Finding(
                    why=f"{start}, but what it {what} is not there at all `{dim}` between its "
                    f"first and its last, so they are visited one by one",
                    help="split the equation where that begins (`when`), or let it be defined "
                    "at all points and choose with `where`",
                )
            case "kept":
                return Finding(
                    why=f"{start}, but at all `{dim}` at once it would have to be kept for the "
                    f"loop as a whole",
                    help=f"where that fits, read it as one tensor: `all = "
                    f"{bracketed(self.words.name(nodes[-1].name), self.whole(nodes[-1], dim))}`, "
                    f"then `all[{dim}]`",
                )
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
                    why=f"{start}, but how many there are is found out by {self.until(bound)}",
                    inherent=True,
                )
            case "ahead":
                return self.ahead(remark)
            case _:
                return None

    def whole(self, node: Node, dim: str) -> tuple[ix.Entry, ...]:
        """All points of one dimension, the same point of the others."""
        bound = ix.Sym(self.graph.universe.dim(dim).bound)
        return tuple(
            ix.Slice(ix.ZERO, bound) if d == dim else ix.Sym(d) for d in node.domain.dims
        )

    def guard(self, nodes: list[Node]) -> str:
        """The condition of an equation, as it is written."""
        conditions = [n.domain.where for n in nodes if n.domain.where != ix.TRUE]
        text = show(conditions[0]) if conditions else ""
        return f" (`{text}`)" if text and len(text) <= 60 else ""

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
        found = [(r, x) for r, x in self.remarks if x.reason == "tile" and x.dim == loop.var]
        if not found:
            return None
        remark, data = found[0]
        line, name = self.words.line_of(remark.span), self.words.name(data.nodes[0])
        assert data.size is not None
        size = evaluate(data.size, self.estimator.values)
        start = f"`{name}`" + (f" ({line})" if line else "")
        why = f"{start} is computed in tiles, since as a whole it would take {size_text(size)}"
        if size > MODEL.array_bytes:
            return Finding(why=why, inherent=True)
        known = {b.name for b in self.compilation.graph.universe.bounds if b.value is None}
        bounds = [b for b in symbols(data.size) if b in known]
        facts = listed([f"`assume {b} <= {self.estimator.values[b]}`" for b in bounds])
        return Finding(
            why=f"{start} is computed in tiles, since for larger bounds it would be large; here "
            f"it takes {size_text(size)} as a whole",
            help=f"say how large bounds are ({facts}), and it is computed at once",
        )
