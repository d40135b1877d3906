"""Arrays that are wanted together are brought over together."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tempoc.runtime.device import backend


@pytest.mark.parametrize(("device", "started"), [("cpu", 0), ("gpu", 2)])
def test_copies_are_under_way_at_once(device, started, monkeypatch):
    events = []
    kind = type(jnp.zeros(1))
    copy, whole = kind.copy_to_host_async, backend.host
    monkeypatch.setattr(jax, "default_backend", lambda: device)
    monkeypatch.setattr(
        kind, "copy_to_host_async", lambda array: (events.append("start"), copy(array))
    )
    monkeypatch.setattr(backend, "host", lambda array: (events.append("wait"), whole(array))[1])
    given = [jnp.arange(3), backend.OnHost(np.arange(4)), jnp.ones((2, 2))]
    found = backend.hosts(given)
    assert events == ["start"] * started + ["wait"] * 3
    for array, value in zip(found, (np.arange(3), np.arange(4), np.ones((2, 2))), strict=True):
        np.testing.assert_array_equal(array, value)
