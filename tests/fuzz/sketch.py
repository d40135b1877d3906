"""A program in the making: dimensions, tensors that later equations may read, lines so far.

Lines are text: the front end parses them, so that reducer and neutral changes (`tree.py`) work on
its syntax tree and on any program, not only on those written here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

FLOATS = ("f32", "f16", "bf16", "f64")
INTEGERS = ("i32", "u32")
T = TypeVar("T")
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dim:
    """A temporal dimension; `value` is the text of a bound that the run does not give."""

    name: str
    bound: str
    value: str = ""
    until: str = ""

    @property
    def line(self) -> str:
        value = f" = {self.value}" if self.value else ""
        return f"dim {self.name} < {self.bound}{value}" + (
            f" until {self.until}" * bool(self.until)
        )


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor that is defined at all points of its dimensions."""

    name: str
    dims: tuple[str, ...]
    dtype: str = "f32"
    shape: Shape = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: its free dimensions, and what stands for those it fixes."""

    dims: tuple[str, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Sketch:
    """The program, and the source of all chance in it."""

    random: Random
    dims: dict[str, Dim] = field(default_factory=dict)
    hidden: list[Dim] = field(default_factory=list)
    """Dimensions that only their own part of the program reads."""
    lengths: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Over what the length of a dimension varies: at another point there it is another one."""
    head: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    features: dict[str, int] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    functions: dict[str, str] = field(default_factory=dict)
    count: int = 0
    width: int = 2

    # ------------------------------------------------------------ chance

    def pick(self, options: Sequence[T]) -> T:
        return options[self.random.randrange(len(options))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def some(self, options: Sequence[T], share: float = 0.5) -> tuple[T, ...]:
        """A part of the options, in their order."""
        return tuple(o for o in options if self.chance(share))

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def note(self, feature: str) -> None:
        """Count that the program has something."""
        self.features[feature] = self.features.get(feature, 0) + 1

    # ------------------------------------------------------------ dimensions and accesses

    def bound(self, dim: str) -> str:
        return self.dims[dim].bound

    def ordered(self, dims: Sequence[str]) -> tuple[str, ...]:
        """Dimensions in declaration order, each once."""
        return tuple(d for d in self.dims if d in dims)

    def at(self, name: str, dims: Sequence[str], entries: Mapping[str, str] | None = None) -> str:
        """`name[...]` with these entries, the identity elsewhere."""
        given = entries or {}
        return f"{name}[{', '.join(given.get(d, d) for d in dims)}]" if dims else name

    def read(self, tensor: Tensor, scope: Scope, entries: Mapping[str, str] | None = None) -> str:
        """An access that is inside the domain, wherever the scope's dimensions are."""
        chosen = {d: self.point(d, scope) for d in tensor.dims}
        chosen |= {k: v for k, v in (entries or {}).items() if k in chosen}
        own = [d for k in tensor.dims for d in self.lengths.get(k, ()) if d in scope.dims]
        chosen |= {d: d for d in own}
        moved = {d: e for d, e in chosen.items() if e != d}
        if not moved and self.chance(0.6):
            return tensor.name
        if moved and len(tensor.dims) > len(moved) and self.chance(0.3):
            return f"{tensor.name}[{', '.join(f'{d} = {e}' for d, e in moved.items())}]"
        return self.at(tensor.name, tensor.dims, chosen)

    def point(self, dim: str, scope: Scope) -> str:
        """A point of a dimension: mostly where the equation is."""
        end = self.bound(dim)
        if dim in scope.fixed:
            return scope.fixed[dim]
        if dim not in scope.dims:
            others = [d for d in scope.dims if self.dims[d].bound == end]
            if others and self.chance(0.5):
                return self.pick(others)
            if scope.dims and self.chance(0.2):
                return f"min({self.pick(scope.dims)}, {end}-1)"
            return self.pick(("0", f"{end}-1", f"{end}//2"))
        if not self.chance(0.2):
            return dim
        self.note("shifted read")
        return self.pick(
            (
                f"max({dim}-1, 0)",
                f"min({dim}+1, {end}-1)",
                f"{end}-1-{dim}",
                f"{dim}//2",
                f"max({dim}-2, 0)",
                "0",
                f"{end}-1",
                f"{dim} - {dim} % 2",
            )
        )

    def slice(self, dim: str, scope: Scope, *, full: bool = True) -> str:
        """A slice along a dimension; `full`: with an element at least."""
        t, end = dim, self.bound(dim)
        if dim in scope.fixed or dim not in scope.dims:
            return self.pick((f"0:{end}", f"0:{end}", f"0:{end}:2" if full else f"1:{end}"))
        kind = self.pick(("prefix", "suffix", "window", "strided", "part"))
        self.note(f"{kind} slice")
        choices = {
            "prefix": (f"0:{t}+1",) if full else (f"0:{t}",),
            "suffix": (f"{t}:{end}",) if full else (f"{t}+1:{end}",),
            "window": (f"max(0, {t}-2):{t}+1", f"{t}:min({t}+3, {end})", f"max({t}-1, 0):{t}+1"),
            "strided": (f"{t} % 2:{t}+1:2", f"{t}:{end}:2", f"0:{t}+1:3", f"0:{end}:2"),
            "part": (f"{t}//2:{t}+1", f"0:{end}", f"0:{t}//2+1"),
        }
        if not full and self.chance(0.5):
            return self.pick((f"max(0, {t}-3):{t}", f"{t}//2:{t}", f"{t}+1:min({t}+3, {end})"))
        return self.pick(choices[kind])

    def extent(self, entry: str) -> str:
        """How many points a slice has."""
        parts = [*entry.split(":"), "1"]
        length = parts[1] if parts[0] == "0" else f"{parts[1]} - ({parts[0]})"
        return length if parts[2] == "1" else f"({length} + {int(parts[2]) - 1}) // {parts[2]}"

    # ------------------------------------------------------------ adding

    def define(self, tensor: Tensor, *lines: str) -> Tensor:
        """Add equations and the tensor that they define."""
        self.lines += lines
        self.tensors.append(tensor)
        self.outputs.append(tensor.name)
        return tensor

    def need(self, module: str) -> None:
        if module not in self.modules:
            self.modules.append(module)

    def known(self, dtype: str, shape: Shape) -> list[Tensor]:
        return [t for t in self.tensors if (t.dtype, t.shape) == (dtype, shape)]

    def floats(self) -> list[Tensor]:
        return [t for t in self.tensors if t.dtype == "f32"]

    def text(self) -> str:
        """The program, with the outputs that there are now."""
        modules = [f"import {', '.join(self.modules)}"] if self.modules else []
        dims = [d.line for d in (*self.dims.values(), *self.hidden)]
        lines = [*modules, *dims, *self.head, *self.functions.values(), *self.lines]
        return "\n".join([*lines, "output " + ", ".join(self.outputs), ""])
