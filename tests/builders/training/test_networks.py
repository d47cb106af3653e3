"""Networks beside convolutions by scipy, their shapes and parameters."""

from functools import partial

import numpy as np
import pytest
import torch
from plain_episodes import batch_normed, disturb_norms, numbers
from scipy.ndimage import correlate

from builders.training.networks import Conv4, ResNet12


def _convolved(maps, layer):
    """Each filter is over all channels, of which the middle sum is the convolution's."""
    weights, middle = numbers(layer.weight), layer.in_channels // 2
    filtered = [[correlate(m, w, mode="constant")[middle] for w in weights] for m in maps]
    bias = 0 if layer.bias is None else numbers(layer.bias)[:, None, None]
    return np.array(filtered) + bias


def _rectified(maps, slope):
    return np.where(maps > 0, maps, slope * maps)


def _pooled(maps):
    side = maps.shape[-1] // 2
    cut = maps[..., : 2 * side, : 2 * side]
    return cut.reshape(*maps.shape[:2], side, 2, side, 2).max(axis=(3, 5))


def _layers(network):
    """Convolutions and the norms behind them, which are disturbed."""
    disturb_norms(network)
    kinds = torch.nn.Conv2d, torch.nn.BatchNorm2d
    of_kinds = ([one for one in network.modules() if isinstance(one, kind)] for kind in kinds)
    return list(zip(*of_kinds, strict=True))


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_conv4_is_its_definition(train, slope):
    torch.manual_seed(0)
    pools = (True, False, True)
    network, images = Conv4(3, pools=pools, slope=slope, inputs=2), torch.rand(4, 2, 10, 10)
    maps = numbers(images)
    for (convolution, normalisation), pool in zip(_layers(network), pools, strict=True):
        maps = _rectified(batch_normed(_convolved(maps, convolution), normalisation, train), slope)
        maps = _pooled(maps) if pool else maps
    np.testing.assert_allclose(numbers(network.train(train)(images)), maps, atol=1e-5)


@pytest.mark.parametrize("train", [True, False])
def test_resnet12_is_its_definition(train):
    torch.manual_seed(0)
    pools = (True, False)
    network, images = ResNet12(widths=(3, 4), pools=pools, inputs=2), torch.rand(4, 2, 7, 7)
    maps, layers = numbers(images), _layers(network)
    for block, pool in enumerate(pools):
        *path, beside = layers[4 * block : 4 * block + 4]
        after = maps
        for number, (convolution, normalisation) in enumerate(path):
            after = batch_normed(_convolved(after, convolution), normalisation, train)
            after = after if number == 2 else _rectified(after, 0.1)
        maps = _rectified(after + batch_normed(_convolved(maps, beside[0]), beside[1], train), 0.1)
        maps = _pooled(maps) if pool else maps
    np.testing.assert_allclose(numbers(network.train(train)(images)), maps, atol=1e-5)


def test_dropblock_of_a_given_mask():
    """Two blocks with dropout of single numbers, then squares of 3 x 3; masks are drawn alike."""
    rate, square = 0.3, 3
    network = ResNet12((2, 2, 3), (False,) * 3, 3, drop=rate, drop_block=square, drop_ramp=2)
    images = torch.rand(2, 3, 7, 7)
    inside = []
    network.blocks[2].after.register_forward_hook(lambda *made: inside.append(numbers(made[-1])))
    torch.manual_seed(5)
    found = numbers(network.train()(images))
    torch.manual_seed(5)
    for shape in ((2, 2, 7, 7),) * 2:
        torch.nn.functional.dropout(torch.ones(shape), rate)
    share = rate / 2  # after the first of two passes
    centres = torch.empty(2, 3, 5, 5).bernoulli_(share * 49 / (square**2 * 25)).numpy()
    assert 0 < centres.sum() < centres.size / 2
    kept = np.ones((2, 3, 7, 7))
    for image, channel, y, x in np.argwhere(centres):
        kept[image, channel, y : y + square, x : x + square] = 0
    np.testing.assert_allclose(found, inside[0] * kept * kept.size / kept.sum(), rtol=1e-5)
    np.testing.assert_array_equal(numbers(network.eval()(images)), inside[1])


def test_mixed_precision_is_of_training_alone():
    torch.manual_seed(0)
    network, images = Conv4(4, (True, True, False, False), inputs=3), torch.rand(2, 3, 12, 12)
    whole = network.train()(images)
    network.mixed = True
    mixed = network(images)
    assert mixed.dtype == torch.float32
    assert 0 < float((mixed - whole).detach().abs().max()) < 0.1
    judged = network.eval()(images)
    network.mixed = False
    assert torch.equal(judged, network(images))


def test_maps_and_parameters_are_as_many_as_in_papers():
    for make, inputs, side, shape, parameters in (
        (Conv4, 3, 84, (64, 5, 5), 113_088),
        (Conv4, 1, 84, (64, 5, 5), 111_936),
        (partial(Conv4, 32, (True, True, False, False)), 1, 28, (32, 7, 7), None),
        (ResNet12, 3, 84, (640, 5, 5), 12_424_320),
        (ResNet12, 1, 28, (640, 1, 1), None),
        (partial(ResNet12, pools=(True, True, True, False)), 3, 84, (640, 10, 10), None),
    ):
        network = make(inputs=inputs).eval()
        with torch.no_grad():
            assert network(torch.rand(2, inputs, side, side)).shape == (2, *shape)
        assert (network.channels, network.size(side), network.size(side)) == shape
        count = sum(weights.numel() for weights in network.parameters())
        assert count == (parameters or count)
