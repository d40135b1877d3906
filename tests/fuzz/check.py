"""Oracles: what a program must do, whatever it says. Two tiers, of which the first is cheap.

1. The graph after all passes means what the graph of the front end means (reference evaluator, in
   float64); all verifiers run; `fmt` is stable; nothing but a diagnostic is ever raised.
2. The compiled program as it is run, which takes XLA about half a second.

Numbers may differ where the program itself cannot tell: where inputs that are nearly the same, or
evaluation in another precision, give something else.
"""

from __future__ import annotations

import re
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import numpy as np
import pytest

from tempoc.codegen.program.effects import to_effect
from tempoc.diagnostics.diagnostic import DiagnosticError, RunError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.format.format import format_module
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.frontend.syntax.parse import parse
from tempoc.ops.control.effects import EffectOp, Print, Save
from tempoc.ops.definition.dtype_text import numpy_dtype
from tempoc.ops.definition.operator import Op
from tempoc.ops.tensor.source import Input, Param
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.dtypes import HostArray
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.host import effects
from tempoc.runtime.host.effects import Shown
from tempoc.runtime.load.load import LoadedProgram, namespace
from tempoc.runtime.run import Settings, run_given
from tempoc.sdg.evaluation.given_data import all_bounds
from tempoc.sdg.evaluation.interpret import evaluate
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.graph.query import operand_types
from tempoc.symbolic.walk import evaluate as value_of
from tests.support.agreement import draw
from tests.support.checkpoints import held_everywhere, short_calls

Bounds = Mapping[str, int]
Arrays = dict[str, HostArray]
INTERNAL = ("RT449", "RT450", "RT47", "RT9")
"""Codes that speak of a mistake of the compiler, not of the program."""
TIERS = ("passes", "jit")
LOW = re.compile(r"\b(bf16|f16)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a program is tried: options, bounds, whether data are special, and how far it goes."""

    options: Options
    bounds: tuple[Bounds, ...]
    special: bool = False
    tier: int = 0
    held: bool = False
    """Whether the run is also held at a few places, to go on from there."""
    edges: bool = False
    """Whether integers among the data are also the least and greatest of their dtypes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a program: `agreed`, `refused` (with a code), `slow`, or how it failed."""

    kind: str
    detail: str = ""
    failed: bool = False
    plan: Plan
    tier: int = 0


class SlowError(BaseException):
    """It takes too long; no `Exception`, so that nobody catches it on the way."""


class DiffersError(Exception):
    """Two evaluations say something else."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Give up after so long, where nothing that cannot be interrupted is going on.

    Again each second, as what a callback of another library raises is lost.
    """

    def late(number: int, frame: FrameType | None) -> None:
        raise SlowError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def examine(text: str, plan: Plan, seconds: int = 60) -> Verdict:
    """Try a program in one way."""
    try:
        with limit(seconds):
            return _Examination(text, plan).verdict()
    except SlowError:
        return Verdict(kind="slow", plan=plan)


@dataclass(slots=True)
class _Examination:
    text: str
    plan: Plan
    stage: str = "front end"
    tier: int = 0
    bounds: Bounds = field(default_factory=dict)

    def verdict(self) -> Verdict:
        try:
            kind = self._run()
        except DiffersError as error:
            return self._failure(f"differs: {TIERS[self.tier]}", str(error))
        except DiagnosticError as error:
            problems = error.diagnostics
            code = problems[0].code
            if self.stage == "front end" and not code.startswith(INTERNAL):
                return Verdict(kind=f"refused {code}", detail=str(error), plan=self.plan)
            if self.stage == "schedule" and not code.startswith(INTERNAL):
                return Verdict(kind=f"no order {code}", detail=str(error), plan=self.plan)
            return self._failure(f"{code} in {self.stage}", str(error))
        except Exception as error:
            return self._failure(*crash(error, self.stage))
        return Verdict(kind=kind, plan=self.plan, tier=self.tier)

    def _failure(self, kind: str, detail: str) -> Verdict:
        bounds = (self.bounds,) if self.bounds else self.plan.bounds
        plan = replace(self.plan, bounds=bounds, tier=self.tier)
        return Verdict(kind=kind, detail=detail, failed=True, plan=plan, tier=self.tier)

    def _run(self) -> str:
        source = Source("m.rt", self.text)
        compilation = Compilation(load_source(source), self.plan.options)
        graph = compilation.graph
        self.stage = "fmt"
        once = format_module(parse(source))
        if format_module(parse(Source("m.rt", once))) != once:
            raise DiffersError("fmt of fmt is something else")
        self.stage = "schedule"
        after = compilation.optimized
        self.stage = "compile"
        assert compilation.proof is not None
        loaded = None if not self.plan.tier else load(compilation)
        kinds = [
            self._at(bounds, graph, after, loaded, edges=edges)
            for bounds in self.plan.bounds
            for edges in ((False, True) if self.plan.edges else (False,))
        ]
        self.bounds = {}
        return "agreed" if "agreed" in kinds else kinds[0]

    def _at(
        self,
        bounds: Bounds,
        graph: Graph,
        after: Graph,
        loaded: LoadedProgram | None,
        *,
        edges: bool,
    ) -> str:
        """One choice of bounds."""
        self.bounds, self.stage, self.tier = bounds, "run", 0
        sizes = all_bounds(graph, bounds)
        if not all(value_of(a, sizes) for a in graph.universe.assumptions):
            return "run refused RT516"
        known = Reference(graph, bounds, data(graph, bounds, self.plan.special, edges=edges))
        try:
            wanted = known.wide
        except DiagnosticError as error:
            code = error.diagnostics[0].code
            if code.startswith(INTERNAL):
                raise
            if loaded is not None:
                self._must_refuse(loaded, known, str(error))
            return f"run refused {code}"

        def passed(given: Arrays) -> Arrays:
            return values(after, bounds, {n: a for n, a in given.items() if n in after.nodes})

        again = partial(passed, known.moved(1e-14))
        compare(passed(known.given), wanted, known, wide=True, again=again)
        if loaded is not None:
            self.tier = self.plan.tier
            outputs = run(loaded, known)
            compare(outputs, known.plain, known, wide=False, low=bool(LOW.search(self.text)))
            if self.plan.held:
                self.stage = "checkpoints"
                resumed(loaded, known)
        return "agreed"

    def _must_refuse(self, loaded: LoadedProgram, known: Reference, why: str) -> None:
        self.tier = self.plan.tier
        try:
            run(loaded, known)
        except RunError:
            return
        raise DiffersError(f"runs where the evaluator refuses: {why}")


def crash(error: Exception, stage: str) -> tuple[str, str]:
    """The kind of an exception that no program may cause: where in the compiler it arose."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tempoc/" in f.filename]
    place = f"{frames[-1].filename.rsplit('/', 1)[1]}:{frames[-1].name}" if frames else stage
    if type(error).__name__ == "VerifyError":
        step = re.search(r"\(after (\w+)\)", str(error))
        place = f"after {step[1]}" if step else stage
    return f"{type(error).__name__} {place}", str(error).split("\n")[0][:300]


def load(compilation: Compilation) -> LoadedProgram:
    """The compiled program in this process, without files."""
    emitted = compilation.emitted
    scope = namespace(emitted.kernels, "kernels.py")
    kernels = tuple(scope[k.name] for k in emitted.program.kernels)
    return LoadedProgram(program=emitted.program, functions=kernels)


def data(graph: Graph, bounds: Bounds, special: bool, *, edges: bool = False) -> Arrays:
    """An array for each input, and for each param that has no default."""
    sizes = all_bounds(graph, bounds)
    arrays: Arrays = {}
    for node in graph.nodes.values():
        if isinstance(node.op, Input) or (isinstance(node.op, Param) and not node.inputs):
            lead = [sizes[graph.universe.dim(d).bound] for d in node.domain.dims]
            shape = [*lead, *(value_of(e, sizes) for e in node.types[0].shape)]
            random = np.random.default_rng([*node.name.encode(), *shape])
            array = draw(random, shape, numpy_dtype(node.types[0].dtype), special)
            arrays[node.name] = with_edges(random, array) if edges else array
    return arrays


def with_edges(random: np.random.Generator, array: HostArray) -> HostArray:
    """Integers, of which some are the least and greatest of their dtype, and those beside them."""
    if array.dtype.kind not in "iu":
        return array
    ends = np.iinfo(array.dtype)
    chosen = random.choice([ends.min, ends.min + 1, ends.max - 1, ends.max], array.shape)
    return np.where(random.random(array.shape) < 0.4, chosen.astype(array.dtype), array)


def by_kind(graph: Graph, arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Inputs and params."""
    params = {n: a for n, a in arrays.items() if isinstance(graph.nodes[n].op, Param)}
    return {n: a for n, a in arrays.items() if n not in params}, params


@dataclass(slots=True)
class Lines:
    """What is shown: lines by their place in the order of all prints over the same dimensions.

    Files are told by their paths: one of a step may come before or after others of that step.
    ``graph`` says over which dimensions a statement is; what several may show is left out.
    """

    graph: Graph
    arrays: dict[tuple[str, ...], list[tuple[str, HostArray]]] = field(default_factory=dict)

    def __call__(self, shown: Shown, values: Sequence[HostArray]) -> None:
        """One effect."""
        places = self._dimensions(shown)
        if len(places) != 1:
            return
        dims = (shown.path,) if shown.path else places.pop()
        lines = self.arrays.setdefault(dims, [])
        for label, value in zip(shown.labels or shown.names, values, strict=True):
            name = f"{len(lines)} over {dims}: {shown.path}{shown.texts} {label}"
            lines.append((name, np.asarray(value)))

    def _dimensions(self, shown: Shown) -> set[tuple[str, ...]]:
        """Those of all statements that may have shown this."""
        nodes = [node for node in self.graph.nodes.values() if isinstance(node.op, EffectOp)]
        return {node.domain.dims for node in nodes if _may_show(node.op, shown)}

    @property
    def named(self) -> Arrays:
        """All values, those over the same dimensions in order."""
        return {name: value for _, lines in sorted(self.arrays.items()) for name, value in lines}


def _may_show(op: Op, shown: Shown) -> bool:
    if isinstance(op, Save):
        return bool(re.fullmatch(re.sub(r"\\{\w+\\}", r"\\d+", re.escape(op.path)), shown.path))
    if not isinstance(op, Print):
        return False
    return (op.names[: len(shown.names)], op.texts) == (shown.names, shown.texts)


def values(graph: Graph, bounds: Bounds, given: Arrays, *, wide: bool = True) -> Arrays:
    """The outputs, and what is shown, by name and point."""
    lines = Lines(graph)
    forms = {
        node.op: to_effect(node.op, operand_types(graph, node))
        for node in graph.nodes.values()
        if isinstance(node.op, EffectOp)
    }

    def perform(op: EffectOp, at: Mapping[str, int], arrays: tuple[HostArray, ...]) -> None:
        effects.perform(forms[op], at, arrays, lines)

    inputs, params = by_kind(graph, given)
    outputs = evaluate(graph, bounds, inputs, params, float64=wide, perform=perform)
    return {**outputs, **lines.named}


@dataclass(slots=True)
class Reference:
    """What the evaluator says of the unoptimized graph, in several ways, each when asked for."""

    graph: Graph
    bounds: Bounds
    given: Arrays
    memory: dict[str, Arrays] = field(default_factory=dict)

    @property
    def wide(self) -> Arrays:
        return self._of("wide", self.given, wide=True)

    @property
    def plain(self) -> Arrays:
        return self._of("plain", self.given, wide=False)

    @property
    def shows_the_same(self) -> bool:
        """Whether lines that data choose are chosen alike in another precision, and nearby."""
        others = (self.plain, self.near(1e-6), self.near(3e-6))
        return all([*self.wide] == [*other] for other in others)

    def near(self, scale: float) -> Arrays:
        """With inputs that are nearly the same."""
        return self._of(f"near {scale}", self.moved(scale), wide=True)

    def moved(self, scale: float) -> Arrays:
        """Data that are nearly the same; in float64 where single precision is too coarse."""
        random = np.random.default_rng(1)
        factors = {n: 1 + scale * random.uniform(-1, 1, a.shape) for n, a in self.given.items()}
        return {
            n: (a * factors[n]).astype(a.dtype if scale > 1e-7 else np.float64)
            if a.dtype.kind == "f"
            else a
            for n, a in self.given.items()
        }

    def _of(self, name: str, given: Arrays, *, wide: bool) -> Arrays:
        if name not in self.memory:
            self.memory[name] = values(self.graph, self.bounds, given, wide=wide)
        return self.memory[name]


def given_to(loaded: LoadedProgram, known: Reference) -> Given:
    """What a run is given."""
    names = {i.name for i in loaded.program.inputs} | {p.name for p in loaded.program.params}
    arrays = {n: a for n, a in known.given.items() if n in names}
    inputs, params = (as_sources(part) for part in by_kind(known.graph, arrays))
    return Given(bounds=known.bounds, inputs=inputs, params=params)


def resumed(loaded: LoadedProgram, known: Reference) -> None:
    """Hold a run at each boundary, go on from some of them: all end alike, to the bit.

    The program is loaded anew: what it prepared for runs without boundaries has other kernels.
    """
    loaded = LoadedProgram(program=loaded.program, functions=loaded.functions)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        short_calls(patch)
        held_everywhere(loaded, given_to(loaded, known), Path(folder), patch, most=3)


def run(loaded: LoadedProgram, known: Reference) -> Arrays:
    """The outputs of a compiled program, and what it shows."""
    lines = Lines(known.graph)
    outputs = run_given(loaded, given_to(loaded, known), Settings(show=lines)).outputs
    return {n: np.asarray(a) for n, a in outputs.items()} | lines.named


def compare(
    actual: Arrays,
    wanted: Arrays,
    known: Reference,
    *,
    wide: bool,
    low: bool = False,
    again: Callable[[], Arrays] | None = None,
) -> None:
    """Raise `DiffersError` where two evaluations differ more than the program explains.

    ``again``: what ``actual`` is with other last bits of the data. Where terms of a sum cancel,
    their rounding is left, which is then another one, if not in each element then in one that is no
    larger; a number that is wrong stays as it is.
    """
    if [*actual] != [*wanted] and known.shows_the_same:
        raise DiffersError(f"other names: {[*actual]}, not {[*wanted]}, with {dict(known.bounds)}")
    for name in (n for n in wanted if n in actual):
        a, w = np.asarray(actual[name]), np.asarray(wanted[name])
        if (a.dtype, a.shape) != (w.dtype, w.shape):
            raise DiffersError(f"{name}: {a.dtype}{a.shape}, not {w.dtype}{w.shape}")
        rtol, atol = (1e-6, 1e-8) if wide else (5e-2, 2e-2) if low else (3e-3, 3e-4)
        if _close(a, w, rtol, atol).all():
            continue
        excused = _excused(a, known, name, rtol, atol, wide=wide)
        wrong = ~(_close(a, w, rtol, atol) | excused)
        if wrong.any() and again is not None and a.dtype.kind == "f":
            with np.errstate(invalid="ignore"):
                small = np.abs(w) <= np.abs(w[wrong]).max()
                wrong &= ~(np.abs(a - w) <= 20 * np.abs(again()[name] - a)[small].max(initial=0.0))
        if wrong.any():
            at = tuple(int(k) for k in np.argwhere(wrong)[0])
            raise DiffersError(f"{name}{[*at]} is {a[at]}, not {w[at]}, with {dict(known.bounds)}")


def _close(a: HostArray, b: HostArray, rtol: float, atol: float) -> HostArray:
    if a.dtype.kind not in "fV" and a.dtype.name != "bfloat16":
        return np.asarray(a == b)
    wide = a.astype(np.float64), b.astype(np.float64)
    return np.isclose(*wide, rtol=rtol, atol=atol, equal_nan=True)


def _excused(
    a: HostArray, known: Reference, name: str, rtol: float, atol: float, *, wide: bool
) -> HostArray:
    """Where the program itself cannot tell: other precision or nearly the same inputs."""
    try:
        base = known.wide[name].astype(np.float64)
        others = [known.plain, known.near(1e-6), known.near(3e-6)]
    except (DiagnosticError, KeyError):
        return np.ones(a.shape, bool)
    odd = np.zeros(a.shape, bool)
    room = np.zeros(a.shape)
    with np.errstate(all="ignore"):
        for number, other in enumerate(others):
            if name not in other or other[name].shape != base.shape:
                odd[...] = True
                continue
            b = other[name].astype(np.float64)
            odd |= np.isfinite(base) != np.isfinite(b)
            odd |= (base != b) & (a.dtype.kind not in "fV") & (a.dtype.name != "bfloat16")
            spread = np.nan_to_num(np.abs(base - b), nan=0.0, posinf=0.0)
            # In float64 the difference is a billion times smaller than that of a step in the
            # inputs, unless it was a jump.
            counts = number == 0 or not wide or spread > 1e-3 * (1 + np.abs(base))
            room = np.maximum(room, counts * 20 * spread)
        distance = np.abs(a.astype(np.float64) - base)
        return odd | (distance <= atol + rtol * np.abs(base) + room)
