"""RENet beside its equations by numpy, its 4D convolutions by scipy."""

import numpy as np
import plain_episodes as plain
import pytest
import torch
from plain_episodes import Maps, by_class, fixed_episode, numbers
from scipy.ndimage import correlate

from builders.training.method import Labelled
from builders.training.methods.renet import RENet

WAY, QUERY, CHANNELS, SIDE, CLASSES = 2, 4, 3, 3, 5
PLACES = SIDE * SIDE


def _method():
    torch.manual_seed(0)
    method = RENet(Maps(CHANNELS, SIDE), classes=CLASSES, hidden=4, temperature_attn=2.0)
    plain.disturb_norms(method)
    return method.double()


def _valid(maps, kernels):
    """A convolution (B, D, h, w) without padding."""
    side = kernels.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(maps, (side, side), axis=(2, 3))
    return np.einsum("bdhwij,edij->behw", windows, kernels)


def _self_correlated(method, maps, train):
    """The maps, and added what layers read in each place's neighbourhood, rectified."""
    raised = np.maximum(maps, 0)
    lengths = np.sqrt((raised**2).sum(axis=1, keepdims=True))
    unit = np.pad(raised / np.maximum(lengths, 1e-12), ((0, 0), (0, 0), (2, 2), (2, 2)))
    around = [
        unit[:, :, i : i + 5, j : j + 5] * unit[:, :, i + 2, j + 2, None, None]
        for i in range(SIDE)
        for j in range(SIDE)
    ]
    hidden = np.stack(around, axis=1).reshape(-1, CHANNELS, 5, 5)
    layers = list(method.network.read)
    for number in (0, 3, 6, 9):
        hidden = _valid(hidden, numbers(layers[number].weight))
        hidden = plain.batch_normed(hidden, layers[number + 1], train)
        hidden = hidden if number == 9 else np.maximum(hidden, 0)
    features = hidden.reshape(len(maps), SIDE, SIDE, CHANNELS).transpose(0, 3, 1, 2)
    return np.maximum(maps + features, 0)


def _along(pairs, kernels, places):
    """A convolution of pairs (B, C, i, j, k, l) along two of their places."""
    out = []
    for kernel in kernels:
        total = 0
        for channel, part in enumerate(kernel):
            shape = [1] * 5
            for place in places:
                shape[place] = 3
            total = total + correlate(pairs[:, channel], part.reshape(shape), mode="constant")
        out.append(total)
    return np.stack(out, axis=1)


def _refined(method, pairs, train):
    """Two separable 4D convolutions of pairs (B, 1, i, j, k, l)."""
    for number, layer in enumerate((method.attention.refine[0], method.attention.refine[2])):
        pairs = np.maximum(pairs, 0) if number else pairs
        pairs = _along(pairs, numbers(layer.first.weight), (1, 2))
        pairs = np.maximum(plain.batch_normed(pairs, layer.norm_first, train), 0)
        pairs = _along(pairs, numbers(layer.second.weight), (3, 4))
        pairs = plain.batch_normed(pairs, layer.norm_second, train)
        pairs = np.einsum("oc,bcijkl->boijkl", numbers(layer.mix.weight), pairs)
        pairs = plain.batch_normed(pairs, layer.norm_mix, train)
    return pairs


def _shares(matches, axis):
    mean = matches.mean(axis=axis, keepdims=True)
    deviation = np.sqrt(matches.var(axis=axis, ddof=1, keepdims=True) + 1e-5)
    return plain.softmax((matches - mean) / deviation / 2.0, axis=axis)


def _reduced(method, maps, train):
    kernel, norm, _ = method.attention.reduce
    maps = np.maximum(plain.batch_normed(_valid(maps, numbers(kernel.weight)), norm, train), 0)
    return maps / np.maximum(np.sqrt((maps**2).sum(axis=1, keepdims=True)), 1e-8)


def _compared(method, maps, shot, train):
    """Scores (M, K) of maps (K S + M, D, h, w), which are centred first."""
    maps = maps - maps.mean(axis=1, keepdims=True)
    support, query = maps[: WAY * shot], maps[WAY * shot :]
    theirs, own = _reduced(method, support, train), _reduced(method, query, train)
    cosines = np.einsum("ndij,mdkl->mnijkl", theirs, own)
    pairs = cosines.reshape(-1, 1, *cosines.shape[2:])
    turned = (0, 1, 4, 5, 2, 3)
    matches = _refined(method, pairs, train)
    matches = matches + _refined(method, pairs.transpose(turned), train).transpose(turned)
    matches = matches.reshape(len(query), WAY, shot, PLACES, PLACES)
    to_support, to_query = _shares(matches, 3).sum(axis=4), _shares(matches, 4).sum(axis=3)
    first = np.einsum("ksdp,mksp->mkd", support.reshape(WAY, shot, CHANNELS, PLACES), to_support)
    second = np.einsum("mdp,mksp->mkd", query.reshape(-1, CHANNELS, PLACES), to_query)
    pairs = zip(first.reshape(-1, CHANNELS), second.reshape(-1, CHANNELS), strict=True)
    return np.array([plain.cosine(*pair) / 0.2 for pair in pairs]).reshape(-1, WAY)


@pytest.mark.parametrize("shot", [1, 2])
def test_scores_are_those_of_the_paper(shot):
    method = _method().eval()
    episode = fixed_episode(WAY, shot, QUERY, CHANNELS, SIDE, SIDE)
    with torch.no_grad():
        scores = method.scores(episode.support, episode.query.flatten(0, 1))
    both = torch.cat([episode.support.flatten(0, 1), episode.query.flatten(0, 1)])
    maps = _self_correlated(method, numbers(both), False)
    expected = _compared(method, maps, shot, False)
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=1e-9)


def test_the_loss_is_of_episode_queries_and_labelled_images():
    method = _method().train()
    episode = fixed_episode(WAY, 2, QUERY, CHANNELS, SIDE, SIDE)
    generator = torch.Generator().manual_seed(9)
    images = torch.randn(6, CHANNELS, SIDE, SIDE, generator=generator, dtype=torch.float64)
    labelled = Labelled(images, torch.tensor([0, 4, 1, 1, 3, 2]))
    both = torch.cat([episode.support.flatten(0, 1), episode.query.flatten(0, 1)])
    maps = _self_correlated(method, numbers(both), True)
    weights, bias = numbers(method.classifier.weight), numbers(method.classifier.bias)
    pooled = _self_correlated(method, numbers(images), True).mean(axis=(2, 3))
    expected = plain.cross_entropy(pooled @ weights.T + bias, labelled.classes.tolist())
    query = (maps - maps.mean(axis=1, keepdims=True))[2 * WAY :]
    own = query.mean(axis=(2, 3)) @ weights.T + bias
    expected += plain.cross_entropy(own, [int(one) for one in episode.classes[episode.target]])
    expected += 0.25 * plain.cross_entropy(_compared(method, maps, 2, True), by_class(WAY, QUERY))
    loss = method.loss(episode, labelled)
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("number", "inputs"), [(0, 1), (2, 16)])
def test_folded_norms_are_those_of_pytorch(number, inputs):
    """Values, gradients and running statistics, in training and after."""
    layer = _method().attention.refine[number]
    pairs = torch.randn(4, 2, 3, 3, 2, inputs, dtype=torch.float64)
    start = {name: values.clone() for name, values in layer.state_dict().items()}

    def convolved(kernel, pairs):
        images = pairs.flatten(0, 2).movedim(-1, 1)
        return torch.conv2d(images, kernel, padding=1).movedim(1, -1).reshape(pairs.shape)

    def plain(pairs):
        along_first = convolved(layer.first.weight, pairs.permute(0, 3, 4, 1, 2, 5))
        rectified = layer.norm_first(along_first.flatten(0, 4)).relu().view_as(along_first)
        along_both = convolved(layer.second.weight, rectified.permute(0, 3, 4, 1, 2, 5))
        mixed = layer.norm_mix(layer.mix(layer.norm_second(along_both.flatten(0, 4))))
        return mixed.view(*pairs.shape[:-1], -1)

    results = []
    for forward in (layer, plain):
        layer.load_state_dict(start)
        layer.zero_grad()
        layer.train()
        own = pairs.clone().requires_grad_()
        out = forward(own)
        out.pow(3).mean().backward()
        gradients = {name: values.grad for name, values in layer.named_parameters()}
        assert (gradients.pop("norm_second.bias") is None) == (forward is layer)
        layer.eval()
        kept = [values.clone() for values in layer.state_dict().values()]
        results.append([out.detach(), own.grad, *gradients.values(), *kept, forward(pairs)])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=0, atol=1e-9)
