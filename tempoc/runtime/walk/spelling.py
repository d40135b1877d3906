"""The text of expressions, points, cells and moves in a walk: bounds as numbers, `v_t` for `t`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tempoc.program.nodes.arithmetic import Arith, Operation, evaluate, names, text
from tempoc.program.nodes.nodes import Cell, Cells, Evict, Load, Loop, Program
from tempoc.runtime.device.stores import Layout
from tempoc.runtime.walk.walk import is_local


@dataclass(slots=True, kw_only=True)
class WalkNames:
    """Spells names and collects lines; ``constants`` are the points without variables, by name.

    ``zeros`` has the stores of shared cells of zeros, by the names of the cells.
    """

    layouts: Mapping[str, Layout]
    numbers: Mapping[str, int]
    bounds: Mapping[str, int]
    rename: dict[str, str]
    constants: dict[str, tuple[int, ...]] = field(default_factory=dict)
    zeros: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def line(self, depth: int, content: str) -> None:
        """Append a line."""
        self.lines.append("    " * depth + content)

    def lines_if(self, condition: Arith | None, lines: Sequence[str], depth: int) -> None:
        """Append lines, guarded by a condition if there is one."""
        if condition is not None and lines:
            self.line(depth, f"if {self.expression(condition)}:")
            depth += 1
        for content in lines:
            self.line(depth, content)

    def move(self, s: Load | Evict, depth: int) -> None:
        """Load or evict cells."""
        verb = "load" if isinstance(s, Load) else "evict"
        past = "loaded" if isinstance(s, Load) else "evicted"
        for cell in s.cells:
            i, key = self.numbers[cell.store], self.key(cell)
            text = f"{verb}({i}, {key})" if key else f"s{i} = {past}({i}, s{i})"
            self.lines_if(cell.when, [text], depth)

    def stale(self, cell: Cell) -> list[str]:
        """The line that invalidates the host copy of a cell that was written or freed."""
        if not self.layouts[cell.store].away:
            return []
        return [f"stale({self.numbers[cell.store]}, {self.key(cell) or '()'})"]

    def expression(self, e: Arith) -> str:
        """An expression as text."""
        return text(e, self.rename)

    def steps(self, loop: Loop) -> str:
        """The range of a loop, limited by what is known of lengths when it begins."""
        lo, hi = self.expression(loop.lower), self.expression(loop.upper)
        limit = None if loop.limit is None else self.expression(loop.limit)
        if limit is not None and loop.step == -1:
            lo = f"min({lo}, {limit} - 1)"
        elif limit is not None and loop.step == 1:
            hi = f"min({hi}, {limit})"
        return f"range({lo}, {hi}, {loop.step})"

    def length(self, e: Arith) -> str:
        """A length as arguments: its bound, the point."""
        bound, *outer = e.args if isinstance(e, Operation) else [e]
        return f"{bound!r}, ({''.join(f'{self.expression(x)}, ' for x in outer).rstrip()})"

    def point(self, point: tuple[Arith, ...]) -> str:
        """The kernel's ``at``: a new array each time, since the device may read it later.

        An empty tuple for a kernel without coordinates: passing an array takes time.
        """
        if not point:
            return "()"
        parts = [self.expression(e) for e in point]
        if any(self.varies(e) for e in point):
            return f"array(({', '.join(parts)},), i32)"
        name = f"at{len(self.constants)}"
        self.constants[name] = tuple(evaluate(e, self.bounds) for e in point)
        return name

    def varies(self, e: Arith) -> bool:
        """Whether an expression depends on loop variables or lengths."""
        return any(self.rename[name].startswith(("v_", "n")) for name in names(e))

    def cell(self, cell: Cell) -> str:
        """The variable or dictionary entry of a cell."""
        i, key = self.numbers[cell.store], self.key(cell)
        return f"s{i}[{key}]" if key else f"s{i}"

    def key(self, cell: Cell) -> str:
        """The key of a cell; empty for a store of one cell."""
        store = self.layouts[cell.store]
        if is_local(store):
            return ""
        parts = []
        for e, modulo in zip(cell.key, store.moduli, strict=True):
            inner = self.expression(e)
            parts.append("0" if modulo == 1 else f"({inner}) % {modulo}" if modulo else inner)
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def shared(self, store: str) -> str:
        """The shared cell of zeros of a store, which is never donated."""
        i = self.numbers[store]
        self.zeros[f"zero{i}"] = store
        return f"zero{i}"

    def passed(self, cells: Cells) -> str:
        """The operand of a region: an array, or a dict of arrays."""
        arrays = {place: self.cell(cell) for place, cell in self.arrays(cells)}
        if not cells.places:
            return next(iter(arrays.values()))
        return "{" + ", ".join(f"{place}: {text}" for place, text in arrays.items()) + "}"

    def arrays(self, cells: Cells) -> Iterator[tuple[str, Cell]]:
        """The cells of an operand of a region, each with the slots that are its key there."""
        moduli = self.layouts[cells.store].moduli
        for key in cells.keys:
            slots = []
            for k in cells.places:
                slot = evaluate(key[k], self.bounds)
                slots.append(str(slot % moduli[k] if moduli[k] else slot))
            place = slots[0] if len(slots) == 1 else f"({', '.join(slots)})"
            yield place, Cell(store=cells.store, key=key)


def length_texts(program: Program) -> dict[str, str]:
    """The texts of lengths: `n0[()]` for a bound with a single one, `n0` for its table."""
    texts: dict[str, str] = {}
    for k, length in enumerate(program.lengths):
        texts[length.bound] = f"n{k}[()]"
        texts[f"{length.bound}[]"] = f"n{k}"
    return texts
