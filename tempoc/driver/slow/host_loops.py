"""Why the host runs a loop, and what decides a length: what `regions` remarked, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.base.graphs import reachable
from tempoc.driver.compilation import Compilation
from tempoc.driver.report.equations import valid_remarks
from tempoc.driver.slow.words import Words
from tempoc.ops.control.externs import ExternHost
from tempoc.ops.control.until import Until
from tempoc.pipeline.step import LoopReason, LoopRemark
from tempoc.sdg.graph.graph import Node
from tempoc.symbolic import expr as ix


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A reason (``why``), and a change of the program that helps, if there is one.

    ``minor``: not worth a word beside others; ``is_scan``: steps within a kernel.
    """

    why: str
    help: str = ""
    minor: bool = False
    is_scan: bool = False


class HostLoops:
    """Explains the loops of the host of one program."""

    def __init__(self, compilation: Compilation, words: Words) -> None:
        self.compilation = compilation
        self.graph = compilation.optimized
        self.words = words
        self.remarks = [(r, r.loop) for r in valid_remarks(compilation) if r.loop is not None]

    def of(self, var: str) -> Finding:
        """Why the host runs the loop over ``var`` step by step."""
        start = f"the host runs `{var}` step by step, with calls of kernels in each"
        if not self.compilation.options.on_device:
            return Finding(
                why=f"{start}: that is how it is with --no-regions, -O0 and -O1",
                help="compile with -O2",
            )
        remark = next((x for r, x in self.remarks if r.step == "regions" and x.dim == var), None)
        if remark is None:
            return Finding(why=f"{start}: a loop around it does")
        why, help_ = self.reason(remark)
        return Finding(why=f"{start}: {why}", help=help_)

    def reason(self, remark: LoopRemark) -> tuple[str, str]:
        """The reason of `regions`, and what helps."""
        names = [self.graph.nodes[n] for n in remark.nodes if n in self.graph.nodes]
        node = names[-1] if names else None
        line = self.words.line(node) if node else ""
        name = f"`{self.words.name(node.name)}`" if node else ""
        step = f"each `{remark.dim}`"
        some = "each" if node is None or node.domain.where == ix.TRUE else "some"
        texts: dict[LoopReason, tuple[str, str]] = {
            "python": (
                f"{line} calls a Python function at {step}",
                self.fewer_calls(node, remark.dim),
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
                f"{line} saves {name} at {some} `{remark.dim}`",
                f"save it once, at the last step, or at every so many steps, "
                f"`when {remark.dim} % 100 == 99`, or make it an output",
            ),
            "again": (
                "values are made again to save memory, in an order that XLA would undo",
                "compile without --recompute, or with a larger --memory-budget",
            ),
            "moves": (
                f"{line} uses {name}, which moves between host and device from step to step",
                "allow a larger --memory-budget, or compute larger parts of it at each step",
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

    def fewer_calls(self, node: Node | None, dim: str) -> str:
        """What helps against a call at each step of a loop."""
        if node is not None and self.is_last(node):
            return (
                f"what it is given needs nothing that it gave before: declared `over {dim}` it is "
                f"called once, with arguments and results of all `{dim}`"
            )
        return (
            "if JAX can trace the function, declare it `extern jax`; or let one call serve all "
            "points of a dimension (`over b`)"
        )

    def is_last(self, node: Node) -> bool:
        """Whether the arguments of the only call into a module need no result of it.

        Then one call of a function `over` the dimension may serve all points, if none does yet and
        the equation has no condition.
        """
        nodes = self.graph.nodes
        entries = [x for e in node.inputs for x in e.entries]
        if not isinstance(node.op, ExternHost) or self.words.guard(node):
            return False
        if any(isinstance(x, ix.Slice) for x in entries):
            return False
        module = node.op.module
        same = [n for n in nodes.values() if isinstance(n.op, ExternHost) and n.op.module == module]

        def sources(name: str) -> Sequence[str]:
            return nodes[name].sources

        return same == [node] and node.name not in reachable(node.sources, sources)

    def until(self, bound: str) -> str:
        """`stop`, line 5: what decides a length."""
        for node in self.graph.nodes.values():
            if isinstance(node.op, Until) and node.op.bound == bound:
                stop = self.graph.nodes[node.inputs[0].source]
                name = self.words.name(stop.name)
                line = self.words.line(self.words.source.nodes.get(name, stop))
                return f"`{name}`" + (f", {line}" if line else "")
        return f"`{bound}`"
