"""Programs of size `n`, one family for each way in which a compiler's work may explode.

A new family is a function from `n` to the text of a program, and a line in `FAMILIES`.
"""

from __future__ import annotations

from collections.abc import Callable

HEAD = "dim t < T\ninput x[t]: f32\n"


def _primes(n: int) -> list[int]:
    known: list[int] = []
    candidate = 2
    while len(known) < n:
        if all(candidate % p for p in known):
            known.append(candidate)
        candidate += 1
    return known


def moduli(n: int) -> str:
    """Guards with different moduli."""
    rows = (f"y[t] = {k}.0 * x[t] when t % {p} == 0\n" for k, p in enumerate(_primes(n)))
    return f"{HEAD}{''.join(rows)}y[t] = x[t]\noutput y\n"


def moduli_without_end(n: int) -> str:
    """Guards with different moduli; what they leave out is not defined, and not read."""
    rows = (f"y[t] = {k}.0 * x[t] when t % {p} == 0\n" for k, p in enumerate(_primes(n)))
    return f"{HEAD}{''.join(rows)}z[t] = y[2*t] when 2*t < T\nz[t] = 0.0\noutput z\n"


def points(n: int) -> str:
    """Equations for single points, then one for all others."""
    rows = (f"y[{k}] = {k}.0\n" for k in range(n))
    return f"dim t < T\nassume T > {n}\ninput x[t]: f32\n{''.join(rows)}y[t] = x[t]\noutput y\n"


def branches(n: int) -> str:
    """Guards with intervals."""
    rows = (f"y[t] = {k}.0 * x[t] when t < {3 * k + 2}\n" for k in range(n))
    return f"{HEAD}{''.join(rows)}y[t] = x[t]\noutput y\n"


def intervals(n: int) -> str:
    """Guards with intervals that leave gaps between them."""
    rows = (f"y[t] = {k}.0 * x[t] when t >= {5 * k} and t < {5 * k + 3}\n" for k in range(n))
    return f"{HEAD}{''.join(rows)}y[t] = x[t]\noutput y\n"


def derived_intervals(n: int) -> str:
    """The derivative of a recurrence with such guards."""
    rows = (
        f"y[t] = w * y[t-1] + {k}.0 when t >= {5 * k + 1} and t < {5 * k + 3}\n" for k in range(n)
    )
    end = "y[0] = w\ny[t] = y[t-1] + x\nloss = sum(y[0:T])\ng = grad(loss, w)\noutput g\n"
    return f"{HEAD}param w: f32\n{''.join(rows)}{end}"


def boxes(n: int) -> str:
    """Guards with intervals of two dimensions, each of which meets its neighbours."""
    rows = (
        f"y[i, j] = {k}.0 * x when i >= {3 * k} and i < {3 * k + 5} "
        f"and j >= {2 * k} and j < {2 * k + 3}\n"
        for k in range(n)
    )
    head = "dim i < I\ndim j < J\ninput x[i, j]: f32\n"
    return f"{head}{''.join(rows)}y[i, j] = 0.0\noutput y\n"


def doubling(n: int) -> str:
    """Functions that each call the one before twice: 2**n calls."""
    rows = (f"def f{k + 1}(x) = f{k}(x) + f{k}(2.0 * x)\n" for k in range(n))
    start = "def f0(x) = x + 1.0\n"
    return f"{HEAD}{start}{''.join(rows)}y[t] = f{n}(x[t])\noutput y\n"


def shared(n: int) -> str:
    """Functions that read their argument twice: one operator for each."""
    rows = (f"def f{k + 1}(x) = f{k}(x + x)\n" for k in range(n))
    start = "def f0(x) = x + x\n"
    return f"{HEAD}{start}{''.join(rows)}y[t] = f{n}(x[t])\noutput y\n"


def calls(n: int) -> str:
    """Calls of one function."""
    rows = (f"y{k}[t] = f(x[t], {k}.0)\noutput y{k}\n" for k in range(n))
    return f"{HEAD}def f(x, k) = x * k + 1.0\n{''.join(rows)}"


def unrolled(n: int) -> str:
    """A loop over a range."""
    return (
        f"{HEAD}def f(x) {{\n    y = x\n    for k in range({n}) {{\n        y = 2.0 * y\n    }}\n"
        "    return y\n}\nz[t] = f(x[t])\noutput z\n"
    )


def stacked(n: int) -> str:
    """A list of many elements as one tensor."""
    return f"{HEAD}y[t] = stack([x[t] * k for k in range({n})])\noutput y\n"


def chain(n: int) -> str:
    """A long chain of equations."""
    rows = (f"y{k + 1}[t] = 2.0 * y{k}[t] + 1.0\n" for k in range(n))
    return f"{HEAD}y0[t] = x[t]\n{''.join(rows)}output y{n}\n"


def scans(n: int) -> str:
    """Recurrences, each over the one before."""
    rows = (f"y{k + 1}[0] = 0.0\ny{k + 1}[t] = y{k + 1}[t-1] + y{k}[t]\n" for k in range(n))
    return f"{HEAD}y0[t] = x[t]\n{''.join(rows)}output y{n}\n"


def conds(n: int) -> str:
    """Branches within branches."""
    value = "x[t]"
    for k in range(n):
        value = f"cond(x[t] > {k}.5, {k}.25 * {value}, x[t] + {k}.0)"
    return f"{HEAD}y[t] = {value}\noutput y\n"


def reads(n: int) -> str:
    """Reads of one tensor at different points."""
    terms = " + ".join(f"x[max(t-{k}, 0)]" for k in range(n + 1))
    return f"{HEAD}y[t] = {terms}\noutput y\n"


def sums(n: int) -> str:
    """A long sum in one line."""
    return f"{HEAD}y[t] = {' + '.join('x[t]' for _ in range(n + 1))}\noutput y\n"


def minima(n: int) -> str:
    """An index of nested minima and maxima."""
    index = "t"
    for k in range(n):
        index = f"max(min({index}, T-1-{k}), {k})" if k % 2 else f"min(max({index}-1, 0), T-1)"
    return f"dim t < T\nassume T > {2 * n + 2}\ninput x[t]: f32\ny[t] = x[{index}]\noutput y\n"


def quotients(n: int) -> str:
    """An index of nested quotients."""
    index = "t"
    for k in range(n):
        index = f"({index} + t % {k + 2}) // {k % 5 + 2}"
    return f"{HEAD}y[t] = x[{index}]\noutput y\n"


def constants(n: int) -> str:
    """Constants, each the square of the one before."""
    rows = (f"const c{k + 1} = c{k} * c{k}\n" for k in range(n))
    return f"const c0 = 3\n{''.join(rows)}{HEAD}y[t] = x[t] * (c{n} % 7)\noutput y\n"


def records(n: int) -> str:
    """Lists, each holding the one before twice: 2**n leaves."""
    rows = (f"    a{k + 1} = [a{k}, a{k}]\n" for k in range(n))
    path = "[0]" * n
    return (
        f"{HEAD}def f(x) {{\n    a0 = x\n{''.join(rows)}    return a{n}\n}}\n"
        f"z = f(x[t])\ny[t] = z{path}\noutput y\n"
    )


def shapes(n: int) -> str:
    """Concatenations, each with itself: 2**n elements."""
    rows = (f"y{k + 1}[t] = concat([y{k}[t], y{k}[t]])\n" for k in range(n))
    return f"{HEAD}y0[t] = stack([x[t]])\n{''.join(rows)}z[t] = sum(y{n}[t])\noutput z\n"


def dims(n: int) -> str:
    """A tensor with many dimensions."""
    names = [f"i{k}" for k in range(n)]
    rows = (f"dim {d} < N{d}\n" for d in names)
    at = ", ".join(names)
    shifted = ", ".join(f"max({d}-1, 0)" for d in names)
    return f"{''.join(rows)}input x[{at}]: f32\ny[{at}] = x[{shifted}] + 1.0\noutput y\n"


def brackets(n: int) -> str:
    """Brackets that nothing closes."""
    return f"{HEAD}y[t] = x[t]\n{'(' * n}\noutput y\n"


def closing(n: int) -> str:
    """Brackets that nothing opens."""
    return f"{HEAD}y[t] = x[t]\n{')' * n}\noutput y\n"


def stray_lines(n: int) -> str:
    """A stray bracket in many lines."""
    rows = (f"y{k}[t] = x[t])\n" for k in range(n))
    return f"{HEAD}{''.join(rows)}"


def mistakes(n: int) -> str:
    """Many names that are not defined."""
    rows = (f"y{k}[t] = z{k}[t]\n" for k in range(n))
    return f"{HEAD}{''.join(rows)}"


def outside(n: int) -> str:
    """Many reads outside of their tensor."""
    rows = (f"y{k}[t] = x[t+{k + 1}]\noutput y{k}\n" for k in range(n))
    return f"{HEAD}{''.join(rows)}"


FAMILIES: dict[str, Callable[[int], str]] = {
    f.__name__: f
    for f in (
        *(moduli, moduli_without_end, points, branches, intervals, derived_intervals, boxes),
        *(doubling, shared, calls, unrolled),
        *(stacked, chain, scans, reads, sums, minima, quotients, constants, records, shapes),
        *(conds, dims, brackets, closing, stray_lines, mistakes, outside),
    )
}
