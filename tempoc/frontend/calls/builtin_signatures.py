"""The functions of the language by name, with their parameters.

`x` must be given, `axis=` may be; `*` takes any number of positional arguments.
"""

from __future__ import annotations

from tempoc.frontend.syntax import ast

UNARY = (
    "abs", "sign", "exp", "exp2", "log", "log1p", "expm1", "sqrt", "rsqrt", "sin", "cos", "tan",
    "tanh", "sigmoid", "relu", "gelu", "silu", "softplus", "erf", "floor", "ceil", "round", "isnan",
    "isinf", "bitwise_not",
)  # fmt: skip
BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "any", "all", "logsumexp", "var")

SIGNATURES: dict[str, str] = {
    **dict.fromkeys(UNARY, "x"),
    **dict.fromkeys(REDUCTIONS, "x axis= keepdims="),
    **{name: "x" for name in ast.DTYPES if name != "key"},
    **dict.fromkeys(BITWISE, "a b"),
    "minimum": "a b",
    "maximum": "a b",
    "power": "a b",
    "where": "c a b",
    "cond": "p a b",
    "clip": "x low high",
    "argmax": "x axis= keepdims=",
    "argmin": "x axis= keepdims=",
    "cumsum": "x axis= reverse=",
    "cumprod": "x axis= reverse=",
    "cummax": "x axis= reverse=",
    "associative_scan": "f x axis=",
    "reshape": "x shape",
    "transpose": "x axes=",
    "expand_dims": "x axis",
    "squeeze": "x axis=",
    "broadcast_to": "x shape",
    "concat": "xs axis=",
    "stack": "xs axis=",
    "split": "x n axis=",
    "pad": "x widths value=",
    "flip": "x axis=",
    "take": "x idx axis=",
    "take_along": "x idx axis=",
    "put": "x idx v axis=",
    "one_hot": "idx n dtype=",
    "top_k": "x k",
    "segment_sum": "x ids n",
    "segment_max": "x ids n",
    "segment_min": "x ids n",
    "length": "count most",
    "nonzero": "mask most=",
    "filter": "x mask most=",
    "unique": "x most=",
    "searchsorted": "sorted values side=",
    "sort": "x axis=",
    "argsort": "x axis=",
    "einsum": "spec *",
    "conv": "x w stride= padding= rhs_dilation= feature_group_count=",
    "conv_transpose": "x w stride= padding= rhs_dilation=",
    "cholesky": "a",
    "solve": "a b",
    "triangular_solve": "a b lower=",
    "inverse": "a",
    "det": "a",
    "logdet": "a",
    "fft": "z",
    "ifft": "z",
    "rfft": "x",
    "irfft": "z n=",
    "zeros": "shape dtype=",
    "ones": "shape dtype=",
    "full": "shape value dtype=",
    "eye": "n m= dtype=",
    "arange": "start stop= step= dtype=",
    "zeros_like": "x dtype=",
    "ones_like": "x dtype=",
    "size": "x axis=",
    "ndim": "x",
    "len": "x",
    "leaves": "x",
    "range": "start stop= step=",
    "grad": "loss x",
    "stop_gradient": "x",
    "random.key": "",
    "random.uniform": "shape dtype=",
    "random.normal": "shape dtype=",
    "random.integers": "shape low high=",
    "random.bernoulli": "p",
    "random.categorical": "logits",
    "random.permutation": "n",
}


def signature_text(name: str) -> str:
    """The signature as a person writes it: `sum(x, axis = ..., keepdims = ...)`."""
    parts = [p.replace("=", " = ...") for p in SIGNATURES[name].split()]
    return f"{name}({', '.join('...' if p == '*' else p for p in parts)})"
