"""ProtoNet beside its equations, in loops."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_episodes import Maps, by_class, cross_entropy, fixed_episode, numbers  # noqa: E402

from builders.training.methods.metric import ProtoNet  # noqa: E402


@pytest.mark.parametrize(("shot", "temperature"), [(1, 1.0), (3, 1.0), (3, 64.0)])
def test_scores_and_loss_are_those_of_the_paper(shot: int, temperature: float) -> None:
    episode = fixed_episode(3, shot, 2, 4, 2, 2)
    support, queries = numbers(episode.support), numbers(episode.query.flatten(0, 1))
    expected = np.zeros((6, 3))
    for m, query in enumerate(queries):
        for k, images in enumerate(support):
            prototype = sum(image.ravel() for image in images) / shot
            expected[m, k] = -sum(
                (a - b) ** 2 for a, b in zip(query.ravel(), prototype, strict=True)
            )
    expected /= temperature
    method = ProtoNet(Maps(4, 2), temperature=temperature)
    scores = method.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=1e-9)
    loss = float(method.loss(episode))
    assert loss == pytest.approx(cross_entropy(expected, by_class(3, 2)), abs=1e-9)
