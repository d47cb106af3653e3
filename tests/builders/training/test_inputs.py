"""What a training makes of pictures: random changes, refused colours, and the rates of steps."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

from benchmark_spec.errors import SpecError  # noqa: E402
from builders.training.images import Inputs, levels_of  # noqa: E402
from builders.training.run import _rates  # noqa: E402
from builders.training.settings import (  # noqa: E402
    AugmentationSettings,
    DataSettings,
    TrainingSettings,
)

LEVELS = np.random.default_rng(0).integers(0, 256, (12, 20, 3), np.uint8)
PICTURE = Image.fromarray(LEVELS)


def test_colours_are_refused_where_no_channels_are_said() -> None:
    with pytest.raises(SpecError, match="a has colours"):
        levels_of(PICTURE, DataSettings("none", 12, fit="squeeze"), "a")


def test_a_random_crop_is_a_part_of_the_padded_picture() -> None:
    data = DataSettings("none", 12, channels=3)
    levels = np.repeat(LEVELS[None, :, :12].transpose(0, 3, 1, 2), 8, axis=0)
    how = AugmentationSettings(crop="random", padding=2, flip=0.5)
    state = torch.get_rng_state()
    made = Inputs(data, how).changed(levels, np.random.default_rng(3)).numpy()
    assert torch.equal(state, torch.get_rng_state())  # which methods draw from
    again = Inputs(data, how).changed(levels, np.random.default_rng(3)).numpy()
    assert (made == again).all()
    padded = np.pad(levels[0], ((0, 0), (2, 2), (2, 2))) / np.float32(255)
    windows = [padded[:, y : y + 12, x : x + 12] for y in range(5) for x in range(5)]
    parts = [*windows, *(window[..., ::-1] for window in windows)]
    places = [[i for i, part in enumerate(parts) if (part == one).all()] for one in made]
    assert all(len(place) == 1 for place in places)
    assert {place[0] >= 25 for place in places} == {True, False}
    assert len({place[0] for place in places}) > 3


def test_other_changes() -> None:
    data = DataSettings("none", 10, channels=3, resize=12)
    levels = np.repeat(LEVELS[None, :, :12].transpose(0, 3, 1, 2), 3, axis=0)
    plain = Inputs(data).plain(levels)
    jitter = AugmentationSettings(jitter=(0.4, 0.0, 0.0, 0.0))
    factors = Inputs(data, jitter).changed(levels, np.random.default_rng(0)) / plain
    dark = (plain > 0.1) & (plain < 0.7)  # where rounding and white do not matter
    for factor, chosen in zip(factors, dark, strict=True):
        assert 0.55 < factor[chosen].min() <= factor[chosen].max() < 1.45
        assert factor[chosen].std() < 0.02
    assert factors[0].median() != factors[1].median()
    resized = AugmentationSettings(crop="resized", scale=(0.2, 0.5))
    assert Inputs(data, resized).changed(levels, np.random.default_rng(0)).shape == plain.shape
    none = Inputs(data, AugmentationSettings()).changed(levels, np.random.default_rng(0))
    assert torch.equal(none, plain)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (TrainingSettings(steps=4, rate=2.0), [2, 1 + 0.5**0.5, 1, 1 - 0.5**0.5]),
        (TrainingSettings(steps=3, rate=2.0, schedule="constant"), [2, 2, 2]),
        (
            TrainingSettings(steps=5, rate=1.0, schedule="step", step_size=2, gamma=0.5),
            [1, 1, 0.5, 0.5, 0.25],
        ),
        (
            TrainingSettings(
                steps=6, rate=1.0, schedule="multistep", milestones=(1, 3), gamma=0.1, warmup=2
            ),
            [1 / 3, 2 / 3, 1, 0.1, 0.1, 0.01],
        ),
    ],
)
def test_rates_of_steps(how: TrainingSettings, expected: list[float]) -> None:
    np.testing.assert_allclose(list(_rates(how)), expected, atol=1e-12)
