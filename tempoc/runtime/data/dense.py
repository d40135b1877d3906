"""Inputs and params as dense host arrays, with an axis for each dimension in domain order."""

from __future__ import annotations

import numpy as np

from tempoc.program.nodes import nodes as prog
from tempoc.runtime.data.bindings import Bindings, template_dims
from tempoc.runtime.data.dtypes import NUMPY, HostArray
from tempoc.symbolic.walk import evaluate


def dense_inputs(bindings: Bindings) -> dict[str, HostArray]:
    """The inputs by name."""
    return {name: source.read() for name, source in bindings.inputs.items()}


def dense_params(program: prog.Program, bindings: Bindings) -> dict[str, HostArray]:
    """The params by name, assembled from their tensors; computed ones are absent."""
    return {
        p.name: _dense(program, p, bindings) for p in program.params if p.name in bindings.params
    }


def _dense(program: prog.Program, param: prog.ProgramParam, bindings: Bindings) -> HostArray:
    bound_of = dict(program.dims)
    sizes = [bindings.bounds[bound_of[d]] for d in param.dims]
    shape = [evaluate(e, bindings.bounds) for e in param.shape]
    array = np.zeros((*sizes, *shape), NUMPY[param.dtype])
    picked = template_dims(param)
    for point, source in bindings.params[param.name].items():
        coordinates = dict(zip(picked, point, strict=True))
        index = tuple(coordinates.get(d, slice(None)) for d in param.dims)
        array[index] = source.read().astype(array.dtype)
    return array
