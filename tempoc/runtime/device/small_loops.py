"""Loops of small steps on CPUs: which ones XLA compiles as one function, in a process of ours.

XLA for CPUs starts each operator in the body of a loop on its own, which takes 50 ns, an inner loop
0.3 us; a loop of which a step touches less than 1024 bytes it compiles as one native function,
where an operator takes a few nanoseconds. What may not be in such a function, calls of libraries,
keeps a loop from becoming one. Where the limit is can be said to a process only, before XLA is used
there; so programs that are called from Python get what is said in ``XLA_FLAGS`` there.
"""

from __future__ import annotations

import os

_VARIABLE, _FLAG = "XLA_FLAGS", "--xla_backend_extra_options"
_OPTION = "xla_cpu_small_while_loop_byte_threshold"


def compile_whole(most: int) -> None:
    """Let XLA compile loops as one function each whose steps touch less than ``most`` bytes."""
    os.environ[_VARIABLE] = flags_for(most, os.environ.get(_VARIABLE, "").strip())


def flags_for(most: int, flags: str) -> str:
    """The flags with that limit; what they say of such options stays, and the name of a file."""
    if _FLAG in flags or (flags and not flags.startswith("-")):
        return flags
    return f"{flags} {_FLAG}={_OPTION}={most}".lstrip()
