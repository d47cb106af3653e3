"""ANIL, BOIL and LEO beside their equations: by numpy, differences, and a step by autograd."""

from functools import partial

import numpy as np
import plain_episodes as plain
import pytest
import torch
from plain_episodes import Maps, by_class, fixed_episode, numbers
from scipy.optimize import approx_fprime
from torch.nn import functional

from builders.training.methods.adapting import ANIL, BOIL, LEO
from builders.training.networks import Conv4

WAY, SHOT, QUERY, RATE = 3, 2, 2, 0.4
FEATURES, LATENT, STEPS, FINETUNES = 8, 4, 2, 3
SMALL = (WAY, SHOT, QUERY, 2, 2, 2)
assert_near = partial(np.testing.assert_allclose, rtol=0, atol=1e-9)


def _answers(method, episode):
    with plain.unchanged(method.eval()), torch.no_grad():
        return numbers(method.scores(episode.support, episode.query.flatten(0, 1)))


def _flat(episode):
    """Maps of support (K S, D) and of queries (K Q, D)."""
    return tuple(numbers(of.flatten(0, 1).flatten(1)) for of in (episode.support, episode.query))


@pytest.fixture
def anil():
    torch.manual_seed(0)
    return ANIL(Maps(4, 2), way=WAY, side=2, rate=RATE, steps=2, test_steps=3).double()


def _after_steps(episode, weights, bias, steps):
    support, queries = _flat(episode)
    for _ in range(steps):
        error = plain.softmax(support @ weights.T + bias) - np.eye(WAY)[by_class(WAY, SHOT)]
        weights = weights - RATE * error.T @ support / len(support)
        bias = bias - RATE * error.mean(axis=0)
    return queries @ weights.T + bias


def test_scores_loss_and_gradients_of_anil_are_those_through_its_steps(anil):
    episode = fixed_episode(WAY, SHOT, QUERY, 4, 2, 2)
    head = numbers(anil.head.weight), numbers(anil.head.bias)
    assert_near(_answers(anil, episode), _after_steps(episode, *head, 3))
    head = np.concatenate([numbers(values).ravel() for values in anil.head.parameters()])

    def loss_of(head):
        scores = _after_steps(episode, head[:-WAY].reshape(WAY, -1), head[-WAY:], 2)
        return plain.cross_entropy(scores, by_class(WAY, QUERY))

    loss = anil.train().loss(episode)
    assert float(loss.detach()) == pytest.approx(loss_of(head), abs=1e-9)
    loss.backward()
    gradient = np.concatenate([numbers(values.grad).ravel() for values in anil.head.parameters()])
    np.testing.assert_allclose(gradient, approx_fprime(head, loss_of), rtol=0, atol=1e-7)


def _boil(head_rate=0.0, nil=False):
    torch.manual_seed(0)
    network = Conv4(3, (True, True), inputs=2)
    plain.disturb_norms(network)
    return BOIL(network, way=WAY, side=8, rate=0.3, head_rate=head_rate, nil=nil).double()


def _blocks(weights, images):
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
def test_scores_loss_and_gradients_of_boil_are_those_of_a_step(head_rate):
    method, episode = _boil(head_rate), fixed_episode(WAY, SHOT, QUERY, 2, 8, 8)
    weights = [values.detach().clone().requires_grad_() for values in method.parameters()]
    target = torch.tensor(by_class(WAY, SHOT))
    outputs = _blocks(weights, episode.support.flatten(0, 1)) @ weights[8].T + weights[9]
    loss = functional.cross_entropy(outputs, target)
    gradients = torch.autograd.grad(loss, weights, create_graph=True)
    rates = [0.3] * 8 + [head_rate] * 2
    moved = [w - r * g for w, r, g in zip(weights, rates, gradients, strict=True)]
    expected = _blocks(moved, episode.query.flatten(0, 1)) @ moved[8].T + moved[9]
    assert_near(_answers(method, episode), numbers(expected))
    of_queries = functional.cross_entropy(expected, target)
    of_queries.backward()
    with plain.unchanged(method):
        own = method.train().loss(episode)
        own.backward()
    assert_near(numbers(own), numbers(of_queries))
    for parameter, values in zip(method.parameters(), weights, strict=True):
        assert_near(numbers(parameter.grad), numbers(values.grad))


def test_without_steps_scores_of_boil_are_cosines_with_class_means():
    method, episode = _boil(nil=True), fixed_episode(4, SHOT, QUERY, 2, 8, 8)
    method.network.blocks.append(torch.nn.Dropout())  # the norms alone are as in training
    weights = [values.detach() for values in method.parameters()]
    support = _blocks(weights, episode.support.flatten(0, 1)).unflatten(0, (4, SHOT))
    means = [sum(images) / SHOT for images in support]
    queries = _blocks(weights, episode.query.flatten(0, 1))
    expected = [[one @ mean / (one.norm() * mean.norm()) for mean in means] for one in queries]
    assert_near(_answers(method, episode), expected)


def _leo(**weights):
    torch.manual_seed(0)
    steps = {"rate": 0.5, "steps": STEPS, "finetune_rate": 0.25, "finetune_steps": FINETUNES}
    method = LEO(Maps(2, 2), latent=LATENT, **steps, **weights)
    for layer in (method.encoder, *method.relation):
        for values in layer.parameters():
            values.data.abs_()  # so that no standard deviation is 0
    method.encoder.bias.data.add_(3)
    return method.double()


def _codes(method, support):
    """Means and standard deviations (K, latent) of codes, from all pairs of images."""
    hidden = support @ numbers(method.encoder.weight).T + numbers(method.encoder.bias)
    related = []
    for first in hidden:
        row = []
        for second in hidden:
            pair = np.concatenate([first, second])
            for layer in (0, 2, 4):
                pair = np.maximum(numbers(method.relation[layer].weight) @ pair, 0)
            row.append(pair)
        related.append(np.mean(row, axis=0))
    codes = np.array(related).reshape(WAY, SHOT, -1).mean(axis=1)
    return codes[:, :LATENT], codes[:, LATENT:]


def _slope(support, weights):
    error = plain.softmax(support @ weights.T) - np.eye(WAY)[by_class(WAY, SHOT)]
    return error.T @ support / len(support)


def _fitted(method, support, codes, noises):
    """Codes and weights after their steps; noises (K, D) are of the weights' draws."""
    matrix, bias = numbers(method.decoder.weight), numbers(method.decoder.bias)

    def decoded(codes, noise):
        both = codes @ matrix.T + bias
        return both[:, :FEATURES] + both[:, FEATURES:] * noise

    for noise in noises[:-1]:
        slope = _slope(support, decoded(codes, noise))
        codes = codes - 0.5 * (slope @ matrix[:FEATURES] + (slope * noise) @ matrix[FEATURES:])
    weights = decoded(codes, noises[-1])
    for _ in range(FINETUNES):
        weights = weights - 0.25 * _slope(support, weights)
    return codes, weights


def test_scores_of_leo_are_of_means():
    method, episode = _leo(), fixed_episode(*SMALL)
    support, queries = _flat(episode)
    none = [np.zeros((WAY, FEATURES))] * (STEPS + 1)
    _, weights = _fitted(method, support, _codes(method, support)[0], none)
    assert_near(_answers(method, episode), queries @ weights.T)


def test_the_loss_of_leo_is_of_draws_and_penalties():
    method = _leo(kl_weight=0.7, encoder_weight=0.6, orthogonality_weight=0.5).train()
    assert method.training
    assert not method.network.training
    episode = fixed_episode(*SMALL)
    support, queries = _flat(episode)
    mean, deviation = _codes(method, support)
    assert (deviation > 0).all()
    torch.manual_seed(5)
    shapes = [(WAY, LATENT), *[(WAY, FEATURES)] * (STEPS + 1)]
    noise, *noises = [numbers(torch.randn(shape, dtype=torch.float64)) for shape in shapes]
    start = mean + deviation * noise
    moved, weights = _fitted(method, support, start, noises)
    own = -np.log(deviation) - (start - mean) ** 2 / (2 * deviation**2)
    standard = -(start**2) / 2
    columns = numbers(method.decoder.weight).T
    unit = columns / np.sqrt((columns**2).sum(axis=1, keepdims=True))
    expected = (
        plain.cross_entropy(queries @ weights.T, by_class(WAY, QUERY))
        + 0.7 * (own - standard).mean()
        + 0.6 * ((moved - start) ** 2).mean()
        + 0.5 * ((unit @ unit.T - np.eye(LATENT)) ** 2).mean()
    )
    torch.manual_seed(5)
    loss = method.loss(episode)
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-9)
    loss.backward()
    assert all(values.grad.abs().max() > 0 for values in method.parameters())
