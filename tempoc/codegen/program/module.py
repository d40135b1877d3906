"""The text of ``kernels.py``: its header, a function for each statement, then the regions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tempoc.base.cost_model import MODEL
from tempoc.base.python_text import docstring, import_line
from tempoc.codegen.kernels.joined_boxes import IN_ROWS, JOINED
from tempoc.codegen.kernels.kernel import KernelFunction
from tempoc.codegen.kernels.shared_windows import in_windows
from tempoc.codegen.kernels.stencil_chains import COMPUTED_FIRST
from tempoc.codegen.kernels.vmap_batches import CUT_ROWS, PUT_ROWS, in_batches
from tempoc.codegen.regions import prelude
from tempoc.ops.definition.operator import ImportedFunction
from tempoc.ops.emission.prelude import HELPERS, helpers_in

_CONVENTIONS = """\
``at`` holds the coordinates of the point at which a statement is executed. Arrays of stores come in
and go out whole and are updated in place; bounds are keyword arguments, known when JAX traces."""
# Prefixes that kernels may use, and the imports that these need.
_IMPORTS = (
    ("jax.", "import jax"),
    ("jnp.", "import jax.numpy as jnp"),
    ("lax.", "from jax import lax"),
)

REGION_HELPERS = {
    "first_fault": prelude.FIRST_FAULT,
    "with_row": prelude.WITH_ROW,
    "squeezed": prelude.SQUEEZED,
    "branched": prelude.BRANCHED,
    "is_brief": prelude.is_brief(MODEL.waited_bytes),
    "taken_if": prelude.TAKEN_IF,
    "in_branch": prelude.in_branch(MODEL.changed_bytes),
    "selected": prelude.SELECTED,
    "put_into": prelude.PUT_INTO,
    "selected_parts": prelude.SELECTED_PARTS,
    "selected_if": prelude.selected_if(MODEL.copied_bytes),
    "looped": prelude.LOOPED,
    "looped_while": prelude.LOOPED_WHILE,
    "strip_mined_loop": prelude.strip_mined_loop(MODEL.strip_steps),
    "looped_in_strips": prelude.LOOPED_IN_STRIPS,
    "looped_in_prefixes": prelude.looped_in_prefixes(MODEL.prefix_parts, MODEL.prefix_bytes),
    "rotated": prelude.rotated(MODEL.rotated_bytes),
}
"""Functions that regions call; they are emitted in front of the regions."""


def module(
    name: str,
    functions: tuple[KernelFunction, ...],
    own: Mapping[ImportedFunction, str] = MappingProxyType({}),
    batch: int = MODEL.array_bytes,
    regions: Sequence[str] = (),
) -> str:
    """The whole file, deterministic. ``own`` has the names of the user's functions.

    ``batch`` is the limit in bytes for a batch of points.
    """
    kernels = "\n\n".join(f.text for f in functions)
    own_helpers = {
        "cut_rows": CUT_ROWS, "put_rows": PUT_ROWS, "computed_first": COMPUTED_FIRST,
        "in_batches": in_batches(batch), "updated": prelude.UPDATED,
        "clamped": prelude.clamped(MODEL.moved_bytes), "around": prelude.around(MODEL.moved_bytes),
        "in_windows": in_windows(batch), "in_rows": IN_ROWS,
        "joined": JOINED, "box_at": prelude.BOX_AT, "ring_age": prelude.RING_AGE,
        "ring_row": prelude.RING_ROW, "with_ring_row": prelude.WITH_RING_ROW,
        "with_joined_row": prelude.WITH_JOINED_ROW,
    }  # fmt: skip
    before = helpers_in(kernels, {**HELPERS, **own_helpers})
    between = helpers_in("\n\n".join(regions), REGION_HELPERS)
    body = "\n\n".join([*before, kernels, *between, *regions])
    imports = [line for used, line in _IMPORTS if used in body]
    if own:
        imports += ["", *(_import(place, alias) for place, alias in own.items())]
    title = f"Kernels of {name}, written by tempoc: one function for each statement."
    head = docstring(f"{title}\n\n{_CONVENTIONS}")
    text = "\n".join([*head, "", *imports, "", "", body])
    check_definitions(text)
    return text


def check_definitions(text: str) -> None:
    """``ValueError`` if a module does more, when it is loaded, than to import and to define."""
    document, *statements = ast.parse(text).body
    more = [s for s in statements if not _defines(s)]
    if more or ast.get_docstring(ast.Module([document], [])) is None:
        raise ValueError(f"emitted code is executed: {ast.unparse([*more, document][0])}")
    names = [s.name for s in statements if isinstance(s, ast.FunctionDef)]
    if len({*names}) < len(names):
        raise ValueError(f"a function is emitted twice, among {', '.join(names)}")


def _defines(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(decorator_list=[], args=args, returns=None):
            return all(
                isinstance(d, ast.Constant) for d in (*args.defaults, *args.kw_defaults) if d
            )
        case ast.Assign(targets=[ast.Name()], value=ast.Attribute() as value):
            return all(isinstance(n, ast.Attribute | ast.Name | ast.Load) for n in ast.walk(value))
        case _:
            return False


def _import(place: ImportedFunction, alias: str) -> str:
    outer, dot, inner = place.function.partition(".")
    line = import_line(place.module, outer, alias)
    return f"{line}\n{alias} = {alias}.{inner}" if dot else line
