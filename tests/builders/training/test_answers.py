"""Which task sets a method answers, those of its ways alone if it has an output for each class."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from benchmark_spec.errors import SourceError, SpecError
from benchmark_spec.protocol import Protocol
from fslbench_data.release.release import Release

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

from builders.sources.read import read_source  # noqa: E402
from builders.training.building import build_method  # noqa: E402
from builders.training.methods import METHODS  # noqa: E402
from builders.training.settings import (  # noqa: E402
    DataSettings,
    NetworkSettings,
    RunSettings,
    TrainingSettings,
)
from builders.training.trained import Trained, answer, fits_ways, levels_for  # noqa: E402

SIDE = 12
FOUR, FIVE = Protocol(4, 2, 3), Protocol(5, 2, 3)


def _trained(name: str, **settings: Any) -> Any:
    network = NetworkSettings(channels=4, pools=(True, True, False, False))
    run = RunSettings(name, DataSettings("none", SIDE), network=network, settings=settings)
    return SimpleNamespace(settings=run, method=build_method(run, 6).eval())


@pytest.mark.parametrize("name", [*METHODS, "BOIL nil"])
def test_a_method_answers_tasks_of_the_ways_that_it_says(name: str) -> None:
    """Of all methods: who says that it fits answers, and who does not refuses."""
    trained = _trained("BOIL", nil=True) if name == "BOIL nil" else _trained(name)
    generator = torch.Generator().manual_seed(0)
    support = torch.rand(4, 2, 1, SIDE, SIDE, generator=generator)
    query = torch.rand(3, 1, SIDE, SIDE, generator=generator)
    assert fits_ways(trained, SimpleNamespace(protocol=FIVE))  # type: ignore[arg-type]
    if fits_ways(trained, SimpleNamespace(protocol=FOUR)):  # type: ignore[arg-type]
        with torch.no_grad():
            assert trained.method.scores(support, query).shape == (3, 4)
    else:
        assert name in ("ANIL", "BOIL")
        with pytest.raises(SpecError, match="5 ways and a task has 4"):
            trained.method.scores(support, query)


def test_a_method_that_fits_no_task_set_answers_none(embedded: Release) -> None:
    run = RunSettings("ANIL", DataSettings("digits", 8), training=TrainingSettings("7w1s1q"))
    run = structs.replace(
        run, network=NetworkSettings(channels=4, pools=(True,) * 2 + (False,) * 2)
    )
    trained = Trained(build_method(run, 6).eval(), run, {})
    with pytest.raises(SpecError, match=r"ANIL-conv4-7w1s answers no task set of digits") as error:
        answer(trained, embedded, lambda _: pytest.fail("read"), datasets=["digits"])
    assert "of 7 ways" in error.value.expected


def test_tasks_that_differ_in_size_are_refused(embedded: Release) -> None:
    network = NetworkSettings(channels=4, pools=(True,) * 2 + (False,) * 2)
    run = RunSettings("ProtoNet", DataSettings("digits", 8), network=network)
    trained = Trained(build_method(run, 6).eval(), run, {})
    sets = ["open-5w5s5q", "episodes-10w100s10q"]
    with pytest.raises(SpecError, match="one size, and those of episodes-10w100s10q differ"):
        answer(trained, embedded, pytest.fail, datasets=["digits"], task_sets=sets)


def test_pictures_of_a_release_are_read_as_in_training(
    embedded: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that it holds, or those of the source if they are the same images."""
    levels = np.random.default_rng(0).integers(0, 256, (2, 12, 20, 3), np.uint8)
    paths = [tmp_path / f"{number}.png" for number in range(2)]
    for path, picture in zip(paths, levels, strict=True):
        Image.fromarray(picture).save(path)
    monkeypatch.setattr("builders.training.trained.stored_pictures", lambda *_: paths)
    data = DataSettings("none", 9, channels=3, fit="squeeze")
    found = levels_for(embedded, "pots", data)
    expected = [Image.fromarray(one).resize((9, 9), Image.Resampling.BILINEAR) for one in levels]
    np.testing.assert_array_equal(found, np.stack(expected).transpose(0, 3, 1, 2))
    with pytest.raises(SpecError, match=r"pots: image 0 has 20 x 12 pixels(.|\n)*fix: say fit"):
        levels_for(embedded, "pots", DataSettings("none", 9, channels=3))
    with pytest.raises(SourceError, match="1797 images are not those of release"):
        levels_for(embedded, "digits", data, read_source("canaries", None))
    digits = read_source("digits", None)
    for ids, said in (
        ([*range(1797), 0], "digits: images are not those of release .*: in order, groups"),
        (range(1796), r"1 images are not those of release .*: digits\.csv\.gz#"),
    ):
        with pytest.raises(SourceError, match=said):
            levels_for(embedded, "digits", data, replace(digits, images=digits.images.take([*ids])))
