"""Programs whose types are known only through cycles, and programs whose shapes grow.

In a program of `CYCLES` the equations stand after a line `...`; they may stand in any order, since
the guards of what defines one tensor exclude each other. `INSIDE` is the same within a function.
"""

CYCLES: dict[str, str] = {
    "lstm": """dim t < T
input x[t]: f32[3]
param W: f32[20, 8]
...
hp[t] = h[t-1] if t >= 1 else zeros([5])
cp[t] = c[t-1] if t >= 1 else zeros([5])
z[t] = W @ concat([x[t], hp[t]], 0)
c[t] = sigmoid(z[t][5:10]) * cp[t] + sigmoid(z[t][0:5]) * tanh(z[t][15:20])
h[t] = sigmoid(z[t][10:15]) * tanh(c[t])
output h, c
""",
    "lstm_plain": """dim t < T
input x[t]: f32[3]
param W: f32[20, 8]
...
hp = h[t-1] if t >= 1 else zeros([5])
z = W @ concat([x, hp], 0)
c[t] = sigmoid(z[t][5:10]) * cp[t] + sigmoid(z[t][0:5]) * tanh(z[t][15:20])
cp[t] = c[t-1] if t >= 1 else zeros([5])
h[t] = sigmoid(z[t][10:15]) * tanh(c[t])
output h, c
""",
    "cov": """dim t < T
input z[t]: f32
param F: f32[2, 2]
param H: f32[2]
...
before[t] = P[t-1] if t >= 1 else eye(2)
Pp[t] = F @ before[t] @ F.T
K[t] = (Pp[t] @ H) / (H @ (Pp[t] @ H) + 1.0)
P[t] = Pp[t] - einsum("i,j->ij", K[t], H @ Pp[t])
x[t] = K[t] * z[t]
output x, P
""",
    "empty": """dim b < B
...
y[b] = y[b-1] + ones([2]) when b >= 1
y[b] = sum(y[0:b], axis = 0) when b < 1
output y
""",
    "literal_matmul": """dim t < T
input x[t]: f32[3]
param W: f32[3, 3]
...
h[0] = 0.
h[t] = tanh(W @ h[t-1] + x[t]) when t >= 1
output h
""",
    "literal_matmul2": """dim t < T
param W: f32[3, 3]
...
h[0] = 0.5
h[t] = tanh(W @ h[t-1]) when t >= 1
output h
""",
    "literal_concat": """dim t < T
input x[t]: f32[3]
param W: f32[20, 8]
...
h[0] = 0.
h[t+1] = sigmoid(z[t][10:15]) * tanh(c[t])
c[0] = 0.
c[t+1] = sigmoid(z[t][5:10]) * c[t] + z[t][0:5]
z[t] = W @ concat([x[t], h[t]], 0)
output h, c
""",
    "promote": """dim t < T
input x[t]: f32
...
a[0] = i32(1)
a[t] = b[t-1] + 1 when t >= 1
b[t] = c[t] * 2
c[t] = a[t] + 1 when t % 2 == 0
c[t] = a[t] + x[t] when t % 2 == 1
output a, b, c
""",
    "weak": """dim t < T
input h[t]: f16
...
a[t] = 1 when t == 0
a[t] = a[t-1] when t == 1
a[t] = 2.5 when t >= 2
b[t] = b[t-1] when t == 1
b[t] = 0 when t == 0
b[t] = b[t-1] * 0.5 when t >= 2
y[t] = h * a + b
output y
""",
    "bools": """dim t < T
input x[t]: f32
...
m[t] = where(x[t] > 0.0, m[t-1], n[t]) when t >= 1
m[t] = n[0] when t == 0
n[t] = x[t] > 0.1 or k[t]
k[t] = m[t-1] if t >= 1 else false
output m, n, k
""",
    "ints": """dim t < T
input x[t]: f32
...
a[t] = b[t-1] if t >= 1 else 0
b[t] = a[t] + (x[t] > 0.0)
output a, b
""",
    "maxbool": """dim t < T
input x[t]: f32
...
a[t] = maximum(b[t], a[t-1]) when t >= 1
a[t] = b[0] when t == 0
b[t] = x[t] > 0.0
output a, b
""",
    "record": """dim t < T
input x[t]: f32[3]
...
s[0] = {a: zeros([3]), n: 0}
s[t] = {a: u[t].a + x[t], n: u[t].n + 1} when t >= 1
u[t] = s[t-1] when t >= 1
u[t] = {a: 1., n: 2} when t == 0
y = s.a * s.n
output y
""",
    "record2": """dim t < T
input x[t]: f32[3]
...
s[t] = {a: v[t].a, n: 0} when t == 0
s[t] = {a: u[t].a + x[t], n: v[t].n + 1} when t >= 1
u[t] = s[t-1] when t >= 1
u[t] = s[t] when t == 0
v[t] = {a: ones([3]), n: 3} when t == 0
v[t] = u[t] when t >= 1
output s.a as a, s.n as n
""",
    "two_away": """dim t < T
input x[t]: f32[4]
...
a[t] = b[t-1] * 0.5 if t >= 1 else c[t]
b[t] = c[t] + d[t]
c[t] = a[t-1] if t >= 1 else d[t] + 0.0
d[t] = e[t-1] if t >= 1 else x[t]
e[t] = d[t] * a[t]
output a, e
""",
    "shape_not_dtype": """dim t < T
input x[t]: i32
...
y[t] = reshape(f32(z[t]), [2, 2]) when t >= 1
y[t] = 1 when t == 0
z[t] = y[t-1] * x[t] if t >= 1 else 3
output y
""",
    "sums": """dim t < T
...
c[t] = 1.0 + sum(c[0:t])
d[t] = 1 + sum(d[0:t]) + e[t]
e[t] = sum(d[0:t])
output c, d, e
""",
    "shift": """dim t < T
input x[t]: f32[2]
...
h[0] = x[0]
h[t+1] = g[t]
g[t] = k[t] @ h[t]
k[t] = stack([h[t], h[t]], 0) * m[t]
m[t] = 1 if t == 0 else m[t-1] + sum(h[t])
output h, m
""",
    "cond": """dim t < T
input x[t]: f32[2]
...
h[t] = cond(p[t], g[t], x[t])
g[t] = h[t-1] * 2 if t >= 1 else 0.
p[t] = sum(g[t]) > 0.1
output h, p
""",
    "momentum": """dim i < N
input w0: f32[3]
...
w[0] = w0
w[i+1] = w[i] - 0.1 * v[i+1]
v[0] = 0
v[i+1] = 0.9 * v[i] + g[i]
g = grad(loss, w)
loss = sum(w * w)
output w, v
""",
}

INSIDE = """dim t < T
input x[t]: f32[3]
input W: f32[3, 3]
def f(x, dim i) {
...
  return q
}
y = f(x, t)
output y
"""
BODY = (
    "p[i] = q[i-1] when i >= 1",
    "p[i] = 0. when i == 0",
    "q[i] = tanh(W @ p[i] + r)",
    "r = x * q2",
    "q2[i] = q[i-1] if i >= 1 else ones([3])",
)

GIVEN = """dim t < T
input x[t]: f32[4]
input y[t]: f32
"""
GROWING: dict[str, str] = {
    "guard": """h[t]: f32[4*(t+1)] = x[0] when t == 0
h[t] = concat([h[t-1], x[t]], 0)
""",
    "annotated_last": """h[t] = concat([h[t-1], x[t]], 0) when t >= 1
h[t]: f32[4*t+4] = x[0] when t == 0
""",
    "point": """h[0]: f32[4] = x[0]
h[t]: f32[4*(t+1)] = concat([h[t-1], x[t]], 0)
""",
    "shifted": """h[0] = x[0]
h[t+1]: f32[4*(t+2)] = concat([h[t], x[t+1]], 0)
""",
    "whole": """h[t]: f32[t+1] = expand_dims(y[0], 0) when t == 0
h[t] = 2.0 * y[0:t+1]
""",
    "ahead": """h[t]: f32[T-t] = stack([y], 0) when t == T-1
h[t] = concat([stack([y], 0), h[t+1]], 0)
""",
    "inline": """h[t]: f32[4*(t+1)] = concat([(h[t-1] as f32[4*t]), x], 0) if t >= 1 else x
""",
    "empty": """h[t]: f32[t] = 0. when t == 0
h[t] = concat([h[t-1], stack([y], 0)], 0)
""",
    "square": """h[t]: f32[t+1, t+1] = ones([1, 1]) when t == 0
h[t] = pad(h[t-1], [[0, 1], [0, 1]]) + y
""",
    "parity": """h[t]: f32[2*(t//2)+1] = y[0:t+1] when t % 2 == 0
h[t]: f32[t] = y[0:t]
""",
}
