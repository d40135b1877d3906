"""Programs that break a rule: every mistake is reported, in one go, at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tempoc.cli.main import status

REFUSED: dict[str, tuple[str, list[str]]] = {
    "names": (
        "dim t < T\ny[t] = x[t]\nz = q + 1\nimport nope\noutput y, z, w\n",
        ["RT020 2 `x`", "RT020 3 `q`", "RT015 4 `nope`", "RT020 5 `w`"],
    ),
    "stages together": (
        """dim t < T
input x[t]: f32
a = zz + 1
b = ones([2]) + ones([3])
c[t] = x[t-1]
d = x[t, 0]
e[t] = t
e[0] = 4
f[t] = f[t+1] + f[t-1]
output c, nope
""",
        [
            "RT020 3 `zz`", "RT060 4 [2] and [3]", "RT200 5 t = -1 when t = 0", "RT121 6 2 entries",
            "RT139 8 can never be used", "RT200 9 t = 1 when t = 0 and T = 1",
            "RT200 9 t = -1 when t = 0", "RT020 10 `nope`",
        ],
    ),
    "declared twice": (
        "dim t < T\ndim t < S\nconst T = 3\ninput t: f32\nconst D = 1\nD[t] = 2\noutput D as d\n",
        ["RT023 2 `t`", "RT023 3 `T`", "RT023 4 `t`", "RT023 6 `D`"],
    ),
    "syntax": (
        "dim t <= T\nx[t] = 1 + * 2\ny[t] = )\nw = 'abc'\nv = 0 < t < 3\nconst for = 2\n",
        ["RT001 1 bound", "RT001 2 `*`", "RT002 3 `)`", "RT003 4", "RT008 5", "RT007 6 `for`"],
    ),
    "temporal indices": (
        """dim t < T
input x[t]: f32
input n: i32
a[t] = x[t * t]
b[t] = x[n]
c[t] = x[t // T]
d[t] = x[1.5]
e[t] = x[t > 0]
f = x[-1]
g = x[0:T:-1]
h = sum(x[0:T:t])
k = x[T]
l = sum(x[0:T+1])
m[t] = sum(x[t-2:t])
n2[t] = x[2 * t]
output a
""",
        [
            "RT122 4 `t * t`", "RT123 5 `n`", "RT123 6", "RT123 7", "RT124 8", "RT200 9 t = -1",
            "RT126 10", "RT126 11", "RT200 12 t = 1 when T = 1", "RT200 13", "RT200 14 t = -2",
            "RT200 15 t = 2 when t = 1 and T = 2",
        ],
    ),
    "entries": (
        """dim b < B
dim t < T
input x[b, t]: f32
z = x[0]
w = x[0, 0, 0]
v = x[q = 0]
y = ones([3])[t = 0:T]
output z
""",
        ["RT121 4", "RT121 5", "RT127 6 `q`", "RT120 7 `t`"],
    ),
    "reads of a tensor in error": (
        """dim t < T
dim n < N = 2*T
y[2*t] = 1.0
z[n] = y + y[max(n-1, 0)]
u[t] = z[2*t] * z[2*t+1]
v[t] = z[n = t]
output u
""",
        ["RT130 3 `2*t`"],
    ),
    "spatial indices": (
        """dim t < T
input x[t]: f32[4]
a = x[t][4]
b = x[t][-5]
c = x[t][t]
d = x[t][0, 0]
e = x[t][x[t]]
f = x[0:T][1]
g = [x, x][2]
h = {a: x}.b
output a
""",
        [
            "RT087 3 4", "RT087 4 -5", "RT087 5 when t = 4", "RT086 6", "RT060 7 integers",
            "RT087 8 when T = 1", "RT085 9", "RT069 10 `b`",
        ],
    ),
    "extents": (
        """dim t < T
const D = -3
input a: f32[t]
input b: f32[D]
input c: f32[true]
input d: f32[1.5]
x[t] = zeros([t - 2])
y = ones([T - 2])
z = max(zeros([t]))
output x[0]
""",
        [
            "RT039 3 `t`", "RT083 4 -3", "RT068 5", "RT068 6", "RT083 7 -2 when t = 0",
            "RT083 8 -1 when T = 1", "RT060 9 can be 0",
        ],
    ),
    "numbers": (
        "a = 3000000000\nb: u32 = -1\nc: i32 = 2.5\nd: bool = 1\ne = full([2], 2 ** 31)\n",
        ["RT084 1 i32", "RT084 2 u32", "RT079 3", "RT079 4", "RT084 5 i32"],
    ),
    "bytes": (
        "a = i8(arange(3)) + 200\nb = i8(300)\nc = u8(arange(3)) // 256\nd = u8(arange(3)) - 1\n"
        "e: u8 = 256\nf = bitwise_and(d, 1.5)\n",
        ["RT084 1 i8", "RT084 2 i8", "RT084 3 u8", "RT084 5 u8", "RT060 6"],
    ),
    "numbers that conditions choose": (
        "dim t < T\na[t] = i8(t) + (1 if t > 0 else 200)\nb[t]: u32 = 1 if t > 0 else -1\n"
        "c[t]: i8 = 0.5 if t > 0 else 1\nd[t]: bool = 0 if t > 0 else 1\noutput a\n",
        ["RT084 2 i8", "RT084 3 u32", "RT079 4", "RT079 5"],
    ),
    "an error in what is not looked at without the shape of a number": (
        "dim t < T\ndim k < K = 5\ny[0] = 2.0\nu[t, 0] = y\nr = u - y\nu[t, k-1] = u - r\n"
        "y[t+1] = u[t, K[0]-1]\noutput y\n",
        ["RT086 7"],
    ),
    "numbers that a cast, a fill or a padding cannot hold": (
        "dim t < T\nconst C = 300\ninput u[t]: u8[2]\ndef small(v = 300) = i8(v if t == 0 else 2)\n"
        "a[t] = i8(C if t > 0 else 2)\nb = small()\nc = u8(where(u > 2, -1, 256))\n"
        "d[t] = full([2], 300 if t > 0 else 2, dtype = i8)\ne = pad(u, [1, 1], 300)\n"
        "f = full([2], inf, dtype = i32)\ng = pad(i32(u), [1, 1], inf)\n"
        "h[t] = u8(-1 if t > 0 else 255)\ni = i8(stack([300, 1]))\n"
        "j = u + broadcast_to(where(u[0] > 2, 300, 1), [2])\n"
        "k = u[0] + take(stack([300, 1]), 1, 0) + put(u, 0, 300)\n"
        "l = searchsorted(u, 300) + u @ stack([300, 1])\n"
        "m = i8(u) + pad(stack([1]), [0, 1], 300)\n"
        "n = stack([3000000000, 1])\noutput a, b, c, d, e, f, g, h\n",
        [
            "RT084 4 i8", "RT084 5 i8", "RT084 7 u8", "RT084 8 i8", "RT084 9 u8", "RT084 10 i32",
            "RT084 11 i32", "RT084 13 i8", "RT084 14 u8", "RT084 15 u8", "RT084 15 u8",
            "RT084 16 u8", "RT084 16 u8", "RT084 17 i8", "RT084 18 i32",
        ],
    ),
    "numbers that do not fit where cycles decide the types": (
        "dim t < T\ninput u[t]: u8[2]\na[0] = u[0]\na[t] = pad(b[t-1], [0, 1], 300)[:2]\n"
        "b[t] = a + c\nc[t] = b[t-1] when t > 0\nc[t] = 1\n"
        "d[t] = i8(300 if t > 0 else 2) + i8(a)\noutput a, b, d\n",
        ["RT084 4 u8", "RT084 8 i8"],
    ),
    "conditions where there is an index": (
        "dim t < T\nconst C = true\na = arange(C)\nb[t] = arange(0, t > 2)\noutput a\n",
        ["RT068 3", "RT068 4"],
    ),
    "wide numbers that conditions choose": (
        "dim t < T\ninput x[t]: i32\ninput p[t]: bool\na[t] = 3000000000 if t > 0 else 2\n"
        "b[t] = x * (3000000000 if t > 0 else 2)\nc[t] = abs(where(p, 3000000000, 2))\n"
        "d[t] = x + 1 if t > 0 else cond(p, 3000000000, 2)\n"
        "e[t] = one_hot(3000000000 if t > 0 else 2, 3)\n"
        "f[t] = 3000000000 if t > 0 else stack([1, 2])\n"
        "g[t] = i64(p) + (2 ** 63 if t > 0 else 2)\noutput a, b, c, d, e, f, g\n",
        [*(f"RT084 {line} i32" for line in range(4, 10)), "RT084 10 i64"],
    ),
    "an extent wherever it stands": (
        "dim t < T\nn = T - 2\na = zeros([n]) + ones([T-2])\nb[t] = t * zeros([n])\n"
        "c = zeros([T-3])\noutput a, b, c\n",
        ["RT083 3 T-2", "RT083 5 T-3"],
    ),
    "annotations": (
        """dim t < T
input x[t]: f32[2]
a[t]: f32[3] = x[t]
b[t]: i32[2] = x[t]
c[t]: f32[t] = ones([t + 1])
d[t] = sum(x[0:t] as f32[t+1, 2])
e = x as f32[2, 2]
output a
""",
        ["RT079 3", "RT079 4", "RT079 5", "RT079 6", "RT079 7"],
    ),
    "outputs": (
        """dim t < T
input x[t]: f32
p[t] = x[t] when t >= 1
r[t] = zeros([t])
output x, x[0], x[1] as first, p, r, p[0] as q
""",
        ["RT043 5 `x`", "RT047 5 t = 1", "RT047 5 t = 0", "RT046 5 `r`", "RT047 5 t = 0"],
    ),
    "bounds": (
        """dim a < A = B
dim b < B = A
dim c < C = 0
dim d < D = 2.5
dim e < E = F * 0.5
dim f < F
dim g < G
dim h < F = 3
dim k < F = 4
assume a > 3
assume F
assume F > 3 and F < 2
""",
        ["RT027 1", "RT025 3", "RT026 4", "RT026 5", "RT024 9", "RT035 10", "RT035 11", "RT036 12"],
    ),
    "divisors": (
        """dim n < N
dim b < B
dim p < P = N // (B - 1)
dim q < Q = N % min(B, 3)
dim r < R = N // B // 0
dim s < S = N // n
dim t < T = -(N // B)
input x[n]: f32
y[n] = x[n // B] + x[n % (2 * B)] + x[(n + N) // 2 // B]
z = zeros([N // B])
""",
        [
            "RT055 3 `(B - 1)`", "RT055 4", "RT026 5", "RT026 6", "RT026 7", "RT123 9 `n // B`",
            "RT123 9 `n % (2 * B)`", "RT123 9 `(n + N) // 2 // B`", "RT068 10",
        ],
    ),
    "constants": (
        "const A = B\nconst B = A + 1\nconst C = x\nconst E = 1 / 0\nconst F = \"a\" + 1\n",
        ["RT029 1 `A`", "RT020 3 `x`", "RT064 4", "RT065 5"],
    ),
    "corners": (
        """dim t < T
input x[t]: f32[3]
a[t] = x[0:t+1]
b = a[t][t+1]
c = x as f32[m, n]
d = [k for k in range(2.5)]
e[0:t] = 1.
""",
        ["RT087 4 extent t+1 = 1 when t = 0", "RT079 5 f32[m, n]", "RT066 6 `range`", "RT011 7"],
    ),
    "large": (
        """dim t < T
dim s < S = 9999999999
input x[t]: f32
a[t] = 1. when t > 99999999999999999999
b = x[99999999999999999999]
c = zeros([9999999999])
d = min(t, 9999999999) + arange(9999999999)
e = t + 2147483648
""",
        [
            "RT025 2 2**31", "RT084 4", "RT084 5", "RT084 6", "RT084 7", "RT084 7",
            "RT084 8 2147483648",
        ],
    ),
    "data": (
        """dim t < T
dim s < S
param a: f32[2] from "a.{t}"
param c[t]: f32[t]
param e[q]: f32
param f[t]: f32 = zeros([2])
param g = t
param h: {a: f32, b: f32} = {a: 1}
input k[s, t]: f32
param w[t]: f32 = w
""",
        [
            "RT041 3 `{t}`", "RT039 4 `t`", "RT037 5 `q`", "RT079 6", "RT040 7 `t`", "RT062 8",
            "RT038 9", "RT042 10 `w`",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_every_mistake_is_reported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, wanted = REFUSED[name]
    file = tmp_path / "model.rt"
    file.write_text(text)
    assert status(["check", str(file)]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    blocks = printed.err.split("error[")[1:]
    assert [place(b) for b in blocks] == [" ".join(w.split(" ")[:2]) for w in wanted]
    for block, text in zip(blocks, wanted, strict=True):
        assert " ".join(text.split(" ")[2:]) in block.split("\n")[0]


def place(block: str) -> str:
    """The code of a diagnostic and its line."""
    line = block.split(" --> ")[1].split("\n")[0].rsplit(":", 2)[1]
    return f"{block[:5]} {line}"
