"""RFS and its regression beside scikit-learn; Baseline++ beside cosines and steps by numpy."""

import numpy as np
import pytest
import reference_heads
import torch
from plain_episodes import cross_entropy, numbers, unchanged
from sklearn.linear_model import LogisticRegression

from benchmark_spec.errors import MethodFailedError
from builders.baselines.heads import unit_vectors
from builders.training import logistic
from builders.training.method import Labelled
from builders.training.methods.transfer import RFS, BaselinePlusPlus, CosineClassifier
from builders.training.networks import Conv4

SIDE, WAY, SHOT, WIDTH = 6, 3, 3, 4 * 3 * 3
BOTH = [RFS, BaselinePlusPlus]


def _method(kind, **settings):
    torch.manual_seed(0)
    return kind(Conv4(4, pools=(True, False)), classes=7, side=SIDE, **settings)


def _task(way, shot):
    generator = torch.Generator().manual_seed(1)
    support = torch.rand(way, shot, 1, SIDE, SIDE, generator=generator)
    return support, torch.rand(9, 1, SIDE, SIDE, generator=generator)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("strength", [1.0, 20.0])
@pytest.mark.parametrize(("way", "shot"), [(5, 1), (3, 4), (2, 3)])
def test_rfs_is_scikit_learns(way, shot, strength, pooled):
    method = _method(RFS, strength=strength, pooled=pooled).eval()
    support, query = _task(way, shot)
    with torch.no_grad():
        maps = numbers(method.network(torch.cat([support.flatten(0, 1), query])))
    vectors = maps.mean(axis=(2, 3)) if pooled else maps.reshape(len(maps), -1)
    vectors /= np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    regression = LogisticRegression(C=strength, tol=1e-12, max_iter=10_000)
    regression.fit(vectors[: way * shot], np.repeat(np.arange(way), shot))
    expected = regression.decision_function(vectors[way * shot :])
    if way == 2:
        expected = np.stack([-expected, expected], axis=1) / 2
    scores = method.scores(support, query).numpy()
    assert scores.shape == expected.shape
    scores -= scores.mean(axis=1, keepdims=True)
    expected -= expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def _unit(vectors):
    return vectors / (np.sqrt((vectors**2).sum(axis=1, keepdims=True)) + 1e-5)


def _scores(vectors, directions, lengths):
    own = np.sqrt((directions**2).sum(axis=1))
    return 2 * lengths * (_unit(vectors) @ (directions / own[:, None]).T)


def _gradients(vectors, target, directions, lengths):
    """Return the mean cross-entropy's by directions (K, D) and by lengths (K,)."""
    scores = _scores(vectors, directions, lengths)
    error = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    error[np.arange(len(target)), target] -= 1
    error /= len(target)
    own = np.sqrt((directions**2).sum(axis=1, keepdims=True))
    unit = directions / own
    by_lengths = 2 * (error * (_unit(vectors) @ unit.T)).sum(axis=0)
    by_unit = 2 * lengths[:, None] * (error.T @ _unit(vectors))
    along = (by_unit * unit).sum(axis=1, keepdims=True)
    return (by_unit - along * unit) / own, by_lengths


class _Adam:
    def __init__(self):
        self.steps, self.mean, self.square = 0, 0.0, 0.0

    def __call__(self, weights, gradient):
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        mean = self.mean / (1 - 0.9**self.steps)
        return weights - 1e-2 * mean / (np.sqrt(self.square / (1 - 0.999**self.steps)) + 1e-8)


class _SGD:
    def __init__(self):
        self.velocity = None

    def __call__(self, weights, gradient):
        gradient = gradient + 1e-3 * weights
        first = self.velocity is None
        self.velocity = gradient if first else 0.9 * self.velocity + (1 - 0.9) * gradient
        return weights - 1e-2 * self.velocity


@pytest.mark.parametrize("lengths", [True, False])
@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_a_task_trains_a_new_classifier_step_by_step(name, lengths):
    method = _method(BaselinePlusPlus, optimiser=name, lengths=lengths, passes=3, seed=5).eval()
    support, query = _task(WAY, SHOT)
    generator = torch.Generator().manual_seed(5)
    start = CosineClassifier(WIDTH, WAY, lengths=lengths, generator=generator)
    directions, length = numbers(start.directions), numbers(start.lengths)
    assert lengths or (length == 1).all()
    with torch.no_grad():
        vectors = numbers(method.network(support.flatten(0, 1)).flatten(1))
        of_query = numbers(method.network(query).flatten(1))
    target = np.repeat(np.arange(WAY), SHOT)
    steps = [_Adam(), _Adam()] if name == "Adam" else [_SGD(), _SGD()]
    for _ in range(3):
        order = torch.randperm(WAY * SHOT, generator=generator).numpy()
        for chosen in (order[:4], order[4:8], order[8:]):
            some = vectors[chosen], target[chosen]
            by_directions, by_lengths = _gradients(*some, directions, length)
            directions = steps[0](directions, by_directions)
            length = steps[1](length, by_lengths) if lengths else length
    expected = _scores(of_query, directions, length)
    np.testing.assert_allclose(numbers(method.scores(support, query)), expected, atol=1e-5)


def test_a_classifier_starts_as_a_linear_layer():
    classifier = CosineClassifier(400, 50, generator=torch.Generator().manual_seed(3))
    torch.manual_seed(3)
    weights = torch.nn.Linear(400, 50, bias=False).weight
    torch.testing.assert_close(classifier.directions, weights)
    torch.testing.assert_close(classifier.lengths, weights.norm(dim=1))


@pytest.mark.parametrize(("classes", "scale"), [(2, 2.0), (200, 2.0), (201, 10.0)])
def test_many_classes_have_a_larger_scale(classes, scale):
    assert CosineClassifier(3, classes).scale == scale


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("kind", BOTH)
def test_the_loss_is_cross_entropy_of_the_classifier(kind, pooled):
    method = _method(kind, pooled=pooled).train()
    images, classes = torch.rand(6, 1, SIDE, SIDE), torch.tensor([0, 1, 6, 3, 3, 2])
    loss = method.loss(None, Labelled(images, classes))
    with torch.no_grad():
        maps = numbers(method.network(images))
    vectors = maps.mean(axis=(2, 3)) if pooled else maps.reshape(6, -1)
    first, second = (numbers(values) for values in method.classifier.parameters())
    scores = vectors @ first.T + second if kind is RFS else _scores(vectors, first, second)
    assert float(loss.detach()) == pytest.approx(cross_entropy(scores, classes.tolist()), abs=1e-5)
    loss.backward()
    assert all(values.grad is not None for values in method.parameters())
    with pytest.raises(TypeError, match="trained_by"):
        method.loss(None, None)


@pytest.mark.parametrize("kind", BOTH)
def test_answers_are_the_same_each_time_and_change_nothing(kind):
    method, task = _method(kind).eval(), _task(WAY, SHOT)
    torch.manual_seed(1)
    state = torch.get_rng_state()
    with unchanged(method):
        first = method.scores(*task)
        assert torch.equal(state, torch.get_rng_state())
        assert not first.requires_grad
        method.scores(task[0] + 1, task[1])
        torch.manual_seed(2)
        with torch.inference_mode():
            assert torch.equal(first, method.scores(*task))


def logits_of(features, support, query, strength=1.0):
    """Logits (B, M, K) with the mean 0 over classes."""
    chosen = torch.from_numpy(support), torch.from_numpy(query)
    found = logistic.logistic_regression(unit_vectors(features), *chosen, strength=strength).numpy()
    return np.asarray(found - found.mean(axis=2, keepdims=True))


def make(kind, rng, way, shot, dimensions):
    """Features (K·S + 40, D) of a task's support, class by class, and of queries."""
    number = way * shot
    mean = rng.normal(size=(way, dimensions)) + rng.normal(size=dimensions)
    support = np.repeat(mean, shot, axis=0) + 0.5 * rng.normal(size=(number, dimensions))
    if kind == "noise":
        support = rng.normal(size=(number, dimensions))
    elif kind == "apart":  # the classes' own images are all but equal
        support = np.repeat(rng.normal(size=(way, dimensions)), shot, axis=0)
        support += 1e-6 * rng.normal(size=support.shape)
    elif kind == "doubles":  # within classes and between them
        support = support[rng.integers(0, max(2, number // 3), number)]
    elif kind == "zeros":
        support[rng.random(number) < 0.4] = 0.0
    elif kind == "one":
        support[:] = support[0]
    query = mean[rng.integers(0, way, 40)] + rng.normal(size=(40, dimensions))
    query[:2] = 0.0
    return np.concatenate([support, query])


KINDS = ("classes", "noise", "apart", "doubles", "zeros", "one")
SHAPES = ((2, 1, 3), (2, 20, 8), (3, 2, 1), (5, 1, 64), (5, 5, 16), (5, 5, 40), (10, 10, 24),
          (20, 1, 12), (20, 20, 6))  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "way", "shot", "dimensions"),
    [
        *((KINDS[(i + j) % 6], *shape) for i, shape in enumerate(SHAPES) for j in (0, 1, 3)),
        ("classes", 5, 5, 768),  # the paper's
    ],
)
def test_it_is_scikit_learns(kind, way, shot, dimensions):
    seed = [KINDS.index(kind), way, shot, dimensions]
    features = make(kind, np.random.default_rng(seed), way, shot, dimensions)
    number = way * shot
    support, query = np.arange(number).reshape(way, shot), np.arange(number, number + 40)
    found = logits_of(features, support[None], query[None])[0]
    expected = reference_heads.logistic_regression(features[support], features[query])
    np.testing.assert_allclose(found, expected, atol=1e-7)
    clear = reference_heads.margins(expected) > 1e-6
    np.testing.assert_array_equal(found.argmax(axis=1)[clear], expected.argmax(axis=1)[clear])


@pytest.mark.parametrize("strength", [1e-3, 0.1, 100.0, 1e4])
def test_other_strengths(strength):
    features = make("classes", np.random.default_rng(5), 4, 3, 6)
    support, query = np.arange(12).reshape(4, 3), np.arange(12, 52)
    found = logits_of(features, support[None], query[None], strength)[0]
    expected = reference_heads.logistic_regression(features[support], features[query], strength)
    np.testing.assert_allclose(found, expected, atol=1e-6 * max(1.0, strength))


@pytest.mark.parametrize(("way", "shot"), [(2, 1), (3, 1), (3, 2)])
def test_tasks_that_are_solved_wait_for_those_beside_them(way, shot):
    """Images that are nearly equal are done at once, others after many steps: all end."""
    rng = np.random.default_rng(0)
    apart = 10.0 ** rng.uniform(-4, 0.5, (120, 1)) * rng.normal(size=(120, 16))
    features = rng.normal(size=16) + apart
    support = np.stack([rng.permutation(120)[: way * shot].reshape(way, shot) for _ in range(64)])
    query = rng.integers(0, 120, (64, 6))
    together = logits_of(features, support, query)
    for task in range(0, 64, 8):
        alone = logits_of(features, support[task : task + 1], query[task : task + 1])
        np.testing.assert_allclose(together[task], alone[0], atol=1e-8)


def test_without_an_end(monkeypatch):
    monkeypatch.setattr(logistic, "_NEWTON_STEPS", 1)
    with pytest.raises(MethodFailedError, match="did not converge"):
        logits_of(np.eye(3), np.arange(3).reshape(1, 3, 1), np.arange(3)[None])
