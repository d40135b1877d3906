"""Random choices of `stdlib/sampling.rt` and `stdlib/rl.rt`: how often each thing is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tempoc.runtime.run import run
from tempoc.sdg.evaluation.interpret import evaluate
from tests.support.agree import compiled
from tests.support.elaborated import graph_of

DRAWS = 4000
CHOICES = """import rl, sampling
dim n < N
input z: f32[6]
greedy[n] = sampling.greedy(z)
warm[n] = sampling.temperature(z, 2.0)
top_1[n] = sampling.top_k(z, 1)
top_4[n] = sampling.top_k(z, 4, 0.5)
top_6[n] = sampling.top_k(z, 6)
nucleus_0[n] = sampling.top_p(z, 0.01)
nucleus_6[n] = sampling.top_p(z, 0.6, 0.7)
nucleus_9[n] = sampling.top_p(z, 0.9)
nucleus_all[n] = sampling.top_p(z, 1.1)
policy[n] = rl.categorical_sample(z)
curious[n] = rl.epsilon_greedy(z, 0.3)
output greedy, warm, top_1, top_4, top_6, nucleus_0, nucleus_6, nucleus_9, nucleus_all
output policy, curious
"""

MOVES = """import rl
dim n < N
input mu: f32[2]
input log_sigma: f32[2]
x[n] = rl.gaussian_sample(mu, log_sigma)
y[n], y_log_prob[n] = rl.squashed_sample(mu, log_sigma)
again = rl.squashed_log_prob(mu, log_sigma, y)
rows[n] = rl.gaussian_sample(stack([mu, mu], 0), log_sigma)
output x, y, y_log_prob, again, rows
"""


def softmax(z: Any) -> Any:
    e = np.exp(np.float64(z) - np.max(z))
    return e / e.sum()


def among(z: Any, kept: Any) -> Any:
    """Probabilities of choices of which some are ruled out."""
    p = np.where(kept, softmax(z), 0.0)
    return p / p.sum()


def nucleus(z: Any, share: float) -> Any:
    """The fewest most likely that reach a share, one taken after the other."""
    p = softmax(z)
    kept, total = np.zeros(len(z), bool), 0.0
    for k in np.argsort(-p, kind="stable"):
        if total < share:
            kept[k] = True
            total += p[k]
    return kept


def expected(z: Any) -> dict[str, Any]:
    best = np.arange(6) == z.argmax()
    four = z >= np.sort(z)[-4]
    return {
        "greedy": among(z, best),
        "warm": softmax(z / 2),
        "top_1": among(z, best),
        "top_4": among(2 * z, four),
        "top_6": softmax(z),
        "nucleus_0": among(z, best),
        "nucleus_6": among(z / 0.7, nucleus(z / 0.7, 0.6)),
        "nucleus_9": among(z, nucleus(z, 0.9)),
        "nucleus_all": softmax(z),
        "policy": softmax(z),
        "curious": 0.7 * best + 0.3 / 6,
    }


@pytest.mark.long("many draws")
def test_choices(tmp_path: Path) -> None:
    z = np.float32([0.3, 1.2, -2.0, 0.9, -0.5, 0.1])
    found = run(compiled(CHOICES, tmp_path), {"N": DRAWS}, {"z": z}, seed=5).outputs
    for name, wanted in expected(z).items():
        counts = np.bincount(found[name], minlength=6)
        assert np.all(counts[wanted == 0] == 0), name
        # Four standard deviations: one set of draws in three hundred has a count beyond them.
        error = 4 * np.sqrt(DRAWS * wanted * (1 - wanted))
        assert np.all(np.abs(counts - DRAWS * wanted) <= error), name
    few = evaluate(graph_of(CHOICES), {"N": 20}, {"z": z}, {}, seed=5)
    for name, value in few.items():
        np.testing.assert_array_equal(found[name][:20], value, err_msg=name)


def test_moves(tmp_path: Path) -> None:
    mu, log_sigma = np.float32([0.5, -1.0]), np.float32([-0.5, 0.3])
    given = {"mu": mu, "log_sigma": log_sigma}
    found = run(compiled(MOVES, tmp_path), {"N": DRAWS}, given, seed=2).outputs
    sigma = np.exp(log_sigma)
    for x in (found["x"], found["rows"][:, 0], np.arctanh(np.float64(found["y"]))):
        z = (x - mu) / sigma
        assert np.all(np.abs(z.mean(0)) < 4 / np.sqrt(DRAWS))
        assert np.all(np.abs((z**2).mean(0) - 1) < 4 * np.sqrt(2 / DRAWS))
        assert abs((z[:, 0] * z[:, 1]).mean()) < 4 / np.sqrt(DRAWS)
    assert not np.any(found["rows"][:, 0] == found["rows"][:, 1])
    # Not by each worker: it takes most of a second.
    import distrax

    normal = distrax.MultivariateNormalDiag(mu, sigma)
    squashed = distrax.Transformed(normal, distrax.Block(distrax.Tanh(), 1))
    wanted = squashed.log_prob(jax.numpy.asarray(found["y"]))
    inside = np.abs(found["y"]).max(1) < 0.999  # where float32 still tells the actions apart
    np.testing.assert_allclose(found["y_log_prob"][inside], wanted[inside], atol=2e-3)
    np.testing.assert_allclose(found["again"][inside], wanted[inside], atol=2e-3)


BEAMS = """import sampling
dim n < N
input scores[n]: f32[3]
input logp[n]: f32[3, 5]
best, beams, tokens = sampling.beam_step(scores, logp, 4)
output best, beams, tokens
"""


def test_beams(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    scores, logp = (random.normal(size=s).astype(np.float32) for s in ((6, 3), (6, 3, 5)))
    given = {"scores": scores, "logp": logp}
    found = run(compiled(BEAMS, tmp_path), {}, given).outputs
    for n in range(6):
        every = [(scores[n, b] + logp[n, b, k], b, k) for b in range(3) for k in range(5)]
        best = sorted(every, reverse=True)[:4]
        np.testing.assert_allclose(found["best"][n], [x for x, _, _ in best], rtol=1e-6)
        assert found["beams"][n].tolist() == [b for _, b, _ in best]
        assert found["tokens"][n].tolist() == [k for _, _, k in best]
