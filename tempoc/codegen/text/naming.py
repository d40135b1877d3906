"""Names in emitted code: Python identifiers derived from the names in the source."""

from __future__ import annotations

import ast
import builtins
import keyword
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tempoc.base.names import COTANGENT
from tempoc.base.python_text import identifier
from tempoc.codegen.text.syntax_tree import tree_names
from tempoc.program.nodes.spelling import PREAMBLE
from tempoc.symbolic import expr as ix

RESERVED = tuple(
    sorted(
        {
            *keyword.kwlist,
            *keyword.softkwlist,
            *dir(builtins),
            *PREAMBLE,
            *("__annotations__", "__builtins__", "__file__"),
        }
    )
)
"""Names that emitted code must not bind, sorted."""
FAULT, CODE = "fault", "code"
REGION_NAMES = ("at", "carry", CODE, "count", FAULT, "steps")
"""Variables of functions that call kernels, which are named differently therefore."""


def names_in(lines: Iterable[str]) -> frozenset[str]:
    """The names that lines of the body of a function mention."""
    # Only within a function `return` is allowed.
    module = ast.parse("def f():\n" + "\n".join(f" {line}" for line in lines))
    return frozenset(tree_names(module))


def is_source_name(node: str) -> bool:
    """Whether a node has the name of an equation, and is no intermediate result of one."""
    return len(_path(node)) == 1


def local_names(nodes: Iterable[str], tensors: Iterable[str]) -> dict[str, str]:
    """The names in a kernel of the nodes that it computes and the tensors that it reads or writes.

    A node of inlined functions has a path such as ``a.attention.softmax.e.exp``. Its name is the
    shortest unique suffix of at least two parts: ``e_exp``. Cotangents keep their mark: ``d_net_w``
    for ``loss.d.net.w``. If two would have one name, tensors take it first, and nodes add the part
    of the domain that they were split into: ``k_late``.
    """
    paths = {name: _path(name) for name in (*tensors, *nodes)}
    ends: Counter[tuple[str, ...]] = Counter()
    for path in dict.fromkeys(paths.values()):
        ends.update(_ends(path))
    names: dict[str, str] = {}
    taken: set[str] = set()
    for name, path in paths.items():
        end, part = _end(path, ends), name.split(".")[len(path) :]
        spellings = (".".join(end), ".".join([*end, *part]), name)
        names[name] = next((n for n in map(identifier, spellings) if n not in taken), spellings[0])
        taken.add(names[name])
    return names


def _path(node: str) -> tuple[str, ...]:
    """The parts of a node's name, without the suffixes of index-set splitting."""
    first, *parts = node.split(".")
    while parts and (parts[-1] in ("early", "late") or parts[-1].isdigit()):
        parts.pop()
    return first, *parts


def _end(path: tuple[str, ...], ends: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """The shortest unique suffix of two parts or more that begins with a word."""
    return next((e for e in _ends(path) if ends[e] == 1), path)


def _ends(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The suffixes that may stand for a path, the shortest first."""
    by = max((k for k in range(1, len(path) - 1) if path[k] == COTANGENT), default=None)
    head, tail = ((), path) if by is None else ((COTANGENT,), path[by + 1 :])
    for k in range(max(len(tail) - 2, 0), -1, -1):
        if not tail[k].isdigit():
            yield *head, *tail[k:]


def access_name(tensor: str, dims: Sequence[str], entries: Sequence[ix.Entry]) -> str:
    """A name for an access: ``h_prev`` for ``h[t-1]``, ``k_slice`` for ``k[0:t+1]``."""
    parts = [_entry_name(dim, entry) for dim, entry in zip(dims, entries, strict=True)]
    return "_".join([tensor, *(p for p in parts if p)])


def _entry_name(dim: str, entry: ix.Entry) -> str:
    """The suffix for an entry; empty for the identity."""
    if isinstance(entry, ix.Slice):
        return "slice"
    match entry:
        case ix.Const(value=v):
            return str(v) if v >= 0 else "at"
        case ix.Sym(name=n):
            return "" if n == dim else n
    return _shift_name(ix.sub(entry, ix.Sym(dim)))


def _shift_name(shift: ix.Expr) -> str:
    if not isinstance(shift, ix.Const):
        return "at"
    number = "" if abs(shift.value) == 1 else str(abs(shift.value))
    return ("next" if shift.value > 0 else "prev") + number
