"""Sample syntax errors with their messages.

After Jeffery's "Generating LR syntax error messages from examples": a sample is parsed, and its
message applies to all programs with a syntax error in the same LALR state. `[name]` in a message
is replaced by the last name before the error, `[token]` by the token that is not expected.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """Programs with one syntax error, and its message.

    `exact`: the message applies only to the unexpected token of the sample, not to all errors in
    the same LALR state.
    """

    texts: tuple[str, ...]
    message: str
    help: str | None = None
    exact: bool = False


SAMPLES: tuple[Sample, ...] = (
    Sample(
        ("dim t, s < T", "dim t < T, s < S"), "a statement declares one dimension",
        "write a statement for each, as in `dim t < T`", exact=True,
    ),
    Sample(("dim t = 5",), "a dimension needs a bound", "write `dim [name] < N = 5`", exact=True),
    Sample(("dim t",), "a dimension needs a bound", "write `dim [name] < T`"),
    Sample(
        ("dim t < 5",), "the bound of a dimension is a name",
        "write `dim [name] < N = [token]`", exact=True,
    ),
    Sample(
        ("dim t < T + 1", "dim t < T - 1", "dim t < T * 2", "dim t < T // 2", "dim t < T % 2"),
        "the bound of a dimension is a name",
        "give the bound a name of its own, as in `dim t < [name]2 = [name] + 1`", exact=True,
    ),
    Sample(
        ("const D: i32 = 3",), "a constant has no type",
        "write `const [name] = ...`: a number takes the dtype of what it meets", exact=True,
    ),
    Sample(("const D",), "a constant needs a value", "write `const [name] = ...`"),
    Sample(
        ("import nn.softmax",), "functions of a module are named with it where they are called",
        "write `import [name]`, then `[name].f(x)`", exact=True,
    ),
    Sample(
        ("input x: f32(3)", "x: f32(3) = 1", "param x: f32(3)"),
        "the extents of a type stand in brackets", "write `: f32[...]`", exact=True,
    ),
    Sample(
        (
            "input x: [3]", "input x[t]: [3]", "param x: [3]", "x: [3] = 1", "def f(x: [3]) = x",
            "def f(x) -> [3] = x",
        ),
        "a type begins with a dtype",
        "write `: f32[...]`; a list has the type of its value, as in "
        "`param w = nn.mlp_init([4, 2])`",
        exact=True,
    ),
    Sample(
        ("param w: f32 from w", "extern jax f(x: f32) -> (y: f32) from m"),
        "a string is expected after `from`", 'write `from "..."`', exact=True,
    ),
    Sample(
        ("input x: f32 = 1", "input x[t]: f32 = 1", "input x: f32[3] = 1", "input x: {w: f32} = 1"),
        "an input has no default",
        "what has one is a param: `param x: f32 = ...`", exact=True,
    ),
    Sample(("input x", "input x[t]"), "an input needs a type", "write `: f32` or `: f32[...]`"),
    Sample(
        ("input x[0]: f32", "input x[t+1]: f32", "input x[:]: f32", "input x[t, 3]: f32"),
        "the bracket of an input or a param names its dimensions",
        "the shape of the value at each point belongs to the type, as in `x[t]: f32[D]`",
    ),
    Sample(
        ('import "a.rt"',), "an imported file needs a name here", 'write `import "file.rt" as name`'
    ),
    Sample(
        ("extern f(x: f32) -> (y: f32)",), "an extern is a `jax` or a `host` function",
        "write `extern jax [name](...)` for a pure function of arrays, `extern host [name](...)` "
        "for any Python", exact=True,
    ),
    Sample(
        ("extern jax f(x: f32)",),
        "an extern needs results",
        "write `-> (result: type)` after its arguments",
    ),
    Sample(("extern jax f(x: f32) -> f32",), "the results of an extern stand in parentheses",
           "write `-> (result: type)`"),
    Sample(
        ("extern jax f(x: f32) -> (y: f32)", "extern host f(x: f32) -> (y: f32) over b"),
        "an extern needs its Python function",
        'write `from "module:function"`',
    ),
    Sample(("extern jax f(x)",), "`[name]` needs a type", "write `[name]: f32`"),
    Sample(
        ("def f(x)", "def f(x): y"),
        "a def needs `= expression` or a body in braces",
        "write `def f(x) = ...`, or `def f(x) { ... }` with a `return` at the end",
    ),
    Sample(
        ("def f(x) -> (y: f32) = x",), "the results of a def have types, but no names",
        "write `-> f32`, or `-> (f32, f32)`", exact=True,
    ),
    Sample(
        ("def f(x) -> f32", "def f(x) -> (f32, f32)"),
        "a def needs `= expression` or a body in braces",
        "write `def f(x) -> f32 = ...`, or `def f(x) -> f32 { ... }` with a `return` at the end",
    ),
    Sample(("def f",), "a def needs its parameters in parentheses", "write `def [name](x) = ...`"),
    Sample(("save x",), "save needs a file", 'write `save [name] to "file.safetensors"`'),
    Sample(
        ("f(x) = 3",),
        "a call cannot be the target of an equation",
        "a function is defined by `def [name](x) = ...`",
        exact=True,
    ),
    Sample(
        ("x", "x[t]"), "this statement is not complete, expected `=` and a value",
        "write `[name] = ...` to define a tensor", exact=True,
    ),
    Sample(
        ("x: f32", "x[t]: f32"), "this statement is not complete, expected `=` and a value",
        "what is given when the program runs is declared by `input x[t]: f32`", exact=True,
    ),
    Sample(
        ("x := 3", "x[t] := 3"), "expected `=`, found `:=`", "an equation has one `=`", exact=True,
    ),
    Sample(
        ("x == 3",), "expected `=`, found `==`", "an equation has one `=`", exact=True,
    ),
    Sample(
        ("x += 3", "x -= 3", "x *= 3", "x[t] += 3", "x[t] -= 3", "x[t] *= 3"),
        "expected `=` after the target of an equation",
        "a tensor is not changed: define each point from others, as in `x[t+1] = x[t] + 1`",
        exact=True,
    ),
    Sample(("y = x[]",), "the bracket is empty", "write an index, a slice or `:`", exact=True),
    Sample(
        ("y = (a, b)",), "parentheses hold one expression", "write `[a, b]` for a list", exact=True
    ),
    Sample(
        ("y = x[...]", "y = x[0, ...]", "y = (x)[...]"), "`...` is not part of the language",
        "write `:` for each axis that is kept", exact=True,
    ),
    Sample(
        ("y = {a = 1}",), "a field and its value are separated by `:`", "write `{[name]: ...}`",
        exact=True,
    ),
    Sample(
        ('y = {"a": 1}',), "the fields of a record are names, without quotes",
        "write `{name: ...}`", exact=True,
    ),
    Sample(
        ("w.a = 1", "w[i+1].a = 1"), "the fields of a record have no equations of their own",
        "write one equation for all: `w = {a: ..., b: ...}`", exact=True,
    ),
    Sample(("y = {}", ), "a record needs a field", exact=True),
    Sample(
        ("y = x[t = j in 3]", "y = x[t = j in a]"), "`in` needs a slice",
        "write `x[t = j in lo:hi]`", exact=True,
    ),
    Sample(("y = [1:2]",), "a slice stands in the bracket after a tensor", exact=True),
    Sample(
        ("y = x if t", "y = x if t > 0"), "`if` needs an `else`",
        "write `a if condition else b`; an equation for some points ends with `when condition`",
    ),
)  # fmt: skip
"""In order of priority."""
