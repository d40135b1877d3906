"""The nodes of the program IR, which the runner executes.

Grammar::

    Program   = version, name, doc, bounds, lengths, assumptions, dims, inputs, params, stores,
                externs, kernels, tree, outputs, tuning, files, provenance, variants
    Statement = Sequence(Statement*) | Loop(var, lower, upper, step, body) | Guard(condition, body)
              | Call(kernel, point, args, results) | Host(extern, dims, point, args, results)
              | Free(cells) | Load(cells) | Evict(cells) | Chunk(store, row) | Effect(call, ...)
              | Region(kernel, point, loop, carried, read)
              | Block(kernel, point, body, carried, made, read, local)

A *store* holds one tensor, as its `Buffer` says. A *cell* is one array of a store: the store's name
and a key. Kernels are functions of ``kernels.py``:
``kernel(at, *arrays, T=..., B=...)`` with the point's coordinates in an int32 vector ``at`` and the
static bounds that it names; lengths, which may differ from call to call, follow in ``at``. It
returns arrays for the cells in ``results``; arguments in ``Kernel.donated`` are given up.
Expressions are those of ``symbolic``, over bounds and loop variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tempoc.program.nodes.bounds import Assumption, FoundLength, PointRange, ProgramBound
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.functions import Extern
from tempoc.program.nodes.tuning import UNTUNED, RunTuning
from tempoc.program.nodes.variants import Variant
from tempoc.symbolic import expr as ix

VERSION = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramInput:
    """Data given at run time into ``store``: an axis for each dimension, then ``shape``."""

    name: str
    store: str
    dims: tuple[str, ...]
    dtype: str
    shape: tuple[ix.Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramParam:
    """Weights given at run time into ``store``.

    ``template`` names the tensors in the file (``layers.{l}.w``, one for each point of the
    dimensions it mentions; the other dimensions are its leading axes).
    ``has_default``: the program computes the value when no file holds it.
    """

    name: str
    store: str
    dims: tuple[str, ...]
    dtype: str
    shape: tuple[ix.Expr, ...]
    template: str
    has_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityNeed:
    """Growing axes along ``dim`` that end at ``size`` must have as many slots as all ``rows``."""

    dim: str
    size: ix.Expr
    rows: tuple[ix.Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A function of ``kernels.py``.

    ``bounds`` are its static parameters, ``static`` what its text takes from them: for bounds that
    give these expressions the same values it is the same function. ``donated`` are the positions of
    arguments whose buffers it takes over (0 is the first array). ``dims`` name the coordinates of
    its points, for messages; ``lengths`` are the bounds whose lengths it takes. After the results
    it returns a bool for each ending of the call. A kernel with ``checks`` returns one more result:
    an i32 that is 0, or encodes the failed check and its value (``runtime/messages/faults.py``);
    the texts say what is wrong (``index {value} is out of range ...``). A kernel with ``vector``
    computes all points of these ranges in each call; instead of one i32 it returns two, the second
    of which is the index of the first failing point. ``derives`` are the aliases of externs that it
    differentiates.
    """

    name: str
    dims: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    static: tuple[ix.Expr, ...] = ()
    donated: tuple[int, ...] = ()
    equations: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    vector: tuple[PointRange, ...] = ()
    lengths: tuple[str, ...] = ()
    derives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One array of a store; ``key`` has an expression for each key dimension.

    Where ``when`` does not hold, an argument is passed as zeros and a result is dropped.
    """

    store: str
    key: tuple[ix.Expr, ...] = ()
    when: ix.Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """If the kernel says so, ``bound`` has this ``length`` from now on, at the point ``outer``."""

    bound: str
    outer: tuple[ix.Expr, ...]
    length: ix.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Run a kernel at a point: ``results[i] = kernel(point, *args)[i]``.

    The result for a param that the user gives is dropped. ``needs`` are the capacities that growing
    stores must have before the call. In a loop on the device, what it checks counts only ``where``
    a condition holds: elsewhere nothing reads what it makes.
    """

    kernel: str
    point: tuple[ix.Expr, ...]
    args: tuple[Cell, ...]
    results: tuple[Cell, ...]
    endings: tuple[Ending, ...] = ()
    needs: tuple[CapacityNeed, ...] = ()
    where: ix.Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSpan:
    """``lower:upper:step`` of an output entry."""

    lower: ix.Expr
    upper: ix.Expr
    step: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectTensor:
    """One tensor of an effect: its name, at which entries it was read, its true extents.

    ``{l}`` in the name of one that is saved is filled by the entry of that dimension; ``part`` is
    what was taken of one that is printed (``[0]``). Expressions are over the kernel's coordinates.
    """

    name: str
    entries: tuple[tuple[str, ix.Expr | OutputSpan], ...]
    shape: tuple[ix.Expr, ...]
    part: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Call a kernel without result cells, and print or save the tensors that it returns.

    ``kind`` is ``print`` (lines on standard error) or ``save`` (one file; ``{i}`` in ``path``
    stands for an index of the point). A print in a region adds the step of the region's loop and
    its tensors as rows to the stores ``rows``; the runner prints them after each call. With
    ``texts`` it prints one line: a text before each value, and one after the last. If it is
    ``conditional``, the last tensor is a bool, and nothing happens where it is false.
    """

    kind: str
    call: Call
    places: tuple[EffectTensor, ...]
    path: str = ""
    rows: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    conditional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """Free cells."""

    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Copy cells to the device that are not there; their copies on the host stay valid.

    A cell that was never written is skipped, unless it starts as zeros. ``ahead``: a prefetch,
    which may be ignored; another `Load` follows where the cells are needed.
    """

    cells: tuple[Cell, ...]
    ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """Remove cells from the device that are there.

    They are copied to the host unless the copy there is still valid. ``dead``: their values are not
    read again, so they are dropped, together with copies on the host.
    """

    cells: tuple[Cell, ...]
    dead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Make the store of an input hold a ``row``, by copying the chunk of it from the host.

    The store is one array with a ring of ``m`` slots along the input's only dimension. Chunk ``c``
    has the rows from ``c * m`` on, zeros follow the last one. For a row that the input does not
    have it is the nearest chunk.
    """

    store: str
    row: ix.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """``for var in range(lower, upper, step)``; a negative step counts down.

    Steps at ``limit`` and beyond are skipped; it depends on lengths, so it is evaluated anew before
    each step.
    ``place`` is "host" unless the loop is part of a region; there it is "device", or "unrolled".
    """

    var: str
    lower: ix.Expr
    upper: ix.Expr
    step: int
    body: ProgramStatement
    limit: ix.Expr | None = None
    place: str = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Run the body if the condition holds."""

    condition: ix.Expr
    body: ProgramStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """One after the other."""

    items: tuple[ProgramStatement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A call of a host function by the runner, at a point: arrays of ``args`` in, ``results`` out.

    ``dims`` name the coordinates of the point, ``equations`` the equations with the call,
    ``shapes`` the true extents of the arguments, over bounds and coordinates. ``unless``: stores of
    a param; if all of them are given, there is no call.
    """

    extern: str
    dims: tuple[str, ...]
    point: tuple[ix.Expr, ...]
    args: tuple[Cell, ...]
    results: tuple[Cell, ...]
    shapes: tuple[tuple[ix.Expr, ...], ...]
    equations: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells of one store that are an operand of a region; ``places`` are key positions that vary.

    Without ``places`` the operand is one array, otherwise a dict from the slots at these positions.
    """

    store: str
    keys: tuple[tuple[ix.Expr, ...], ...]
    places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A device loop: one kernel runs its steps, in any number of calls that the runner chooses.

    ``carried, fault = kernel(at, *carried, *read)``: ``at`` has the first value of the loop's
    variable, the number of steps, then the ``point``, the variables of loops around. If kernels of
    the loop have checks, ``fault`` is the first that failed: kernel, result, point. ``needs`` are
    those of a step, over the loop's variable: the same for all steps, or one more with each.

    After the point, ``at`` has the ``lengths`` known so far, then the ``counts``: numbers over
    bounds that the kernel need not know when it is traced. For each of the ``endings``, indices
    into the lengths, it returns an i32 before ``fault``: the length if it ended, or 0; it skips the
    steps beyond. ``local`` stores never leave the kernel, and their earlier values are dead.

    For each kernel of the ``prints`` the kernel of the region returns a tuple, after ``carried``:
    the number of rows, then the stores of rows. They hold the rows of ``most`` steps.
    """

    kernel: str
    point: tuple[str, ...]
    loop: Loop
    carried: tuple[Cells, ...]
    read: tuple[Cells, ...]
    needs: tuple[CapacityNeed, ...] = ()
    lengths: tuple[ix.Expr, ...] = ()
    counts: tuple[ix.Expr, ...] = ()
    endings: tuple[int, ...] = ()
    local: tuple[str, ...] = ()
    prints: tuple[str, ...] = ()
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Device block: statements that are one kernel call where ``single`` holds, else one by one.

    ``carried, made, ends, fault = kernel(at, *carried, *read)``: ``local`` stores never leave it.
    ``at`` has the ``point``, the ``lengths`` and the ``counts``; these, ``endings`` and ``fault``
    are as in a region. If loops within it, ``begun`` so often, find out lengths that nothing else
    reads, the last count is how many steps these may have, and the last end how many are left: if
    none are, the results mean nothing.
    """

    kernel: str
    point: tuple[str, ...]
    body: ProgramStatement
    carried: tuple[Cells, ...]
    made: tuple[Cells, ...]
    read: tuple[Cells, ...]
    local: tuple[str, ...]
    lengths: tuple[ix.Expr, ...] = ()
    counts: tuple[ix.Expr, ...] = ()
    endings: tuple[int, ...] = ()
    single: ix.Expr = ix.TRUE
    begun: ix.Expr = ix.ZERO


ProgramStatement = (
    Sequence | Loop | Guard | Call | Host | Free | Load | Evict | Chunk | Effect | Region | Block
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOutput:
    """A result: ``store`` read at one entry for each dimension in domain order (point or span).

    ``shape`` are the true spatial extents, at most those of the store.
    """

    name: str
    store: str
    dims: tuple[str, ...]
    entries: tuple[ix.Expr | OutputSpan, ...]
    dtype: str
    shape: tuple[ix.Expr, ...]


WORDS: Mapping[type, str] = {ProgramInput: "input", ProgramParam: "param", ProgramOutput: "output"}
"""The words for interface nodes in texts and messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A compiled program, one of several equivalent ones if it has ``variants``.

    ``seed`` names the store of the random key (two u32 words); empty: no random numbers are drawn.
    ``dims`` pairs dimensions with bounds, ``files`` names with SHA-256 sums, which runs check.
    """

    version: int = VERSION
    name: str
    doc: str = ""
    compiler: str = ""
    x64: bool = False
    bounds: tuple[ProgramBound, ...] = ()
    lengths: tuple[FoundLength, ...] = ()
    dims: tuple[tuple[str, str], ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    inputs: tuple[ProgramInput, ...] = ()
    params: tuple[ProgramParam, ...] = ()
    seed: str = ""
    stores: tuple[Buffer, ...] = ()
    externs: tuple[Extern, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    tree: ProgramStatement = Sequence(items=())
    outputs: tuple[ProgramOutput, ...] = ()
    tuning: RunTuning = UNTUNED
    files: tuple[tuple[str, str], ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    variants: tuple[Variant, ...] = ()
