"""The report of `explain --slow`: the most expensive parts of a program, with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.base.cost_model import MODEL
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.estimate import Estimator, ProgramPart, TimedKernel
from tempoc.driver.slow.findings import NOTHING, Finding, LoopFindings
from tempoc.driver.slow.kernels import KernelFindings, fixed_cost
from tempoc.driver.slow.words import Words, listed, quoted
from tempoc.ops.control.externs import ExternHost
from tempoc.passes.analysis.size_estimate import estimated_sizes
from tempoc.schedule.tree import TreeLoop
from tempoc.sdg.evaluation.given_data import all_bounds

WIDEST = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowPart:
    """One part: its title, the equations it spends its time on, and the findings."""

    title: str
    seconds: float
    share: float
    equations: tuple[str, ...]
    findings: tuple[Finding, ...]


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
        parts=tuple(explain.part(p, total) for p in parts[: MODEL.slow_parts] if p.time),
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

    def part(self, part: ProgramPart, total: float) -> SlowPart:
        """A part with its findings; what asks for no change stands first only if it is alone."""
        findings = [*self.loops.of(part), *self.kernels.of(part)]
        extra = fixed_cost(part)
        if extra is not None and not any(f.help for f in findings):
            findings.append(extra)
        if part.loop is not None and not findings:
            findings.append(Finding(why="no pass recorded why this is a loop"))
        return SlowPart(
            title=self.title(part),
            seconds=part.time * 1e-9,
            share=part.time / total if total else 0.0,
            equations=self.equations(part),
            findings=tuple(dict.fromkeys(findings)),
        )

    def title(self, part: ProgramPart) -> str:
        """`the loop over t on the device, 4096 steps of 1.2 us`."""
        if part.loop is None:
            return f"kernel `{part.kernels[0].statement.name}`, once"
        most = max(part.kernels, key=lambda k: k.time)
        loops = [x for x in most.loops if x.place != "unrolled"] or [part.loop]
        steps = max(k.count for k in part.kernels if k.loops[: len(most.loops)] == most.loops)
        place = self.place(loops)
        names = listed([f"`{x.var}`" for x in loops])
        kind = "loops" if len(loops) > 1 else "loop"
        each = time_text(part.time / max(1, steps) * 1e-9)
        return f"the {kind} over {names} {place}, {round(steps)} steps of {each}"

    def place(self, loops: list[TreeLoop]) -> str:
        """Where loops run; of a nest the innermost counts, and is named."""
        hosts = [x for k, x in enumerate(loops) if self.estimator.is_on_host(x, tuple(loops))]
        if not hosts:
            return "on the device"
        return "on the host" if len(hosts) == len(loops) else f"(`{hosts[-1].var}` on the host)"

    def equations(self, part: ProgramPart) -> tuple[str, ...]:
        """The statements of the source that cost most, in source order."""
        times: dict[tuple[str, str], float] = {}
        for kernel in part.kernels:
            for node in self.telling(kernel):
                span = self.words.statement(node)
                if span is not None:
                    text = span.text.split("\n", 1)[0].strip()
                    text = text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."
                    key = (self.words.line_of(span), text)
                    times[key] = max(times.get(key, 0.0), part.share(kernel))
        kept = [k for k, share in times.items() if share >= MODEL.telling_share]
        return tuple(f"{line}: {text}" for line, text in kept[: 2 * MODEL.slow_parts])

    def telling(self, kernel: TimedKernel) -> list:  # type: ignore[type-arg]
        nodes = [self.graph.nodes[m] for m in kernel.statement.members]
        return [n for n in nodes if not n.op.cheap] or nodes


def time_text(seconds: float) -> str:
    """`1.2 us`, `34 ms`, `5 s`: two digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{_two(seconds / size)} {unit}"
    return f"{_two(seconds * 1e9)} ns"


def _two(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def slow_text(report: SlowReport) -> str:
    """The report for people."""
    values = ", ".join(f"{name} = {value}" for name, value in report.bounds.items())
    how = "no bounds are given; assumed: " if report.assumed and values else "for " if values else ""
    head = f"{how}{values}{': ' if values else ''}about {time_text(report.seconds)} by the cost model"
    lines = [head + " for CPUs"]
    for number, part in enumerate(report.parts, 1):
        lines += ["", f"{number}. {part.title}: {time_text(part.seconds)}, {part.share:.0%} of all"]
        lines += [f"     {e}" for e in part.equations]
        for finding in part.findings:
            lines.append(f"   why: {finding.why}")
            if finding.help:
                lines.append(f"   help: {finding.help}")
        if part.findings and not any(f.help for f in part.findings):
            lines.append(f"   help: {_inherent(part)}")
    return "\n".join([*lines, *(f"\nnote: {n}" for n in report.notes)]) + "\n"


def _inherent(part: SlowPart) -> str:
    return NOTHING if "loop" in part.title or "scan" in part.findings[0].why else "nothing to change"
