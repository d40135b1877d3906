"""Help for names from Python, NumPy and JAX: what to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tempoc.ops.definition.shapes import type_text
from tempoc.ops.definition.types import DType, TensorType
from tempoc.symbolic import expr as ix

_INSTEAD = {
    "allclose": "write `all(abs(a - b) <= 1e-6)`",
    "arange": "write `arange(n)`",
    "astype": "the name of a dtype converts: write `f32(x)`",
    "bfloat16": "the name of a dtype converts: write `bf16(x)`",
    "bincount": "write `segment_sum(ones_like(x), ids, n)`",
    "bitwise_invert": "write `bitwise_not(a)`",
    "bmm": "write `a @ b`",
    "cat": "write `concat([a, b], axis = 0)`",
    "cdist": "write `sqrt(sum((expand_dims(a, 1) - expand_dims(b, 0)) ** 2, axis = -1))`",
    "clamp": "write `clip(x, low, high)`",
    "concatenate": "write `concat([a, b], axis = 0)`",
    "convolve": "write `conv(x, w)`, `x: [W, C]`, `w: [K, C, O]`; it does not turn `w` round",
    "cross_entropy": "write `import loss` at the top, and `loss.cross_entropy(logits, label)` here",
    "cummin": "write `-cummax(-x)`",
    "detach": "write `stop_gradient(x)`",
    "diag": 'write `einsum("ii->i", a)` for the diagonal of a matrix, '
    "`eye(n) * x` for a matrix of one",
    "diagonal": 'write `einsum("ii->i", a)`',
    "diff": "write `x[1:] - x[:-1]`; of points `x[t] - x[t-1]`",
    "digitize": 'write `searchsorted(bins, x, side = "right")`',
    "dot": "write `a @ b`",
    "dropout": "write `import nn` at the top, and `nn.dropout(x, rate)` here",
    "elu": "write `import nn` at the top, and `nn.elu(x)` here",
    "expit": "write `sigmoid(x)`",
    "flatten": "write `reshape(x, [-1])`",
    "float": "the name of a dtype converts: write `f32(x)`",
    "float16": "the name of a dtype converts: write `f16(x)`",
    "float32": "the name of a dtype converts: write `f32(x)`",
    "float64": "the name of a dtype converts: write `f64(x)`",
    "floor_divide": "write `a // b`",
    "fori_loop": "write the recurrence: `h[t] = f(h[t-1], x[t])`",
    "full_like": "write `zeros_like(x) + value`",
    "gather": "write `take(x, ids, axis)`, or `take_along(x, ids, axis)`",
    "hardtanh": "write `clip(x, -1.0, 1.0)`",
    "histogram": "write `segment_sum(ones_like(x), ids, n)`, `ids` the bins of the elements",
    "hstack": "write `concat([a, b], axis = 0)`",
    "identity": "write `eye(n)`",
    "index_add": "write `segment_sum(x, ids, n)`",
    "index_select": "write `take(x, ids, axis)`",
    "inner": "write `sum(a * b)`",
    "int": "the name of a dtype converts: write `i32(x)`",
    "int32": "the name of a dtype converts: write `i32(x)`",
    "int64": "the name of a dtype converts: write `i64(x)`",
    "int8": "the name of a dtype converts: write `i8(x)`",
    "inv": "write `inverse(a)`",
    "invert": "write `bitwise_not(a)`",
    "isclose": "write `abs(a - b) <= 1e-6`",
    "isfinite": "write `abs(x) < inf`",
    "kron": 'write `einsum("ij,kl->ikjl", a, b)` and `reshape` it',
    "leaky_relu": "write `import nn` at the top, and `nn.leaky_relu(x)` here",
    "linspace": "write `low + (high - low) * arange(n) / (n - 1)`",
    "log_sigmoid": "write `-softplus(-x)`",
    "log_softmax": "write `import nn` at the top, and `nn.log_softmax(x)` here",
    "logistic": "write `sigmoid(x)`",
    "masked_fill": "write `where(mask, value, x)`",
    "matmul": "write `a @ b`",
    "mish": "write `x * tanh(softplus(x))`",
    "mm": "write `a @ b`",
    "mod": "write `a % b`",
    "moveaxis": "write `transpose(x, [...])` with all axes in their new order",
    "nanmean": "write `sum(where(isnan(x), 0.0, x)) / sum(where(isnan(x), 0.0, 1.0))`",
    "nansum": "write `sum(where(isnan(x), 0.0, x))`",
    "negative": "write `-x`",
    "norm": "write `sqrt(sum(x * x))`",
    "outer": 'write `einsum("i,j->ij", a, b)`',
    "percentile": "read the sorted values, `sort(x)[k]`",
    "permute": "write `transpose(x, [...])` with all axes in their new order",
    "pow": "write `a ** b`",
    "print": "write a statement of its own: `print x`",
    "quantile": "read the sorted values, `sort(x)[k]`",
    "rand": "write `random.uniform([...])`",
    "randint": "write `random.integers([...], low, high)`",
    "randn": "write `random.normal([...])`",
    "random.choice": "draw an index: `x[random.integers([], n)]`",
    "random.exponential": "write `-log1p(-random.uniform([...]))`",
    "random.gumbel": "write `-log(-log(random.uniform([...])))`",
    "random.rand": "write `random.uniform([...])`",
    "random.randint": "write `random.integers([...], low, high)`",
    "random.randn": "write `random.normal([...])`",
    "random.random": "write `random.uniform([...])`",
    "random.shuffle": "read at `random.permutation(n)`",
    "random.truncated_normal": "write `import nn` at the top, and `nn.truncated_normal([...])`",
    "randperm": "write `random.permutation(n)`",
    "range": "write `arange(n)`",
    "ravel": "write `reshape(x, [-1])`",
    "reciprocal": "write `1.0 / x`",
    "relu6": "write `clip(x, 0.0, 6.0)`",
    "remainder": "write `a % b`",
    "repeat": "write `take(x, arange(k * n) // k, axis)`, `n` the extent of the axis",
    "roll": "write `take(x, (arange(n) - k) % n, axis)`",
    "scan": "write the recurrence: `h[t] = f(h[t-1], x[t])`",
    "scatter": "write `segment_sum(x, ids, n)`; at one place `put(x, j, value)`",
    "scatter_add": "write `segment_sum(x, ids, n)`",
    "segment_mean": "write `segment_sum(x, ids, n)` over `segment_sum(ones_like(x), ids, n)`",
    "select": "write `where(c, a, b)`",
    "shape": "write `size(x, axis)` for the extent of one axis",
    "slogdet": "write `logdet(a)`, of the absolute value; the sign is that of `det(a)`",
    "softmax": "write `import nn` at the top, and `nn.softmax(x)` here",
    "softsign": "write `x / (1.0 + abs(x))`",
    "square": "write `x * x`",
    "std": "write `sqrt(var(x))`",
    "swapaxes": "write `transpose(x, [...])` with all axes in their new order",
    "swish": "write `silu(x)`",
    "tensordot": 'write `einsum("ij,jk->ik", a, b)` with a letter for each axis',
    "tile": "write `take(x, arange(k * n) % n, axis)`, `n` the extent of the axis",
    "trace": 'write `einsum("ii->", a)`',
    "trunc": "write `sign(x) * floor(abs(x))`",
    "uint32": "the name of a dtype converts: write `u32(x)`",
    "uint8": "the name of a dtype converts: write `u8(x)`",
    "unsqueeze": "write `expand_dims(x, axis)`",
    "vdot": "write `sum(a * b)`",
    "view": "write `reshape(x, [...])`",
    "vmap": "a dimension is mapped over: `y[b] = f(x[b])`",
    "vstack": "write `concat([a, b], axis = 0)`",
    "while_loop": "write the recurrence over a dimension that ends: `dim t < T until done`",
    "xlogy": "write `where(x == 0.0, 0.0, x * log(y))`",
}
_ARGUMENTS = {
    "random.key": "the seed is that of the run: `--seed 0`",
    "random.normal": "scale what is drawn: `mean + deviation * random.normal([...])`",
    "random.uniform": "scale what is drawn: `low + (high - low) * random.uniform([...])`",
}
_MISSING = {"where": "`nonzero(mask)` gives the positions where a mask holds"}
_PARAMETERS = {
    "dims": "axis",
    "groups": "feature_group_count",
    "keepdim": "keepdims",
}
_JAX_NAMES = {
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "atan2": "arctan2",
    "lgamma": "gammaln",
}
_NAMES = {
    "True": "write `true`",
    "False": "write `false`",
    "None": "there is no empty value; `expand_dims(x, axis)` adds an axis",
    "null": "there is no empty value",
    "pi": "declare it: `const pi = 3.141592653589793`",
    "nan": "write `inf - inf`",
    "e": "write `exp(1.0)`",
    "self": "functions have no object: name what they take",
    "__name__": "a program has no main function: its equations and outputs are all there is",
    **dict.fromkeys(
        ("np", "numpy", "jnp", "jax", "torch", "math", "tf", "F", "lax", "linalg", "scipy"),
        "functions of arrays are called by their names alone, as in `sum(x)`, `exp(x)`",
    ),
}


class _Jax(NamedTuple):
    """Where JAX has a function; for each result the argument of that shape, and which axes."""

    module: str
    args: tuple[str, ...]
    results: tuple[tuple[str, int, slice], ...]


_ALL, _NO, _LAST = slice(None), slice(0, 0), slice(-1, None)
_LINALG, _SAME = "jax.numpy.linalg", (("b", 0, _ALL),)
JAX = {
    "pinv": _Jax(_LINALG, ("a",), _SAME),
    "expm": _Jax("jax.scipy.linalg", ("a",), _SAME),
    "eigh": _Jax(_LINALG, ("a",), (("w", 0, slice(0, -1)), ("v", 0, _ALL))),
    "eigvalsh": _Jax(_LINALG, ("a",), (("w", 0, slice(0, -1)),)),
    "qr": _Jax(_LINALG, ("a",), (("q", 0, _ALL), ("r", 0, _ALL))),
    "svd": _Jax(_LINALG, ("a",), (("u", 0, _ALL), ("s", 0, slice(0, -1)), ("v", 0, _ALL))),
    "median": _Jax("jax.numpy", ("a",), (("m", 0, _NO),)),
    "cross": _Jax("jax.numpy", ("a", "b"), (("c", 0, _ALL),)),
    "interp": _Jax("jax.numpy", ("x", "xp", "fp"), (("y", 0, _ALL),)),
    "erfinv": _Jax("jax.scipy.special", ("x",), (("y", 0, _ALL),)),
    "gammaln": _Jax("jax.scipy.special", ("x",), (("y", 0, _ALL),)),
    "digamma": _Jax("jax.scipy.special", ("x",), (("y", 0, _ALL),)),
    **{
        name: _Jax("jax.numpy", ("x",), (("y", 0, _ALL),))
        for name in (
            *("sinh", "cosh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"),
            *("log2", "log10", "cbrt", "tril", "triu", "fliplr", "flipud", "nan_to_num"),
        )
    },
    **{
        name: _Jax("jax.numpy", ("a", "b"), (("y", 0, _ALL),))
        for name in ("arctan2", "hypot", "logaddexp", "fmod", "gcd")
    },
}
"""Functions that a program can have from JAX, by the names that they have there."""


def about_function(name: str, types: Sequence[TensorType | None]) -> str | None:
    """What to write for a function that does not exist; `types` are those of its arguments."""
    name = _JAX_NAMES.get(name, name)
    if name not in JAX:
        return _INSTEAD.get(name)
    function = JAX[name]
    side = ix.Sym("D")
    default = TensorType(DType.F32, (side, side) if function.module.endswith("linalg") else (side,))
    given = [t for t in types if t is not None] if None not in types else []
    if len(given) < len(function.args):
        given = [default] * len(function.args)
    square = function.module.endswith("linalg")
    if square and (given[0].ndim < 2 or given[0].shape[-1] != given[0].shape[-2]):
        return None
    shapes = [type_text(TensorType(t.dtype, t.shape)) for t in given]
    args = ", ".join(f"{a}: {shape}" for a, shape in zip(function.args, shapes, strict=False))
    results = ", ".join(
        f"{r}: {type_text(TensorType(given[k].dtype, given[k].shape[axes]))}"
        for r, k, axes in function.results
    )
    return f'declare it: `extern jax {name}({args}) -> ({results}) from "{function.module}:{name}"`'


def about_arguments(name: str) -> str | None:
    """What to write where a function gets arguments that it has elsewhere."""
    return _ARGUMENTS.get(name)


def about_missing(name: str) -> str | None:
    """What to write where a function gets too few arguments that elsewhere are enough."""
    return _MISSING.get(name)


def about_parameter(name: str) -> str | None:
    """What a parameter of functions elsewhere is called here."""
    return _PARAMETERS.get(name)


def about_name(name: str) -> str | None:
    """What to write for a name that does not exist."""
    return _NAMES.get(name)


def about_method(name: str, shown: str, given: Sequence[str], signature: str) -> str | None:
    """What to write for an attribute of an array; `given` are the arguments of its call.

    `signature` holds the parameters of the builtin of that name; it is empty if there is none.
    """
    if name in ("shape", "size", "ndim"):
        return f"write `size({shown}, axis)` for the extent of one axis"
    if name in ("at", "add"):
        put = f"`put({shown}, j, v)` is one with a value at a place"
        return f"a tensor is not changed: {put}, `{shown} + segment_sum(v, j, n)` adds at positions"
    if signature:
        _, *parameters = signature.split()
        numbers = ", ".join(given)
        if parameters[:1] in (["shape"], ["axes="]) and given and given[0][0] not in "([":
            numbers = f"[{numbers}]"
        return f"write `{name}({', '.join(filter(None, (shown, numbers)))})`"
    return _INSTEAD.get(name)
