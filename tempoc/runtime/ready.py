"""A compiled program that is called often, as one calls a jitted function.

::

    smooth = ready("out", bounds={"T": 64}, params={"W": w})
    y = smooth({"x": x})["y"]

What depends on bounds, params and the seed is done once: params stay on the device, the walk is
written, kernels are compiled. Of the inputs of a later call only names, types and shapes are looked
at, if they are those of the call before. A function in Python is written for that (`_call_text`):
around a program that is one kernel it costs little more than the call of that kernel.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tempoc.program.nodes.nodes import ProgramInput
from tempoc.runtime.data.bindings import Given
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.runtime.data.source import as_sources
from tempoc.runtime.device import backend
from tempoc.runtime.device.alignment import aligned
from tempoc.runtime.device.stores import SharedCells
from tempoc.runtime.execution.specialize import PlainRun, Specialization, cached_specialization
from tempoc.runtime.execution.variants import choose_program
from tempoc.runtime.load.load import LoadedProgram, load
from tempoc.runtime.messages.problem import RunError
from tempoc.runtime.run import Settings, device_failure, explain_failure, run_given, unaliased
from tempoc.runtime.walk.walk import FILE

_NAMES = {"ndarray": np.ndarray, "asarray": np.asarray, "put": backend.put, "apart": unaliased}
"""What the text of a call takes from elsewhere."""


def ready(
    directory: str | Path,
    bounds: Mapping[str, object] | None = None,
    params: Mapping[str, object] | None = None,
    *,
    cast_params: bool = False,
    seed: int = 0,
    extern_path: Sequence[str | Path] = (),
) -> Ready:
    """A compiled program to be called with inputs; the arguments are those of ``run``.

    Bounds that follow from shapes need not be given, and may differ from call to call. Raises
    ``RunError`` if the directory holds no program; what else is wrong, the first call says.
    """
    given = Given(
        bounds={**(bounds or {})},
        inputs={},
        params=as_sources({name: np.array(value) for name, value in (params or {}).items()}),
        cast_params=cast_params,
        seed=seed,
    )
    loaded = load(directory, extern_path)
    return Ready(root=loaded, loaded=loaded, given=given, shared=SharedCells.of(loaded.program))


@dataclass(slots=True, kw_only=True)
class Ready:
    """A program with its bounds, params and seed, to be called with inputs.

    ``loaded`` is the one of the programs in the directory that the last call took, ``root`` that
    which knows them all.
    """

    root: LoadedProgram
    loaded: LoadedProgram
    given: Given
    shared: SharedCells
    settings: Settings = field(default_factory=Settings)
    repeated: _RepeatedCall | None = None

    def __call__(
        self, inputs: Mapping[str, object] = MappingProxyType({})
    ) -> Mapping[str, HostArray]:
        """The outputs by name, in source order. Raises ``RunError`` for everything that is wrong.

        They share no memory with the inputs, and may be read-only.
        """
        repeated = self.repeated
        if repeated is None:
            return self._full_run(inputs)
        try:
            if backend.has_x64(self.loaded.program.x64):
                outputs = repeated.call(inputs)
            else:
                with backend.settings(self.loaded.program.x64):
                    outputs = repeated.call(inputs)
        except Exception as error:
            if (reason := self._explained(error, repeated.plain)) is None:
                raise
            raise reason from error
        return self._full_run(inputs) if outputs is None else outputs

    def _full_run(self, inputs: Mapping[str, object]) -> Mapping[str, HostArray]:
        """A run with all checks, which prepares the fast path for the next one."""
        given = self.given._replace(inputs=as_sources(inputs))
        loaded = choose_program(self.root, given)
        if loaded is not self.loaded:
            self.loaded, self.shared = loaded, SharedCells.of(loaded.program)
        result = run_given(self.loaded, given, self.settings, self.shared)
        special = cached_specialization(self.loaded, given)
        self.repeated = None
        if special is not None and special.plain is not None and not self.loaded.traced:
            self.repeated = self._repeatable(given, special, special.plain)
        return result.outputs

    def _repeatable(
        self, given: Given, special: Specialization, plain: PlainRun
    ) -> _RepeatedCall | None:
        """The fast path for inputs of the same kind; ``None`` if their cells must be assembled."""
        items = {i.store: i for i in self.loaded.program.inputs}
        cells_of = {store: self.shared.cells.get(store, {}) for store in special.stores - {*items}}
        candidates = [_direct_input(i, given, plain) for i in items.values()]
        direct = tuple(t for t in candidates if t is not None)
        if len(direct) < len(candidates) or any(
            tuple(cells) != ((),) for cells in cells_of.values()
        ):
            return None
        places = {plain.prepared.filled[store]: cells[()] for store, cells in cells_of.items()}
        names = {**plain.names, **places}

        def second(inputs: Mapping[str, object]) -> dict[str, HostArray] | None:
            # Only memory that is aligned is ever shared: what these copies share, others do.
            arrays = {name: np.asarray(value) for name, value in inputs.items()}
            of_numbers = {name: a for name, a in arrays.items() if not a.dtype.hasobject}
            private = arrays | {name: aligned(a) for name, a in of_numbers.items()}
            outputs = _compile_call(plain, names, direct)(private)
            if outputs is not None:
                pairs = itertools.product(outputs.values(), private.values())
                shared = any(itertools.starmap(np.may_share_memory, pairs))
                self.repeated = _RepeatedCall(plain, _compile_call(plain, names, direct, shared))
            return outputs

        return _RepeatedCall(plain, second)

    def _explained(self, error: Exception, plain: PlainRun) -> RunError | None:
        failure = explain_failure(self.loaded, plain, self.settings, error)
        return (
            device_failure(error) if failure is None and isinstance(error, MemoryError) else failure
        )


class _RepeatedCall(NamedTuple):
    """The fast path: a run on other inputs of the same kind, after a plain run.

    ``call`` gives the outputs, or ``None`` for inputs of another kind.
    """

    plain: PlainRun
    call: Callable[[Mapping[str, object]], dict[str, HostArray] | None]


class _DirectInput(NamedTuple):
    """An input that is passed as it is: its names in program and walk, its dtype, its shape.

    One that is not ``straight`` has several uses, and is copied to the device first.
    """

    name: str
    place: str
    kind: str
    shape: tuple[int, ...]
    straight: bool


def _direct_input(item: ProgramInput, given: Given, plain: PlainRun) -> _DirectInput | None:
    """The input, if its array is the cell of its store without slicing or padding."""
    source = given.inputs[item.name]
    layout = plain.prepared.layouts[item.store]
    if layout.keys or layout.away or layout.shape != source.shape:
        return None
    return _DirectInput(
        name=item.name,
        place=plain.prepared.filled[item.store],
        kind=item.dtype,
        shape=source.shape,
        straight=item.store in plain.walk.straight,
    )


def _compile_call(
    plain: PlainRun, scope: Mapping[str, Any], inputs: Sequence[_DirectInput], shared: bool = False
) -> Callable[[Mapping[str, object]], dict[str, HostArray] | None]:
    """Compile the fast path; ``scope`` holds the names in the walk without the inputs.

    ``shared``: outputs may be (parts of) inputs.
    """
    names = {**scope, **_NAMES}
    places = ", ".join(i.place for i in inputs)
    walk = plain.walk.text.replace("def walk():", f"def walk({places}):", 1)
    exec(compile(walk, FILE, "exec"), names)
    for k, i in enumerate(inputs):
        names |= {f"dtype{k}": NUMPY[i.kind], f"shape{k}": i.shape}
    for k, (_, _, take) in enumerate(plain.prepared.takes):
        names[f"take{k}"] = np.asarray if take.is_cell else take
    exec(compile(_call_text(plain, inputs, shared), "<call>", "exec"), names)
    call: Callable[[Mapping[str, object]], dict[str, HostArray] | None] = names["call"]
    return call


def _call_text(plain: PlainRun, inputs: Sequence[_DirectInput], shared: bool) -> str:
    """The text of the fast path, here for an input ``x`` and an output ``y`` in store 1::

    def call(inputs):
        if len(inputs) != 1: return None
        a0 = inputs.get('x')
        if type(a0) is not ndarray: a0 = asarray(a0)
        if a0.dtype != dtype0 or a0.shape != shape0: return None
        cells = walk(a0)
        return {'y': take0(cells[1])}
    """
    lines = [f"if len(inputs) != {len(inputs)}: return None"]
    for k, i in enumerate(inputs):
        lines += [
            f"a{k} = inputs.get({i.name!r})",
            f"if type(a{k}) is not ndarray: a{k} = asarray(a{k})",
            f"if a{k}.dtype != dtype{k} or a{k}.shape != shape{k}: return None",
        ]
    args = [f"a{k}" if i.straight else f"put(a{k}, {i.kind!r})" for k, i in enumerate(inputs)]
    user_arrays = "".join(f"a{k}, " for k, _ in enumerate(inputs)).rstrip()
    outputs = []
    for k, (name, number, _) in enumerate(plain.prepared.takes):
        array = f"take{k}(cells[{number}])"
        outputs.append(f"{name!r}: " + (f"apart({array}, ({user_arrays}))" if shared else array))
    lines += [f"cells = walk({', '.join(args)})", f"return {{{', '.join(outputs)}}}"]
    return "\n    ".join(["def call(inputs):", *lines]) + "\n"
