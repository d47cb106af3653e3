"""ProtoNet, DN4 and CAN beside their equations; R2D2 beside scikit-learn's regression."""

import numpy as np
import plain_episodes as plain
import pytest
import torch
from plain_episodes import Maps, by_class, cosine, fixed_episode, numbers
from sklearn.linear_model import Ridge

from builders.training.methods.metric import CAN, DN4, R2D2, ProtoNet


def _check(method, episode, expected, within=1e-9):
    """Scores (6, 3) are those that are expected, and the loss is of these."""
    scores = method.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=within)
    loss = float(method.loss(episode, None).detach())
    assert loss == pytest.approx(plain.cross_entropy(expected, by_class(3, 2)), abs=within)


@pytest.mark.parametrize(("shot", "temperature"), [(1, 1.0), (3, 1.0), (3, 64.0)])
def test_protonet_is_that_of_the_paper(shot, temperature):
    episode = fixed_episode(3, shot, 2, 4, 2, 2)
    means = [sum(images) / shot for images in numbers(episode.support)]
    queries = numbers(episode.query.flatten(0, 1))
    squares = np.array([[-((query - mean) ** 2).sum() for mean in means] for query in queries])
    _check(ProtoNet(Maps(4, 2), temperature=temperature), episode, squares / temperature)


@pytest.mark.parametrize(("shot", "n_k"), [(1, 3), (2, 3), (2, 1)])
def test_dn4_is_that_of_the_paper(shot, n_k):
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
def test_r2d2_is_ridge_regression(shot, gamma):
    episode = fixed_episode(3, shot, 2, 5, 1, 2)
    flat = numbers(episode.support).reshape(3 * shot, -1)
    ridge = Ridge(alpha=gamma, fit_intercept=False)
    ridge.fit(flat, np.eye(3)[by_class(3, shot)])
    expected = 2.5 * ridge.predict(numbers(episode.query).reshape(6, -1)) + 0.3
    method = R2D2(Maps(5, 1), alpha=2.5, beta=0.3, gamma=gamma).double()
    _check(method, episode, expected, within=1e-6)
    method.loss(episode).backward()
    assert all(float(getattr(method, name).grad) for name in ("alpha", "beta", "gamma"))


@pytest.fixture
def can():
    """Of maps (4, 2, 2) and six classes."""
    torch.manual_seed(0)
    method = CAN(Maps(4, 2), classes=6, side=2, temperature=0.5)
    plain.disturb_norms(method)
    return method.double()


def _attention(method, cosines, train):
    """Of each pair (B, p, q): what each p is weighed by."""
    fusion = method.fusion
    hidden = cosines.mean(axis=1) @ numbers(fusion.enter.weight).T + numbers(fusion.enter.bias)
    hidden = np.maximum(plain.batch_normed(hidden, fusion.norm, train), 0)
    kernels = hidden @ numbers(fusion.leave.weight).T + numbers(fusion.leave.bias)
    fused = [pair @ kernel / 4 for pair, kernel in zip(cosines, kernels, strict=True)]
    return 1 + plain.softmax(np.array(fused) / 0.5)


def _attended(method, episode, train):
    """Class and query maps (M, K, D, p), each attended to by the other."""
    classes = numbers(episode.support).mean(axis=1).reshape(3, 4, 4)
    queries = numbers(episode.query).reshape(6, 4, 4)
    pairs = [(one, query) for query in queries for one in classes]
    cosines = np.array([[[cosine(a, b) for b in query.T] for a in one.T] for one, query in pairs])
    of_classes = _attention(method, cosines, train)
    of_queries = _attention(method, cosines.transpose(0, 2, 1), train)
    first = [one * share for (one, _), share in zip(pairs, of_classes, strict=True)]
    second = [query * share for (_, query), share in zip(pairs, of_queries, strict=True)]
    return np.array(first).reshape(6, 3, 4, 4), np.array(second).reshape(6, 3, 4, 4)


@pytest.mark.parametrize("shot", [1, 3])
def test_scores_of_can_are_cosines_of_what_attends(shot, can):
    episode = fixed_episode(3, shot, 2, 4, 2, 2)
    classes, queries = (maps.mean(axis=3) for maps in _attended(can.eval(), episode, train=False))
    expected = [[7 * cosine(classes[m, k], queries[m, k]) for k in range(3)] for m in range(6)]
    scores = can.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("shot", [1, 3])
def test_the_loss_of_can_is_of_all_classes_and_half_of_the_nearest_at_each_place(shot, can):
    episode = fixed_episode(3, shot, 2, 4, 2, 2)
    classes, queries = _attended(can.train(), episode, train=True)
    classes = classes.mean(axis=3)
    weights, bias = numbers(can.classifier.weight), numbers(can.classifier.bias)
    near, whole, by_place = [], [], by_class(3, 8)
    for row, target in enumerate(by_place):
        m, place = divmod(row, 4)
        own = queries[m, :, :, place]
        near.append([7 * cosine(classes[m, k], own[k]) for k in range(3)])
        whole.append(weights @ own[target] + bias)
    expected = 0.5 * plain.cross_entropy(np.array(near), by_place)
    expected += plain.cross_entropy(np.array(whole), [int(episode.classes[k]) for k in by_place])
    assert float(can.loss(episode).detach()) == pytest.approx(expected, abs=1e-9)
