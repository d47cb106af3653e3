"""R2D2 beside scikit-learn's ridge regression."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

torch = pytest.importorskip("torch")

from plain_episodes import Maps, by_class, cross_entropy, fixed_episode, numbers  # noqa: E402

from builders.training.methods.metric import R2D2  # noqa: E402


@pytest.mark.parametrize("gamma", [0.1, 50.0])
@pytest.mark.parametrize("shot", [1, 4])
def test_scores_and_loss_are_those_of_ridge_regression(shot: int, gamma: float) -> None:
    episode = fixed_episode(3, shot, 2, 5, 1, 2)
    flat = numbers(episode.support).reshape(3 * shot, -1)
    ridge = Ridge(alpha=gamma, fit_intercept=False)
    ridge.fit(flat, np.eye(3)[by_class(3, shot)])
    expected = 2.5 * ridge.predict(numbers(episode.query).reshape(6, -1)) + 0.3
    method = R2D2(Maps(5, 1), alpha=2.5, beta=0.3, gamma=gamma).double()
    scores = method.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=1e-6)
    loss = method.loss(episode)
    assert float(loss.detach()) == pytest.approx(cross_entropy(expected, by_class(3, 2)), abs=1e-6)


def test_scale_shift_and_penalty_are_learnt() -> None:
    episode = fixed_episode(3, 2, 2, 5, 1, 2)
    method = R2D2(Maps(5, 1), gamma=2.0).double()
    method.loss(episode).backward()
    step = 1e-5
    for name in ("alpha", "beta", "gamma"):
        losses = []
        for sign in (1, -1):
            moved = {"alpha": 1.0, "beta": 0.0, "gamma": 2.0}
            moved[name] += sign * step
            other = R2D2(Maps(5, 1)).double()
            for parameter, value in moved.items():
                getattr(other, parameter).data.fill_(value)
            losses.append(float(other.loss(episode).detach()))
        by_difference = (losses[0] - losses[1]) / (2 * step)
        assert float(getattr(method, name).grad) == pytest.approx(by_difference, abs=1e-7)
