"""Stores at run time: layouts with known sizes, cells of zeros, cells of inputs and params."""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.analysis.traversal import blocks, regions, statements_in
from tempoc.program.nodes.buffers import Buffer
from tempoc.program.nodes.nodes import Effect, Host, Program, ProgramInput, ProgramParam
from tempoc.runtime.data.bindings import Bindings, PointIndex, leading_dims, template_dims
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.data.source import TensorSource
from tempoc.runtime.device import backend, resident
from tempoc.runtime.device.backend import DeviceArray
from tempoc.runtime.device.capacity import CapacityGroup, groups
from tempoc.runtime.messages import run as errors
from tempoc.symbolic.walk import evaluate

# Cells of one store by key; the key of a store without keys is the empty tuple.
CellArrays = dict[PointIndex, DeviceArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A store with all sizes known. ``moduli``: 0 where a key is not reduced.

    ``every``: of how many points along an axis one has a slot.

    ``order`` is the permutation of ``[*axes, *spatial]`` in ``shape``. A growing store has the
    number of its ``group`` and the position ``growing`` of its growing axis; ``shape`` is the final
    one.
    """

    name: str
    dtype: str
    keys: tuple[str, ...]
    moduli: tuple[int, ...]
    axes: tuple[str, ...]
    rings: tuple[int, ...]
    every: tuple[int, ...]
    shape: tuple[int, ...]
    order: tuple[int, ...] = ()
    group: int = -1
    growing: int = -1
    away: bool = False

    @property
    def is_single(self) -> bool:
        """Whether a store is one cell: no keys, or all reduced to a single slot."""
        return all(m == 1 for m in self.moduli)

    def shaped(self, now: Sequence[int]) -> tuple[int, ...]:
        """The shape of a cell for these capacities of the groups."""
        if self.group < 0:
            return self.shape
        shape = list(self.shape)
        shape[self.growing] = now[self.group]
        return tuple(shape)

    def nbytes(self, now: Sequence[int] = ()) -> int:
        """Bytes of one cell."""
        shape = self.shaped(now) if now else self.shape
        return math.prod(shape) * int(NUMPY[self.dtype].itemsize)

    @property
    def is_chunked(self) -> bool:
        """Whether a store that is filled before the run holds a chunk of that at a time."""
        return any(self.rings)

    @property
    def is_plain(self) -> bool:
        """Whether the axes lie in memory in their order."""
        return self.order == (*range(len(self.order)),)

    @property
    def extents(self) -> tuple[int, ...]:
        """The shape of a cell with its axes in their order."""
        return tuple(self.shape[self.order.index(k)] for k in range(len(self.order)))

    def arranged(self, array: Any) -> Any:
        """An array of the host or of the device with its axes in their order, as a cell."""
        if self.is_plain:
            return array
        turned = array.transpose(self.order)
        return np.ascontiguousarray(turned) if isinstance(turned, np.ndarray) else turned

    def slot(self, key: PointIndex) -> PointIndex:
        """The key reduced to the slot of its cell."""
        return tuple(k % m if m else k for k, m in zip(key, self.moduli, strict=True))


def layout(
    store: Buffer, bounds: Mapping[str, int], growing: Sequence[CapacityGroup] = ()
) -> Layout:
    """Evaluate all sizes of a store; ``growing`` are the groups of stores that grow."""
    sizes = tuple(evaluate(a.size, bounds) for a in store.axes)
    extents = (*sizes, *(evaluate(e, bounds) for e in store.shape))
    grows = store.growing
    moduli = tuple(0 if k.modulo is None else evaluate(k.modulo, bounds) for k in store.keys)
    _check(store, extents, moduli)
    return Layout(
        name=store.name,
        dtype=store.dtype,
        keys=tuple(k.dim for k in store.keys),
        moduli=moduli,
        axes=tuple(a.dim for a in store.axes),
        rings=tuple(size if a.ring else 0 for a, size in zip(store.axes, sizes, strict=True)),
        every=tuple(a.every for a in store.axes),
        shape=tuple(extents[k] for k in store.order),
        order=store.order,
        group=growing.index((grows.dim, grows.size)) if grows else -1,
        growing=store.order.index(store.axes.index(grows)) if grows else -1,
        away=store.away,
    )


def _check(store: Buffer, extents: tuple[int, ...], moduli: tuple[int, ...]) -> None:
    """Raises ``RunError`` for sizes that no array has."""
    rings = [n for n, axis in zip(extents, store.axes, strict=False) if axis.ring]
    slots = [n for n, key in zip(moduli, store.keys, strict=True) if key.modulo is not None]
    if min(extents, default=0) < 0:
        raise RunError(errors.impossible_store(store.name, f"have the shape {[*extents]}"))
    if min([*rings, *slots], default=1) < 1:
        raise RunError(errors.impossible_store(store.name, "keep no point"))


def layouts_of(program: Program, bounds: Mapping[str, int]) -> dict[str, Layout]:
    """The layouts of all stores of a program, in its order."""
    growing = groups(program)
    return {store.name: layout(store, bounds, growing) for store in program.stores}


def require_addressable(layouts: Iterable[Layout]) -> None:
    """Raises ``RunError`` for an array that is larger than what a process can address."""
    for store in layouts:
        size = math.prod(store.shape) * NUMPY[store.dtype].itemsize
        if size > sys.maxsize >> 16:
            raise RunError(errors.impossible_store(store.name, f"take {size} bytes"))


def fitting(
    function: Callable[..., Any], stores: Sequence[Layout], more: int
) -> Callable[..., Any]:
    """A kernel whose first results are cells of stores; then ``more`` follow.

    Several cells of a store are a dict. Nothing is known of a kernel without stores.

    Raises ``TypeError`` when it is traced if they are not.
    """

    @functools.wraps(function)
    def checked(*arrays: Any, **named: Any) -> Any:
        results = function(*arrays, **named)
        if stores and len(results) != len(stores) + more:
            raise TypeError(f"it returns {len(results)} arrays, not {len(stores) + more}")
        for store, result in zip(stores, results, strict=False):
            for array in result.values() if isinstance(result, dict) else (result,):
                dtype, shape = getattr(array, "dtype", None), getattr(array, "shape", None)
                fits = store.group >= 0 or shape == store.shape
                if not fits or dtype != NUMPY[store.dtype]:
                    raise TypeError(f"it returns {dtype}{shape} for {store.name}, {store.shape}")
        return results

    return checked


def bare_key(key: PointIndex) -> PointIndex | int:
    """A key as host programs write it: a bare integer where there is one key dimension."""
    return key[0] if len(key) == 1 else key


class KeyedCells(dict[PointIndex | int, DeviceArray]):
    """Cells of a store by bare key.

    With ``filled``, a cell is allocated as zeros at its first use, and ``wrote`` is called;
    otherwise a missing cell is a bug of the compiler.
    """

    def __init__(
        self,
        store: Layout,
        filled: bool,
        allocate: Callable[[Layout], DeviceArray],
        wrote: Callable[[object], None],
    ) -> None:
        super().__init__()
        self.store = store
        self.filled = filled
        self.allocate = allocate
        self.wrote = wrote

    def __missing__(self, key: PointIndex | int) -> DeviceArray:
        """The first use of a cell."""
        if not self.filled:
            shown = list(key) if isinstance(key, tuple) else [key]
            raise RunError(errors.never_written(self.store.name, str(shown)))
        self[key] = self.allocate(self.store)
        self.wrote(key)
        return self[key]


# ------------------------------------------------------------------ what is given


def given_stores(program: Program, bindings: Bindings) -> frozenset[str]:
    """The stores that are filled before the run."""
    stores = [i.store for i in program.inputs]
    stores += [p.store for p in program.params if p.name in bindings.params]
    return frozenset(stores + ([program.seed] if program.seed else []))


def overwritten(program: Program) -> frozenset[str]:
    """The stores that loops and blocks update in place. Of given stores, calls overwrite none."""
    carried = [region.carried for region in regions(program.tree)]
    carried += [block.carried for block in blocks(program.tree)]
    return frozenset(cells.store for each in carried for cells in each)


@dataclass(slots=True, kw_only=True)
class SharedCells:
    """Device cells of params and the seed, shared by consecutive runs with the same ones.

    ``cells`` holds those of ``stores``, for the bounds of the last run.
    """

    stores: frozenset[str]
    bounds: Mapping[str, int] = field(default_factory=dict)
    cells: dict[str, CellArrays] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> SharedCells:
        """The stores of params and the seed that no kernel call overwrites."""
        excluded = overwritten(program) | {store.name for store in program.stores if store.away}
        return cls(stores=frozenset((program.seed, *(p.store for p in program.params))) - excluded)

    def cells_of(
        self, store: str, bounds: Mapping[str, int], make: Callable[[], CellArrays]
    ) -> CellArrays:
        """The cells of a store, made with ``make`` if there are none for these bounds."""
        if self.bounds != bounds:
            self.bounds, self.cells = dict(bounds), {}
        if store not in self.cells:
            self.cells[store] = make()
        return self.cells[store]


def calls_user(program: Program) -> bool:
    """Whether a program calls functions of the user, who might change the arrays of a run."""
    return any(isinstance(s, Host | Effect) for s in statements_in(program.tree))


def place_given(
    program: Program,
    bindings: Bindings,
    layouts: Mapping[str, Layout],
    straight: Collection[str] = (),
    shared: SharedCells | None = None,
) -> dict[str, CellArrays]:
    """Inputs, params and the seed on the device, by store.

    Stores in ``straight``, which are passed directly to a single call, stay host arrays: the call
    transfers them. A param that is assembled from several tensors is placed on the device anyway.
    Offloaded stores stay on the host, too; they are copied only if user functions might change the
    arrays. What the device holds already stays there, and is copied only if it is overwritten.
    """
    lasting = frozenset[str]() if shared is None else shared.stores
    constant = functools.cache(lambda: not calls_user(program))
    cells = _GivenCells(program, bindings, layouts, frozenset(straight) - lasting, constant)
    placed = {i.store: cells.input(i) for i in program.inputs}
    makers: dict[str, Callable[[], CellArrays]] = {
        p.store: partial(cells.param, p) for p in program.params if p.name in bindings.params
    }
    if program.seed:
        makers[program.seed] = cells.seed
    for store, make in makers.items():
        if shared is not None and store in lasting:
            placed[store] = shared.cells_of(store, bindings.bounds, make)
        else:
            placed[store] = make()
    return placed


@dataclass(slots=True)
class _GivenCells:
    """Makes the cells of what is given: see `place_given`.

    Stores that are ``passed`` may be arrays of the host. ``is_constant``: given arrays do not
    change while the program runs, which is looked for where it counts.
    """

    program: Program
    bindings: Bindings
    layouts: Mapping[str, Layout]
    passed: frozenset[str]
    is_constant: Callable[[], bool]

    def input(self, i: ProgramInput) -> CellArrays:
        """The cells of an input."""
        source = self.bindings.inputs[i.name]
        if self.layouts[i.store].is_chunked:
            rows = source.read()
            return {(): backend.rows_on_host(rows, i.dtype, as_it_is=self.is_constant())}
        return self._tensor(i, (), {(): source})

    def param(self, p: ProgramParam) -> CellArrays:
        """The cells of a param."""
        return self._tensor(p, template_dims(p), self.bindings.params[p.name])

    def seed(self) -> CellArrays:
        """The cell of the seed."""
        seed = self.bindings.seed
        words = np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)
        return {(): words if self.program.seed in self.passed else backend.put(words, "key")}

    def _tensor(
        self,
        item: ProgramInput | ProgramParam,
        outer: tuple[str, ...],
        sources: Mapping[PointIndex, TensorSource],
    ) -> CellArrays:
        """The cells of a tensor that is given by one array for each ``outer`` point."""
        store = self.layouts[item.store]
        array = self._as_it_is(sources[()], item) if () in sources else None
        if array is None:
            return self._copied(item, outer, sources)
        array = store.arranged(array)
        _check_cell(array, store)
        if not isinstance(array, np.ndarray) and store.name in overwritten(self.program):
            array = resident.private(array)
        return {(): array}

    def _as_it_is(self, source: TensorSource, item: ProgramInput | ProgramParam) -> Any:
        """The array of a source, if a kernel can take it: on the device, or passed by a call."""
        store, dtype = self.layouts[item.store], NUMPY[item.dtype]
        if source.array is not None and source.dtype == dtype and not (store.keys or store.away):
            return source.array
        array = source.read() if store.name in self.passed else None
        return array if type(array) is np.ndarray and array.dtype == dtype else None

    def _copied(
        self,
        item: ProgramInput | ProgramParam,
        outer: tuple[str, ...],
        sources: Mapping[PointIndex, TensorSource],
    ) -> CellArrays:
        """One array for each key, sliced and stacked from one array for each ``outer`` point."""
        store, tuning = self.layouts[item.store], self.program.tuning
        sizes = {dim: self.bindings.bounds[bound] for dim, bound in self.program.dims}
        latest: dict[PointIndex, HostArray] = {}

        def read(point: PointIndex) -> HostArray:
            if point not in latest:
                latest.clear()
                latest[point] = sources[point].read()
            return latest[point]

        inner = leading_dims(item) if isinstance(item, ProgramParam) else item.dims
        stacked = tuple(d for d in store.axes if d in outer)
        cells: CellArrays = {}
        pending: dict[PointIndex, HostArray] = {}
        for key in itertools.product(*(range(sizes[d]) for d in store.keys)):
            where = dict(zip(store.keys, key, strict=True))
            cut = tuple(where.get(d, slice(None)) for d in inner)
            if not stacked:
                array = read(tuple(where[d] for d in outer))[cut]
            else:
                array = np.empty(store.shape, NUMPY[store.dtype])
                for point in itertools.product(*(range(sizes[d]) for d in stacked)):
                    at = where | dict(zip(stacked, point, strict=True))
                    part = read(tuple(at[d] for d in outer))[cut]
                    array[tuple(at[d] if d in stacked else slice(None) for d in store.axes)] = part
            array = store.arranged(array)
            _check_cell(array, store)
            if store.away:
                cells[key] = backend.put_on_host(array, store.dtype, as_it_is=self.is_constant())
            else:
                pending[key] = array
            if len(pending) >= tuning.put_arrays:
                cells |= _put(pending, store.dtype)
        return cells | _put(pending, store.dtype)


def _check_cell(array: HostArray, store: Layout) -> None:
    """Raises ``RunError`` unless an array can be a cell of a store."""
    if array.shape != store.shape:
        what = f"hold arrays {[*store.shape]}, not {[*array.shape]} as they are given"
        raise RunError(errors.impossible_store(store.name, what))


def _put(pending: dict[PointIndex, HostArray], dtype: str) -> CellArrays:
    """Transfer the pending arrays to the device, and clear them."""
    placed = dict(zip(pending, backend.put_all(pending.values(), dtype), strict=True))
    pending.clear()
    return placed
