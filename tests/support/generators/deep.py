"""Generated networks of some depth with gradients of everything: forward, and back again."""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = """dim b < B
dim t < T
input x[b, t]: f32[3]
input y[b, t]: f32[3]
"""
LAYERS = (
    "tanh(w{k} @ {h})",
    "tanh(w{k} @ {h}) + {h}",
    "sigmoid(w{k} @ {h}) * {h}",
    "w{k} @ exp(sin({h}) - mean({h}))",
    "tanh(w{k} @ ({h} - mean({h}))) + {g}",
    "w{k} @ tanh({h}) * cos({h}) + exp(-abs({h}))",
)
"""What a layer makes of ``h`` with weights of its own, and of some layer before, ``g``."""
ALONG = (
    "tanh(w{k} @ mean(a{k}[b, 0:t+1], axis = 0))",
    "a{k} + w{k} @ sum(a{k}[b, max(0, t-1):t+1], axis = 0)",
    "exp(sin(a{k}[b, 0:t+1] @ {h})) @ a{k}[b, 0:t+1] @ w{k}",
    "w{k} @ max(a{k}[b, t:T], axis = 0)",
)
"""The same with ranges of points."""


@st.composite
def networks(draw: st.DrawFn) -> str:
    """A program with a loss and its gradients."""
    count = draw(st.integers(2, 5))
    lines, hidden = [], ["x[b, t]"]
    for k in range(count):
        lines.append(f"input w{k}: f32[3, 3]")
    for k in range(count):
        h, g = hidden[-1], draw(st.sampled_from(hidden))
        along = draw(st.integers(0, 3)) == 0
        form = draw(st.sampled_from(ALONG if along else LAYERS))
        if along:
            lines.append(f"a{k}[b, t] = sin({h})")
        lines.append(f"h{k}[b, t] = {form.format(k=k, h=h, g=g)}")
        hidden.append(f"h{k}[b, t]")
    if draw(st.booleans()):
        lines.append(f"d[b, t] = {hidden[-1]} * random.uniform([3])")
        hidden.append("d[b, t]")
    lines.append(f"e[b, t] = {hidden[-1]} - y")
    lines.append("loss = mean((e * e)[b = 0:B, t = 0:T])")
    wrt = [f"w{k}" for k in range(count)] + draw(st.sampled_from([["x"], []]))
    lines += [f"g_{w} = grad(loss, {w})" for w in wrt]
    return HEAD + "\n".join([*lines, "output loss, " + ", ".join(f"g_{w}" for w in wrt), ""])
