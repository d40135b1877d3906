"""Operators as people write them: forms to be filled with operands."""

from __future__ import annotations

UNARY = (
    "tanh({})", "sin({})", "cos({})", "sigmoid({})", "erf({})", "relu({})", "gelu({})", "silu({})",
    "softplus({})", "abs({})", "exp(-abs({}))", "sqrt(abs({}) + 0.1)", "log1p(abs({}))",
    "({} ** 2)",
    "rsqrt(1.0 + abs({}))", "expm1(0.1 * {})", "exp2(tanh({}))", "clip({}, -0.5, 1)", "(-{})",
    "log(abs({}) + 0.5)", "(0.5 * {})", "(1 - {})", "tan(0.3 * tanh({}))", "stop_gradient({})",
    "exp(tanh({}))", "(tanh({}) ** 3)", "power(abs({}) + 0.1, 1.5)", "f32(bf16({}))", "({} / 3)",
)  # fmt: skip
STEPPED = (
    "sign({})",
    "floor(2.0 * {})",
    "ceil({})",
    "round(3.0 * {})",
    "({} % 0.7)",
    "({} // 0.4)",
)
HARSH = ("(1.0 / {})", "log({})", "sqrt({})", "({} ** -1)", "f32(f16({}))")
"""Where NaN and infinities come from."""
BINARY = (
    "({} + {})", "({} - {})", "({} * {})", "maximum({}, {})", "minimum({}, {})",
    "({} / (1.0 + abs({})))", "(0.5 * {} + 0.5 * {})", "({} + {})", "({} * {})",
)  # fmt: skip
INT_BINARY = (
    "({} + {})", "({} - {})", "({} * {} % 7)", "maximum({}, {})", "minimum({}, {})",
    "({} // ({} % 3 + 4))", "({} % (abs({}) + 2))", "bitwise_and({}, {})", "bitwise_xor({}, {})",
    "right_shift({}, {} % 5)", "(left_shift({} % 9, {} % 4))", "i32(i8({}) + i8({}))",
    "i32(bitwise_or(i8({}), u8({})))",
)  # fmt: skip
UINT_BINARY = (
    "({} + {})",
    "({} * {} % 7)",
    "maximum({}, {})",
    "({} // ({} % 3 + 1))",
    "u32(u8({}) * u8({}))",
    "right_shift({}, {} % 5)",
)
REDUCE = ("sum", "mean", "max", "min", "logsumexp", "var", "prod")
COMPARE = ("<", "<=", ">", ">=", "==", "!=")

FUNCTIONS = {
    "leaky": "def leaky(x, slope = 0.1) = maximum(x, slope * x)",
    "twice": "def twice(x, f) = f(f(x))",
    "rounds": "def rounds(x, steps) {\n  for k in range(len(steps)) {\n"
    "    x = tanh(x + steps[k])\n  }\n  return x\n}",
}
