"""What became of each equation, for people and for tools.

smooth.rt:9: h[t] = tanh(U @ x[t] + W @ h[t-1])
  kernel h.1: for each t
  vectorize: t stays a loop for `h.1`: their points depend on each other
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tempoc.driver.report.equations import Chapter, EquationKernel
from tempoc.driver.report.spans import span_json

MOST = 6
"""Kernels of one statement that are listed; a function may be called very often."""


def show_story(chapters: Sequence[Chapter], program: str) -> str:
    """A paragraph for each chapter, ending with a line break unless there is none."""
    return "\n".join("".join(f"{line}\n" for line in _lines(c, program)) for c in chapters)


def _lines(chapter: Chapter, program: str) -> list[str]:
    span = chapter.statement
    if span is None:
        head = f"{program}: the program as a whole"
    else:
        head = f"{span.source.path}:{span.line}: {chapter.title}"
    lines = [_kernel_line(k) for k in chapter.kernels[:MOST]]
    if len(chapter.kernels) > MOST:
        lines.append(f"and {len(chapter.kernels) - MOST} kernels more")
    if not chapter.kernels and not chapter.remarks:
        lines.append("no kernel of its own: others write it, or nobody needs it")
    lines += [f"{r.step}: {r.message}" for r in chapter.remarks]
    return [head, *(f"  {line}" for line in dict.fromkeys(lines))]


def _kernel_line(kernel: EquationKernel) -> str:
    parts = []
    if kernel.loops:
        parts.append(f"for each {' and '.join(kernel.loops)}")
    if kernel.together:
        parts.append(f"all {' and '.join(kernel.together)} at once")
    return f"kernel {kernel.name}: {', '.join(parts) or 'once'}"


def story_json(chapters: Sequence[Chapter]) -> str:
    """A JSON list of all chapters; lines and columns count from 1."""
    chapters_json = [
        {
            "statement": c.statement and span_json(c.statement),
            "text": c.title or None,
            "kernels": [
                {"name": k.name, "for_each": list(k.loops), "at_once": list(k.together)}
                for k in c.kernels
            ],
            "remarks": [
                {"pass": r.step, "message": r.message, "at": r.span and span_json(r.span)}
                for r in c.remarks
            ],
        }
        for c in chapters
    ]
    return json.dumps(chapters_json, indent=2, ensure_ascii=False) + "\n"
