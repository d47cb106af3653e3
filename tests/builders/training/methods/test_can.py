"""CAN beside its equations by numpy."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_episodes import (  # noqa: E402
    Floats,
    Maps,
    batch_normed,
    by_class,
    cosine,
    cross_entropy,
    disturb_norms,
    fixed_episode,
    numbers,
    softmax,
)

from builders.training.method import Episode  # noqa: E402
from builders.training.methods.metric import CAN  # noqa: E402

WAY, QUERY, CHANNELS, SIDE, CLASSES = 3, 2, 4, 2, 6
PLACES = SIDE * SIDE


def _method() -> CAN:
    torch.manual_seed(0)
    method = CAN(Maps(CHANNELS, SIDE), classes=CLASSES, side=SIDE, temperature=0.5)
    disturb_norms(method)
    return method.double()


def _attention(method: CAN, cosines: Floats, train: bool) -> Floats:
    """Of each pair (B, p, q): what each p is weighed by."""
    fusion = method.fusion
    pooled = np.array([[pair[:, q].mean() for q in range(PLACES)] for pair in cosines])
    hidden = pooled @ numbers(fusion.enter.weight).T + numbers(fusion.enter.bias)
    hidden = np.maximum(batch_normed(hidden, fusion.norm, train), 0)
    kernels = hidden @ numbers(fusion.leave.weight).T + numbers(fusion.leave.bias)
    fused = [pair @ kernel / PLACES for pair, kernel in zip(cosines, kernels, strict=True)]
    return 1 + softmax(np.array(fused) / 0.5)


def _attended(method: CAN, episode: Episode, train: bool) -> tuple[Floats, Floats]:
    """Class and query maps (M, K, D, p), each attended to by the other."""
    classes = numbers(episode.support).mean(axis=1).reshape(WAY, CHANNELS, PLACES)
    queries = numbers(episode.query).reshape(-1, CHANNELS, PLACES)
    pairs = [(one, query) for query in queries for one in classes]
    cosines = np.array([[[cosine(a, b) for b in query.T] for a in one.T] for one, query in pairs])
    of_classes = _attention(method, cosines, train)
    of_queries = _attention(method, cosines.transpose(0, 2, 1), train)
    first = [one * share for (one, _), share in zip(pairs, of_classes, strict=True)]
    second = [query * share for (_, query), share in zip(pairs, of_queries, strict=True)]
    shape = (len(queries), WAY, CHANNELS, PLACES)
    return np.array(first).reshape(shape), np.array(second).reshape(shape)


@pytest.mark.parametrize("shot", [1, 3])
def test_scores_are_cosines_of_what_attends(shot: int) -> None:
    method, episode = _method().eval(), fixed_episode(WAY, shot, QUERY, CHANNELS, SIDE, SIDE)
    classes, queries = _attended(method, episode, train=False)
    expected = [
        [7 * cosine(classes[m, k].mean(axis=1), queries[m, k].mean(axis=1)) for k in range(WAY)]
        for m in range(WAY * QUERY)
    ]
    scores = method.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("shot", [1, 3])
def test_the_loss_is_of_all_classes_and_half_of_the_nearest_at_each_place(shot: int) -> None:
    method, episode = _method().train(), fixed_episode(WAY, shot, QUERY, CHANNELS, SIDE, SIDE)
    classes, queries = _attended(method, episode, train=True)
    near, whole, own = [], [], by_class(WAY, QUERY)
    for m, target in enumerate(own):
        for place in range(PLACES):
            near.append(
                [
                    7 * cosine(classes[m, k].mean(axis=1), queries[m, k][:, place])
                    for k in range(WAY)
                ]
            )
            weights, bias = numbers(method.classifier.weight), numbers(method.classifier.bias)
            whole.append(weights @ queries[m, target][:, place] + bias)
    by_place = [target for target in own for _ in range(PLACES)]
    expected = 0.5 * cross_entropy(np.array(near), by_place)
    expected += cross_entropy(np.array(whole), [int(episode.classes[k]) for k in by_place])
    assert float(method.loss(episode).detach()) == pytest.approx(expected, abs=1e-9)
