"""Random programs over tables whose cells need their neighbours, in any two directions."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

NEIGHBOURS = [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (2, 1), (1, 2)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """How a table is written: directions, distances, what it is over besides ``i`` and ``j``."""

    ways: tuple[int, int]
    reads: tuple[tuple[int, int], ...]
    batch: str
    integers: bool

    @property
    def reach(self) -> tuple[int, int]:
        """How far the farthest neighbours are along each dimension."""
        return max(a for a, _ in self.reads), max(b for _, b in self.reads)

    def cell(self, tensor: str, a: int, b: int) -> str:
        """A read of a neighbour."""
        entries = [
            f"{d}{'-' if way > 0 else '+'}{k}" if k else d
            for d, way, k in zip("ij", self.ways, (a, b), strict=True)
        ]
        return f"{tensor}[{self.batch}{', '.join(entries)}]"

    @property
    def inside(self) -> list[str]:
        """The conditions under which a cell has all its neighbours."""
        return [
            f"{d} >= {k}" if way > 0 else f"{d} < {d.upper()}-{k}"
            for d, way, k in zip("ij", self.ways, self.reach, strict=True)
        ]

    @property
    def rim(self) -> list[str]:
        """The opposites of these conditions."""
        return [
            f"{d} < {k}" if way > 0 else f"{d} >= {d.upper()}-{k}"
            for d, way, k in zip("ij", self.ways, self.reach, strict=True)
        ]

    @property
    def last(self) -> str:
        """The cell that needs all others."""
        ends = (f"{d.upper()}-1" if w > 0 else "0" for d, w in zip("ij", self.ways, strict=True))
        return f"d[{self.batch}{', '.join(ends)}]"


def lattice_program(seed: int) -> str:
    """A program over ``i < I`` and ``j < J``, sometimes also over ``b < B``."""
    random = Random(seed)
    table = _table(random)
    dtype, batch, scale = (
        ("i32", table.batch, "") if table.integers else ("f32", table.batch, " / 2")
    )
    others = [f"x[{batch}i]", f"y[{batch}j]", f"w[{batch}i, j]", "c", f"x[{batch}i] * y[{batch}j]"]
    if table.ways[0] > 0:
        others += [f"x[{batch}i-1]", f"w[{batch}i-1, j]"]
    cells = [table.cell("d", a, b) for a, b in table.reads]
    value = cells[0]
    for cell in cells[1:]:
        both = ["maximum({}, {})", "minimum({}, {})"]
        both += [] if table.integers else ["({} * 0.5 + {} * 0.25)", "tanh({} + {})"]
        value = random.choice(both).format(value, cell)
    first, second = random.choice(others), random.choice(others)
    value = f"{value} + ({first}){scale} - ({second}){scale}"
    rim = random.choice(["i - j", "i + 2*j", "1"])
    rim = rim if table.integers else f"0.1 * ({rim})"
    inside, outside = " and ".join(table.inside), " or ".join(table.rim)
    lines = ["dim b < B"] if batch else []
    lines += [
        "dim i < I",
        "dim j < J",
        f"input x[{batch}i]: {dtype}",
        f"input y[{batch}j]: {dtype}",
    ]
    lines += [f"input c[i, j]: {dtype}", "w = x * y + c" if random.random() < 0.5 else "w = x - y"]
    if random.random() < 0.3:
        lines += [f"e[{batch}i, j] = {cells[0]} + 1 when {inside}"]
        lines += [f"e[{batch}i, j] = {rim} when {outside}"]
        value += f" + e[{batch}i, j]{scale}"
    if random.random() < 0.5:
        lines += [f"d[{batch}i, j] = {rim} when {outside}"]
    else:
        first, second = table.inside[0], table.rim[1]
        lines += [f"d[{batch}i, j] = {rim} when {table.rim[0]}"]
        lines += [f"d[{batch}i, j] = {rim} + 1 when {first} and {second}"]
    lines += [f"d[{batch}i, j] = {value} when {inside}"]
    return "\n".join([*lines, *_outputs(random, table)]) + "\n"


def _table(random: Random) -> _Table:
    reads = random.sample(NEIGHBOURS, random.randint(2, 4))
    reads += [] if any(a for a, _ in reads) else [(1, 0)]
    reads += [] if any(b for _, b in reads) else [(0, 1)]
    return _Table(
        ways=(random.choice([1, -1]), random.choice([1, -1])),
        reads=tuple(reads),
        batch="b, " if random.random() < 0.3 else "",
        integers=random.random() < 0.3,
    )


def _outputs(random: Random, table: _Table) -> list[str]:
    """What is read of the table: cells, lines, all of it, sums; gradients, if it has any."""
    lead = "0:B, " if table.batch else ""
    wide = [
        f"{table.last.replace('b, ', '0:B, ')} as last",
        f"d[{lead}0:I, 0:J] as table",
        f"d[{lead}I-1, 0:J] as row",
        f"d[{lead}0:I, J-1] as column",
    ]
    names = random.sample(wide, random.randint(1, 2))
    lines: list[str] = []
    if not table.batch:
        lines = [
            random.choice(["s = sum(d[0:I, 0:J])", f"s = {table.last}", "s = max(d[0:I, 0:J])"])
        ]
        names.append("s")
        if not table.integers and "max" not in lines[0] and random.random() < 0.6:
            lines += ["g = grad(s, x)", "h = grad(s, y)"]
            names += ["g", "h"]
    return [*lines, f"output {', '.join(names)}"]
