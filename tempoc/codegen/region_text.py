"""How expressions and arrays are spelled in regions; how these find the first fault."""

from __future__ import annotations

from tempoc.program.arith import Arith, Operation, text

_EXTREMES = {"min": "jnp.minimum", "max": "jnp.maximum"}
_LOGIC = {"and": "&", "or": "|"}
DTYPES = {
    "bool": "jnp.bool_", "i32": "jnp.int32", "i64": "jnp.int64", "u32": "jnp.uint32",
    "bf16": "jnp.bfloat16", "f16": "jnp.float16", "f32": "jnp.float32", "f64": "jnp.float64",
    "key": "jnp.uint32",
}  # fmt: skip


def traced(e: Arith) -> str:
    """An expression over numbers of which some are traced."""
    if not isinstance(e, Operation):
        return str(e)
    parts = [traced(a) if not isinstance(a, Operation) else f"({traced(a)})" for a in e.args]
    if e.op in _EXTREMES:
        found = parts[0].removeprefix("(").removesuffix(")") if len(parts) == 1 else parts[0]
        for part in parts[1:]:
            found = f"{_EXTREMES[e.op]}({found}, {part})"
        return found
    if e.op == "not":
        return f"jnp.logical_not({parts[0]})"
    if not parts:
        return text(e)
    if e.op in _LOGIC and len(parts) == 1:
        return traced(e.args[0])
    if e.op == "+":
        return parts[0] + "".join(_added(part) for part in parts[1:])
    return f" {_LOGIC.get(e.op, e.op)} ".join(parts)


def _added(part: str) -> str:
    """A term of a sum that is not the first; a negative number is subtracted."""
    return f" - {part[1:]}" if part.removeprefix("-").isdigit() and part[0] == "-" else f" + {part}"


def tupled(parts: list[str]) -> str:
    """A tuple, of one element too."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


FIRST_FAULT = '''\
def first_fault(fault, kernel, found, point):
    """What failed first: the kernel, its check, which of its points, the coordinates."""
    check, lane = (found[0], found[1]) if found.ndim else (found, jnp.int32(0))
    new = jnp.stack([jnp.int32(kernel), check, lane, *point])
    new = jnp.pad(new, (0, fault.size - new.size))
    return jnp.where(fault[1] != 0, fault, new)
'''
"""Stands in front of regions that check something."""

