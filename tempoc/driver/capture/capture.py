"""The report of `explain --capture`: what one CUDA graph can hold of a program."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tempoc.driver.capture.functions import HostStep, LaunchedCall, host_steps
from tempoc.driver.capture.obstacles import CaptureFindings, Obstacles
from tempoc.driver.compilation import Compilation
from tempoc.driver.slow.host_loops import Finding
from tempoc.driver.slow.slow import WIDEST, WIDTH
from tempoc.driver.slow.words import Words, listed
from tempoc.footprint.launches import Launches
from tempoc.passes.analysis.size_estimate import estimated_sizes
from tempoc.program.analysis.count_calls import count_calls
from tempoc.program.analysis.recorded_loops import command_modes
from tempoc.program.nodes import nodes as prog
from tempoc.program.nodes.gpu_commands import COMMON
from tempoc.runtime.data.bounds import bound_values
from tempoc.symbolic.walk import evaluate

MOST = 5
"""So many equations of a function are shown."""
LaunchesByKernel = Mapping[str, Launches]
"""What XLA launches for each function with the usual command buffers, as far as it says."""
STRUCTURE = (
    "JAX has no GPU here: graphs follow from the structure of the program, and XLA's launches are "
    "not counted"
)
NO_LIST = "XLA lists no launches here: graphs follow from the structure of the program"
COMPILED = "launches are those of the functions that XLA compiled for this GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedPart:
    """A loop of the host, or a function of the device, and what graphs hold of it.

    ``graphs`` is empty if the host runs the part. With ``recorded`` false `--tune` found that runs
    are faster without graphs.
    """

    title: str
    equations: tuple[str, ...] = ()
    graphs: str = ""
    recorded: bool = True
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureReport:
    """All parts in the order of execution, for these bounds; ``assumed``: nobody gave them."""

    bounds: Mapping[str, int]
    assumed: bool
    source: str
    parts: tuple[CapturedPart, ...]


def capture_bounds(compilation: Compilation, given: Mapping[str, int] | None) -> dict[str, int]:
    """The values of all bounds: given, or those that the compiler assumes. Raises `RunError`."""
    program, universe = compilation.emitted.program, compilation.optimized.universe
    free = [b.name for b in program.bounds if b.value is None]
    guessed = estimated_sizes(universe, len(free))
    return bound_values(program, {name: (given or guessed)[name] for name in free})


def capture_report(
    compilation: Compilation, given: Mapping[str, int] | None, compiled: LaunchesByKernel | None
) -> CaptureReport:
    """The report for given bounds, or assumed ones; ``compiled``: ``None`` without a GPU."""
    program = compilation.emitted.program
    bounds = capture_bounds(compilation, given)
    reporter = _Reporter(compilation, bounds, compiled or {})
    source = STRUCTURE if compiled is None else COMPILED if compiled else NO_LIST
    free = [b.name for b in program.bounds if b.value is None]
    return CaptureReport(
        bounds={name: bounds[name] for name in free},
        assumed=given is None,
        source=source,
        parts=tuple(map(reporter.part, host_steps(program, bounds))),
    )


class _Reporter:
    """Makes the parts of a report."""

    def __init__(
        self, compilation: Compilation, bounds: Mapping[str, int], compiled: LaunchesByKernel
    ) -> None:
        self.kernels = {k.name: k for k in compilation.emitted.program.kernels}
        self.modes = command_modes(compilation.emitted.program)
        self.main = compilation.loaded.main.source.path
        self.bounds = bounds
        self.compiled = compiled
        self.findings = CaptureFindings(compilation, Words(compilation), bounds)

    def part(self, step: HostStep) -> CapturedPart:
        """A part with its findings."""
        s = step.statement
        inside = {**self.bounds, **{x.var: _middle(x, self.bounds) for x in step.around}}
        if isinstance(s, prog.Loop):
            obstacles = self.findings.of_host_loop(s)
            return CapturedPart(
                title=f"the loop over `{s.var}` on the host", findings=obstacles.all
            )
        obstacles = self.findings.of_call(s, bool(step.around) or isinstance(s, prog.Region))
        return CapturedPart(
            title=self.title(s, step.around, inside),
            equations=self.equations(s),
            graphs=_graphs(s, obstacles, self.compiled.get(s.kernel)),
            recorded=self.modes[s.kernel] == COMMON,
            findings=obstacles.all,
        )

    def title(
        self, call: LaunchedCall, around: tuple[prog.Loop, ...], at: Mapping[str, int]
    ) -> str:
        """`loop_t`, the loop over `t` on the device: 3 kernels in each step."""
        often = f", at each {listed([f'`{x.var}`' for x in around])}" if around else ", once"
        match call:
            case prog.Region(kernel=name, loop=loop):
                start = (
                    f"`{name}`, the loop over `{loop.var}` on the device{often if around else ''}"
                )
                middle = {**at, loop.var: _middle(loop, at)}
                return f"{start}: {_kernels(count_calls(loop.body, middle))} in each step"
            case prog.Block(kernel=name, body=body):
                return f"`{name}`, a block{often}: {_kernels(count_calls(body, at))}"
            case prog.Call(kernel=name):
                return f"`{name}`, a kernel{often}"

    def equations(self, call: LaunchedCall) -> tuple[str, ...]:
        """The equations that a function computes, with their lines."""
        here = f"{self.main.rsplit('/', 1)[-1]}:"
        texts = []
        for equation in self.kernels[call.kernel].equations:
            own = equation.removeprefix(here)
            text = equation if own == equation else f"line {own}"
            texts.append(text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}...")
        more = len(texts) - MOST
        return (*texts[:MOST], *([f"and {more} more"] if more > 0 else []))


def _kernels(count: int) -> str:
    return f"{count} kernel{'s' * (count != 1)}"


def _middle(loop: prog.Loop, at: Mapping[str, int]) -> int:
    """The value of a loop's variable in the middle of its steps."""
    steps = range(evaluate(loop.lower, at), evaluate(loop.upper, at), loop.step)
    return steps[len(steps) // 2] if steps else steps.start


# ------------------------------------------------------------ graphs


def _graphs(call: LaunchedCall, obstacles: Obstacles, launches: Launches | None) -> str:
    """What graphs hold of a function; without XLA's launches by its structure."""
    is_loop = isinstance(call, prog.Region)
    if launches is not None:
        return _counted(launches, is_loop)
    if obstacles.libraries or obstacles.loops or (obstacles.ends and not is_loop):
        return "a graph for each part" + " of a step" * is_loop
    return "one graph" + " in each step" * is_loop


def _counted(launches: Launches, is_loop: bool) -> str:
    """`2 graphs with 7 launches, and 1 launch beside them, in each step`."""
    if launches.whole:
        return f"one graph with {_launches(launches.held)}"
    where = " in each step" if is_loop else ""
    parts = []
    if launches.graphs:
        graphs = "one graph" if launches.graphs == 1 else f"{launches.graphs} graphs"
        parts.append(f"{graphs} with {_launches(launches.held)}")
    if launches.alone or not launches.graphs:
        beside = " beside them" if launches.graphs > 1 else " beside it" if launches.graphs else ""
        kinds = f" ({listed(launches.between)})" if launches.between else ""
        parts.append(f"{_launches(launches.alone)}{beside or ' one by one'}{kinds}")
    inner = (_counted(step, is_loop=False) for step in launches.loops)
    parts += [f"a loop (in each of its steps {text})" for text in inner]
    return listed(parts) + where


def _launches(count: int) -> str:
    return f"{count} launch{'es' * (count != 1)}"


# ------------------------------------------------------------ text


def capture_text(report: CaptureReport) -> str:
    """The report for people."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CaptureReport) -> Iterator[str]:
    values = ", ".join(f"{name} = {value}" for name, value in report.bounds.items())
    if values:
        yield f"for {values}" + ", assumed since no --bounds are given" * report.assumed
    yield from textwrap.wrap(report.source, WIDTH)
    for number, part in enumerate(report.parts, 1):
        yield ""
        yield f"{number}. {part.title}" + ("" if part.graphs else ": no graph")
        yield from (f"     {e}" for e in part.equations)
        if part.graphs:
            unused = "" if part.recorded else ", not used: without them it is faster (`--tune`)"
            yield f"   graphs: {part.graphs}{unused}"
        for finding in part.findings:
            yield from _wrapped("why: ", finding.why)
            yield from _wrapped("help: ", finding.help) if finding.help else ()
    if not report.parts:
        yield "nothing is computed"


def _wrapped(start: str, text: str) -> list[str]:
    """Lines of a sentence, indented below its first."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"   {start}",
        subsequent_indent=" " * (3 + len(start)),
        break_long_words=False,
        break_on_hyphens=False,
    )
