"""ProtoNet, DN4, CAN and RENet beside their equations; R2D2 beside scikit-learn's regression."""

import numpy as np
import plain_episodes as plain
import pytest
import torch
from plain_episodes import Maps, by_class, cosine, fixed_episode, numbers
from scipy.ndimage import correlate
from sklearn.linear_model import Ridge

from builders.training.method import Labelled
from builders.training.methods.metric import CAN, DN4, R2D2, ProtoNet
from builders.training.methods.renet import RENet


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
def test_can_is_that_of_the_paper(shot, can):
    """Scores are cosines of what attends; the loss, of all classes and half of the nearest."""
    episode = fixed_episode(3, shot, 2, 4, 2, 2)
    classes, queries = (maps.mean(axis=3) for maps in _attended(can.eval(), episode, train=False))
    expected = [[7 * cosine(classes[m, k], queries[m, k]) for k in range(3)] for m in range(6)]
    scores = can.scores(episode.support, episode.query.flatten(0, 1))
    np.testing.assert_allclose(numbers(scores), expected, rtol=0, atol=1e-9)
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
    expected = _compared(method, _self_correlated(method, numbers(both), False), shot, False)
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
    assert float(method.loss(episode, labelled).detach()) == pytest.approx(expected, abs=1e-9)


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
