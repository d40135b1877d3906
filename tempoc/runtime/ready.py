"""A compiled program that is called often, as one calls a jitted function.

::

    smooth = ready("out", bounds={"T": 64}, params={"W": w})
    y = smooth({"x": x})["y"]

What depends on bounds, params and the seed is done once: params stay on the device, code is
assembled, kernels are compiled. Of the inputs of a later call only names, types and shapes are
looked at, if they are those of the call before. For a program that is a single kernel call, a
function in Python is written (`_call_text`), which costs little more than that call. Where a check
of the call fails, all is done again step by step, to say what it was.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tempoc.diagnostics.diagnostic import RunError
from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.data.source import TensorSource, as_sources, by_name, in_memory
from tempoc.runtime.device import backend
from tempoc.runtime.device.alignment import aligned
from tempoc.runtime.device.resident import owned, put, resident, taken
from tempoc.runtime.device.stores import SharedCells
from tempoc.runtime.execution.outputs import OutputSlice, output_slice
from tempoc.runtime.execution.specialize import DirectRun, cached_specialization
from tempoc.runtime.execution.variants import choose_program
from tempoc.runtime.host.effects import EffectSink
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.messages import run as errors
from tempoc.runtime.run import (
    Settings,
    device_failure,
    explain_failure,
    report_params,
    run_given,
    unaliased,
)


def ready(
    directory: str | Path,
    bounds: Mapping[str, object] | None = None,
    params: Mapping[str, object] | None = None,
    *,
    cast_params: bool = False,
    seed: int = 0,
    extern_path: Sequence[str | Path] = (),
    output_dir: str | Path | None = None,
    on_device: bool = False,
) -> Ready:
    """A compiled program to be called with inputs; the arguments are those of ``run``.

    ``on_device``: outputs are arrays of JAX, which stay on the device (offloaded ones are NumPy's,
    on the host). A call may return before they are computed.

    Each call writes the files of ``save`` below ``output_dir``, in place of those of the call
    before it; a call may name another directory.

    Bounds that follow from shapes need not be given, and may differ from call to call. Raises
    ``RunError`` if the directory holds no program; what else is wrong, the first call says.
    """
    sources = as_sources({} if params is None else params, "param", resident)
    given = Given(
        bounds=dict(by_name({} if bounds is None else bounds, "bound")),
        inputs={},
        params={name: _copied(source) for name, source in sources.items()},
        cast_params=cast_params,
        seed=seed,
    )
    loaded = load(directory, extern_path)
    report_params(loaded.program, given)
    return Ready(
        root=loaded,
        loaded=loaded,
        given=given,
        shared=SharedCells.of(loaded.program),
        output_dir=output_dir,
        on_device=on_device,
    )


def _copied(source: TensorSource) -> TensorSource:
    """A source that nobody changes; arrays of the device are such."""
    return source if source.array is not None else in_memory(source.name, np.array(source.read()))


@dataclass(slots=True, kw_only=True)
class Ready:
    """A program with its bounds, params and seed, to be called with inputs.

    ``loaded`` is the one of the programs in the directory that the last call took, ``root`` that
    which knows them all. Calls from several threads run one after another, except those that are
    a single kernel, and ``running`` is the thread of the one that runs now.
    """

    root: LoadedProgram
    loaded: LoadedProgram
    given: Given
    shared: SharedCells
    output_dir: str | Path | None = None
    on_device: bool = False
    repeated: _RepeatedCall | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: int | None = None

    def __call__(
        self,
        inputs: Mapping[str, object] = MappingProxyType({}),
        output_dir: str | Path | None = None,
    ) -> Mapping[str, HostArray]:
        """The outputs by name, in source order. Raises ``RunError`` for everything that is wrong.

        They share no memory with the inputs, and may be read-only. Files of ``save`` go below
        ``output_dir``, by default that of ``ready``, or else the working directory.
        """
        repeated = self.repeated
        if repeated is None or not isinstance(inputs, Mapping):
            return self._locked_run(inputs, output_dir)
        try:
            if backend.has_settings(self.loaded.program.x64):
                outputs = repeated.call(inputs)
            else:
                with backend.settings(self.loaded.program.x64):
                    outputs = repeated.call(inputs)
        except Exception as error:
            if backend.is_traced():
                raise RunError(errors.traced()) from None
            if (reason := self._explained(error, repeated)) is None:
                raise
            raise reason from error
        return self._locked_run(inputs, output_dir) if outputs is None else outputs

    def _locked_run(
        self, inputs: Mapping[str, object], output_dir: str | Path | None
    ) -> Mapping[str, HostArray]:
        if self.running == threading.get_ident():
            raise RunError(errors.reentered())
        if backend.is_traced():
            raise RunError(errors.traced())
        with self.lock:
            self.running = threading.get_ident()
            try:
                return self._full_run(inputs, output_dir)
            finally:
                self.running = None

    def _full_run(
        self, inputs: Mapping[str, object], output_dir: str | Path | None
    ) -> Mapping[str, HostArray]:
        """A run with all checks, which prepares the fast path for the next one."""
        given = self.given._replace(inputs=as_sources(inputs, "input", resident))
        directory = next(d for d in (output_dir, self.output_dir, ".") if d is not None)
        settings = Settings(show=EffectSink(directory), on_device=self.on_device)
        self.root = self.root.for_this_thread()
        loaded = choose_program(self.root, given)
        if loaded is not self.loaded:
            self.loaded, self.shared = loaded, SharedCells.of(loaded.program)
        result = run_given(self.loaded, given, settings, self.shared)
        special = cached_specialization(self.loaded, given)
        self.repeated = None
        if special is None or (direct := special.direct) is None or self.loaded.traced:
            return result.outputs
        if direct.call.attempted not in direct.prepared.longer:
            self.repeated = self._repeatable(given, special.stores, direct)
        return result.outputs

    def _repeatable(
        self, given: Given, stores: frozenset[str], direct: DirectRun
    ) -> _RepeatedCall | None:
        """The fast path for inputs of the same kind; ``None`` if their cells must be assembled."""
        items = {i.store: i for i in self.loaded.program.inputs}
        cells_of = {store: self.shared.cells.get(store, {}) for store in stores - {*items}}
        candidates = [_direct_input(i, given, direct) for i in items.values()]
        inputs = tuple(t for t in candidates if t is not None)
        are_single = all(tuple(cells) == ((),) for cells in cells_of.values())
        if len(inputs) < len(candidates) or not are_single:
            return None
        constant = {store: cells[()] for store, cells in cells_of.items()}
        if self.on_device:
            call = _compile_call(direct, constant, inputs, on_device=True)
            return _RepeatedCall(direct, stores, call)

        def second(arguments: Mapping[str, object]) -> dict[str, HostArray] | None:
            # Only memory that is aligned is ever shared: what these copies share, others do.
            arrays = {name: taken(value) for name, value in arguments.items()}
            of_numbers = {
                name: a
                for name, a in arrays.items()
                if type(a) is np.ndarray and not a.dtype.hasobject
            }
            private = arrays | {name: aligned(a) for name, a in of_numbers.items()}
            outputs = _compile_call(direct, constant, inputs)(private)
            if outputs is not None:
                pairs = itertools.product(outputs.values(), map(np.asarray, private.values()))
                shared = any(itertools.starmap(np.may_share_memory, pairs))
                call = _compile_call(direct, constant, inputs, shared)
                self.repeated = _RepeatedCall(direct, stores, call)
            return outputs

        return _RepeatedCall(direct, stores, second)

    def _explained(self, error: Exception, repeated: _RepeatedCall) -> RunError | None:
        arguments = self.loaded, repeated.direct, repeated.stores, Settings()
        failure = explain_failure(*arguments, error)
        return (
            device_failure(error) if failure is None and isinstance(error, MemoryError) else failure
        )


class _RepeatedCall(NamedTuple):
    """The fast path: a run on other inputs of the same kind, after a run that was a single call.

    ``stores`` are those that are given; ``call`` gives the outputs, or ``None`` for inputs of
    another kind.
    """

    direct: DirectRun
    stores: frozenset[str]
    call: Callable[[Mapping[str, object]], dict[str, HostArray] | None]


class _DirectInput(NamedTuple):
    """An input that is passed as it is: its name, its store, its dtype, its shape.

    One that is not ``straight`` has several uses, and is copied to the device first. Its axes are
    ``arranged`` first if that is given.
    """

    name: str
    store: str
    kind: str
    shape: tuple[int, ...]
    straight: bool
    arranged: Callable[[Any], Any] | None


def _direct_input(item: prog.ProgramInput, given: Given, direct: DirectRun) -> _DirectInput | None:
    """The input, if its array is the cell of its store without slicing or padding."""
    source = given.inputs[item.name]
    layout = direct.prepared.layouts[item.store]
    if layout.keys or layout.away or layout.is_chunked or layout.extents != source.shape:
        return None
    return _DirectInput(
        name=item.name,
        store=item.store,
        kind=item.dtype,
        shape=source.shape,
        straight=item.store in direct.call.straight,
        arranged=None if layout.is_plain else layout.arranged,
    )


def _compile_call(
    direct: DirectRun,
    constant: Mapping[str, Any],
    inputs: Sequence[_DirectInput],
    shared: bool = False,
    on_device: bool = False,
) -> Callable[[Mapping[str, object]], dict[str, Any] | None]:
    """Compile the fast path; ``constant`` holds the given arrays that are no inputs, by store.

    ``shared``: outputs may be (parts of) inputs. ``on_device``: they stay on the device, so that
    the call may still read its arguments when it returns: those of the host are copied before.
    """
    prepared, call = direct.prepared, direct.call
    names: dict[str, Any] = {
        "ndarray": np.ndarray, "taken": taken, "owned": owned, "put": put, "apart": unaliased,
        "kernel": call.kernel if on_device else call.on_host, "at": call.at, "asarray": np.asarray,
    }  # fmt: skip
    for k, i in enumerate(inputs):
        names |= {f"name{k}": i.name, f"kind{k}": i.kind}
        names |= {f"dtype{k}": NUMPY[i.kind], f"shape{k}": i.shape, f"arranged{k}": i.arranged}
    for k, store in enumerate(call.operands):
        names[f"given{k}"] = constant.get(store)
        names[f"zeros{k}"] = call.zeros.get(store)
    for k, output in enumerate(prepared.program.outputs):
        names[f"output{k}"] = output.name
        names[f"constant{k}"] = constant.get(output.store)
        if not call.late:
            names[f"take{k}"] = _taker(prepared.take(output), on_device)
    names["longer"] = lambda: prepared.longer.add(call.attempted)
    names["takers"] = lru_cache(partial(_late_takers, direct, on_device))
    text = _call_text(direct, inputs, shared, "owned" if on_device else "")
    exec(compile(text, "<call>", "exec"), names)
    compiled: Callable[[Mapping[str, object]], dict[str, HostArray] | None] = names["call"]
    return compiled


def _taker(take: OutputSlice, on_device: bool) -> Callable[[Any], Any]:
    """What makes an output of the cell of its store."""
    return take.on_device if on_device else np.asarray if take.is_cell else take


def _late_takers(direct: DirectRun, on_device: bool, ends: Sequence[int]) -> list[Any]:
    """What makes outputs, after a call that has found lengths: 0 where a bound did not end."""
    prepared = direct.prepared
    lengths = {name: n for name, n in zip(direct.call.ends, ends, strict=True) if n}
    return [
        _taker(
            output_slice(o, prepared.layouts[o.store], {**prepared.bounds, **lengths}), on_device
        )
        for o in prepared.program.outputs
    ]


def _call_text(
    direct: DirectRun, inputs: Sequence[_DirectInput], shared: bool, straight: str
) -> str:
    """The text of the fast path, here for an input, a param and an output::

    def call(inputs):
        if len(inputs) != 1: return None
        a0 = inputs.get(name0)
        if type(a0) is not ndarray: a0 = taken(a0)
        if a0.dtype != dtype0 or a0.shape != shape0: return None
        r0, = kernel(at, a0, given1)
        return {output0: take0(r0)}

    ``straight`` names a function of inputs that are passed to the kernel, if there is one.
    """
    lines = [f"if len(inputs) != {len(inputs)}: return None"]
    for k in range(len(inputs)):
        lines += [
            f"a{k} = inputs.get(name{k})",
            f"if type(a{k}) is not ndarray: a{k} = taken(a{k})",
            f"if a{k}.dtype != dtype{k} or a{k}.shape != shape{k}: return None",
        ]
    cells = {}
    for k, i in enumerate(inputs):
        array = f"arranged{k}(a{k})" if i.arranged else f"a{k}"
        of_kernel = f"{straight}({array})" if straight else array
        cells[i.store] = of_kernel if i.straight else f"put({array}, kind{k})"
    call, call_outputs = direct.call, direct.prepared.program.outputs
    args = [
        cells.get(store, f"zeros{k}()" if store in call.zeros else f"given{k}")
        for k, store in enumerate(call.operands)
    ]
    results = {store: f"r{k}" for k, store in enumerate(call.results)}
    user_arrays = "".join(f"a{k}, " for k, _ in enumerate(inputs)).rstrip()
    outputs = []
    for k, output in enumerate(call_outputs):
        cell = results.get(output.store) or cells.get(output.store) or f"constant{k}"
        array = f"take{k}({cell})"
        array = f"apart({array}, ({user_arrays}))" if shared else array
        outputs.append(f"output{k}: {array}")
    taken = [*results.values(), *(["ends"] * bool(call.ends))]
    taken += ["fault"] * (call.verdict is not None)
    lines.append(f"{''.join(f'{r}, ' for r in taken)}= kernel({', '.join(['at', *args])})")
    if call.attempted:
        lines.append("if not all(map(asarray, ends)): return longer()")
    if call.verdict is not None:
        lines.append(f"if asarray(fault).item({call.verdict}): return None")
    if call.late:
        takes = "".join(f"take{k}, " for k, _ in enumerate(call_outputs))
        lines.append(f"{takes}= takers(tuple([asarray(n).item() for n in ends]))")
    lines.append(f"return {{{', '.join(outputs)}}}")
    return "\n    ".join(["def call(inputs):", *lines]) + "\n"
