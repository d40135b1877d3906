"""The only module of the runner that uses jax: compiling kernels, moving arrays, waiting."""

from __future__ import annotations

import functools
import math
import os
import pickle
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import serialize_executable
from jax.extend import core as jax_core

from tempoc.diagnostics.diagnostic import RunError
from tempoc.diagnostics.requirements import RUNNER, unmet
from tempoc.program.nodes.gpu_commands import COMMON, OPTIONS
from tempoc.program.nodes.tuning import RunTuning
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.device.alignment import aligned, unaligned
from tempoc.runtime.device.stepped import SteppedKernel
from tempoc.runtime.messages.run import no_device

for package in (jax, np):
    # An older one may compute something else before it fails.
    if too_old := unmet(package.__name__, package.__version__, RUNNER[package.__name__]):
        raise ImportError(too_old)

DeviceArray = Any
CompiledKernel = Callable[..., tuple[DeviceArray, ...]]
_PINNED = "pinned_host"
_DUMPS = "--xla_dump"
"""Flags of XLA that change no numbers begin like this."""
_HIT, _MISS = (f"/jax/compilation_cache/cache_{event}" for event in ("hits", "misses"))
HIGHEST = "highest"
# What a kernel raises when the device gives up (out of memory, a failed callback).
DeviceError = jax.errors.JaxRuntimeError
# What JAX raises when it cannot trace a function, such as for values of an earlier trace.
TraceError = (jax.errors.JAXTypeError, jax.errors.JAXIndexError)
VERSION: str = jax.__version__
_TRACE_STATE = "get_opaque_trace_state"
_trace_state = getattr(jax_core if hasattr(jax_core, _TRACE_STATE) else jax.core, _TRACE_STATE)
"""JAX 0.8 has it elsewhere."""
_EAGER = jax.core.eval_context()(_trace_state)()
"""The state of JAX outside of all traces, even if one is being made while this is imported."""


@functools.cache
def check_device() -> None:
    """Raise ``RunError`` if JAX has no device to run on."""
    try:
        jax.devices()
    except Exception as error:
        # Among them ``AssertionError``; JAX has no type for this.
        reason = str(error).split("\n")[0] or "JAX has no device of this kind"
        raise RunError(no_device(reason, os.environ.get("JAX_PLATFORMS", ""))) from None


@functools.cache
def device_text() -> str:
    """The device as far as timings depend on it: ``cpu x86_64, 2 cores``."""
    device = jax.devices()[0]
    if device.platform != "cpu":
        return str(device.device_kind)
    return f"{device.device_kind} {platform.machine()}, {os.cpu_count()} cores"


def numerics() -> dict[str, str]:
    """On what the numbers of a program depend beside itself and its data."""
    device = jax.devices()[0]
    flags = [f for f in os.environ.get("XLA_FLAGS", "").split() if not f.startswith(_DUMPS)]
    kind = f"{device.device_kind} {platform.machine()}"
    return {"device": kind, "JAX": VERSION, "XLA flags": " ".join(sorted(flags))}


def has_settings(x64: bool) -> bool:
    """Whether JAX is in the wanted mode: with 64-bit types or without, and compiling."""
    return bool(jax.config.jax_enable_x64 == x64) and not jax.config.jax_disable_jit


def settings(x64: bool) -> AbstractContextManager[object]:
    """The JAX settings for running kernels that are compiled already."""
    return nullcontext() if has_settings(x64) else _changed_settings(x64)


@contextmanager
def _changed_settings(x64: bool) -> Iterator[None]:
    with jax.enable_x64(x64), jax.disable_jit(False):
        yield


def is_traced() -> bool:
    """Whether JAX traces the function that calls, so that new arrays have no numbers."""
    # Without a trace at once: the first scalar of a process takes XLA 30 ms to compile.
    return bool(_trace_state() != _EAGER) and isinstance(jnp.asarray(0.0), jax.core.Tracer)


@contextmanager
def session(x64: bool) -> Iterator[None]:
    """The JAX settings for compiling and running kernels, within the block."""
    _use_cache()
    with settings(x64), warnings.catch_warnings():
        # A donated argument whose buffer fits no result is simply freed, which is what we want.
        warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        # A cache that is damaged, full or not ours costs time, nothing else.
        warnings.filterwarnings("ignore", message="Error (reading|writing) persistent")
        yield


def precise(function: Callable[..., Any], precision: str = HIGHEST) -> Callable[..., Any]:
    """The function with this precision of matrix products, whenever JAX traces or runs it.

    By default products of float32 are exact to float32, so that results do not depend on reduced
    precision of the device.
    """

    def call(*arrays: Any, **named: Any) -> Any:
        with jax.default_matmul_precision(precision):
            return function(*arrays, **named)

    return functools.update_wrapper(call, function)


@functools.cache
def _use_cache() -> Path | None:
    """Keep compiled kernels between runs, in the user's cache directory; the folder of the runner.

    ``None`` where the user has named another directory, or there can be none.
    """
    if jax.config.jax_compilation_cache_dir is not None:
        return None
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    directory = Path(root) / "tempoc" / "jax"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    jax.config.update("jax_compilation_cache_dir", str(directory))
    # By default small kernels are not kept; ours are many and small.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return directory.parent / "kernels"


def executables() -> Path | None:
    """The folder of executables: of the only device, a CPU, if the user lets JAX keep them."""
    is_kept = jax.config.jax_enable_compilation_cache and jax.default_backend() == "cpu"
    return _use_cache() if is_kept and jax.device_count() == 1 else None


def executable_key() -> str | None:
    """What an executable for this CPU depends on beside its kernel; ``None`` if not all is known.

    XLA makes code for the features of the processor.
    """
    names = sorted(getattr(jax.config, "values", ()))
    about = *numerics().items(), jax.lib.__version__, jax.devices()[0].client.platform_version
    try:
        with Path("/proc/cpuinfo").open() as lines:
            features = next(line for line in lines if line.startswith(("flags", "Features")))
    except (OSError, StopIteration):
        return None
    settings = [(name, getattr(jax.config, name, None)) for name in names]
    return repr((about, features, settings)) if names else None


def argument_types(arrays: tuple[Any, ...]) -> str | None:
    """Shapes and dtypes of arguments, for which JAX compiles; ``None`` while it traces."""
    leaves, tree = jax.tree.flatten(arrays)
    if any(isinstance(a, jax.core.Tracer) for a in leaves):
        return None
    return f"{tree} {[(np.shape(a), a.dtype, getattr(a, 'weak_type', False)) for a in leaves]}"


def new_executable(lowered: Any) -> tuple[CompiledKernel, bytes | None]:
    """A lowered kernel, compiled; as bytes where another process may run them.

    XLA cannot write what it has read from JAX's cache: the functions in it are missing then. What a
    kernel calls of libraries, as solvers, or of this process is only there once JAX has lowered it.
    """
    events: list[str] = []

    def heard(event: str, **_: object) -> None:
        events.append(event)

    jax.monitoring.register_event_listener(heard)
    try:
        compiled = lowered.compile()
    finally:
        jax.monitoring.unregister_event_listener(heard)
    if events.count(_MISS) != 1 or _HIT in events or "custom_call" in lowered.as_text():
        return compiled, None
    try:
        return compiled, pickle.dumps(serialize_executable.serialize(compiled))
    except (ValueError, NotImplementedError, DeviceError):
        return compiled, None


def read_executable(content: bytes) -> CompiledKernel:
    """The compiled kernel of such bytes; they are code, as compiled kernels of JAX's cache are."""
    kernel: CompiledKernel = serialize_executable.deserialize_and_load(*pickle.loads(content))
    return kernel


@contextmanager
def compilations(tell: Callable[[float], None]) -> Iterator[None]:
    """Within the block, call ``tell`` with the seconds of each compilation by JAX when it ends.

    Nested compilations are reported separately, before the one around them.
    """

    def heard(event: str, seconds: float, **_: object) -> None:
        if event.startswith("/jax/core/compile/"):
            tell(seconds)

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        yield
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)


def reserved_memory() -> int | None:
    """The bytes that JAX has on the device for arrays; ``None`` for memory of the host."""
    check_device()
    statistics = jax.devices()[0].memory_stats() or {}
    return statistics.get("bytes_limit")


def has_commands() -> bool:
    """Whether the device has command buffers (GPUs)."""
    return str(jax.default_backend()) == "gpu"


class JitOptions(NamedTuple):
    """How a kernel is compiled: for which static bounds, with which arguments to overwrite.

    Array ``i`` is its argument ``i + 1``. The precision is that of matrix products; ``commands`` is
    a mode of `gpu_commands.py`.
    """

    static: Mapping[str, int] = MappingProxyType({})
    donated: tuple[int, ...] = ()
    precision: str = HIGHEST
    commands: str = COMMON


def compile_kernel(function: Callable[..., Any], how: JitOptions, **options: Any) -> CompiledKernel:
    """Compile a kernel lazily, with further options of ``jax.jit``.

    On a GPU its coordinates stay on the device from call to call (``stepped.py``).
    """
    compiled: Callable[..., CompiledKernel] = stepped_kernel if has_commands() else jitted
    return compiled(function, how, **options)


def stepped_kernel(function: Callable[..., Any], how: JitOptions, **options: Any) -> SteppedKernel:
    """The kernel, with coordinates that stay on the device, and further options of ``jax.jit``."""

    def stepped(at: DeviceArray, by: DeviceArray, *arrays: Any, **named: Any) -> Any:
        return at + by, function(at, *arrays, **named)

    stepped.__name__ = function.__name__
    moved = how._replace(donated=(-1, *(k + 1 for k in how.donated)))
    return SteppedKernel(
        plain=jitted(function, how, **options),
        stepped=jitted(stepped, moved, **options),
        put=constant,
    )


def jitted(function: Callable[..., Any], how: JitOptions, **named: Any) -> Any:
    """The function of JAX, with further options of ``jax.jit``."""
    bound = functools.update_wrapper(functools.partial(function, **how.static), function)
    options = {"donate_argnums": tuple(i + 1 for i in how.donated), **named}
    flags = {**OPTIONS[how.commands]} if has_commands() else {}
    return jax.jit(precise(bound, how.precision), compiler_options=flags, **options)


def compile_region(function: Callable[..., Any], how: JitOptions) -> CompiledKernel:
    """Compile the kernel of a brief device loop for each number of steps, which ``at`` holds.

    On a GPU: that is the fastest for brief steps (`program/analysis/recorded_loops.py`).
    """
    region = compile_kernel(function, how, static_argnames=("steps",))
    return lambda at, *arrays: region(at, *arrays, steps=int(at[1]))


def described(shape: tuple[int, ...], dtype: str) -> Any:
    """An abstract array: a shape and a dtype."""
    return jax.ShapeDtypeStruct(shape, NUMPY[dtype])


@functools.cache
def compiles_late() -> bool:
    """Whether brief loops are compiled for numbers of steps (`compile_region`): not on a CPU."""
    return str(jax.default_backend()) != "cpu"


def pads_arrays() -> bool:
    """Whether kernels may be compiled for several lengths: on a CPU, which reads host memory."""
    return str(jax.default_backend()) == "cpu"


def put(array: HostArray, dtype: str) -> DeviceArray:
    """A copy of a host array on the device, converted if its dtype differs.

    The copy is private: the device may read host memory at any later time, so nobody else may
    write to it. It is aligned such that a CPU device takes it over without copying it again.
    """
    return jax.device_put(aligned(array, NUMPY[dtype]))


def put_all(arrays: Iterable[HostArray], dtype: str) -> list[DeviceArray]:
    """The same of many arrays, at the price of one call."""
    return list(jax.device_put([aligned(array, NUMPY[dtype]) for array in arrays]))


_I32 = np.dtype(np.int32)
"""A dtype itself takes NumPy half the time that a type takes."""


def coordinates(point: tuple[int, ...]) -> HostArray:
    """The coordinates of a point as a new vector: the device may read the one before later."""
    return np.array(point, _I32)


_TABLE = np.arange(1 << 16, dtype=_I32)[:, None]
"""The vectors of the first coordinates. A row takes NumPy half the time of a new array."""
_TABLE.flags.writeable = False


def coordinate(value: int) -> HostArray:
    """The vector of a single coordinate."""
    return _TABLE[value] if 0 <= value < len(_TABLE) else np.array((value,), _I32)


def constant(point: tuple[int, ...]) -> DeviceArray:
    """The coordinates of a point on the device, for many calls."""
    return put(coordinates(point), "i32")


def as_array(value: object, dtype: np.dtype[Any]) -> DeviceArray:
    """Numbers or arrays (also while JAX traces) as an array of JAX, never of a weak type."""
    return jnp.asarray(value, dtype)


def zeros(shape: tuple[int, ...], dtype: str, tuning: RunTuning, passed: bool) -> Any:
    """A new array of zeros on the device.

    ``passed``: to a kernel at once, which may overwrite it; it may be a constant one of the host.
    """
    return _zeros(shape, dtype)(tuning, passed)


@functools.cache
def _zeros(shape: tuple[int, ...], dtype: str) -> _Zeros:
    """The cached allocator for a shape and dtype."""
    return _Zeros(shape, NUMPY[dtype])


@dataclass(slots=True)
class _Zeros:
    """Allocates arrays of zeros: on a CPU with numpy at first, later by a compiled function.

    The compiled function is ten times as fast, but compiling it takes as long as hundreds of small
    arrays, and a growing store needs each size only once. So it is compiled when the allocations by
    numpy have taken about as long. What is passed to a kernel at once need not be on the device
    before: the call itself copies it, much faster. A small one is kept for all such calls.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    allocated: int = 0
    compiled: Callable[[], DeviceArray] | None = None
    passed: HostArray | None = None

    def __call__(self, tuning: RunTuning, is_passed: bool) -> Any:
        if is_passed and self.passed is not None:
            return self.passed
        if self.compiled is None:
            more = tuning.passed_bytes if is_passed else tuning.allocation_bytes
            self.allocated += more + math.prod(self.shape) * self.dtype.itemsize
            if self.allocated <= tuning.allocated_bytes and jax.default_backend() == "cpu":
                array = unaligned(self.shape, self.dtype, np.zeros)
                array.flags.writeable = False
                self.passed = array if is_passed and array.nbytes <= more else None
                return array if is_passed else jax.device_put(array)
            self.compiled = jax.jit(lambda: jnp.zeros(self.shape, self.dtype))
        return self.compiled()


def lengthened(array: DeviceArray, axis: int, size: int) -> DeviceArray:
    """Reallocate an array with ``size`` slots along an axis, zeros at the end; deletes the old one.

    Waits for the result, so that at most one array exists twice. On a CPU numpy does it, without
    compiling anything.
    """
    if array.shape[axis] == size:
        return array
    if jax.default_backend() == "cpu":
        return _lengthened_by_host(array, axis, size)
    larger = _lengthened(array, axis, size)
    jax.block_until_ready(larger)
    array.delete()
    return larger


def _lengthened_by_host(array: DeviceArray, axis: int, size: int) -> DeviceArray:
    """`lengthened` on a CPU, whose memory is that of the host."""
    old = np.asarray(array)
    shape = (*old.shape[:axis], size, *old.shape[axis + 1 :])
    new = unaligned(shape, old.dtype)
    filled = (slice(None),) * axis
    new[(*filled, slice(old.shape[axis]))] = old
    new[(*filled, slice(old.shape[axis], None))] = 0
    del old
    array.delete()
    return jax.device_put(new).block_until_ready()


@functools.partial(jax.jit, static_argnums=(1, 2))
def _lengthened(array: DeviceArray, axis: int, size: int) -> DeviceArray:
    grown = jnp.zeros((*array.shape[:axis], size, *array.shape[axis + 1 :]), array.dtype)
    return jax.lax.dynamic_update_slice(grown, array, (0,) * array.ndim)


def host(array: DeviceArray) -> HostArray:
    """The array on the host; waits for it. Read-only, may share memory with the device."""
    return np.asarray(array.array if isinstance(array, OnHost) else array)


def hosts(arrays: Sequence[DeviceArray]) -> list[HostArray]:
    """`host` of several arrays; copies from a device overlap."""
    late = len(arrays) > 1 and jax.default_backend() != "cpu"
    for array in (a for a in arrays if late and isinstance(a, jax.Array)):
        array.copy_to_host_async()
    return [host(array) for array in arrays]


@dataclass(frozen=True, slots=True, eq=False)
class OnHost:
    """An offloaded array: in pinned host memory if the device has it, else a NumPy array.

    It cannot be passed to a kernel.
    """

    array: Any

    def block_until_ready(self) -> OnHost:
        """Wait for the copy."""
        jax.block_until_ready(self.array)
        return self


def put_on_host(array: HostArray, dtype: str, *, as_it_is: bool = False) -> OnHost:
    """A NumPy array (also read-only or mapped) as an offloaded array.

    ``as_it_is``: it is never modified, so it is not copied unless it must be pinned.
    """
    kind = _pinned()
    if kind is None and as_it_is:
        return OnHost(np.asarray(array, NUMPY[dtype]))
    plain = np.array(array, NUMPY[dtype])
    return OnHost(plain if kind is None else jax.device_put(plain, kind))


def rows_on_host(array: HostArray, dtype: str, *, as_it_is: bool) -> OnHost:
    """An array of which chunks are copied to the device: not pinned, as it may exceed memory."""
    return OnHost(np.asarray(array, NUMPY[dtype]) if as_it_is else np.array(array, NUMPY[dtype]))


def is_on_host(array: object) -> bool:
    """Whether an array is offloaded."""
    return isinstance(array, OnHost)


def to_hosts(arrays: Sequence[DeviceArray]) -> list[OnHost]:
    """Copy arrays to the host; into pinned memory in one call, and without waiting.

    JAX keeps pinned memory that is free for the next copies.
    """
    kind = _pinned()
    if kind is None:
        return [OnHost(np.array(array)) for array in arrays]
    return [OnHost(copy) for copy in jax.device_put([*arrays], kind)]


def to_devices(copies: Sequence[OnHost], tuning: RunTuning) -> list[DeviceArray]:
    """Copy offloaded arrays to the device, in one call and asynchronously."""
    kind, arrays = _pinned(), [copy.array for copy in copies]
    if kind is not None:
        return list(jax.device_put(arrays, kind.with_memory_kind(None)))
    if max(array.nbytes for array in arrays) <= tuning.loaded_bytes:
        return _copies(tuple((a.shape, a.dtype) for a in arrays))(arrays, tuning)
    return list(jax.device_put([*map(aligned, arrays)]))


def chunk(copy: OnHost, first: int, size: int) -> DeviceArray:
    """Copy ``size`` rows of an offloaded array to the device, and zeros behind its end."""
    rows = copy.array[first : first + size]
    if len(rows) == size:
        return jax.device_put(aligned(rows))
    padded = np.zeros((size, *rows.shape[1:]), rows.dtype)
    padded[: len(rows)] = rows
    return jax.device_put(padded)


@functools.cache
def _copies(types: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]) -> _Copies:
    """What copies arrays of these shapes and dtypes."""
    return _Copies()


@dataclass(slots=True)
class _Copies:
    """Copies small arrays of the host to a CPU: by ``jax.device_put`` at first, later by a kernel.

    A kernel that is given arrays of the host is several times as fast, but compiling it takes as
    long as hundreds of calls. So it is compiled when copies have taken about as long.
    """

    copied: int = 0
    kernel: Callable[..., list[DeviceArray]] | None = None

    def __call__(self, arrays: Sequence[HostArray], tuning: RunTuning) -> list[DeviceArray]:
        if self.kernel is None:
            self.copied += len(arrays) + 1
            if self.copied <= tuning.loaded_arrays:
                return list(jax.device_put([*map(aligned, arrays)]))
            self.kernel = jax.jit(lambda *given: [jnp.copy(array) for array in given])
        return self.kernel(*arrays)


def _pinned() -> Any:
    """The sharding for pinned host memory; ``None`` on a CPU or without such memory."""
    device = jax.devices()[0]
    return _pinned_of(device) if device.platform != "cpu" else None


@functools.cache
def _pinned_of(device: Any) -> Any:
    kinds = {memory.kind for memory in device.addressable_memories()}
    if _PINNED not in kinds:
        return None
    return jax.sharding.SingleDeviceSharding(device, memory_kind=_PINNED)


def is_donated(array: DeviceArray) -> bool:
    """Whether an array was donated to a kernel and so is deleted."""
    return isinstance(array, jax.Array) and array.is_deleted()


def wait(arrays: object) -> None:
    """Wait until the arrays (any nesting of tuples, lists, dicts) are computed."""
    ready = getattr(arrays, "block_until_ready", None)
    if ready is None:
        jax.block_until_ready(arrays)
    else:
        ready()
