"""Random programs that are fed with a prompt first and with their own results afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

FEEDS = (
    "x[t] = given[t] when t < P\nx[t] = {fed}",
    "x[0] = given[0]\nx[t+1] = given[t+1] when t + 1 < P\nx[t+1] = {fed}[t = t+1]",
    "x[t] = given[t] when t < P\nx[t] = 0.5 * {fed} when t % 3 == 0\nx[t] = {fed}",
    "x[t] = given[min(t, P-1)] when t < P + 2\nx[t] = {fed}",
    "x[t] = given[0] when t == 0\nx[t] = {fed} when t < P\nx[t] = given[P-1]",
    "x[t] = given[min(t, P-1)] when t < 3\nx[t] = {fed}",
    "x[t] = given[t] when t < P\nx[t] = where({fed} > 0.0, {fed}, given[P-1]) when t < P + 3\n"
    "x[t] = {fed}",
)
STEPS = (
    "{y} = tanh({a} + 0.5)",
    "{y} = {a} * {b}",
    "{y} = W @ {a}",
    "{y}[t] = mean({a}[0:t+1], axis = 0)",
    "{y}[t] = sum({a}[max(0, t-2):t+1], axis = 0) - {b}[t]",
    "{y}[t] = softmax({a}[0:t+1] @ {b}[t]) @ {b}[0:t+1]",
    "{y}[0] = {a}[0]\n{y}[t] = 0.5 * {y}[t-1] + {a}[t]",
    "{y} = cond(sum({a}) > 0.0, {a} * 0.5, {b})",
    "{y} = 0.1 * random.normal([3]) + {a}",
    "{y}[t] = {a}[t] + 0.25 * {b}[max(0, t-1)]",
)
HEAD = """dim p < P
dim t < T
input given[p]: f32[3]
param W: f32[3, 3]
def softmax(x) {
  e = exp(x - max(x))
  return e / sum(e)
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompted:
    """A program with bounds `P` and `T`."""

    text: str


@st.composite
def prompted(draw: st.DrawFn) -> Prompted:
    """A few steps on `x`, which is the prompt first; some results."""
    names, lines = ["x"], []
    for number in range(draw(st.integers(1, 4))):
        step = draw(st.sampled_from(STEPS))
        # what was made last, so that most of it is in the cycle
        a, b = names[-1], draw(st.sampled_from(names))
        names.append(f"y{number}")
        lines.append(step.format(y=names[-1], a=a, b=b))
    feed = draw(st.sampled_from(FEEDS))
    last = names[-1]
    fed = draw(st.sampled_from((f"{last}[t-1]", f"(x[t-1] - {last}[t-1])")))
    if "[t = t+1]" in feed:
        feed = feed.replace("{fed}[t = t+1]", fed.replace("[t-1]", "[t]"))
    shown = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True))
    text = HEAD + "\n".join([feed.replace("{fed}", fed), *lines]) + f"\noutput {', '.join(shown)}\n"
    return Prompted(text=text)
