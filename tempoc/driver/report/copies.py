"""What `explain --copies` shows: where functions are updated in place, and what XLA copies."""

from collections.abc import Mapping, Sequence

from tempoc.footprint.compiled import Compiled, compiled
from tempoc.runtime.data.bounds import bound_values
from tempoc.runtime.forecast.least_run import default_filled_stores
from tempoc.runtime.load.load import load
from tempoc.runtime.messages.units import size_text
from tempoc.runtime.report.table import table

HEAD = ("function", "loop over", "bytes given away", "updated in place", "temporary")


def audit(
    directory: str, given: Mapping[str, object], paths: Sequence[str] = ()
) -> tuple[Compiled, ...]:
    """The functions that a run with these bounds calls, compiled. Raises `RunError`.

    Functions of the user are looked for in ``paths``.
    """
    loaded = load(directory, paths)
    program = loaded.program
    values = bound_values(program, given)
    return (*compiled(loaded, values, default_filled_stores(program)),)


def copies_text(functions: Sequence[Compiled]) -> str:
    """The functions that a run calls, with bytes; then each copy that a step of a loop makes."""
    rows = [(c.kernel, c.loop, str(c.given), str(c.updated), str(c.temporary)) for c in functions]
    lines = [table(HEAD, rows)]
    for c in functions:
        for copy in c.copies:
            size = f"{copy.nbytes} bytes" if copy.nbytes < 1024 else size_text(copy.nbytes)
            like = f", as large as {_listed(copy.stores)}" if copy.stores else ""
            lines.append(f"{c.kernel} copies {copy.type}, {size}, in each step{like}\n")
    if len(lines) == 1:
        lines.append("no step of a loop copies an array\n")
    return lines[0] + "\n" + "".join(lines[1:])


def _listed(stores: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in stores[:3]]
    return " or ".join(shown) + (", ..." if len(stores) > 3 else "")
