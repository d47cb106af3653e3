"""The accuracies that the paper's authors released are recognised, where there is power."""

import numpy as np
import pytest

from benchmark_spec.protocol import TaskSetName
from builders.sampling import draw_task_set
from fslbench_data.release.release import Release, load_release
from fslbench_data.submission.model import Submission
from fslbench_data.validation.validate import Validated, validate
from studies.recognition.__main__ import Recognised, recognise_tasks
from studies.recognition.statistics import Answered, Finding, Recognition, recognise

SHOTS = {1: "published-5w1s1q", 5: "published-5w5s5q"}
SIGNS = ("traffic_signs", SHOTS[5])


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def embedded() -> Release:
    return load_release()


@pytest.fixture(scope="module")
def results(published: str, embedded: Release) -> Validated:
    return validate(Submission.read(published), embedded)


@pytest.fixture(scope="module")
def recognised(results: Validated, embedded: Release) -> Recognised:
    """All but the largest data sets, which `python -m studies.recognition` looks at, too."""
    groups = [g for g in results.groups if g.info.dataset not in ("fungi", "mscoco", "quickdraw")]
    return recognise_tasks(results, embedded, groups=groups)


@pytest.mark.parametrize("shot", [1, 5])
@pytest.mark.parametrize("dataset", ["omniglot", "traffic_signs", "aircraft"])
def test_task_sets_are_recognised(dataset: str, shot: int, recognised: Recognised) -> None:
    found = recognised.found.task_sets[dataset, SHOTS[shot]]
    assert found.finding is Finding.RECOGNISED


def test_every_method_is_recognised_where_tasks_are_many(recognised: Recognised) -> None:
    found = [
        each.finding
        for group, each in zip(recognised.groups, recognised.found.each, strict=True)
        if group.info.dataset == "traffic_signs"
    ]
    assert found == [Finding.RECOGNISED] * 36


def test_the_rest_cannot_be_told(recognised: Recognised) -> None:
    small = [
        each
        for group, each in zip(recognised.groups, recognised.found.each, strict=True)
        if group.info.dataset in ("cub", "dtd", "vgg_flower")
        and (group.info.dataset, str(group.info.name)) != ("cub", SHOTS[1])
    ]
    assert len(small) == 96
    assert sum(each.finding is Finding.RECOGNISED for each in small) <= 2
    assert recognised.found.together.finding is Finding.RECOGNISED


def _on_signs(results: Validated, ids: np.ndarray, *, step: int = 1) -> list[Recognition]:
    tasks = min(len(ids), 773)
    answers = [
        Answered(group.method, *SIGNS, ids[:tasks], group.counts[::step][:tasks])
        for group in results.on(*SIGNS)
    ]
    found = recognise(answers, seed=0)
    return [*found.each, found.together]


def test_traffic_signs_and_the_same_reversed(results: Validated, embedded: Release) -> None:
    ids = embedded.task_set(*SIGNS).class_ids
    right = _on_signs(results, ids)
    assert [each.p for each in right] == [1e-4] * 13
    reversed_ = _on_signs(results, ids, step=-1)
    assert {each.finding for each in reversed_} == {Finding.CANNOT_TELL}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_traffic_signs_of_another_seed(seed: int, results: Validated, embedded: Release) -> None:
    name = TaskSetName("open", TaskSetName.parse(SIGNS[1]).protocol)
    sizes = embedded.classes("traffic_signs")["n_images"].to_pylist()
    table, _ = draw_task_set("traffic_signs", name, sizes, seed=seed)
    ids = np.stack(table["class_ids"].to_numpy())
    assert {each.finding for each in _on_signs(results, ids)} == {Finding.CANNOT_TELL}
