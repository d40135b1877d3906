"""What became of each equation: where it is computed now, what passes did to it, and what not.

A compilation's remarks and its last graph, sorted by the statements of the source. A place belongs
to the smallest statement around it; what a library function contributes stands under the function's
own equations. What has no place in the source stands under the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tempoc.diagnostics.source import Source, Span
from tempoc.driver.compilation import Compilation
from tempoc.driver.pipelines import ANEW
from tempoc.frontend.syntax import ast
from tempoc.pipeline.step import Remark
from tempoc.sdg.graph.graph import Graph, Node
from tempoc.sdg.statements.build import is_computed

WIDEST = 88


@dataclass(frozen=True, slots=True, kw_only=True)
class EquationKernel:
    """A kernel with a part of an equation: where statements have one in common, they are fused.

    ``loops`` are dimensions that it runs through one by one, ``together`` those of which it
    computes all points at once.
    """

    name: str
    loops: tuple[str, ...]
    together: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A statement of the source (``None``: the program as a whole) and what became of it."""

    statement: Span | None
    kernels: tuple[EquationKernel, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def title(self) -> str:
        """The first line of the statement, shortened."""
        text = self.statement.text.split("\n", 1)[0].strip() if self.statement else ""
        return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


def story(compilation: Compilation) -> tuple[Chapter, ...]:
    """Chapters in source order, the main file's first; the program as a whole comes last.

    All equations of the main file have one; other statements if there is something to say.
    """
    loaded, places = compilation.loaded, statement_places(compilation)
    kernels = _kernels(compilation.optimized, places)
    remarks: dict[Span | None, list[Remark]] = {}
    for remark in valid_remarks(compilation):
        remarks.setdefault(places.around(remark.span), []).append(remark)
    main = [i.span for i in loaded.main.tree.items if isinstance(i, ast.Equation)]
    statements = [s for s in places.all if s in main or s in remarks]
    chapters = [
        Chapter(statement=s, kernels=tuple(kernels.get(s, ())), remarks=tuple(remarks.get(s, ())))
        for s in statements
    ]
    if None in remarks:
        chapters.append(Chapter(statement=None, remarks=tuple(remarks[None])))
    return tuple(chapters)


def valid_remarks(compilation: Compilation) -> Iterator[Remark]:
    """All remarks but those of passes that decided anew later, about all or about a tensor."""
    records = () if compilation.is_plain else compilation.passes.records
    for k, record in enumerate(records):
        later = [r for r in records[k + 1 :] if r.step == record.step]
        if record.step in ANEW and later:
            continue
        repeated = {_about(remark) for r in later for remark in r.remarks}
        yield from (r for r in record.remarks if _about(r) not in repeated or not _about(r))
    yield from compilation.later_remarks


def _about(remark: Remark) -> tuple[Span, str] | None:
    """The place that a remark is about, and the first name in it."""
    parts = remark.message.split("`")
    return (remark.span, parts[1]) if remark.span is not None and len(parts) > 1 else None


def statement_places(compilation: Compilation) -> StatementPlaces:
    """The statements of the main file and of all modules."""
    loaded = compilation.loaded
    files = (loaded.main, *(m for m in loaded.modules.values() if m.key != loaded.main.key))
    return StatementPlaces([(m.source, tuple(_statements(m.tree.items))) for m in files])


@dataclass(frozen=True, slots=True, kw_only=True)
class EquationText:
    """The targets of an equation by name, and its condition, as they are written."""

    targets: Mapping[str, str]
    guard: str


def equation_texts(compilation: Compilation) -> dict[Span | None, EquationText]:
    """All equations by their places."""
    modules = (compilation.loaded.main, *compilation.loaded.modules.values())
    return {
        equation.span: EquationText(
            targets={t.name.name: t.span.text.split(":")[0].strip() for t in equation.targets},
            guard=equation.guard.span.text if equation.guard is not None else "",
        )
        for module in modules
        for equation in _equations(module.tree.items)
    }


def _equations(items: Iterable[ast.SyntaxNode]) -> Iterator[ast.Equation]:
    for item in items:
        if isinstance(item, ast.Def | ast.ForLoop):
            yield from _equations(item.body)
        elif isinstance(item, ast.Equation):
            yield item


@dataclass(slots=True)
class StatementPlaces:
    """The statements of all files."""

    files: list[tuple[Source, tuple[Span, ...]]]

    @property
    def all(self) -> list[Span]:
        """All statements, file after file."""
        return [s for _, spans in self.files for s in spans]

    def around(self, span: Span | None) -> Span | None:
        """The smallest statement around a place, if there is one."""
        if span is None:
            return None
        for source, spans in self.files:
            if source.path == span.source.path:
                inside = [s for s in spans if s.start <= span.start < max(s.end, s.start + 1)]
                return min(inside, key=lambda s: s.end - s.start) if inside else None
        return None


def _statements(items: Iterable[ast.SyntaxNode]) -> Iterator[Span]:
    """Everything that can be computed, or said, somewhere: in source order, functions inside."""
    for item in items:
        if isinstance(item, ast.Def | ast.ForLoop):
            yield from _statements(item.body)
        elif not isinstance(item, ast.ConstDecl | ast.Assume | ast.ImportDecl | ast.ExternDecl):
            yield item.span


def _kernels(graph: Graph, places: StatementPlaces) -> dict[Span, list[EquationKernel]]:
    """For each statement the kernels with parts of it, in the order of the groups."""
    parts = [(g.name, [graph.nodes[m] for m in g.members]) for g in graph.groups]
    if not parts:
        parts = [(n.name, [n]) for n in graph.nodes.values() if is_computed(n)]
    kernels: dict[Span, list[EquationKernel]] = {}
    for name, members in parts:
        for statement in _served(members, places):
            kernels.setdefault(statement, []).append(_kernel(name, members[0]))
    return kernels


def _kernel(name: str, node: Node) -> EquationKernel:
    loops = tuple(d for d in node.domain.dims if d not in node.vector)
    return EquationKernel(name=name, loops=loops, together=node.vector)


def _served(members: list[Node], places: StatementPlaces) -> dict[Span, None]:
    """The statements that nodes come from; numbers count only where there is nothing else."""
    statements: dict[Span, None] = {}
    for node in [n for n in members if not n.op.cheap] or members:
        for span in node.spans:
            statement = places.around(span)
            if statement is not None:
                statements[statement] = None
    return statements
