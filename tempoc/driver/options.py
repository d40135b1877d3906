"""The options of one compilation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tempoc.base.cost_model import MODEL
from tempoc.base.limits import LIMITS, TABLE, Limits
from tempoc.program.nodes.bounds import BUDGET
from tempoc.program.nodes.gpu_commands import COMMANDS
from tempoc.program.nodes.precision import PRECISION, PRECISIONS

RECOMPUTE = ("cheap", "all")
"""What may be rematerialized: results of elementwise operators and moves, or all values."""

CPU, _ = DEVICES = ("cpu", "gpu")
"""The kinds of devices that kernels are chosen for."""
_KERNELS = ("kernels", "kernels.path", "kernels.folder")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The user's choices; `passes` (a pipeline in text form) replaces that of `level`.

    `tile`: the size of tiles, also for tensors that fit; `None`: only what is too large is tiled.
    `regions`: loops without work for the host run on the device; `None`: at `-O2`. `bucket`: the
    initial capacity, in steps, of stores that grow with the sequence; 0: none grows.
    `memory_budget`: the most bytes that the stores of a run may take. `limit`: tensors with more
    bytes are tiled, at the bounds in `sizes`. `recompute`: rematerialize values that are live
    across the peak, the cheap ones or all; `None`: none. `verify_each`: verify every stage
    independently; `verify_values`: also evaluate the result of each pass at small bounds.
    `config`: the file that gives constants with an entry their values (`configuration.py`).
    `precision`: that of matrix products. `away`: offloaded stores, with the distance from their
    uses at which they are loaded (`offload/rewrite.py`); `ahead`: those prefetched a step early.
    `apart`: inputs and outputs are one array per point, and no recurrence becomes a scan in a
    kernel. `walk`: large points are computed one after the other where a loop runs anyway.
    `running`: large sums are accumulated in loops, too, so that their summands are not stored.
    `hosted`: tensors over whose points loops run on the host, which moves them one by one.
    `chunks`: inputs that are with the host, of which so many rows at a time are on the device.
    `commands`: command buffers of a GPU by kernel (`program/nodes/gpu_commands.py`), `""` for all.
    `kernels`: a table of kernels, its text, its path and the folder in which it lies
    (`kernel_table.py`); `library`: use the table that comes with the compiler, too. `device`: the
    kind of device for which kernels are chosen.
    `limits`: beyond which a program is refused.
    """

    level: int = 2
    passes: str | None = None
    tile: int | None = None
    defines: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    config: str | None = None
    verify_each: bool = False
    verify_values: bool = False
    regions: bool | None = None
    bucket: int = MODEL.capacity
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
    running: bool = False
    hosted: tuple[str, ...] = ()
    chunks: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    kernels: tuple[str, str, str] | None = None
    library: bool = True
    device: str = CPU
    limits: Limits = LIMITS

    @property
    def on_device(self) -> bool:
        """Whether loops may run on the device, as regions."""
        return self.level == 2 if self.regions is None else self.regions

    def to_provenance(self) -> dict[str, str]:
        """The options that differ from the defaults as texts, to repeat the compilation."""
        entries = {"level": str(self.level)}
        entries |= {} if self.passes is None else {"passes": self.passes}
        entries |= {} if self.tile is None else {"tile": str(self.tile)}
        if self.regions is not None:
            entries["regions"] = "yes" if self.regions else "no"
        entries |= {} if self.bucket == MODEL.capacity else {"bucket": str(self.bucket)}
        if self.memory_budget is not None:
            entries[BUDGET] = str(self.memory_budget)
        entries |= {} if self.limit is None else {"limit": str(self.limit)}
        entries |= {} if self.recompute is None else {"recompute": self.recompute}
        entries |= {f"size.{name}": str(value) for name, value in self.sizes.items()}
        entries |= {f"away.{name}": str(reach) for name, reach in self.away.items()}
        entries |= {f"ahead.{name}": "yes" for name in self.ahead}
        entries |= {f"hosted.{name}": "yes" for name in self.hosted}
        entries |= {f"chunk.{name}": str(rows) for name, rows in self.chunks.items()}
        entries |= {"apart": "yes"} if self.apart else {}
        entries |= {f"{COMMANDS}.{k}".rstrip("."): mode for k, mode in self.commands.items()}
        entries |= {"walk": "yes"} if self.walk else {}
        entries |= {"running": "yes"} if self.running else {}
        entries |= {} if self.library else {"library": "no"}
        entries |= {} if self.device == CPU else {"device": self.device}
        entries |= dict(zip(_KERNELS, self.kernels or (), strict=False))
        other = (name for name in TABLE if self.limits[name] != LIMITS[name])
        entries |= {f"limit.{name}": str(self.limits[name]) for name in other}
        entries |= {} if self.precision == PRECISIONS[0] else {PRECISION: self.precision}
        return entries | {f"define.{name}": value for name, value in self.defines.items()}

    @classmethod
    def from_provenance(cls, provenance: Mapping[str, str]) -> "Options":
        """The inverse of `to_provenance`."""
        names = [key.removeprefix("define.") for key in provenance if key.startswith("define.")]
        sizes = [key.removeprefix("size.") for key in provenance if key.startswith("size.")]
        away = [key.removeprefix("away.") for key in provenance if key.startswith("away.")]
        chunks = [key.removeprefix("chunk.") for key in provenance if key.startswith("chunk.")]
        return cls(
            level=int(provenance.get("level", "2")),
            passes=provenance.get("passes"),
            tile=int(provenance["tile"]) if "tile" in provenance else None,
            regions=provenance["regions"] == "yes" if "regions" in provenance else None,
            memory_budget=int(provenance[BUDGET]) if BUDGET in provenance else None,
            limit=int(provenance["limit"]) if "limit" in provenance else None,
            recompute=provenance.get("recompute"),
            sizes={name: int(provenance[f"size.{name}"]) for name in sizes},
            precision=provenance.get(PRECISION, PRECISIONS[0]),
            bucket=int(provenance.get("bucket", MODEL.capacity)),
            away={name: int(provenance[f"away.{name}"]) for name in away},
            ahead=tuple(k.removeprefix("ahead.") for k in provenance if k.startswith("ahead.")),
            hosted=tuple(k.removeprefix("hosted.") for k in provenance if k.startswith("hosted.")),
            chunks={name: int(provenance[f"chunk.{name}"]) for name in chunks},
            apart=provenance.get("apart") == "yes",
            commands={
                key.removeprefix(COMMANDS).removeprefix("."): mode
                for key, mode in provenance.items()
                if key.partition(".")[0] == COMMANDS
            },
            walk=provenance.get("walk") == "yes",
            running=provenance.get("running") == "yes",
            library=provenance.get("library") != "no",
            device=provenance.get("device", CPU),
            kernels=_kernels(provenance),
            limits=LIMITS.raised(
                {n: int(provenance[f"limit.{n}"]) for n in TABLE if f"limit.{n}" in provenance}
            ),
            defines={name: provenance[f"define.{name}"] for name in names},
        )


def _kernels(provenance: Mapping[str, str]) -> tuple[str, str, str] | None:
    if not all(name in provenance for name in _KERNELS):
        return None
    text, path, folder = (provenance[name] for name in _KERNELS)
    return text, path, folder
