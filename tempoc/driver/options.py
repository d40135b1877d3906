"""The options of one compilation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tempoc.program.nodes.bounds import BUDGET
from tempoc.program.nodes.gpu_commands import COMMANDS
from tempoc.program.nodes.precision import PRECISION, PRECISIONS

BUCKET = 512
"""Room for so many steps costs little, and few kernels are compiled again when it is used up."""

RECOMPUTE = ("cheap", "all")
"""What may be made again instead of kept: results of elementwise operators and moves, or all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user may choose; `passes` (a pipeline in text form) takes the place of `level`.

    `tile` is the size of tiles, also of what would fit; `None`: only what is too large is cut.
    `regions`: loops run on the device where the host has nothing to do in them; `None`: at `-O2`.
    `bucket`: how many steps stores have room for at first that grow with the sequence; with 0 none
    grows. `memory_budget`: how many bytes the stores of a run may take. `limit`: what takes more
    bytes is computed in tiles; `sizes` are the bounds for which that is judged. `recompute`: values
    are made again instead of kept across the peak, those that cost little or all; `None`: none.
    `verify_each`: every stage is proved again, independently; `verify_values`: what passes make is
    also evaluated at small bounds. `precision`: of products of matrices. `away`: stores that live
    with the host, and how far from their uses they are brought (`offload/rewrite.py`), `ahead`:
    those that come a step before; `apart`: inputs and outputs are an array for each point, and no
    recurrence is a scan within one kernel; `walk`: large points are computed one after the other
    where a loop runs anyway. `commands`: how a GPU gets the commands of kernels
    (`program/nodes/gpu_commands.py`), `""` for all.
    """

    level: int = 2
    passes: str | None = None
    tile: int | None = None
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    verify_each: bool = False
    verify_values: bool = False
    regions: bool | None = None
    bucket: int = BUCKET
    memory_budget: int | None = None
    limit: int | None = None
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    recompute: str | None = None
    precision: str = PRECISIONS[0]
    away: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    ahead: tuple[str, ...] = ()
    apart: bool = False
    commands: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    walk: bool = False

    @property
    def on_device(self) -> bool:
        """Whether there are to be regions."""
        return self.level == 2 if self.regions is None else self.regions

    def to_provenance(self) -> dict[str, str]:
        """What must be known to repeat the compilation, as texts."""
        chosen = {"level": str(self.level)}
        chosen |= {} if self.passes is None else {"passes": self.passes}
        chosen |= {} if self.tile is None else {"tile": str(self.tile)}
        if self.regions is not None:
            chosen["regions"] = "yes" if self.regions else "no"
        chosen |= {} if self.bucket == BUCKET else {"bucket": str(self.bucket)}
        if self.memory_budget is not None:
            chosen[BUDGET] = str(self.memory_budget)
        chosen |= {} if self.limit is None else {"limit": str(self.limit)}
        chosen |= {} if self.recompute is None else {"recompute": self.recompute}
        chosen |= {f"size.{name}": str(value) for name, value in self.sizes.items()}
        chosen |= {f"away.{name}": str(reach) for name, reach in self.away.items()}
        chosen |= {f"ahead.{name}": "yes" for name in self.ahead}
        chosen |= {"apart": "yes"} if self.apart else {}
        chosen |= {f"{COMMANDS}.{k}".rstrip("."): way for k, way in self.commands.items()}
        chosen |= {"walk": "yes"} if self.walk else {}
        chosen |= {} if self.precision == PRECISIONS[0] else {PRECISION: self.precision}
        return chosen | {f"define.{name}": value for name, value in self.defines.items()}

    @classmethod
    def from_provenance(cls, kept: Mapping[str, str]) -> "Options":
        """The options that gave `to_provenance`."""
        names = [key.removeprefix("define.") for key in kept if key.startswith("define.")]
        sizes = [key.removeprefix("size.") for key in kept if key.startswith("size.")]
        away = [key.removeprefix("away.") for key in kept if key.startswith("away.")]
        return cls(
            level=int(kept.get("level", "2")),
            passes=kept.get("passes"),
            tile=int(kept["tile"]) if "tile" in kept else None,
            regions=kept["regions"] == "yes" if "regions" in kept else None,
            memory_budget=int(kept[BUDGET]) if BUDGET in kept else None,
            limit=int(kept["limit"]) if "limit" in kept else None,
            recompute=kept.get("recompute"),
            sizes={name: int(kept[f"size.{name}"]) for name in sizes},
            precision=kept.get(PRECISION, PRECISIONS[0]),
            bucket=int(kept.get("bucket", BUCKET)),
            away={name: int(kept[f"away.{name}"]) for name in away},
            ahead=tuple(k.removeprefix("ahead.") for k in kept if k.startswith("ahead.")),
            apart=kept.get("apart") == "yes",
            commands={
                key.removeprefix(COMMANDS).removeprefix("."): way
                for key, way in kept.items()
                if key.partition(".")[0] == COMMANDS
            },
            walk=kept.get("walk") == "yes",
            defines={name: kept[f"define.{name}"] for name in names},
        )
