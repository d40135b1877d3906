"""How a graph changes its shape: its text after each pass, with what is new marked.

A chapter for each pass begins with what the pass is for, the first line of its own description. A
line is new if no line of the text before says the same; columns do not count. Nodes that are no
more are named.
"""

from __future__ import annotations

import sys

from tempoc.driver.compilation import Compilation
from tempoc.driver.report.counts import GraphSize, size_of
from tempoc.sdg.graph.graph import Graph
from tempoc.sdg.text.text import show

NEW, OLD = "> ", "  "
GONE = 8
"""How many nodes are named that are no more."""


def passes_text(compilation: Compilation) -> str:
    """All chapters, the graph of the front end first; ends with a line break."""
    graph = compilation.prepared
    parts = [f"# elaborate: {_numbers(size_of(graph))}\n\n{_marked(graph, None)}"]
    for number, (step, record) in enumerate(
        zip(compilation.steps, compilation.passes.records, strict=True), 1
    ):
        aim = (sys.modules[type(step).__module__].__doc__ or "").split("\n", 1)[0]
        head = f"# {number} {record.step}"
        if record.changed:
            about = f"{head}: {_numbers(size_of(record.after))}\n# {aim}\n"
            parts.append(f"{about}{_gone(graph, record.after)}\n{_marked(record.after, graph)}")
        else:
            parts.append(f"{head}: no change\n")
        graph = record.after
    return "\n".join(parts)


def _numbers(size: GraphSize) -> str:
    """``12 nodes, 2 merges``; what there is none of is not mentioned."""
    counts = {
        "nodes": size.nodes,
        "merges": size.merges,
        "stars": size.stars,
        "kernels": size.kernels,
    }
    return ", ".join(
        f"{n} {k if n != 1 else k[:-1]}" for k, n in counts.items() if n or k == "nodes"
    )


def _gone(before: Graph, after: Graph) -> str:
    """A line with the first of the nodes that there are no more, if any."""
    names = [name for name in before.nodes if name not in after.nodes]
    more = f" and {len(names) - GONE} more" if len(names) > GONE else ""
    return f"# Gone: {', '.join(f'%{n}' for n in names[:GONE])}{more}\n" if names else ""


def _marked(graph: Graph, before: Graph | None) -> str:
    """The text of a graph without its first line and its declarations."""
    old = None if before is None else {*map(_plain, _lines(before))}
    return "".join(
        f"{NEW if old is not None and _plain(line) not in old else OLD}{line}".rstrip() + "\n"
        for line in _lines(graph)
    )


def _lines(graph: Graph) -> list[str]:
    """Nodes, outputs and groups, each on its line."""
    text = show(graph, sources=False).splitlines()
    start = next((k for k, line in enumerate(text) if line.startswith("%")), len(text))
    return [line for line in text[start:] if line]


def _plain(line: str) -> str:
    return " ".join(line.split())
