"""The stages of a compilation as text, in order: what `explain`, `--dump-dir` and goldens show."""

from collections.abc import Callable, Mapping

from tempoc.driver.compilation import Compilation
from tempoc.driver.report.passes import passes_text
from tempoc.memory.text import show as show_memory
from tempoc.program.text import program_text
from tempoc.schedule.text import show as show_schedule
from tempoc.sdg.text.text import show as show_graph

STAGES = ("sdg", "optimized", "schedule", "memory", "program", "kernels")
VIEWS = ("sdg", "passes", *STAGES[1:])
"""The stages, and what leads from one to the next: what `explain` can show."""
SUFFIX = {"sdg": "sdg", "optimized": "sdg", "kernels": "py"}


def stage_text(compilation: Compilation, stage: str) -> str:
    """The text of one stage or view, ending with a line break. ``KeyError`` for an unknown one."""
    text = _TEXTS[stage](compilation)
    return text if text.endswith("\n") else text + "\n"


_TEXTS: Mapping[str, Callable[[Compilation], str]] = {
    "sdg": lambda c: show_graph(c.graph),
    "passes": passes_text,
    "optimized": lambda c: show_graph(c.optimized),
    "schedule": lambda c: show_schedule(c.tree),
    "memory": lambda c: show_memory(c.plan, c.statements),
    "program": lambda c: program_text(c.emitted.program),
    "kernels": lambda c: c.emitted.kernels,
}
