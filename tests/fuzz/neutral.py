"""Changes of a program that mean nothing: it must compute the same numbers in as much memory.

Draws depend on their place in the source, so programs with draws are only renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import DiagnosticError
from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.elaborate import elaborate
from tempoc.driver.options import Options
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.memory.text import bytes_of
from tempoc.runtime.data.dtypes import HostArray
from tempoc.sdg.evaluation.given_data import all_bounds
from tempoc.symbolic.expr import add
from tempoc.symbolic.walk import evaluate as value_of
from tests.fuzz.check import Arrays, Bounds, DiffersError, Reference, compare, data, values
from tests.fuzz.tree import nodes, put, rewrite, text_of, tree_of

SAME_MEMORY = ("renamed", "reordered")
"""Changes after which a run needs as many bytes as before."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A program that was changed, and new names of what is given and computed."""

    text: str
    names: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """How the axes of what is given and computed are ordered now, where that changed."""


def renamed(text: str, random: Random) -> Changed | None:
    """New names for tensors, dimensions, bounds, constants and functions, in another order."""
    module = tree_of(text)
    introduced = {n.name: None for _, n in nodes(module) if isinstance(n, ast.Ident)}
    modules = {i.alias.name for m in module.items if isinstance(m, ast.ImportDecl) for i in m.items}
    keywords = {a.name.name for _, a in nodes(module) if isinstance(a, ast.CallArgument)}
    old = [name for name in introduced if name not in modules | keywords | {"_"}]
    numbers = [*range(len(old))]
    random.shuffle(numbers)
    names = {name: f"{random.choice('azQ')}{k}k" for name, k in zip(old, numbers, strict=True)}

    def change(node: Any) -> Any:
        if isinstance(node, ast.Ident | ast.Name) and node.name in names:
            return replace(node, name=names[node.name])
        return node

    if any(isinstance(n, ast.ParamDecl) and n.template for n in module.items):
        return None
    changed = text_of(rewrite(module, change))
    return changed and Changed(changed, names)


def reordered(text: str, random: Random) -> Changed | None:
    """Statements in another order; those of one tensor stay as they are, as do dimensions."""
    module = tree_of(text)
    if "random." in text:
        return None
    groups: dict[str, list[ast.Item]] = {}
    place: dict[str, str] = {}
    for number, item in enumerate(module.items):
        key = f"{type(item).__name__} {number}"
        if isinstance(
            item, ast.DimDecl | ast.PrintDecl | ast.SaveDecl | ast.OutputDecl | ast.ExternDecl
        ):
            key = "as they are"
        if isinstance(item, ast.Equation):
            shared = [place[t.name.name] for t in item.targets if t.name.name in place]
            key = shared[0] if shared else key
            for other in shared[1:]:
                if other != key:
                    return None
            place |= {t.name.name: key for t in item.targets}
        groups.setdefault(key, []).append(item)
    slots = [key for key, items in groups.items() for _ in items]
    random.shuffle(slots)
    queues = {key: iter(items) for key, items in groups.items()}
    items = tuple(next(queues[key]) for key in slots)
    changed = text_of(replace(module, items=items, doc=None))
    return changed and Changed(changed)


def plain_equations(module: ast.Module) -> list[tuple[int, ast.Equation]]:
    """Equations `y[t] = e` without a guard, at top level, each the only one of its tensor."""
    dims = {i.name.name for i in module.items if isinstance(i, ast.DimDecl)}
    own = [i for i in module.items if isinstance(i, ast.Equation)]
    count = [t.name.name for i in own for t in i.targets]
    return [
        (at, item)
        for at, item in enumerate(module.items)
        if isinstance(item, ast.Equation)
        and len(item.targets) == len(item.values) == 1
        and item.guard is None
        and count.count(item.targets[0].name.name) == 1
        and item.targets[0].type is None
        and item.targets[0].entries
        and {getattr(e.value, "name", "") for e in item.targets[0].entries} <= dims
    ]


def split(text: str, random: Random) -> Changed | None:
    """`y[t] = e` becomes `y[t] = e when t < 2; y[t] = e`."""
    module = tree_of(text)
    fixed = {i.name.name for i in module.items if isinstance(i, ast.DimDecl) and i.default}
    some = [
        (at, e)
        for at, e in plain_equations(module)
        if not any(isinstance(n, ast.AsType) for _, n in nodes(e))
    ]
    if "random." in text or not some:
        return None
    at, equation = random.choice(some)
    entries = equation.targets[0].entries or ()
    names = [e.value.name for e in entries if isinstance(e.value, ast.Name)]
    names = [n for n in names if n not in fixed]
    if not names:
        return None
    guard = f"{random.choice(names)} {random.choice(('< 2', '% 2 == 0', '>= 1', '== 0'))}"
    made = tree_of(f"q[t] = 0 when {guard}\n").items[0]
    assert isinstance(made, ast.Equation)
    first = replace(equation, guard=made.guard)
    items = (*module.items[:at], first, *module.items[at:])
    changed = text_of(replace(module, items=items, doc=None))
    return changed and Changed(changed)


def named(text: str, random: Random) -> Changed | None:
    """A part of an equation gets a name of its own."""
    module = tree_of(text)
    if "random." in text:
        return None
    places = []
    for at, equation in plain_equations(module):
        value = equation.values[0]
        if any(isinstance(n, ast.IfExpr | ast.AsType | ast.RecordExpr) for _, n in nodes(value)):
            continue
        for path, node in nodes(value):
            tensor = isinstance(node, ast.Binary | ast.CallExpr) and len(path) > 0
            inside = {name for name, _ in path} & {"entries", "function", "items", "kwargs"}
            if tensor and not inside and any(isinstance(n, ast.Access) for _, n in nodes(node)):
                places.append((at, equation, path, node))
    if not places:
        return None
    at, equation, path, node = random.choice(places)
    target = equation.targets[0]
    part = replace(target, name=replace(target.name, name="part_of_it"))
    # In parentheses, so that a bracket behind it stays spatial.
    name = ast.Name(span=node.span, name="part_of_it")
    read = ast.GroupExpr(span=node.span, value=name)
    first = replace(equation, targets=(part,), values=(node,))  # type: ignore[arg-type]
    second = replace(equation, values=(put(equation.values[0], path, read),))
    items = (*module.items[:at], first, second, *module.items[at + 1 :])
    changed = text_of(replace(module, items=items, doc=None))
    return changed and Changed(changed)


def swapped(text: str, random: Random) -> Changed | None:
    """Two neighbouring dimensions are declared the other way round: axes are, too."""
    module = tree_of(text)
    dims = [i.name.name for i in module.items if isinstance(i, ast.DimDecl)]
    plain = all(
        isinstance(i.value, ast.Name)
        for m in module.items
        if isinstance(m, ast.OutputDecl)
        for i in m.items
    )
    if len(dims) < 2 or "random." in text or not plain:
        return None
    if any(
        (isinstance(m, ast.DimDecl) and m.until) or isinstance(m, ast.Def) for m in module.items
    ):
        return None
    at = random.randrange(len(dims) - 1)
    a, b = dims[at : at + 2]
    domains: dict[str, tuple[str, ...]] = {}
    for node in elaborate(load_source(Source("m.rt", text)), {}).nodes.values():
        head = node.name.partition(".")[0]
        if head == node.name or head not in domains:
            domains[head] = node.domain.dims

    def turned(name: str, items: tuple[Any, ...]) -> tuple[Any, ...]:
        own = domains.get(name, ())
        if not {a, b} <= {*own} or len(items) != len(own) or getattr(items[0], "name", None):
            return items
        swap = {own.index(a): own.index(b), own.index(b): own.index(a)}
        return tuple(items[swap.get(k, k)] for k in range(len(items)))

    def change(node: Any) -> Any:
        if isinstance(node, ast.InputDecl | ast.ParamDecl):
            order = [b if d == a else a if d == b else d for d in dims]
            return replace(node, dims=tuple(sorted(node.dims, key=lambda d: order.index(d.name))))
        if isinstance(node, ast.EquationTarget) and node.entries:
            return replace(node, entries=turned(node.name.name, node.entries))
        if isinstance(node, ast.Access) and isinstance(node.base, ast.Name):
            return replace(node, entries=turned(node.base.name, node.entries))
        return node

    items = rewrite(module, change).items
    where = {i.name.name: k for k, i in enumerate(items) if isinstance(i, ast.DimDecl)}
    moved = [*items]
    moved[where[a]], moved[where[b]] = items[where[b]], items[where[a]]
    axes = {}
    for name, own in domains.items():
        if {a, b} <= {*own}:
            swap = {own.index(a): own.index(b), own.index(b): own.index(a)}
            axes[name] = tuple(swap.get(k, k) for k in range(len(own)))
    changed = text_of(replace(module, items=tuple(moved), doc=None))
    if changed is None:
        return None
    try:
        elaborate(load_source(Source("m.rt", changed)), {})
    except DiagnosticError as error:
        # Which entries stand for which dimensions is not known of every name.
        if error.diagnostics[0].code in ("RT133", "RT098"):
            return None
        raise
    return Changed(changed, axes=axes)


CHANGES: dict[str, Callable[[str, Random], Changed | None]] = {
    "renamed": renamed,
    "reordered": reordered,
    "split": split,
    "named": named,
    "swapped": swapped,
}


@dataclass(slots=True)
class Original:
    """A program as it was written, with what is asked of it more than once."""

    text: str
    options: Options
    bounds: Bounds
    given: Arrays | None = None

    def compilation(self, text: str) -> Compilation:
        return Compilation(load_source(Source("m.rt", text)), self.options)

    def check(self, changed: Changed, *, same_memory: bool) -> tuple[float, float]:
        """The changed program is like this one; the bytes of both."""
        before, after = self.compilation(self.text), self.compilation(changed.text)
        names = changed.names
        given = data(before.graph, self.bounds, special=False) if self.given is None else self.given
        known = Reference(before.graph, self.bounds, given)
        bounds = {names.get(b, b): n for b, n in self.bounds.items()}
        there = after.optimized.nodes
        turned = {n: with_axes(a, changed.axes.get(n)) for n, a in given.items()}
        moved = {root(n, names): a for n, a in turned.items() if root(n, names) in there}
        outputs = values(after.optimized, bounds, moved)
        back = {new: old for old, new in names.items()}
        outputs = {root(n, back): a for n, a in outputs.items() if ":" not in n}
        outputs = {n: with_axes(a, changed.axes.get(n.split(".")[0])) for n, a in outputs.items()}
        missing = [n for n in known.wide if ":" not in n and n not in outputs]
        if missing:
            raise DiffersError(f"no output {missing[0]}")
        numbers = {n: a for n, a in outputs.items() if n in known.wide}
        compare(numbers, numbers | {}, known, wide=False)
        compare({n: known.wide[n] for n in numbers}, numbers, known, wide=False)
        sizes = memory(before, self.bounds), memory(after, bounds)
        if same_memory and sizes[0] != sizes[1]:
            raise DiffersError(f"{sizes[1]} bytes instead of {sizes[0]}")
        return sizes


def with_axes(array: HostArray, axes: tuple[int, ...] | None) -> HostArray:
    """The first axes in another order."""
    if axes is None:
        return array
    return np.transpose(array, (*axes, *range(len(axes), array.ndim)))


def root(name: str, names: Mapping[str, str]) -> str:
    """A name of which the part before the first dot changes: fields keep theirs."""
    head, dot, rest = name.partition(".")
    return names.get(head, head) + dot + rest


def memory(compilation: Compilation, bounds: Bounds) -> int:
    """The bytes of all stores for these bounds."""
    plan = compilation.plan
    sizes = all_bounds(compilation.optimized, bounds)
    return value_of(add(*(bytes_of(s, plan.extents) for s in plan.stores.values())), sizes)
