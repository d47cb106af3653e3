"""Fine-tuning of a tiny network, against the same written down plainly; what it leaves behind."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from benchmark_spec.errors import SpecError
from builders.baselines.fine_tuning import FineTuner

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")


def network(seed: int = 0) -> Any:
    """Images (B, 3, 8, 8) to (B, 6): convolution, batch normalisation with a past, dropout."""
    torch.manual_seed(seed)
    made = torch.nn.Sequential(
        torch.nn.Conv2d(3, 5, 3, stride=2),
        torch.nn.BatchNorm2d(5),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(20, 6),
    )
    made(torch.randn(16, 3, 8, 8) * 3 + 1)  # in training mode: moves the statistics
    return made


def task(seed: int, way: int = 3, shot: int = 2) -> tuple[Any, Any]:
    """Support (K, S, 3, 8, 8) and query (M, 3, 8, 8)."""
    torch.manual_seed(seed)
    mean = torch.randn(way, 3, 8, 8)
    support = mean[:, None] + 0.3 * torch.randn(way, shot, 3, 8, 8)
    return support, (mean[:, None] + torch.randn(way, 4, 3, 8, 8)).flatten(0, 1)


def plainly(module: Any, support: Any, query: Any, rate: float) -> Any:
    """Logits (M, K), with PyTorch's own schedule and two optimisers."""
    way, shot = support.shape[:2]
    module = deepcopy(module).eval()
    layer = torch.nn.Linear(6, way)
    layer.weight.data.fill_(1.0)
    layer.bias.data.fill_(0.0)
    target = torch.arange(way).repeat_interleave(shot)
    parts = ((module, rate), (layer, 0.1))
    optimisers = [torch.optim.SGD(part.parameters(), lr=lr, momentum=0.9) for part, lr in parts]
    schedules = [torch.optim.lr_scheduler.CosineAnnealingLR(each, 30) for each in optimisers]
    for _ in range(30):
        for each in optimisers:
            each.zero_grad()
        features = torch.nn.functional.normalize(module(support.flatten(0, 1)), dim=1)
        torch.nn.functional.cross_entropy(layer(features), target).backward()
        for each in (*optimisers, *schedules):
            each.step()
    with torch.no_grad():
        return layer(torch.nn.functional.normalize(module(query), dim=1))


@pytest.mark.parametrize("rate", [1e-4, 0.05])
def test_it_is_what_the_paper_does(rate: float) -> None:
    module, (support, query) = network(), task(1)
    found = FineTuner(module, rate=rate).scores(support, query)
    expected = plainly(module, support, query, rate)
    assert_allclose(found, expected, atol=2e-5)
    predictions = FineTuner(module, rate=rate)(support, query)
    assert predictions.dtype == np.int64
    assert_array_equal(predictions, expected.argmax(dim=1))


def test_every_task_starts_from_the_same_weights() -> None:
    module = network()
    before = deepcopy(module.state_dict())
    tuner = FineTuner(module, rate=0.05)
    first = tuner.scores(*task(3))
    other = tuner.scores(*task(4, way=5, shot=1))
    assert other.shape == (20, 5)
    assert torch.equal(tuner.scores(*task(3)), first)
    assert torch.equal(FineTuner(module, rate=0.05).scores(*task(3)), first)
    assert module.training  # as it was given
    for name, values in module.state_dict().items():
        assert torch.equal(values, before[name]), name


def test_frozen_weights_are_trained_too_and_gradients_may_be_off() -> None:
    module, (support, query) = network(), task(6)
    expected = FineTuner(module, rate=0.05).scores(support, query)
    with torch.no_grad():
        found = FineTuner(module.requires_grad_(False), rate=0.05).scores(support, query)
    assert torch.equal(found, expected)


def test_many_queries_and_a_failure() -> None:
    module, (support, query) = network(), task(7)
    tuner = FineTuner(module, rate=0.05)
    expected = tuner.scores(support, query)
    many = tuner.scores(support, query.repeat(20, 1, 1, 1))
    assert_allclose(many, expected.repeat(20, 1), atol=1e-6)
    with pytest.raises(RuntimeError):
        tuner.scores(support, query[:, :2])  # two colours: training is over by then
    assert torch.equal(tuner.scores(support, query), expected)


def test_what_is_no_backbone_is_refused() -> None:
    with pytest.raises(SpecError, match=r"\(6, 5, 3, 3\) of 6 images"):
        FineTuner(network()[:1])(*task(8))
