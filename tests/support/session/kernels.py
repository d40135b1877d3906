"""How tests compile kernels: each different one once in a process, and quickly.

The suite makes tens of thousands of kernels of a few operators each, for a handful of steps: XLA's
effort to make them fast never pays. What code means does not depend on it, but for the last bits
of floats. Tests that ask for ``as_users`` compile as users do, and so do all child processes.
"""

from __future__ import annotations

import functools
import gc
import inspect
import mmap
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.session.long import in_share

if TYPE_CHECKING:
    from tempoc.runtime.device.backend import JitOptions

# The flags with which kernels are made soonest, and what users have.
QUICK = {
    "xla_backend_optimization_level": (0, 3),
    "xla_llvm_disable_expensive_passes": (True, False),
    "xla_cpu_parallel_codegen_split_count": (1, 32),
    "xla_cpu_use_fusion_emitters": (False, True),
    "xla_llvm_enable_alias_scope_metadata": (False, True),
    "xla_llvm_enable_invariant_load_metadata": (False, True),
    "xla_llvm_enable_noalias_metadata": (False, True),
}
OPERATIONS = ("xla_cpu_use_fusion_emitters",)
"""Those of them that decide what XLA's own operations are."""
KEPT = 2000
LENGTHS = 12
"""One program in so many has kernels for many lengths where tests only compare what it computes."""
COLLECT = (200_000, 20, 50)
"""How rarely garbage is looked for: little of what modules and tests leave is any."""
ENVIRONMENT = pytest.StashKey[str | None]()
Make = Callable[..., Any]


def pytest_configure(config: pytest.Config) -> None:
    """JAX reads its flags when it starts, which test modules make it do."""
    gc.set_threshold(*COLLECT)
    config.stash[ENVIRONMENT] = before = os.environ.get("XLA_FLAGS")
    if before is None and "jax" not in sys.modules:
        flags = (f"--{name}={str(quick).lower()}" for name, (quick, _) in known_flags().items())
        os.environ["XLA_FLAGS"] = " ".join(flags)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules leave no garbage."""
    gc.disable()
    yield
    gc.enable()


@functools.cache
def known_flags() -> Mapping[str, tuple[Any, Any]]:
    """The flags that the installed version of XLA has: it ends the process for any other."""
    spec = find_spec("jaxlib")
    assert spec is not None and spec.origin is not None
    found: set[str] = set()
    for library in sorted(Path(spec.origin).parent.glob("*.so")):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as text:
            found |= {name for name in QUICK if text.find(f"\0{name}\0".encode()) >= 0}
    return {name: both for name, both in QUICK.items() if name in found}


@pytest.fixture(scope="session", autouse=True)
def flags_of_commands() -> Iterator[None]:
    """Commands that run in this process leave the flags of XLA, which has read them already.

    And how rarely garbage is looked for.
    """
    from tempoc.cli import importing
    from tempoc.runtime.device import small_loops

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "EFFORT", importing.EFFORT._replace(collect=COLLECT))
        patch.setattr(small_loops, "compile_whole", lambda most: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_kernels(pytestconfig: pytest.Config) -> Iterator[None]:
    """JAX has its flags now; child processes do not get them. Equal kernels are shared.

    So is what XLA makes of equal programs, such as kernels that differ in what is not computed. And
    so is what JAX makes anew for each kernel although all could have the same: where it spells its
    programs (a third of the time of a small kernel). The latter two if they still have these names.
    """
    if "jax" not in sys.modules:
        yield
        return
    import jax
    from jax._src import compiler
    from jax._src.interpreters import mlir

    from tempoc.runtime.device import backend

    jax.devices()
    before = pytestconfig.stash[ENVIRONMENT]
    if before is None:
        os.environ.pop("XLA_FLAGS", None)
    # Between runs nothing is kept: to write it takes longer than to make most of it again.
    jax.config.update("jax_enable_compilation_cache", False)
    # Nobody asks XLA which line an operation comes from.
    jax.config.update("jax_traceback_in_locations_limit", 0)
    # What is there already stays.
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backend, "compile_kernel", Shared(backend.compile_kernel))
        if Compiled.fits(getattr(compiler, Compiled.NAME, None)):
            patch.setattr(compiler, Compiled.NAME, Compiled(getattr(compiler, Compiled.NAME)))
        if hasattr(mlir, "make_ir_context"):
            patch.setattr(mlir, "make_ir_context", functools.cache(mlir.make_ir_context))
        yield
    # pytest collects garbage a few times before it ends: once is enough for what tests have left.
    gc.collect()
    gc.freeze()


@pytest.fixture
def each_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that are equal are not the same, as in a process that runs one program."""
    from tempoc.runtime.device import backend

    if isinstance(backend.compile_kernel, Shared):
        from jax._src import compiler

        monkeypatch.setattr(backend, "compile_kernel", backend.compile_kernel.make)
        if isinstance(made := getattr(compiler, Compiled.NAME, None), Compiled):
            monkeypatch.setattr(compiler, Compiled.NAME, made.make)


@pytest.fixture
def as_users(monkeypatch: pytest.MonkeyPatch, each_its_own: None) -> None:
    """Kernels are compiled with all the effort that users get."""
    _compile_with(monkeypatch, {name: users for name, (_, users) in known_flags().items()})


@pytest.fixture
def operations_as_users(monkeypatch: pytest.MonkeyPatch, each_its_own: None) -> None:
    """XLA's operations and buffers are those that users get; LLVM makes no effort with them."""
    _compile_with(monkeypatch, {n: known_flags()[n][1] for n in OPERATIONS if n in known_flags()})


def _compile_with(monkeypatch: pytest.MonkeyPatch, options: Mapping[str, Any]) -> None:
    import jax

    from tempoc.runtime.rewriting import whole_loops  # before, with JAX's own

    made = jax.jit

    def jit(
        function: Callable[..., Any],
        *,
        compiler_options: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Any:
        return made(function, compiler_options={**options, **(compiler_options or {})}, **named)

    monkeypatch.setattr(jax, "jit", jit)
    # Functions within others have no options of their own.
    monkeypatch.setattr(whole_loops, "jit", made)


@contextmanager
def lengths_in_share(text: str) -> Iterator[None]:
    """Of programs that run for several bounds, let one in `LENGTHS` have kernels for many lengths.

    To find out whether a kernel can have padded arrays takes longer than to make another small one:
    the others have one for each length, as on a GPU. In the long run all have kernels for many
    lengths; tests about these, of values as well, have them in any case.
    """
    from tempoc.runtime.execution import kernels

    before = kernels.kernels_of_lengths
    if not in_share(f"lengths of {text}", LENGTHS):
        kernels.kernels_of_lengths = lambda loaded, precision: {}
    try:
        yield
    finally:
        kernels.kernels_of_lengths = before


class Shared:
    """Makes kernels; the latest ones are kept for whoever wants the same.

    Names of variables and of the kernel do not matter.
    """

    def __init__(self, make: Make) -> None:
        self.make = make
        self.kept: OrderedDict[object, tuple[Any, list[object]]] = OrderedDict()

    def __call__(self, function: Callable[..., Any], how: JitOptions, **options: Any) -> Any:
        kernel = inspect.unwrap(function)
        common = how.commands == "default" and not options and isinstance(function, FunctionType)
        if not common or not isinstance(kernel, FunctionType):
            return self.make(function, how, **options)
        objects: list[object] = []  # those known by their identity must live as long as the key
        places = {name: k for k, name in enumerate(kernel.__code__.co_varnames)}
        given = frozenset((places.get(name, name), value) for name, value in how.static.items())
        key = _function(function, objects, ()), given, how.donated, how.precision
        if key not in self.kept:
            self.kept[key] = self.make(function, how), objects
            if len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        self.kept.move_to_end(key)
        return self.kept[key][0]


class Compiled:
    """Lets XLA compile programs; the latest results are kept for whoever has an equal program.

    Names of programs, and the lines that their operations come from, do not matter.
    """

    NAME = "backend_compile_and_load"
    PARAMETERS = ("backend", "module", "executable_devices", "options", "host_callbacks")

    def __init__(self, make: Make) -> None:
        self.make = make
        self.kept: OrderedDict[object, Any] = OrderedDict()

    @classmethod
    def fits(cls, make: Make | None) -> bool:
        """Whether JAX calls its compiler in the way that is known here."""
        return make is not None and tuple(inspect.signature(make).parameters) == cls.PARAMETERS

    def __call__(
        self, backend: Any, module: Any, executable_devices: Any, options: Any, host_callbacks: Any
    ) -> Any:
        given = backend, module, executable_devices, options, host_callbacks
        if host_callbacks:
            return self.make(*given)
        text = module.operation.get_asm(enable_debug_info=False)
        _, _, program = text.partition(" attributes ")  # after `module @NAME`
        how = options.SerializeAsString()
        key = id(backend), str(executable_devices), how, program or text
        if key not in self.kept:
            self.kept[key] = self.make(*given)
            if len(self.kept) > KEPT:
                self.kept.popitem(last=False)
        self.kept.move_to_end(key)
        return self.kept[key]


def _function(function: FunctionType, objects: list[object], inside: tuple[str, ...]) -> object:
    """What a function of a module of kernels does, or one of the runner around it."""
    defaults = function.__defaults__, function.__kwdefaults__
    inside = (*inside, function.__name__)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    code = _code(function.__code__, function.__globals__, objects, inside)
    return code, repr(defaults), tuple(_captured(value, objects, inside) for value in cells)


def _captured(value: object, objects: list[object], inside: tuple[str, ...]) -> object:
    """What a function has from the one around it: kernels, and the stores that results fit."""
    from tempoc.runtime.device.stores import Layout

    if isinstance(value, FunctionType):
        return _function(value, objects, inside)
    if isinstance(value, list) and all(isinstance(each, Layout) for each in value):
        return tuple((each.dtype, each.shape, each.group >= 0) for each in value)
    if isinstance(value, int):
        return value
    objects.append(value)
    return id(value)


def _code(
    code: CodeType, scope: Mapping[str, object], objects: list[object], inside: tuple[str, ...]
) -> object:
    constants = tuple(
        _code(c, scope, objects, inside) if isinstance(c, CodeType) else (type(c), repr(c))
        for c in code.co_consts
    )
    uses = tuple((n, _value(scope, n, objects, inside)) for n in code.co_names)
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    variables = len(code.co_varnames), len(code.co_cellvars), len(code.co_freevars)
    return code.co_code, code.co_exceptiontable, constants, uses, counts, variables


def _value(
    scope: Mapping[str, object], name: str, objects: list[object], inside: tuple[str, ...]
) -> object:
    """What a name stands for, if it is a global one."""
    value = scope.get(name)
    if isinstance(value, FunctionType) and value.__globals__ is scope and not value.__closure__:
        return name if name in inside else _function(value, objects, inside)
    if value is None or isinstance(value, bool | int | float | str):
        return type(value), repr(value)
    objects.append(value)
    return id(value)
