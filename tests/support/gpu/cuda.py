"""Compiles for a GPU where there is none: XLA's compiler for CUDA, and what it has to know of one.

The compiler is in two packages, too large for an everyday test. Install them with the version of
JAX that is here, and say where they are, or let ``make test-gpu`` do so::

    pip install --no-deps --target build/cuda jax-cuda13-plugin==V jax-cuda13-pjrt==V
    TEMPOC_CUDA=build/cuda pytest tests/whole/device/test_gpu.py
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import pytest
from jax.sharding import SingleDeviceSharding

from tempoc.runtime.data.dtypes import NUMPY
from tempoc.runtime.device import backend, inspection

FOLDER = os.environ.get("TEMPOC_CUDA", "")
LIBRARY = Path(FOLDER, "jax_plugins", "xla_cuda13", "xla_cuda_plugin.so")
IS_THERE = bool(FOLDER) and LIBRARY.is_file()


@dataclass(slots=True)
class Gpu:
    """A GPU for which things are compiled; ``texts`` has the operations of each function."""

    texts: dict[str, str] = field(default_factory=dict)


@functools.cache
def sharding() -> SingleDeviceSharding:
    """Where arrays lie that are on the GPU."""
    from jax._src.lib import _jax, xla_client  # there is no public way to a device that is not

    if not xla_client.pjrt_plugin_loaded("cuda"):
        xla_client.load_pjrt_plugin_dynamically("cuda", str(LIBRARY))
    if not xla_client.pjrt_plugin_initialized("cuda"):
        xla_client.initialize_pjrt_plugin("cuda")
    device = Path(__file__).with_name("h200.txtpb").read_text()
    told = {"target_config": device, "topology": "1x1x1"}
    topology: Any = _jax.get_default_c_api_topology("cuda", "", told)
    return SingleDeviceSharding(topology._make_compile_only_devices()[0])


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """Take this for a machine with a GPU, as far as functions are compiled and not run."""
    found = Gpu()
    plain = inspection.inspect_kernel

    def described(shape: tuple[int, ...], dtype: str) -> Any:
        return jax.ShapeDtypeStruct(shape, NUMPY[dtype], sharding=sharding())

    def inspected(function: Any, *how: Any) -> inspection.Inspected:
        made = plain(function, *how)
        found.texts[function.__name__] = made.text
        return made

    # Which kernel is fastest cannot be tried.
    for mode, options in [*backend.OPTIONS.items()]:
        monkeypatch.setitem(backend.OPTIONS, mode, {**options, "xla_gpu_autotune_level": 0})
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(backend, "described", described)
    monkeypatch.setattr(inspection, "inspect_kernel", inspected)
    monkeypatch.setattr(backend, "compiles_late", lambda: True)
    return found
