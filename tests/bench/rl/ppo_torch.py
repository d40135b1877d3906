"""The program that a torch user would write instead of `ppo.rt`, in the form of CleanRL's `ppo.py`.

Eager: a loop in Python over steps under `no_grad` fills tensors of all steps, then advantages
backwards in a loop, then one epoch with one minibatch, in which the networks are computed again.
CleanRL steps Python objects of gymnasium one by one; here the carts are tensors, too, all stepped
at once with the same dynamics, which takes a fraction of that: what is compared is the rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

GAMMA, LAMBDA, EPSILON, ENTROPY, RATE = 0.99, 0.95, 0.2, 0.01, 1e-2


class Carts:
    """CartPole-v1, many at once; a cart whose episode has ended starts a new one."""

    def __init__(self, count: int) -> None:
        self.state = self.fresh(count)
        self.steps = torch.zeros(count)

    def fresh(self, count: int) -> torch.Tensor:
        return torch.rand(count, 4) * 0.1 - 0.05

    def step(self, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Observations, rewards, and which episodes have ended."""
        x, dx, angle, turn = self.state.unbind(1)
        force = 20.0 * action - 10.0
        cos, sin = angle.cos(), angle.sin()
        push = (force + 0.05 * turn**2 * sin) / 1.1
        twist = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
        pull = push - 0.05 * twist * cos / 1.1
        state = torch.stack(
            [x + 0.02 * dx, dx + 0.02 * pull, angle + 0.02 * turn, turn + 0.02 * twist], 1
        )
        self.steps += 1
        fallen = (state[:, 0].abs() > 2.4) | (state[:, 2].abs() > 12 * 2 * math.pi / 360)
        done = fallen | (self.steps >= 500)
        self.state = torch.where(done[:, None], self.fresh(len(state)), state)
        self.steps = torch.where(done, 0.0, self.steps)
        return self.state, torch.ones(len(state)), done.float()


class Agent(nn.Module):
    """Two networks, started from given weights."""

    def __init__(self, given: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        self.actor, self.critic = self.mlp(given, "actor"), self.mlp(given, "critic")

    def mlp(self, given: Mapping[str, np.ndarray], name: str) -> nn.Sequential:
        layers: list[nn.Module] = []
        for k in range(3):
            w, b = (torch.tensor(given[f"{name}.{k}.{part}"]) for part in "wb")
            layer = nn.Linear(w.shape[1], w.shape[0])
            layer.load_state_dict({"weight": w, "bias": b})
            layers += [layer, nn.Tanh()]
        return nn.Sequential(*layers[:-1])

    def act(
        self, obs: torch.Tensor, action: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Actions, their log probabilities, the entropy, values."""
        probs = Categorical(logits=self.actor(obs))
        action = probs.sample() if action is None else action
        return action, probs.log_prob(action), probs.entropy(), self.critic(obs)[..., 0]


def train(
    given: Mapping[str, np.ndarray], iterations: int, count: int, steps: int
) -> tuple[list[float], list[float]]:
    """The loss of each iteration and how often a cart fell."""
    torch.manual_seed(0)
    agent, carts = Agent(given), Carts(count)
    optimizer = torch.optim.Adam(agent.parameters(), lr=RATE, eps=1e-8)
    obs = torch.zeros(steps, count, 4)
    actions, log_probs, rewards, dones, values = torch.zeros(5, steps, count)
    now = carts.state
    losses, falls = [], []
    for _ in range(iterations):
        for t in range(steps):
            with torch.no_grad():
                action, log_prob, _, value = agent.act(now)
            obs[t], actions[t], log_probs[t], values[t] = now, action, log_prob, value
            now, rewards[t], dones[t] = carts.step(action)
        with torch.no_grad():
            adv = advantages(rewards, values, dones, agent.critic(now)[..., 0])
            target = adv + values
        _, new, entropy, value = agent.act(obs.view(-1, 4), actions.view(-1))
        ratio = (new - log_probs.view(-1)).exp()
        good = adv.view(-1)
        good = (good - good.mean()) / (good.std(correction=0) + 1e-8)
        gain = torch.max(-good * ratio, -good * ratio.clamp(1 - EPSILON, 1 + EPSILON)).mean()
        error = 0.5 * ((value - target.view(-1)) ** 2).mean()
        loss = gain + error - ENTROPY * entropy.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        falls.append(dones.mean().item())
    return losses, falls


def advantages(
    rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor, last: torch.Tensor
) -> torch.Tensor:
    """Generalized advantage estimation, backwards."""
    found, adv, after = torch.zeros_like(rewards), torch.zeros_like(last), last
    for t in reversed(range(len(rewards))):
        keep = GAMMA * (1.0 - dones[t])
        adv = rewards[t] + keep * after - values[t] + keep * LAMBDA * adv
        found[t], after = adv, values[t]
    return found
