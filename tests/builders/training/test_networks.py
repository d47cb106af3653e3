"""Networks beside convolutions by scipy, their shapes and parameters, and the seed."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.signal import correlate2d

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from builders.training.building import build_method  # noqa: E402
from builders.training.inputs import Inputs  # noqa: E402
from builders.training.method import Episode  # noqa: E402
from builders.training.networks import Conv4, Network, ResNet12  # noqa: E402
from builders.training.settings import DataSettings, NetworkSettings, RunSettings  # noqa: E402

Maps = NDArray[np.float64]


def _numbers(tensor: "torch.Tensor") -> Maps:
    return np.asarray(tensor.detach().numpy(), np.float64)


def _convolved(maps: Maps, layer: "torch.nn.Conv2d") -> Maps:
    weights = _numbers(layer.weight)
    out = np.array(
        [
            [
                sum(correlate2d(m, w, "same") for m, w in zip(image, kernel, strict=True))
                for kernel in weights
            ]
            for image in maps
        ]
    )
    return out if layer.bias is None else out + _numbers(layer.bias)[:, None, None]


def _normalised(maps: Maps, layer: "torch.nn.BatchNorm2d", train: bool) -> Maps:
    mean = maps.mean(axis=(0, 2, 3)) if train else _numbers(layer.running_mean)
    variance = maps.var(axis=(0, 2, 3)) if train else _numbers(layer.running_var)
    factor = _numbers(layer.weight) / np.sqrt(variance + 1e-5)
    shifted = (maps - mean[:, None, None]) * factor[:, None, None]
    return shifted + _numbers(layer.bias)[:, None, None]


def _rectified(maps: Maps, slope: float) -> Maps:
    return np.where(maps > 0, maps, slope * maps)


def _pooled(maps: Maps) -> Maps:
    side = maps.shape[-1] // 2
    cut = maps[..., : 2 * side, : 2 * side]
    return cut.reshape(*maps.shape[:2], side, 2, side, 2).max(axis=(3, 5))


def _of(network: Network, kind: type) -> list["torch.nn.Module"]:
    return [module for module in network.modules() if isinstance(module, kind)]


def _disturbed(network: Network) -> Network:
    """Give batch normalisation weights and running statistics that are not those of the start."""
    generator = torch.Generator().manual_seed(1)
    for layer in _of(network, torch.nn.BatchNorm2d):
        for values in (layer.weight.data, layer.bias.data, layer.running_mean, layer.running_var):
            values.add_(torch.rand(values.shape, generator=generator))
    return network


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_conv4_is_its_definition(train: bool, slope: float) -> None:
    torch.manual_seed(0)
    pools = (True, False, True)
    network = _disturbed(Conv4(3, pools=pools, slope=slope, inputs=2))
    images = torch.rand(4, 2, 10, 10)
    maps = _numbers(images)
    layers = zip(
        _of(network, torch.nn.Conv2d), _of(network, torch.nn.BatchNorm2d), pools, strict=True
    )
    for convolution, normalisation, pool in layers:
        maps = _rectified(_normalised(_convolved(maps, convolution), normalisation, train), slope)
        maps = _pooled(maps) if pool else maps
    np.testing.assert_allclose(_numbers(network.train(train)(images)), maps, atol=1e-5)


@pytest.mark.parametrize("train", [True, False])
def test_resnet12_is_its_definition(train: bool) -> None:
    torch.manual_seed(0)
    pools = (True, False)
    network = _disturbed(ResNet12(widths=(3, 4), pools=pools, inputs=2))
    images = torch.rand(4, 2, 7, 7)
    maps = _numbers(images)
    layers = list(
        zip(_of(network, torch.nn.Conv2d), _of(network, torch.nn.BatchNorm2d), strict=True)
    )
    for block, pool in enumerate(pools):
        *path, beside = layers[4 * block : 4 * block + 4]
        after = maps
        for number, (convolution, normalisation) in enumerate(path):
            after = _normalised(_convolved(after, convolution), normalisation, train)
            after = after if number == 2 else _rectified(after, 0.1)
        maps = _rectified(after + _normalised(_convolved(maps, beside[0]), beside[1], train), 0.1)
        maps = _pooled(maps) if pool else maps
    np.testing.assert_allclose(_numbers(network.train(train)(images)), maps, atol=1e-5)


def test_dropblock_of_a_given_mask() -> None:
    """Two blocks with dropout of single numbers, then squares of 3 x 3; masks are drawn alike."""
    rate, square = 0.3, 3
    network = ResNet12((2, 2, 3), (False,) * 3, 3, drop=rate, drop_block=square, drop_ramp=2)
    images = torch.rand(2, 3, 7, 7)
    inside: list[Maps] = []
    for block in network.blocks:
        block.after.register_forward_hook(lambda *made: inside.append(_numbers(made[-1])))
    torch.manual_seed(5)
    found = _numbers(network.train()(images))

    torch.manual_seed(5)
    for shape in ((2, 2, 7, 7),) * 2:
        torch.nn.functional.dropout(torch.ones(shape), rate)
    share = rate / 2  # after the first of two passes
    centres = torch.empty(2, 3, 5, 5).bernoulli_(share * 49 / (square**2 * 25)).numpy()
    assert 0 < centres.sum() < centres.size / 2
    kept = np.ones((2, 3, 7, 7))
    for image, channel, y, x in np.argwhere(centres):
        kept[image, channel, y : y + square, x : x + square] = 0
    np.testing.assert_allclose(found, inside[2] * kept * kept.size / kept.sum(), rtol=1e-5)
    np.testing.assert_array_equal(_numbers(network.eval()(images)), inside[-1])


def _plain_conv4(state: "dict[str, torch.Tensor]", images: "torch.Tensor") -> "torch.Tensor":
    for block in range(0, 16, 4):
        weight, bias = (state[f"network.blocks.{block}.{name}"] for name in ("weight", "bias"))
        images = F.conv2d(images, weight, bias, padding=1)
        images = F.max_pool2d(F.relu(_plain_norm(state, f"network.blocks.{block + 1}", images)), 2)
    return images


def _plain_resnet12(state: "dict[str, torch.Tensor]", images: "torch.Tensor") -> "torch.Tensor":
    for block in range(4):
        name, after = f"network.blocks.{block}", images
        for layer in (0, 2, 4):
            weight = state[f"{name}.convolutions.{layer}.0.weight"]
            after = F.conv2d(after, weight, padding=1)
            after = _plain_norm(state, f"{name}.convolutions.{layer}.1", after)
            after = after if layer == 4 else F.leaky_relu(after, 0.1)
        beside = F.conv2d(images, state[f"{name}.beside.0.weight"])
        beside = _plain_norm(state, f"{name}.beside.1", beside)
        images = F.max_pool2d(F.leaky_relu(after + beside, 0.1), 2)
    return images


def _plain_norm(
    state: "dict[str, torch.Tensor]", name: str, maps: "torch.Tensor"
) -> "torch.Tensor":
    centred = maps - maps.mean(dim=(0, 2, 3), keepdim=True)
    unit = centred / (centred.square().mean(dim=(0, 2, 3), keepdim=True) + 1e-5).sqrt()
    weight, bias = (state[f"{name}.{of}"][:, None, None] for of in ("weight", "bias"))
    return unit * weight + bias


@pytest.mark.parametrize(
    ("name", "plain"), [("conv4", _plain_conv4), ("resnet12", _plain_resnet12)]
)
@pytest.mark.parametrize("temperature", [1.0, 64.0])
def test_the_loss_on_colour_pictures_is_that_of_a_plain_program(
    name: Literal["conv4", "resnet12"], plain: Callable[..., "torch.Tensor"], temperature: float
) -> None:
    """From levels to ProtoNet's loss in training mode, 2 ways of 2 shots and 1 query."""
    data = DataSettings("none", 20, channels=3, mean=(0.5, 0.4, 0.3), std=(0.3, 0.2, 0.1))
    run = RunSettings(
        "ProtoNet", data, network=NetworkSettings(name), settings={"temperature": temperature}
    )
    method = build_method(run, 2)
    levels = np.random.default_rng(0).integers(0, 256, (2, 3, 3, 20, 20), np.uint8)
    images = Inputs(data).plain(levels)
    episode = Episode(images[:, :2], images[:, 2:], torch.arange(2))
    state = {key: values.clone() for key, values in method.state_dict().items()}
    found = float(method.loss(episode, None).detach())

    shown = torch.from_numpy(levels).double() / 255 - torch.tensor(data.mean)[:, None, None]
    shown = shown / torch.tensor(data.std)[:, None, None]
    inputs = torch.cat([shown[:, :2].flatten(0, 1), shown[:, 2:].flatten(0, 1)])
    maps = plain({key: values.double() for key, values in state.items()}, inputs).flatten(1)
    means = torch.stack([maps[:2].mean(dim=0), maps[2:4].mean(dim=0)])
    scores = -((maps[4:, None] - means) ** 2).sum(dim=2) / temperature
    expected = -torch.log(torch.softmax(scores, dim=1).diagonal()).mean()
    assert found == pytest.approx(float(expected), rel=1e-5, abs=1e-5)


def test_mixed_precision_is_of_training_alone() -> None:
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


@pytest.mark.parametrize(
    ("make", "inputs", "side", "shape"),
    [
        (Conv4, 3, 84, (64, 5, 5)),
        (partial(Conv4, 32, (True, True, False, False)), 1, 28, (32, 7, 7)),
        (ResNet12, 3, 84, (640, 5, 5)),
        (ResNet12, 1, 28, (640, 1, 1)),
        (partial(ResNet12, pools=(True, True, True, False)), 3, 84, (640, 10, 10)),
    ],
)
def test_maps_have_the_shape_that_is_said(
    make: Callable[..., Network], inputs: int, side: int, shape: tuple[int, int, int]
) -> None:
    network = make(inputs=inputs).eval()
    with torch.no_grad():
        assert network(torch.rand(2, inputs, side, side)).shape == (2, *shape)
    assert (network.channels, network.size(side), network.size(side)) == shape


@pytest.mark.parametrize(
    ("network", "number"),
    [(Conv4(inputs=3), 113_088), (Conv4(inputs=1), 111_936), (ResNet12(inputs=3), 12_424_320)],
)
def test_networks_have_as_many_parameters_as_in_papers(network: Network, number: int) -> None:
    assert sum(weights.numel() for weights in network.parameters()) == number


@pytest.mark.parametrize("make", [Conv4, ResNet12])
def test_a_seed_makes_the_first_weights(make: Callable[[], Network]) -> None:
    def weights(seed: int) -> "torch.Tensor":
        torch.manual_seed(seed)
        return torch.cat([values.flatten() for values in make().parameters()])

    first = weights(0)
    assert torch.equal(first, weights(0))
    assert not torch.equal(first, weights(1))
