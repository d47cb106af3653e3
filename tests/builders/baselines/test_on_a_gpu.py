"""The same on a GPU, where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from builders.baselines import HEADS, Predictor
from builders.baselines.fine_tuning import FineTuner
from builders.features.backbone import TOLERANCE, Preprocessing
from fslbench_data.release.release import Release

torch = pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("head", HEADS)
def test_predictions_are_those_of_the_cpu(head: str, embedded: Release) -> None:
    features = embedded.features("digits", "pixels")
    tasks = embedded.task_set("digits", "closed-5w5s5q")
    cpu, gpu = (Predictor(head, features, device) for device in ("cpu", "cuda"))
    assert_array_equal(gpu(tasks.support, tasks.query), cpu(tasks.support, tasks.query))


def test_fine_tuning_is_that_of_the_cpu_and_repeats_itself() -> None:
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten())
    module = torch.nn.Sequential(*layers, torch.nn.Linear(144, 8))
    support, query = torch.randn(3, 2, 3, 8, 8), torch.randn(9, 3, 8, 8)
    before = torch.backends.cudnn.deterministic, torch.are_deterministic_algorithms_enabled()
    tuner = FineTuner(module, "cuda", rate=0.05)
    first = tuner.scores(support, query)
    assert torch.equal(tuner.scores(support, query), first)
    assert_allclose(first.cpu(), FineTuner(module, rate=0.05).scores(support, query), atol=1e-4)
    after = torch.backends.cudnn.deterministic, torch.are_deterministic_algorithms_enabled()
    assert after == before
    assert np.isfinite(first.cpu().numpy()).all()


def test_pictures_are_resized_as_by_the_products_of_the_cpu() -> None:
    chance = np.random.default_rng(0)
    sizes = [(300, 500), (41, 640), (80, 90), (256, 256), (7, 9), (248, 248)]
    pictures = [
        torch.from_numpy(chance.integers(0, 256, (3, *size), dtype=np.uint8)) for size in sizes
    ]
    for kind in ("bilinear", "bicubic"):
        for how in (
            Preprocessing((248, 248), (224, 224), kind, (0.0,) * 3, (1.0,) * 3, white=255),
            Preprocessing((20, 24), (22, 17), kind, (0.0,) * 3, (1.0,) * 3, "long", 255, (9, 8, 7)),
        ):
            found = how.batch([picture.cuda() for picture in pictures]).cpu()
            off = (found - how.batch(pictures)).abs()
            assert off.max() <= TOLERANCE
            assert (off > 0).float().mean() < 0.002
