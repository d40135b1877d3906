"""`examples/memory.py`: what it runs is there, and takes what it gives."""

from __future__ import annotations

from tempoc.diagnostics.source import Source
from tempoc.driver.compilation import Compilation
from tempoc.driver.options import Options
from tempoc.frontend.syntax.load_modules import load_source
from tempoc.symbolic.walk import evaluate
from tests.support.examples import ROOT, load

memory = load(ROOT / "examples" / "memory.py")


def test_reinforce_with_returns_of_few_steps() -> None:
    path = ROOT / "examples" / "rl" / "n_step.rt"
    loaded = load_source(Source(str(path), memory.n_step()), path.parent)
    assert Compilation(loaded, Options(level=0)).graph.outputs


def test_weights_of_a_small_llama() -> None:
    """Each parameter has a weight of its shape, and no weight is for nothing."""
    sizes = memory.SIZES
    options = Options(level=0, defines={name: str(n) for name, n in sizes.items()})
    graph = Compilation.from_path(str(ROOT / "examples" / "llama" / "model.rt"), options).graph
    left = memory.weights()
    for node in graph.nodes.values():
        if node.op.name == "param":
            shape = tuple(evaluate(e, sizes) for e in node.types[0].shape)
            for layer in range(sizes["L"] if node.domain.dims else 1):
                assert left.pop(node.op.template.format(l=layer)).shape == shape
    assert not left
