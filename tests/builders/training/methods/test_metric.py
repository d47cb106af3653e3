"""ProtoNet and DN4 beside their equations, in loops; R2D2 beside scikit-learn's regression."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

torch = pytest.importorskip("torch")

from plain_episodes import (  # noqa: E402
    Floats,
    Maps,
    by_class,
    cosine,
    cross_entropy,
    fixed_episode,
    numbers,
)

from builders.training.method import Episode, Method  # noqa: E402
from builders.training.methods.metric import DN4, R2D2, ProtoNet  # noqa: E402


def _check(method: Method, episode: Episode, expected: Floats, within: float = 1e-9) -> None:
    """Scores (6, 3) are those that are expected, and the loss is of these."""
    scores = method.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=within)
    loss = float(method.loss(episode, None).detach())
    assert loss == pytest.approx(cross_entropy(expected, by_class(3, 2)), abs=within)


@pytest.mark.parametrize(("shot", "temperature"), [(1, 1.0), (3, 1.0), (3, 64.0)])
def test_protonet_is_that_of_the_paper(shot: int, temperature: float) -> None:
    episode = fixed_episode(3, shot, 2, 4, 2, 2)
    support, queries = numbers(episode.support), numbers(episode.query.flatten(0, 1))
    expected = np.zeros((6, 3))
    for m, query in enumerate(queries):
        for k, images in enumerate(support):
            prototype = sum(image.ravel() for image in images) / shot
            expected[m, k] = -sum(
                (a - b) ** 2 for a, b in zip(query.ravel(), prototype, strict=True)
            )
    _check(ProtoNet(Maps(4, 2), temperature=temperature), episode, expected / temperature)


@pytest.mark.parametrize(("shot", "n_k"), [(1, 3), (2, 3), (2, 1)])
def test_dn4_is_that_of_the_paper(shot: int, n_k: int) -> None:
    episode = fixed_episode(3, shot, 2, 4, 2, 3)
    support, queries = numbers(episode.support), numbers(episode.query.flatten(0, 1))
    expected = np.zeros((6, 3))
    for m, query in enumerate(queries):
        for k, images in enumerate(support):
            theirs = [image[:, i, j] for image in images for i in range(2) for j in range(3)]
            for own in query.reshape(4, -1).T:
                nearest = sorted(cosine(own, one) for one in theirs)[-n_k:]
                expected[m, k] += sum(nearest)
    _check(DN4(Maps(4, 2), n_k=n_k), episode, expected)


@pytest.mark.parametrize("gamma", [0.1, 50.0])
@pytest.mark.parametrize("shot", [1, 4])
def test_r2d2_is_ridge_regression(shot: int, gamma: float) -> None:
    episode = fixed_episode(3, shot, 2, 5, 1, 2)
    flat = numbers(episode.support).reshape(3 * shot, -1)
    ridge = Ridge(alpha=gamma, fit_intercept=False)
    ridge.fit(flat, np.eye(3)[by_class(3, shot)])
    expected = 2.5 * ridge.predict(numbers(episode.query).reshape(6, -1)) + 0.3
    method = R2D2(Maps(5, 1), alpha=2.5, beta=0.3, gamma=gamma).double()
    _check(method, episode, expected, within=1e-6)


def test_scale_shift_and_penalty_of_r2d2_are_learnt() -> None:
    episode = fixed_episode(3, 2, 2, 5, 1, 2)
    method = R2D2(Maps(5, 1), gamma=2.0).double()
    method.loss(episode).backward()
    assert all(float(getattr(method, name).grad) for name in ("alpha", "beta", "gamma"))
