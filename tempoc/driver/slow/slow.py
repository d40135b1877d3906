"""The report of `explain --slow`: the most expensive parts of a program, with reasons."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.base.report_thresholds import REPORTED
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.findings import NOTHING, LoopFindings
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.kernels import KernelFindings, fixed_cost
from tempoc.driver.slow.triangular import TriangularFindings
from tempoc.driver.slow.words import Words, listed, quoted, time_text
from tempoc.driver.timing.estimate import Estimator, ProgramPart
from tempoc.ops.control.externs import ExternHost
from tempoc.passes.analysis.size_estimate import estimated_sizes
from tempoc.schedule.tree import TreeLoop
from tempoc.sdg.evaluation.given_data import all_bounds

WIDEST = 76
WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowPart:
    """One part: its title, the equations it spends its time on, and the findings."""

    title: str
    seconds: float
    share: float
    equations: tuple[str, ...]
    findings: tuple[Finding, ...]
    is_stepwise: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowReport:
    """The most expensive parts for these bounds; ``assumed``: nobody gave them."""

    bounds: Mapping[str, int]
    assumed: bool
    seconds: float
    parts: tuple[SlowPart, ...]
    notes: tuple[str, ...] = ()


def slow_report(compilation: Compilation, bounds: Mapping[str, int] | None) -> SlowReport:
    """The report for given bounds, or for those that the compiler assumes where none are known."""
    universe = compilation.optimized.universe
    free = [b.name for b in universe.bounds if b.value is None or b.until]
    guessed = estimated_sizes(universe, len(free))
    given = {name: (bounds or guessed)[name] for name in free}
    estimator = Estimator(compilation, all_bounds(compilation.optimized, given), MODEL)
    words = Words(compilation)
    parts = sorted(estimator.parts(), key=lambda p: -p.time)
    total = sum(p.time for p in parts)
    explain = _Explainer(compilation, estimator, words)
    return SlowReport(
        bounds=given,
        assumed=bounds is None,
        seconds=total * 1e-9,
        parts=tuple(
            explain.part(p, total)
            for k, p in enumerate(parts[: REPORTED.slow_parts])
            if k == 0 or p.time >= REPORTED.named_share * total
        ),
        notes=(*_notes(compilation),),
    )


def _notes(compilation: Compilation) -> Iterator[str]:
    ops = [n.op for n in compilation.optimized.nodes.values()]
    names = quoted([op.extern for op in ops if isinstance(op, ExternHost)])
    if names:
        yield f"the time of Python functions is not known, and not in these figures: {names}"
    if compilation.is_plain:
        yield (
            "the passes found no order of execution for what they made: nothing is optimized, "
            "and every operator computes point after point"
        )


class _Explainer:
    """Turns parts into text with findings."""

    def __init__(self, compilation: Compilation, estimator: Estimator, words: Words) -> None:
        self.graph = compilation.optimized
        self.estimator = estimator
        self.words = words
        self.loops = LoopFindings(compilation, estimator, words)
        self.kernels = KernelFindings(compilation, estimator, words)
        self.triangular = TriangularFindings(compilation, words)

    def part(self, part: ProgramPart, total: float) -> SlowPart:
        """A part with its findings."""
        telling = [k for k in part.kernels if part.share(k) >= REPORTED.telling_share]
        members = [m for k in telling for m in k.statement.members]
        findings = [*self.triangular.of(members)]
        ended = [b.name for b in self.graph.universe.ended]
        findings = findings or [*self.loops.of(part), *self.kernels.of(part)]
        if any(f.help and not f.minor for f in findings):
            findings = [f for f in findings if not f.minor]
        elif extra := fixed_cost(part, ended):
            findings.append(extra)
        if not findings:
            findings.append(Finding(why="no pass recorded why this is a loop"))
        return SlowPart(
            title=self.title(part),
            seconds=part.time * 1e-9,
            share=part.time / total if total else 0.0,
            equations=self.equations(part),
            findings=tuple(dict.fromkeys(findings)),
            is_stepwise=part.loop is not None or any(f.is_scan for f in findings),
        )

    def title(self, part: ProgramPart) -> str:
        """`the loop over t on the device, 4096 steps of 1.2 us`."""
        if part.loop is None:
            return f"kernel `{part.kernels[0].statement.name}`, once"
        most = max(part.kernels, key=lambda k: k.time)
        loops = [x for x in most.loops if x.place != "unrolled"] or [part.loop]
        steps = most.steps
        place = self.place(loops)
        names = listed([f"`{x.var}`" for x in loops])
        kind = "loops" if len(loops) > 1 else "loop"
        each = time_text(part.time / steps * 1e-9)
        count = f"{steps} step{'s' * (steps != 1)}"
        return f"the {kind} over {names} {place}, {count} of {each}"

    def place(self, loops: list[TreeLoop]) -> str:
        """Where loops run; of a nest the innermost counts, and is named."""
        hosts = [x for k, x in enumerate(loops) if self.estimator.is_on_host(x, tuple(loops))]
        if not hosts:
            return "on the device"
        return "on the host" if len(hosts) == len(loops) else f"(`{hosts[-1].var}` on the host)"

    def equations(self, part: ProgramPart) -> tuple[str, ...]:
        """The statements of the source that cost most, in source order."""
        texts: dict[tuple[int, str], None] = {}
        dearest = part.dearest
        telling = [k for k in dearest if part.share(k) >= REPORTED.telling_share]
        for kernel in telling or dearest[: REPORTED.slow_parts]:
            nodes = [self.graph.nodes[m] for m in kernel.statement.members]
            for node in [n for n in nodes if not n.op.cheap] or nodes:
                span = self.words.statement(node)
                if span is not None:
                    text = " ".join(span.text.split())
                    text = text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."
                    texts[span.line, f"{self.words.line_of(span)}: {text}"] = None
        return tuple(text for _, text in sorted(texts)[: 2 * REPORTED.slow_parts])


def slow_text(report: SlowReport) -> str:
    """The report for people."""
    values = ", ".join(f"{name} = {value}" for name, value in report.bounds.items())
    lines = [f"for {values}" + (", assumed since no --bounds are given" * report.assumed)]
    lines = [
        *(lines if values else ()),
        f"about {time_text(report.seconds)} in all, estimated by the cost model",
    ]
    if not report.parts:
        return "nothing is computed\n"
    for number, part in enumerate(report.parts, 1):
        lines += ["", f"{number}. {part.title}: {time_text(part.seconds)}, {part.share:.0%} of all"]
        lines += [f"     {e}" for e in part.equations]
        for finding in part.findings:
            lines += _wrapped("why: ", finding.why)
            lines += _wrapped("help: ", finding.help) if finding.help else []
        if not any(f.help for f in part.findings):
            lines += _wrapped("help: ", NOTHING if part.is_stepwise else "nothing to change")
    return "\n".join([*lines, *(line for n in report.notes for line in ("", f"note: {n}"))]) + "\n"


def _wrapped(start: str, text: str) -> list[str]:
    """Lines of a sentence, indented below its first."""
    indent = " " * (3 + len(start))
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"   {start}",
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
