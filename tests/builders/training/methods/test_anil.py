"""ANIL beside softmax regression by numpy, and its gradients beside differences of it."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_episodes import Floats, Maps, by_class, cross_entropy, fixed_episode, numbers, softmax  # noqa: E402

from builders.training.method import Episode  # noqa: E402
from builders.training.methods.adapting import ANIL  # noqa: E402

WAY, SHOT, QUERY, RATE = 3, 2, 2, 0.4


def _method() -> ANIL:
    torch.manual_seed(0)
    return ANIL(Maps(4, 2), way=WAY, side=2, rate=RATE, steps=2, test_steps=3).double()


def _scores(episode: Episode, weights: Floats, bias: Floats, steps: int) -> Floats:
    support = numbers(episode.support).reshape(WAY * SHOT, -1)
    for _ in range(steps):
        error = softmax(support @ weights.T + bias) - np.eye(WAY)[by_class(WAY, SHOT)]
        weights = weights - RATE * error.T @ support / len(support)
        bias = bias - RATE * error.mean(axis=0)
    return numbers(episode.query).reshape(WAY * QUERY, -1) @ weights.T + bias


def test_scores_are_those_of_a_head_after_its_steps_and_weights_stay() -> None:
    method, episode = _method().eval(), fixed_episode(WAY, SHOT, QUERY, 4, 2, 2)
    before = {name: values.clone() for name, values in method.state_dict().items()}
    with torch.no_grad():
        scores = method.scores(episode.support, episode.query.flatten(0, 1))
    head = numbers(method.head.weight), numbers(method.head.bias)
    np.testing.assert_allclose(numbers(scores), _scores(episode, *head, 3), rtol=0, atol=1e-9)
    assert all(torch.equal(values, before[name]) for name, values in method.state_dict().items())


def test_the_loss_and_its_gradients_are_those_through_the_steps() -> None:
    method, episode = _method().train(), fixed_episode(WAY, SHOT, QUERY, 4, 2, 2)
    head = [numbers(method.head.weight), numbers(method.head.bias)]

    def loss_of(head: list[Floats]) -> float:
        return cross_entropy(_scores(episode, *head, 2), by_class(WAY, QUERY))

    loss = method.loss(episode)
    assert float(loss.detach()) == pytest.approx(loss_of(head), abs=1e-9)
    loss.backward()
    for values, parameter in zip(head, (method.head.weight, method.head.bias), strict=True):
        gradient = numbers(parameter.grad)
        for place in np.ndindex(values.shape):
            start, ends = values[place], []
            for step in (1e-5, -1e-5):
                values[place] = start + step
                ends.append(loss_of(head))
            values[place] = start
            assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-7)
