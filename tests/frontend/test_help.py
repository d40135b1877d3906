"""Help lines mend: a program, what is said about it, and the program that does what was said."""

from __future__ import annotations

import importlib

import pytest

from tempoc.frontend.errors.library import JAX
from tests.support.elaborated import errors_of

HEAD = "dim b < B\ndim t < T\nconst D = 3\ninput x[b, t]: f32\ninput A[t]: f32[D, D]\n"
OUT = "output x\n"

# The wrong statements, a part of the help, and the right ones.
MENDED = {
    "RT200 a point": (
        "y = A[1]", "assume T >= 2", "assume T >= 2\ny = A[1]"
    ),
    "RT200 a neighbour": (
        "y[b, t] = x[b, t+1] when t == 0", "assume T >= 2",
        "assume T >= 2\ny[b, t] = x[b, t+1] when t == 0",
    ),
    "RT200 the step before the last": (
        "y[t] = A[T-2] + A", "assume T >= 2", "assume T >= 2\ny[t] = A[T-2] + A"
    ),
    "RT200 in a loop": (
        "y[t] = A[t+1]", "when t < T-1", "y[t] = A[t+1] when t < T-1"
    ),
    "RT047 the first": (
        "y[t] = A[t-1] when t >= 1\noutput y", "output `y[t = 1:T]`",
        "y[t] = A[t-1] when t >= 1\noutput y[t = 1:T]",
    ),
    "RT047 the last": (
        "y[b, t] = x[b, t+1] when t < T-1\noutput y", "output `y[t = 0:T-1]`",
        "y[b, t] = x[b, t+1] when t < T-1\noutput y[t = 0:T-1]",
    ),
    "RT060 a bool": (
        "y = abs(x > 0.)", "convert with i32(x)", "y = abs(i32(x > 0.))"
    ),
    "RT123 a tensor": (
        "j = argmax(x[t = 0:T])\ny = x[b, j]", "write a data-dependent access, `x[t = j in 0:T]`",
        "j = argmax(x[t = 0:T])\ny = x[t = j in 0:T]",
    ),
    "RT123 a quotient": ("y = A[t / 2]", "`//` rounds down", "y = A[t // 2]"),
    "RT123 a float": ("y = A[0.0]", "write an integer", "y = A[0]"),
    "RT125 an index": ("y[t] = A when t", "compare it: `t >= 1`", "y[t] = A when t >= 1"),
    "RT125 a tensor": (
        "y[b, t] = 1. when x > 0.", "`where(x > 0., a, b)`", "y[b, t] = where(x > 0., 1., 0.)"
    ),
    "RT140 an extent": (
        "m = A[0:T] as f32[m, D, D]", "call the extent something else", "m = A[0:T] as f32[k, D, D]"
    ),
    "RT137 some points": (
        "y[0, 0] = x\ny[b, t] = x", "`x[b = 0, t = 0]`", "y[0, 0] = x[b = 0, t = 0]\ny[b, t] = x"
    ),
    "RT137 a guard": (
        "y[b, 0] = x\ny[b, t] = x", "`y[b, t] = ... when t == 0`",
        "y[b, t] = x when t == 0\ny[b, t] = x",
    ),
    "RT137 a dimension": ("y[b] = x", "add `t` to the target", "y[b, t] = x"),
    "RT157": (
        'extern jax f(a: f32[t+1]) -> (r: f32) from "m:f"\ny = f(x[t = 0:t+1])', "`extern host`",
        'extern host f(a: f32[t+1]) -> (r: f32) from "m:f"\ny = f(x[t = 0:t+1])',
    ),
    "RT086 what never varies": (
        "on = true\ny[t] = where(on[t], A, 0.)", "read it without a bracket",
        "on = true\ny[t] = where(on, A, 0.)",
    ),
    "RT021 a scatter": (
        "y = scatter_add(A, argmax(A, axis = 1))", "`segment_sum(x, ids, n)`",
        "y = segment_sum(A, argmax(A, axis = 1), D)",
    ),
    "RT021 a rotation": (
        "y = roll(A, 1)", "`take(x, (arange(n) - k) % n, axis)`",
        "y = take(A, (arange(D) - 1) % D, 0)",
    ),
    "RT021 a draw": ("y = randn(2)", "`random.normal([...])`", "y = random.normal([2])"),
    "RT060 the first one": (
        "y = ones([D, 4]) @ A", "the first one transposed: `a.T @ b`", "y = ones([D, 4]).T @ A"
    ),
    "RT060 the second one": (
        "y = A @ ones([4, D])", "the second one transposed: `a @ b.T`", "y = A @ ones([4, D]).T"
    ),
    "RT200 what a function is given": (
        "def f(x) {\n  z = 2.0 * x\n  return z\n}\ny[t] = f(y[t-1])\ny[0] = A[0]",
        "move it above this one",
        "def f(x) {\n  z = 2.0 * x\n  return z\n}\ny[0] = A[0]\ny[t] = f(y[t-1])",
    ),
    "RT200 the innermost equation": (
        "def f(v, dim t) {\n  z[t] = z[t-1] + v\n  return z\n}\ny[t] = f(A, t)",
        "an equation for z[0]",
        "def f(v, dim t) {\n  z[t] = v when t == 0\n  z[t] = z[t-1] + v\n  return z\n}\n"
        "y[t] = f(A, t)",
    ),
    "RT200 from the end": ("y[t] = A[T-t]", "backwards they are A[T-1-t]", "y[t] = A[T-1-t]"),
    "RT139 a file": (
        'save A[t] to "a.safetensors" when t == T', "the last `t` is `T-1`",
        'save A[t] to "a.safetensors" when t == T-1',
    ),
    "RT066 steps": (
        "def f(v) {\n  for k in range(T) {\n    v = 2.0 * v\n  }\n  return v\n}\ny = f(x)",
        "`dim k < T`", "dim k < T\ny[b, 0] = x[b, 0]\ny[b, k] = 2.0 * y[b, k-1]",
    ),
    "RT094 a second value": ("y = max(x, 0)", "is `maximum`", "y = maximum(x, 0)"),
    "RT200 the last step": ("y[t] = A[min(t+1, T)]", "A[T-1]", "y[t] = A[min(t+1, T-1)]"),
    "RT126": ("y = A[::-1]", "`flip(x[0:T], axis = 0)`", "y = flip(A[0:T], axis = 0)"),
    "RT060 of steps": (
        "y = mean(2.0 * x, axis = 0)", "`(2.0 * x)[t = 0:T]`",
        "y = mean((2.0 * x)[t = 0:T], axis = 0)",
    ),
    "RT023": ("input b: f32", "such as `c`", "input c: f32"),
    "RT023 a bound": ("T = 3", "such as `U`", "U = 3"),
    "RT023 a word": ("D = 3", "such as `E`", "E = 3"),
    "RT021 of linear algebra": (
        "y = pinv(A)",
        '`extern jax pinv(a: f32[3, 3]) -> (b: f32[3, 3]) from "jax.numpy.linalg:pinv"`',
        'extern jax pinv(a: f32[3, 3]) -> (b: f32[3, 3]) from "jax.numpy.linalg:pinv"\ny = pinv(A)',
    ),
    "RT021 that nobody calls": (
        "def f(a) = expm(a)",
        '`extern jax expm(a: f32[D, D]) -> (b: f32[D, D]) from "jax.scipy.linalg:expm"`',
        'extern jax expm(a: f32[D, D]) -> (b: f32[D, D]) from "jax.scipy.linalg:expm"\n'
        "def f(a) = expm(a)",
    ),
    "RT021 an inverse": ("y = inv(A)", "`inverse(a)`", "y = inverse(A)"),
    "RT021 a dtype": ("y = int8(A)", "`i8(x)`", "y = i8(A)"),
    "RT021 bins": (
        "y = digitize(A, A[t][0])", '`searchsorted(bins, x, side = "right")`',
        'y = searchsorted(A[t][0], A, side = "right")',
    ),
    "RT021 repeated rows": (
        "y = repeat(A, 2)", "`take(x, arange(k * n) // k, axis)`",
        "y = take(A, arange(2 * D) // 2, 0)",
    ),
    "RT022 a draw": (
        "y[t] = random.gumbel([3])", "`-log(-log(random.uniform([...])))`",
        "y[t] = -log(-log(random.uniform([3])))",
    ),
    "RT069 a module": ("y = fft.rfft(A)", "write `rfft(A)`", "y = rfft(A)"),
    "RT069 an element": (
        "n[t] = [{v: A}, {v: A}]\ny = n[0].v", "`(n)[0].v`",
        "n[t] = [{v: A}, {v: A}]\ny = (n)[0].v",
    ),
    "RT069 a list": (
        "n[t] = [{v: A}, {v: A}]\ny = n.v", "`(n)[0].v`", "n[t] = [{v: A}, {v: A}]\ny = (n)[0].v"
    ),
    "RT021 of NumPy": ("y = matmul(A, A)", "`a @ b`", "y = A @ A"),
    "RT021 of a module": ("y = softmax(A)", "`import nn`", "import nn\ny = nn.softmax(A)"),
    "RT021 a norm": ("y = norm(A)", "`sqrt(sum(x * x))`", "y = sqrt(sum(A * A))"),
    "RT021 differences": ("y = diff(A)", "`x[1:] - x[:-1]`", "y = (A)[1:] - (A)[:-1]"),
    "RT021 a product": (
        "y = kron(A, A)", '`einsum("ij,kl->ikjl", a, b)`',
        'y = reshape(einsum("ij,kl->ikjl", A, A), [9, 9])',
    ),
    "RT021 a comparison": ("y = allclose(A, A)", "`all(abs(a", "y = all(abs(A - A) <= 1e-6)"),
    "RT021 distances": (
        "y = cdist(A, A)", "`sqrt(sum((expand_dims(a, 1)",
        "y = sqrt(sum((expand_dims(A, 1) - expand_dims(A, 0)) ** 2, axis = -1))",
    ),
    "RT021 in short": (
        "y = atan2(x, x)",
        '`extern jax arctan2(a: f32, b: f32) -> (y: f32) from "jax.numpy:arctan2"`',
        'extern jax arctan2(a: f32, b: f32) -> (y: f32) from "jax.numpy:arctan2"\n'
        "y = arctan2(x, x)",
    ),
    "RT021 of Python": ("y = int(x)", "`i32(x)`", "y = i32(x)"),
    "RT020 a prefix": ("y = np.sum(A)", "by their names alone", "y = sum(A)"),
    "RT020 True": ("y = True", "write `true`", "y = true"),
    "RT020 pi": ("y = pi * x", "`const pi = 3.14", "const pi = 3.141592653589793\ny = pi * x"),
    "RT069 a method": ("y = A.sum()", "write `sum(A)`", "y = sum(A)"),
    "RT069 a method with a shape": (
        "y = A.reshape(9)", "write `reshape(A, [9])`", "y = reshape(A, [9])"
    ),
    "RT069 a method by axis": ("y = A.sum(axis = 1)", "`sum(A, axis = 1)`", "y = sum(A, axis = 1)"),
    "RT069 a shape": ("y = A.shape[0]", "write `size(A, axis)`", "y = size(A, 0)"),
    "RT070": ("mean = 3.0\ny = mean(A)", "give that another name", "mean2 = 3.0\ny = mean(A)"),
    "RT060 a product": (
        "y[b, t] = zeros([B * T])[b * T + t]", "`i32(t+T*b)`",
        "y[b, t] = zeros([B * T])[i32(t + T * b)]",
    ),
    "RT061 a list": (
        "y = A[t][[0, 1]]", "`stack(list, 0)`", "y = A[t][stack([0, 1], 0)]"
    ),
    "RT061 a record": (
        "y = sum({v: A})", "`[sum(x) for x in leaves(record)]`",
        "y = sum(stack([sum(x) for x in leaves({v: A})], 0))",
    ),
    "RT060 a mask": (
        "y = (A)[A[t = 0] > 0.]", "`filter`", "y[t] = sum(filter(A, A[t][:, 0] > 0., 3))"
    ),
    "RT022": (
        "y = random.randint(3)", "`random.integers([...], low, high)`",
        "y = random.integers([2], 0, 3)",
    ),
    "RT021 in capitals": ("y = Sum(A)", "did you mean `sum`?", "y = sum(A)"),
    "RT123 a string": ('w[t] = {a: A}\ny = w["a"]', "`w.a`", "w[t] = {a: A}\ny = w.a"),
    "RT090": ("y = 1. if x > 0. else 2.", "`where(c, a, b)`", "y = where(x > 0., 1., 2.)"),
    "RT069 a place": ("y = A.at[0].add(1.)", "`put(A, j, v)`", "y = put(A, 0, (A)[0] + 1.)"),
    "RT023 a size": (
        "const K = 3\ndim k < K\ninput s: f32[K]\ny[k] = s[k]", "`dim k < L = K`",
        "const K = 3\ndim k < L = K\ninput s: f32[K]\ny[k] = s[k]",
    ),
    "RT023 a step": (
        "param w: f32\nw[t+1] = 2.0 * w", "`y[0] = w`",
        "param w: f32\ny[0] = w\ny[t+1] = 2.0 * y[t]",
    ),
    "RT023 a step of an input": (
        "input e[t]: f32\ne[t+1] = 2.0 * e[t]", "`f[0] = e[0]`",
        "input e[t]: f32\nf[0] = e[0]\nf[t+1] = 2.0 * f[t]",
    ),
    "RT020 an extent": ("input y: f32[N]", "`dim n < N`", "dim n < N\ninput y: f32[N]"),
    "RT020 a constant": (
        "const K = 4\ny[k] = f32(K)", "in place of the constant: `dim k < K = 4`",
        "dim k < K = 4\ny[k] = f32(K)",
    ),
    "RT020 a bound": (
        "dim e < E = 2 * N\ny[e] = 1.0 * e", "`dim n < N`",
        "dim n < N\ndim e < E = 2 * N\ny[e] = 1.0 * e",
    ),
    "RT072 a mask alone": (
        "y[t] = where((A)[0] > 0.)", "`nonzero(mask)`", "y[t] = sum(nonzero((A)[0] > 0.))"
    ),
    "RT073 a parameter of others": (
        "w = ones([3, 1, D])\ny = conv(A, w, groups = D)", "`feature_group_count`",
        "w = ones([3, 1, D])\ny = conv(A, w, feature_group_count = D)",
    ),
    "RT075 the number of a step": (
        "import optim\nn = f32(t)\ny = optim.polyak(A, n, 0.1)", "the number of the step",
        "import optim\ny = optim.polyak(A, b * T + t, 0.1)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", MENDED)
def test_the_help_mends(what: str) -> None:
    wrong, help, right = MENDED[what]
    diagnostics = errors_of(HEAD + OUT + wrong + "\n")
    assert [d.code for d in diagnostics] == [what[:5]]
    assert help in (diagnostics[0].help or "")
    assert errors_of(HEAD + OUT + right + "\n") == ()


@pytest.mark.parametrize("what", [w for w in MENDED if w[:5] != "RT023"])
def test_nothing_follows_from_the_mistake(what: str) -> None:
    """What stands around a mistake is read as if it were right."""
    wrong = MENDED[what][0]
    after = errors_of(HEAD + OUT + wrong + "\nzz = A + ones([2])\n")
    assert sorted(d.code for d in after) == sorted([what[:5], "RT060"])


def test_a_number_where_a_list_is_meant() -> None:
    (found,) = errors_of("import nn\nparam net = nn.mlp_init(8, 4)\noutput net\n")
    assert found.message.startswith("`len` takes a list")


def test_a_product_in_a_function_may_be_right() -> None:
    """In the standard library: what it takes is said, and nothing of its operands."""
    (found,) = errors_of(
        "import nn\ninput x: f32[8]\ny = nn.linear(x, ones([8, 4]), 0.0)\noutput y\n"
    )
    assert found.code == "RT060" and found.help == "`linear` takes (x, w, b)"


@pytest.mark.parametrize("wrong", ["f[t] = 1.0", "D = D + 1", "T[t] = 1.0", "optim[t] = 1.0"])
def test_what_no_tensor_begins_with(wrong: str) -> None:
    given = "import optim\ndef f(v) = v\n"
    assert "choose another name" in (errors_of(f"{HEAD}{OUT}{given}{wrong}\n")[0].help or "")


@pytest.mark.parametrize("steps", ["count", "t", "2.0"])
def test_what_is_no_number_of_steps(steps: str) -> None:
    given = "input count: i32\n"
    (found,) = errors_of(f"{HEAD}{OUT}{given}y = stack([1.0 for k in range({steps})])\n")
    assert found.code == "RT066" and found.help is None


@pytest.mark.parametrize("condition", ["t >= T - OFF", "t >= T - ALL[1]", "d == 9", "t == T + d"])
def test_what_another_value_turns_on_may_be_off(condition: str) -> None:
    """By `-D OFF=1`, `-D U=10`."""
    given = "const OFF = 0\nconst ALL = [2, 0]\ndim d < U = 3\n"
    assert errors_of(f"{HEAD}{OUT}{given}print A[t] when {condition}\n") == ()
    assert errors_of(f"{HEAD}{OUT}{given}print A[t] when t >= T - 0\n")


@pytest.mark.parametrize("name", JAX)
def test_what_is_said_to_be_in_jax_is_there(name: str) -> None:
    assert callable(getattr(importlib.import_module(JAX[name].module), name))


RAGGED = """
dim i < I
dim t < T until stop
input x[i, t]: f32
stop = x > 3.0
"""


def test_what_would_be_ragged_is_reduced() -> None:
    (found,) = errors_of(RAGGED + "output x\n")
    assert found.code == "RT281" and found.help is not None
    assert "`sum(x[t = 0:T])`" in found.help and "`x[t = T-1]`" in found.help
    assert errors_of(RAGGED + "y = sum(x[t = 0:T])\nz = x[t = T-1]\noutput y, z\n") == ()
