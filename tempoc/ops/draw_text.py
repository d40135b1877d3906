"""What ``threefry.py`` computes, as text for kernels: functions that stand in front of them.

They use only what JAX documents, name their generator, and work on one key at a time, so they may
be mapped over others. ``HELPERS`` has them by name; some call others.
"""

from __future__ import annotations

import re
import textwrap

from tempoc.ops.threefry import CENTRE, LOG2, LOGS, TAIL, UNIT


def _wrapped(numbers: tuple[float | int, ...]) -> str:
    """A tuple of numbers on lines of its own."""
    lines = textwrap.wrap(", ".join(map(repr, numbers)), 88)
    return "".join(f"\n        {line}" for line in lines) + ",\n    "


_CENTRE, _TAIL, _LOGS = (f"({_wrapped(numbers)})" for numbers in (CENTRE, TAIL, LOGS))

_KEY = '''\
def random_key(seed, *path):
    """The key of a draw: the seed's, folded with the place and the indices of the draw."""
    key = jax.random.wrap_key_data(seed, impl="threefry2x32")
    for number in path:
        key = jax.random.fold_in(key, number)
    return jax.random.key_data(key)
'''

_WORDS = '''\
def random_words(key, positions):
    """Two random u32 for each position, along a new last axis."""
    key = jax.random.wrap_key_data(key, impl="threefry2x32")
    fold = jax.vmap(lambda number: jax.random.key_data(jax.random.fold_in(key, number)))
    return fold(positions.reshape(-1)).reshape(*positions.shape, 2)
'''

_BITS = '''\
def random_bits(key, positions):
    """A random u32 for each position."""
    words = random_words(key, positions)
    return words[..., 0] ^ words[..., 1]
'''

_UNIFORM = '''\
def random_uniform(key, positions, width, digits, dtype):
    """Multiples of 2**-digits in [0, 1), from the lowest bits of width."""
    bits = random_bits(key, positions) & jnp.uint32(2**width - 1)
    drawn = (bits >> (width - digits)).astype(jnp.float32)
    return (drawn * jnp.float32(2.0**-digits)).astype(dtype)
'''

_UNIFORM64 = '''\
def random_uniform64(key, positions):
    """Multiples of 2**-52 in [0, 1)."""
    words = random_words(key, positions).astype(jnp.uint64)
    drawn = (words[..., 0] << 32 | words[..., 1]) >> 12
    return drawn.astype(jnp.float64) * jnp.float64(2.0**-52)
'''

_NORMAL = f'''\
def random_normal(key, positions, dtype):
    """Standard normal numbers: the inverse of the distribution function at uniform ones."""
    lowest = jnp.float32(-1.0 + 2.0**-24)
    u = random_uniform(key, positions, 32, 23, jnp.float32) * jnp.float32(2.0) + lowest
    u = jnp.maximum(u, lowest)
    w = -jnp.log((jnp.float32(1.0) - u) * (jnp.float32(1.0) + u))
    centre = jnp.polyval(jnp.array({_CENTRE}, jnp.float32), w - jnp.float32(2.5))
    tail = jnp.polyval(jnp.array({_TAIL}, jnp.float32), jnp.sqrt(w) - jnp.float32(3.0))
    return (jnp.float32(2.0**0.5) * (jnp.where(w < 5.0, centre, tail) * u)).astype(dtype)
'''

_NORMAL64 = '''\
def random_normal64(key, positions):
    """Standard normal numbers in double precision."""
    lowest = jnp.float64(-1.0 + 2.0**-53)
    u = random_uniform64(key, positions) * jnp.float64(2.0) + lowest
    return jnp.float64(2.0**0.5) * lax.erf_inv(jnp.maximum(u, lowest))
'''

_MINUS_LOG = f'''\
def minus_log(v):
    """-log(v / 2**32) of positive u32 words, in units of 2**-{UNIT}."""
    doublings = lax.clz(v)
    m, total = v << doublings, doublings * jnp.uint32({LOG2})
    for k, log in enumerate({_LOGS}, 1):
        grown = m + (m >> k)
        fits = grown >= m
        m = jnp.where(fits, grown, m)
        total = jnp.where(fits, total + jnp.uint32(log), total)
    return total + ((~m + jnp.uint32(1)) >> {32 - UNIT})
'''

_GUMBEL = f'''\
def random_gumbel(key, positions):
    """Noise whose sum with logits is greatest at k with probability softmax[k]."""
    exponential = jnp.maximum(minus_log(random_bits(key, positions) | 1), jnp.uint32(1))
    noise = (minus_log(exponential) >> 1).astype(jnp.int32) - {(32 - UNIT) * LOG2 // 2}
    return noise.astype(jnp.float32) * jnp.float32(2.0**{1 - UNIT})
'''

HELPERS = {
    "random_key": _KEY,
    "random_words": _WORDS,
    "random_bits": _BITS,
    "random_uniform": _UNIFORM,
    "random_uniform64": _UNIFORM64,
    "random_normal": _NORMAL,
    "random_normal64": _NORMAL64,
    "minus_log": _MINUS_LOG,
    "random_gumbel": _GUMBEL,
}
"""The functions by name, each after those that it calls."""


def helpers_in(text: str) -> tuple[str, ...]:
    """The functions that some code calls, and those that these call, each before its callers."""
    wanted: dict[str, None] = {}
    for name in reversed(HELPERS):
        callers = [text, *(HELPERS[w] for w in wanted)]
        if any(re.search(rf"\b{name}\(", caller) for caller in callers):
            wanted[name] = None
    return tuple(HELPERS[name] for name in reversed(wanted))
