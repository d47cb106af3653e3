"""The ladder of attribute-biased tasks: its laws on made tables, and the paper's equations."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from biased_release import random_attributes
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol, TaskSetName
from builders.release.verify import bias_problems, task_problems
from builders.sampling import draw_task_set
from builders.sampling.attribute_biased import (
    STEPS,
    ImageAttributes,
    Ladder,
    draw_ladder,
    image_attributes,
)


def drawn(attributes: ImageAttributes, protocol: Protocol, **given: object) -> Ladder:
    return draw_ladder(attributes, protocol, dataset="d", label="x", seed=0, **given)  # type: ignore[arg-type]


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([Protocol(2, 1, 2), Protocol(3, 2, 3), Protocol(4, 1, 5)]),
    st.sampled_from([0.1, 0.3, 0.6]),
    st.booleans(),
)
def test_the_laws(seed: int, protocol: Protocol, share: float, reuse: bool) -> None:
    table, sizes = random_attributes(seed, share=share)
    for step in STEPS:
        name = TaskSetName(f"{'' if reuse else 'open_'}{step}_x", protocol)
        number = 20 if reuse else None
        try:
            tasks, _ = draw_task_set("d", name, sizes, tasks=number, attributes=table)
        except SamplingError as error:
            assert "tasks could be drawn" in error.what  # noqa: PT017
            return
        assert tasks.num_rows == 20 or not reuse
        assert not list(task_problems(tasks, name, np.array(sizes)))
        assert not list(bias_problems(tasks, name, table))


def literal_scores(images: list[set[str]], chosen: set[str]) -> list[float]:
    """Equations 3 to 6 of the paper, as they stand there."""
    everything = sorted(set().union(*images) - chosen)
    p = {a: sum(a in image for image in images) / len(images) for a in everything}
    return [sum(p[a] for a in image - chosen) for image in images]


@pytest.mark.parametrize("seed", range(20))
def test_queries_are_those_with_the_lowest_scores(seed: int) -> None:
    protocol = Protocol(3, 2, 3)
    table, sizes = random_attributes(seed, 5, 30)
    attributes = image_attributes(table, sizes)
    plain = [set(words) for words in table["attributes"].to_pylist()]
    ladder = drawn(attributes, protocol, tasks=10)
    names = np.array(attributes.names)[ladder.attributes]
    found = ladder.steps["biased"]
    for t, k in itertools.product(range(10), range(3)):
        c, chosen = int(found.class_ids[t, k]), set(names[t].tolist())
        others, images = chosen - {names[t, k]}, plain[sum(sizes[:c]) :][: sizes[c]]
        pool = [
            i
            for i, image in enumerate(images)
            if names[t, k] not in image and (not ladder.inter_class[t, k] or image & others)
        ]
        literal = literal_scores([images[i] for i in pool], chosen)
        ours = attributes.classes[c].scores(np.array(pool), ladder.attributes[t])
        np.testing.assert_allclose(ours / len(pool), literal, rtol=1e-12, atol=1e-12)
        taken = sorted(literal[pool.index(i)] for i in found.query[t, k])
        np.testing.assert_allclose(taken, sorted(literal)[:3], rtol=1e-12, atol=1e-12)


def test_the_first_tasks_are_themselves_a_set() -> None:
    attributes = image_attributes(*random_attributes(1))
    many, few = (drawn(attributes, Protocol(3, 2, 3), tasks=n) for n in (30, 7))
    np.testing.assert_array_equal(many.attributes[:7], few.attributes)
    for step in STEPS:
        np.testing.assert_array_equal(many.steps[step].query[:7], few.steps[step].query)
        np.testing.assert_array_equal(many.steps[step].support[:7], few.steps[step].support)


@pytest.mark.slow
def test_equal_chances() -> None:
    """Classes and attributes of tasks without a conflict are uniform."""
    rows = [["a"], ["a"], ["b"], ["b"], []] * 8
    table = pa.table({"image_id": pa.array(range(120), pa.int32()), "attributes": rows * 3})
    ladder = drawn(image_attributes(table, [40, 40, 40]), Protocol(2, 1, 1), tasks=3000)
    classes = np.bincount(ladder.steps["random"].class_ids.reshape(-1), minlength=3)
    assert np.abs(classes - 2000).max() < 4 * np.sqrt(6000 * 2 / 9)
    first = np.bincount(ladder.attributes[:, 0], minlength=2)
    assert abs(first[0] - 1500) < 4 * np.sqrt(3000 / 4)
    support = np.bincount(ladder.steps["support"].support.reshape(-1), minlength=40)
    assert (support[4::5] == 0).all()
    assert abs(support[0] - 6000 / 32) < 5 * np.sqrt(6000 / 32)


def test_what_cannot_be_drawn() -> None:
    attributes = image_attributes(*random_attributes(0))
    with pytest.raises(SamplingError, match="cannot draw 0 tasks"):
        drawn(attributes, Protocol(2, 1, 1), tasks=0)
    with pytest.raises(SamplingError, match="cannot draw None tasks"):
        drawn(attributes, Protocol(2, 1, 1))
    with pytest.raises(SamplingError, match="0 2w30s1q tasks could be drawn") as caught:
        drawn(attributes, Protocol(2, 30, 1), tasks=5)
    assert "0 of 6 classes have an attribute that 30 images have and 1 lack" in caught.value.where
    same = pa.table({"image_id": pa.array(range(12), pa.int32()), "attributes": [["a"], []] * 6})
    with pytest.raises(SamplingError, match="two classes have the same attribute: 1000"):
        drawn(image_attributes(same, [6, 6]), Protocol(2, 1, 1), tasks=5)
    with pytest.raises(SamplingError, match="12 rows for 13 images"):
        image_attributes(same, [6, 7])
