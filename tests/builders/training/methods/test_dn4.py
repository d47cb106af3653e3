"""DN4 beside its equations, in loops."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_episodes import Maps, by_class, cosine, cross_entropy, fixed_episode, numbers  # noqa: E402

from builders.training.methods.metric import DN4  # noqa: E402


@pytest.mark.parametrize(("shot", "n_k"), [(1, 3), (2, 3), (2, 1)])
def test_scores_and_loss_are_those_of_the_paper(shot: int, n_k: int) -> None:
    episode = fixed_episode(3, shot, 2, 4, 2, 3)
    support, queries = numbers(episode.support), numbers(episode.query.flatten(0, 1))
    expected = np.zeros((6, 3))
    for m, query in enumerate(queries):
        for k, images in enumerate(support):
            theirs = [image[:, i, j] for image in images for i in range(2) for j in range(3)]
            for own in query.reshape(4, -1).T:
                nearest = sorted(cosine(own, one) for one in theirs)[-n_k:]
                expected[m, k] += sum(nearest)
    method = DN4(Maps(4, 2), n_k=n_k)
    scores = method.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=1e-9)
    loss = float(method.loss(episode))
    assert loss == pytest.approx(cross_entropy(expected, by_class(3, 2)), abs=1e-9)
