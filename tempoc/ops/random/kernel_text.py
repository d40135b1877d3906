"""What ``threefry.py`` computes, as text for kernels: functions that stand in front of them.

They use only JAX, and work on one key at a time, so they may be mapped over others.
JAX has the generator too, but on CPUs as loops of their own, which a kernel of small draws feels.
``DRAWING`` has them by name; some call others.
"""

from __future__ import annotations

import textwrap

from tempoc.base.cost_model import MODEL
from tempoc.ops.random.threefry import CENTRE, LOG2, LOGS, TAIL, UNIT


def _wrapped(numbers: tuple[float | int, ...]) -> str:
    """A tuple of numbers on lines of its own."""
    lines = textwrap.wrap(", ".join(map(repr, numbers)), 88)
    return "".join(f"\n        {line}" for line in lines) + ",\n    "


_CENTRE, _TAIL, _LOGS = (f"({_wrapped(numbers)})" for numbers in (CENTRE, TAIL, LOGS))

_THREEFRY = '''\
def threefry(key, x, y):
    """Two words for each pair of words. Written out, rounds fuse with what is around them."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(0x1BD11BDA))
    x, y = x + schedule[0], y + schedule[1]
    for i in range(5):
        for r in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            x = x + y
            y = (y << r | y >> (32 - r)) ^ x
        x, y = x + schedule[(i + 1) % 3], y + schedule[(i + 2) % 3] + jnp.uint32(i + 1)
    return x, y
'''

_FOLD = '''\
def random_fold(key, *path):
    """The key folded with numbers, written out: rounds at many points fuse with what follows."""
    for number in path:
        key = jnp.stack(threefry(key, jnp.uint32(0), jnp.uint32(number)))
    return key
'''

_KEY = '''\
def random_key(seed, *path):
    """The key of a draw: the seed's, folded with the place and with indices of the draw.

    On a CPU in a loop, of two turns at least: rounds that are written out XLA copies into all that
    reads the key, and then it takes seconds to compile that.
    """
    if jax.default_backend() != "cpu":
        return random_fold(seed, *path)
    words = jnp.stack([jnp.uint32(number) for number in path])

    def fold(i, key):
        word = lax.dynamic_index_in_dim(words, i, keepdims=False)
        return jnp.where(i < len(path), random_fold(key, word), key)

    return lax.fori_loop(0, max(2, len(path)), fold, seed)
'''

_BITS = '''\
def random_bits(key, positions):
    """A random u32 for each position."""
    x, y = threefry(key, jnp.uint32(0), positions)
    return x ^ y
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
    x, y = threefry(key, jnp.uint32(0), positions)
    drawn = (x.astype(jnp.uint64) << 32 | y.astype(jnp.uint64)) >> 12
    return drawn.astype(jnp.float64) * jnp.float64(2.0**-52)
'''

_INTEGERS = '''\
def random_integers(key, positions, count):
    """The upper words of random words times count, from products of half words."""
    bits, count = random_bits(key, positions), jnp.uint32(count)
    high, low, half = bits >> 16, bits & jnp.uint32(0xFFFF), count & jnp.uint32(0xFFFF)
    middle = high * half + (low * half >> 16)
    carry = low * (count >> 16) + (middle & jnp.uint32(0xFFFF)) >> 16
    return high * (count >> 16) + (middle >> 16) + carry
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

_ZERO = '''\
def unknown_zero():
    """0.0, but XLA for CPUs does not know it: where draws are added, the sum may be NaN.

    An argmax of draws alone, which it proves not to be NaN, it compiles for minutes.
    """
    zero = jnp.float32(0.0)
    if jax.default_backend() != "cpu":
        return zero
    return lax.fori_loop(0, 2, lambda i, zero: -zero, zero)
'''

_NOISE = f'''\
def random_noise_of_few(key, positions, points):
    """The noise of `random_gumbel` at all points, for each place along the last axis.

    On CPUs it comes from a loop of its own, or XLA draws it again for all that reads it; XLA splits
    it among threads unless it updates an array in place, and for few points that takes longer. A
    GPU would launch each turn of that loop.
    """
    words, count, shape = (key[0], key[1]), positions.shape[-1], positions.shape[:-1]
    if jax.default_backend() != "cpu":
        return [random_gumbel(words, positions[..., k]) for k in range(count)]

    def draw(k, noise):
        drawn = random_gumbel(words, lax.dynamic_index_in_dim(positions, k, -1, keepdims=False))
        if isinstance(noise, tuple):
            return (*noise[1:], drawn)
        return lax.dynamic_update_index_in_dim(noise, drawn, k, 0)

    none = jnp.zeros(shape, jnp.float32)
    few = points * none.size <= {MODEL.drawn_points}
    start = jnp.zeros((count, *shape), jnp.float32) if few else (none,) * count
    return lax.fori_loop(0, count, draw, start)
'''

_FEW = '''\
def random_of_few(key, logits, positions, points):
    """The first place along the last axis where a logit with its noise is greatest, or NaN.

    Place by place, at all points at once: XLA for CPUs draws one by one in the loop of an argmax.
    """
    noise = random_noise_of_few(key, positions, points)
    best = logits[..., 0] + noise[0].astype(logits.dtype)
    place = jnp.zeros(logits.shape[:-1], jnp.int32)
    for k in range(1, logits.shape[-1]):
        score = logits[..., k] + noise[k].astype(logits.dtype)
        more = ~(score <= best) & (best == best)
        best, place = jnp.where(more, score, best), jnp.where(more, jnp.int32(k), place)
    return place
'''

DRAWING = {
    "threefry": _THREEFRY,
    "random_fold": _FOLD,
    "random_key": _KEY,
    "random_bits": _BITS,
    "random_integers": _INTEGERS,
    "random_uniform": _UNIFORM,
    "random_uniform64": _UNIFORM64,
    "random_normal": _NORMAL,
    "random_normal64": _NORMAL64,
    "minus_log": _MINUS_LOG,
    "random_gumbel": _GUMBEL,
    "unknown_zero": _ZERO,
    "random_noise_of_few": _NOISE,
    "random_of_few": _FEW,
}
"""The functions by name, each after those that it calls."""
