"""Delta debugging on the syntax tree: a smaller program that fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tempoc.diagnostics.source import Source
from tempoc.driver.elaborate import elaborate
from tempoc.driver.options import Options
from tempoc.frontend.syntax import ast
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.symbolic.text import show
from tests.fuzz.check import Plan, Verdict, examine
from tests.fuzz.tree import Path, nodes, put, rewrite, text_of, tree_of

EXPRESSIONS = (
    ast.Name, ast.NumberExpr, ast.ListExpr, ast.RecordExpr, ast.GroupExpr, ast.UnaryExpr,
    ast.Binary, ast.ComparisonExpr, ast.IfExpr, ast.Access, ast.CallExpr, ast.Field,
    ast.TransposeExpr, ast.AsType,
)  # fmt: skip
LITERALS = ("1.0", "0", "1", "2")


def reduced(text: str, verdict: Verdict, seconds: float = 60.0) -> tuple[str, Verdict]:
    """The smallest program found in so long that fails in the same way, and how it does."""
    reducer = Reducer(text, verdict, time.monotonic() + seconds)
    reducer.go()
    return reducer.text, reducer.verdict


class Reducer:
    """Takes any change that keeps the failure, until none does."""

    def __init__(self, text: str, verdict: Verdict, until: float) -> None:
        self.text, self.verdict, self.until = text, verdict, until
        self.tried: dict[str, None] = {}

    def go(self) -> None:
        plain = replace(self.verdict.plan, options=Options(verify_each=True))
        for plan in (plain, replace(plain, options=replace(plain.options, level=1))):
            if plan.options != self.verdict.plan.options and self.fails(self.text, plan):
                break
        while self.smaller_bounds() or any(self.sweep(way) for way in WAYS):
            if time.monotonic() > self.until:
                return

    def fails(self, text: str, plan: Plan | None = None) -> bool:
        """Whether a program fails in the same way; then it is the one to go on with."""
        plan = plan or self.verdict.plan
        left = self.until - time.monotonic()
        if left <= 0:
            return False
        verdict = examine(text, plan, seconds=max(2, min(10, int(left))))
        if not verdict.failed or verdict.kind != self.verdict.kind:
            return False
        self.text, self.verdict = text, verdict
        return True

    def sweep(self, way: Callable[[ast.Module], Iterator[ast.Module]]) -> bool:
        """Go through all changes of one kind; after one that works go on with what there is."""
        done, again = False, True
        while again and time.monotonic() < self.until:
            again = False
            for changed in way(tree_of(self.text)):
                text = text_of(tidied(changed))
                if text is None or text == self.text or text in self.tried:
                    continue
                self.tried[text] = None
                if len(text) <= len(self.text) + 40 and self.fails(text):
                    done = again = True
                    break
                if time.monotonic() > self.until:
                    return done
        return done

    def smaller_bounds(self) -> bool:
        done = False
        for name, size in self.verdict.plan.bounds[0].items():
            for less in range(1, size):
                bounds = {**self.verdict.plan.bounds[0], name: less}
                if self.fails(self.text, replace(self.verdict.plan, bounds=(bounds,))):
                    done = True
                    break
        return done


def fewer_statements(module: ast.Module) -> Iterator[ast.Module]:
    """Halves, quarters and single statements, outputs and fields left out."""
    count = len(module.items)
    size = count // 2
    while size:
        for start in range(count - size, -1, -size):
            items = module.items[:start] + module.items[start + size :]
            yield replace(module, items=items)
        size //= 2
    for path, node in nodes(module):
        if isinstance(node, ast.OutputItem | ast.RecordField | ast.DefParam):
            yield put(module, path, None)


def names_in(item: ast.Item) -> set[str]:
    """The names that a statement mentions."""
    return {n.name for _, n in nodes(item) if isinstance(n, ast.Name | ast.Ident)}


def tidied(module: ast.Module) -> ast.Module:
    """The program without statements that no output and no line needs."""
    makes: list[set[str]] = []
    for item in module.items:
        if isinstance(item, ast.Equation):
            makes.append({t.name.name for t in item.targets})
        elif isinstance(item, ast.ImportDecl):
            makes.append({i.alias.name for i in item.items})
        elif isinstance(item, ast.DimDecl):
            makes.append({item.name.name, item.bound.name})
        elif isinstance(
            item, ast.InputDecl | ast.ParamDecl | ast.Def | ast.ConstDecl | ast.ExternDecl
        ):
            makes.append({item.name.name})
        else:
            makes.append(set())
    needed: set[str] = set()
    kept = [isinstance(i, ast.OutputDecl | ast.SaveDecl | ast.PrintDecl) for i in module.items]
    again = True
    while again:
        again = False
        for at, item in enumerate(module.items):
            kept[at] = kept[at] or bool(makes[at] & needed)
            if kept[at] and not names_in(item) <= needed:
                needed |= names_in(item)
                again = True
    items = tuple(i for i, keep in zip(module.items, kept, strict=True) if keep)
    return replace(module, items=items)


def fewer_outputs(module: ast.Module) -> Iterator[ast.Module]:
    """A single output: of all tensors the one that needs the fewest statements."""
    yield from sorted(
        single_outputs(module), key=lambda changed: len(text_of(tidied(changed)) or "")
    )


def single_outputs(module: ast.Module) -> Iterator[ast.Module]:
    for at, item in enumerate(module.items):
        if not isinstance(item, ast.OutputDecl):
            continue
        for one in item.items:
            if len(item.items) > 1:
                yield put(module, (("items", at),), replace(item, items=(one,)))
        if len(item.items) == 1:
            own = item.items[0]
            for other in module.items:
                for target in other.targets if isinstance(other, ast.Equation) else ():
                    name = ast.Name(span=own.span, name=target.name.name)
                    new = replace(item, items=(replace(own, value=name, alias=None),))
                    yield put(module, (("items", at),), new)


def inputs_instead(module: ast.Module) -> Iterator[ast.Module]:
    """What an equation computes is given."""
    text = text_of(module)
    assert text is not None
    try:
        graph = elaborate(load_source(Source("m.rt", text)), {})
    except Exception:
        return
    names = {
        t.name.name: None for i in module.items if isinstance(i, ast.Equation) for t in i.targets
    }
    for name in names:
        node = graph.nodes.get(name)
        if node is None:
            continue
        dims = f"[{', '.join(node.domain.dims)}]" if node.domain.dims else ""
        kind = node.types[0]
        shape = f"[{', '.join(show(e) for e in kind.shape)}]" if kind.shape else ""
        given = tree_of(f"input {name}{dims}: {kind.dtype.value}{shape}").items[0]
        items: list[ast.Item] = []
        for item in module.items:
            if isinstance(item, ast.Equation) and any(t.name.name == name for t in item.targets):
                if given not in items:
                    items.append(replace(given, span=item.span))
            else:
                items.append(item)
        yield replace(module, items=tuple(items))


def simpler_expressions(module: ast.Module) -> Iterator[ast.Module]:
    """A part in the place of the whole, a number, no guard."""
    for path, node in nodes(module):
        if isinstance(node, ast.Equation | ast.PrintDecl) and node.guard is not None:
            yield put(module, path, replace(node, guard=None))
        if isinstance(node, ast.SliceExpr) and node.step is not None:
            yield put(module, path, replace(node, step=None))
        if not isinstance(node, EXPRESSIONS) or not path or "type" in path[-1]:
            continue
        for below, part in nodes(node):
            if 1 <= len(below) <= 3 and isinstance(part, EXPRESSIONS):
                yield put(module, path, part)
        if isinstance(node, ast.NumberExpr):
            yield from smaller_numbers(module, path, node)
            continue
        for literal in LITERALS[:3]:
            yield put(module, path, ast.NumberExpr(span=node.span, text=literal))


def smaller_numbers(module: ast.Module, path: Path, node: ast.NumberExpr) -> Iterator[ast.Module]:
    for text in LITERALS:
        if (
            node.value not in (0, 1) and float(text) < abs(node.value)
        ) or node.text not in LITERALS:
            yield put(module, path, replace(node, text=text))


def simpler_accesses(module: ast.Module) -> Iterator[ast.Module]:
    """The bare name; the point itself in the place of another one."""
    dims = [i.name for i in module.items if isinstance(i, ast.DimDecl)]
    for path, node in nodes(module):
        if isinstance(node, ast.Access):
            yield put(module, path, node.base)
        if isinstance(node, ast.BracketEntry) and path[0][0] == "items":
            for dim in dims:
                if not isinstance(node.value, ast.Name):
                    yield put(
                        module, path, replace(node, value=ast.Name(span=dim.span, name=dim.name))
                    )


def fewer_dims(module: ast.Module) -> Iterator[ast.Module]:
    """One dimension less: its entries vanish, and what names it stands at 0."""
    order = [i.name.name for i in module.items if isinstance(i, ast.DimDecl)]
    where = domains(module, order)
    for dim in order:

        def change(node: object, dim: str = dim) -> object:
            if isinstance(node, ast.Name) and node.name == dim:
                return ast.NumberExpr(span=node.span, text="0")
            if isinstance(node, ast.InputDecl | ast.ParamDecl):
                return replace(node, dims=tuple(d for d in node.dims if d.name != dim))
            if isinstance(node, ast.EquationTarget) and node.entries is not None:
                return replace(node, entries=without(node.name.name, node.entries, dim, where))
            if isinstance(node, ast.Access) and isinstance(node.base, ast.Name):
                kept = without(node.base.name, node.entries, dim, where)
                return replace(node, entries=kept) if kept else node.base
            return node

        items = tuple(
            i for i in module.items if not (isinstance(i, ast.DimDecl) and i.name.name == dim)
        )
        yield rewrite(replace(module, items=items), change)


def domains(module: ast.Module, order: list[str]) -> dict[str, list[str]]:
    """The dimensions of tensors with positional entries, as far as their targets name them."""
    where: dict[str, dict[int, str]] = {}
    for _, node in nodes(module):
        if isinstance(node, ast.InputDecl | ast.ParamDecl):
            where[node.name.name] = {at: d.name for at, d in enumerate(node.dims)}
        if isinstance(node, ast.EquationTarget) and node.entries is not None:
            own = where.setdefault(node.name.name, {})
            for at, entry in enumerate(node.entries):
                names = [n.name for _, n in nodes(entry) if isinstance(n, ast.Name)]
                for n in names:
                    if n in order:
                        own[at] = n
    return {name: [own.get(at, "") for at in range(9)] for name, own in where.items()}


def without(
    name: str, entries: tuple[ast.BracketEntry, ...], dim: str, where: dict[str, list[str]]
) -> tuple[ast.BracketEntry, ...] | None:
    """Entries without that of a dimension; none at all is no bracket."""
    own = where.get(name, [""] * 9)
    kept = tuple(e for at, e in enumerate(entries) if (e.name.name if e.name else own[at]) != dim)
    return kept or None


WAYS = (
    fewer_outputs, fewer_statements, inputs_instead, fewer_dims, simpler_expressions,
    simpler_accesses,
)  # fmt: skip
