"""How tests compile programs: the stages of each different compilation once in a process.

A program is often compiled again for another question about it, or for other bounds. What a stage
makes of a text and options is the same each time, so later compilations begin with what earlier
ones have finished; so is each text parsed once. Where a test has replaced something, nothing is
taken or given; nor of programs that come with Python functions, which are more than their texts.
"""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import pytest

from tempoc.driver.compilation import Compilation
from tempoc.driver.memo import PassCache
from tempoc.driver.options import Options
from tempoc.frontend.syntax import load_modules
from tempoc.frontend.syntax.ast import ExternDecl
from tempoc.frontend.syntax.load_modules import LoadedSources
from tempoc.pipeline.step import Remark
from tempoc.sdg.graph.graph import Graph
from tests.support.session.long import in_share

STAGES = ("elaborated", "graph", "prepared", "passes", "ordered", "plan", "proof", "emitted")
FRONT = ("elaborated", "graph")
"""The same for all levels and pipelines."""
KEPT = 100
TEXT = "m.rt"
"""The path of programs that are in tests. Whether each stage of these is verified is the same for
all who ask: the test that looks at what a pass does, and `agree`, have the same compilation.
"""
VERIFIED = 8
"""One of so many is: to verify all graphs, and replay all orders and memory plans, takes long."""
Timing = tuple[str, float]
PATCHES: WeakSet[pytest.MonkeyPatch] = WeakSet()
"""Those that there are now."""


def pytest_configure() -> None:
    """Know of each patch: of `with MonkeyPatch.context()` as well."""
    made = pytest.MonkeyPatch.__init__

    @functools.wraps(made)
    def known(self: pytest.MonkeyPatch) -> None:
        made(self)
        PATCHES.add(self)

    pytest.MonkeyPatch.__init__ = known  # type: ignore[method-assign]


def is_patched() -> bool:
    """Whether a test has replaced an attribute or an item, but for the environment.

    No stage asks that for anything; commands in tests have theirs set.
    """
    items = (where for patch in PATCHES for where, _, _ in patch._setitem)
    return any(patch._setattr for patch in PATCHES) or any(x is not os.environ for x in items)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A finished stage, those that it was made of, what it remarked and how long it took."""

    result: Any
    parts: tuple[str, ...]
    remarks: tuple[Remark, ...]
    timings: tuple[Timing, ...]


@dataclass(kw_only=True)
class Kept:
    """What is known of a program with some options; ``front`` does not depend on most of them.

    Nor does ``begins``: the graphs with which passes begin, which variants have from each other.
    """

    key: str
    front: dict[str, Stage]
    shared: PassCache
    begins: list[Graph]
    stages: dict[str, Stage] = field(default_factory=dict)

    def has_made(self, compilation: Compilation) -> bool:
        """Whether all stages of a compilation are among these: tests put in others."""
        stages = self.front | self.stages
        there = ((name, x) for name, x in vars(compilation).items() if name in STAGES)
        return all(name in stages and stages[name].result is x for name, x in there)


class Finished:
    """The latest programs, and the stages that each compilation has by now."""

    def __init__(self) -> None:
        self.kept: OrderedDict[object, Kept] = OrderedDict()
        self.own: WeakKeyDictionary[Compilation, Kept] = WeakKeyDictionary()
        self.inside: list[list[Remark | Timing]] = []
        """For each stage that is being computed, remarks and timings of others within it."""

    def begin(self, compilation: Compilation, loaded: LoadedSources, options: Options) -> None:
        """Let a new compilation have what equal ones have finished."""
        modules = (loaded.main, *loaded.modules.values())
        items = (item for module in modules for item in module.tree.items)
        if is_patched() or any(isinstance(item, ExternDecl) for item in items):
            return
        sources = tuple((module.source.path, module.source.text) for module in modules)
        if loaded.main.source.path == TEXT:
            is_verified = in_share(f"verifiers of {loaded.main.source.text}", VERIFIED)
            compilation.options = options = replace(options, verify_each=is_verified)
        verified = options.verify_each, options.verify_values
        front = sources, repr(loaded.errors), dict(options.defines), options.limits, verified
        key, plain = repr(front), PassCache(options.limits)
        first = self.get(Kept(key=key, front={}, shared=plain, begins=[]))
        kept = self.get(replace(first, key=repr((front, options)), stages={}))
        compilation.shared = kept.shared
        self.own[compilation] = kept

    def get(self, new: Kept) -> Kept:
        """What is kept of a program, or what is to be."""
        kept = self.kept[new.key] = self.kept.pop(new.key, None) or new
        if len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        return kept

    def of(self, compilation: Compilation) -> Kept | None:
        """What is kept of a compilation, if all stages that it has by now are among that.

        A variant has the graph with which its passes begin from another compilation.
        """
        kept = self.own.get(compilation)
        if kept is None or is_patched() or kept.has_made(compilation):
            return None if is_patched() else kept
        graph = vars(compilation).get("prepared")
        places = [k for k, other in enumerate(kept.begins) if other is graph]
        if not places:
            return None
        begin = Stage(result=graph, parts=("graph",), remarks=(), timings=())
        other = replace(kept, key=f"{kept.key} from {places[0]}", stages={"prepared": begin})
        kept = self.own[compilation] = self.get(other)
        return kept if kept.has_made(compilation) else None

    def computed(
        self, name: str, stage: Callable[[Compilation], Any]
    ) -> Callable[[Compilation], Any]:
        """The stage, as an earlier compilation has finished it or as it is finished now."""

        @functools.wraps(stage)
        def compute(compilation: Compilation) -> Any:
            kept = self.of(compilation)
            if kept is None:
                return stage(compilation)
            stages = kept.front if name in FRONT else kept.stages
            if name not in stages:
                stages[name] = self.now(name, stage, compilation)
                kept.begins += [stages[name].result] if name == "prepared" else []
            else:
                for part in stages[name].parts:
                    getattr(compilation, part)
                compilation.later_remarks += stages[name].remarks
                compilation.timings += stages[name].timings
                self.note((*stages[name].remarks, *stages[name].timings))
            return stages[name].result

        return compute

    def now(
        self, name: str, stage: Callable[[Compilation], Any], compilation: Compilation
    ) -> Stage:
        """Compute a stage."""
        remarked, timed = len(compilation.later_remarks), len(compilation.timings)
        self.inside.append([])
        try:
            result = stage(compilation)
        finally:
            others = self.inside.pop()
        ids = {id(other) for other in others}
        own = Stage(
            result=result,
            parts=tuple(n for n in vars(compilation) if n in STAGES and n != name),
            remarks=tuple(r for r in compilation.later_remarks[remarked:] if id(r) not in ids),
            timings=tuple(t for t in compilation.timings[timed:] if id(t) not in ids),
        )
        self.note((*others, *own.remarks, *own.timings))
        return own

    def note(self, own: Iterable[Remark | Timing]) -> None:
        """Remarks and timings of a stage within the one that is being computed."""
        if self.inside:
            self.inside[-1] += own


@pytest.fixture(scope="session", autouse=True)
def shared_stages(shared_kernels: None, not_synced: None) -> Iterator[None]:
    """Stages are shared, for as long as tests run; what is replaced for all of them is no patch."""
    PATCHES.clear()
    finished, made = Finished(), Compilation.__init__

    def begin(self: Compilation, loaded: LoadedSources, options: Options) -> None:
        made(self, loaded, options)
        finished.begin(self, loaded, options)

    parse = load_modules.parse_with_recovery
    known = functools.lru_cache(maxsize=KEPT)(parse)
    load_modules.parse_with_recovery = lambda x: parse(x) if is_patched() else known(x)
    before = {name: vars(Compilation)[name] for name in STAGES}
    Compilation.__init__ = begin  # type: ignore[method-assign]
    for name, stage in before.items():
        shared = cached_property(finished.computed(name, stage.func))
        shared.__set_name__(Compilation, name)
        setattr(Compilation, name, shared)
    yield
    load_modules.parse_with_recovery = parse
    Compilation.__init__ = made  # type: ignore[method-assign]
    for name, stage in before.items():
        setattr(Compilation, name, stage)


@pytest.fixture
def each_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each compilation computes its stages, as in a process that compiles one program."""
    monkeypatch.setattr("tests.support.session.stages.is_patched", lambda: True)
