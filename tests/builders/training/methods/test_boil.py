"""BOIL beside one step written out with autograd."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from plain_episodes import disturb_norms, fixed_episode, numbers  # noqa: E402
from torch.nn import functional  # noqa: E402

from builders.training.methods.adapting import BOIL  # noqa: E402
from builders.training.networks import Conv4  # noqa: E402

WAY, SHOT, QUERY, SIDE = 3, 2, 2, 8


def _method(head_rate: float = 0.0, nil: bool = False) -> BOIL:
    torch.manual_seed(0)
    network = Conv4(3, (True, True), inputs=2)
    disturb_norms(network)
    made = BOIL(network, way=WAY, side=SIDE, rate=0.3, head_rate=head_rate, nil=nil)
    return made.double()


def _flat(weights: "list[torch.Tensor]", images: "torch.Tensor") -> "torch.Tensor":
    """Two blocks; weights are kernel, shift, and the norm's two, of each."""
    for first in (0, 4):
        kernel, bias, scale, shift = weights[first : first + 4]
        images = functional.conv2d(images, kernel, bias, padding=1)
        mean = images.mean(dim=(0, 2, 3), keepdim=True)
        variance = images.var(dim=(0, 2, 3), keepdim=True, correction=0)
        images = (images - mean) / (variance + 1e-5).sqrt()
        images = images * scale[:, None, None] + shift[:, None, None]
        images = functional.max_pool2d(images.relu(), 2)
    return images.flatten(1)


@pytest.mark.parametrize("head_rate", [0.0, 0.2])
def test_scores_loss_and_gradients_are_those_of_a_step(head_rate: float) -> None:
    method, episode = _method(head_rate), fixed_episode(WAY, SHOT, QUERY, 2, SIDE, SIDE)
    query = episode.query.flatten(0, 1)
    weights = [values.detach().clone().requires_grad_() for values in method.parameters()]
    outputs = _flat(weights, episode.support.flatten(0, 1)) @ weights[8].T + weights[9]
    loss = functional.cross_entropy(outputs, torch.tensor([0, 0, 1, 1, 2, 2]))
    gradients = torch.autograd.grad(loss, weights, create_graph=True)
    rates = [0.3] * 8 + [head_rate] * 2
    moved = [w - r * g for w, r, g in zip(weights, rates, gradients, strict=True)]
    expected = _flat(moved, query) @ moved[8].T + moved[9]
    before = {name: values.clone() for name, values in method.state_dict().items()}
    with torch.no_grad():
        scores = method.eval().scores(episode.support, query)
    np.testing.assert_allclose(numbers(scores), numbers(expected.detach()), rtol=0, atol=1e-9)
    own = method.train().loss(episode)
    of_queries = functional.cross_entropy(expected, torch.tensor([0, 0, 1, 1, 2, 2]))
    np.testing.assert_allclose(
        numbers(own.detach()), numbers(of_queries.detach()), rtol=0, atol=1e-9
    )
    own.backward()
    of_queries.backward()
    for parameter, values in zip(method.parameters(), weights, strict=True):
        np.testing.assert_allclose(numbers(parameter.grad), numbers(values.grad), rtol=0, atol=1e-9)
    assert all(torch.equal(values, before[name]) for name, values in method.state_dict().items())


def test_without_steps_scores_are_cosines_with_class_means() -> None:
    method, episode = _method(nil=True).eval(), fixed_episode(4, SHOT, QUERY, 2, SIDE, SIDE)
    query = episode.query.flatten(0, 1)
    with torch.no_grad():
        weights = list(method.parameters())
        support = _flat(weights, episode.support.flatten(0, 1)).unflatten(0, (4, SHOT))
        of_query = _flat(weights, query)
        scores = method.scores(episode.support, query)
    for m, one in enumerate(of_query):
        for k, images in enumerate(support):
            mean = sum(images) / SHOT
            assert float(scores[m, k]) == pytest.approx(
                float(one @ mean / (one.norm() * mean.norm())), abs=1e-9
            )
