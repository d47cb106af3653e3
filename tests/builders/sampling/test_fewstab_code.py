"""Tasks after the released code of FewSTAB, and the paper's support ablation."""

from math import log

import numpy as np
import pyarrow as pa
import pytest
from biased_release import random_attributes

from benchmark_spec.errors import SamplingError, UnknownNameError
from benchmark_spec.protocol import ABLATION, FEWSTAB, Protocol, TaskSetName, suites_of
from builders.release.verify import bias_problems, task_problems
from builders.sampling import draw_again, draw_task_set
from builders.sampling.attribute_biased import ImageAttributes, Ladder, image_attributes
from builders.sampling.fewstab_code import draw_released

PROTOCOL = Protocol(3, 2, 3)


def drawn(attributes: ImageAttributes, tasks: int = 60, seed: int = 0) -> Ladder:
    return draw_released(attributes, PROTOCOL, dataset="d", label="x", seed=seed, tasks=tasks)


def test_what_the_released_code_promises() -> None:
    """A class fits its attribute, and that of another class of the task, though few fit any."""
    attributes = image_attributes(*random_attributes(0, share=0.03))
    found = drawn(attributes)
    fits = np.array([(of.has.sum(1) >= 2) & ((~of.has).sum(1) >= 3) for of in attributes.classes])
    for classes, chosen in zip(found.steps["released"].class_ids, found.attributes, strict=True):
        for k, c in enumerate(classes):
            assert fits[c, chosen[k]]
            assert fits[c, np.delete(chosen, k)].any()
    assert found.inter_class.mean() > 0.9
    ids = (found.steps[step].class_ids for step in ("released", "matched"))
    np.testing.assert_array_equal(*ids)


def test_queries_have_the_lowest_scores_of_the_released_code() -> None:
    """Σ log(p [has] + 1e-10), written as that code has it, over all candidates of a class."""
    attributes = image_attributes(*random_attributes(3))
    found = drawn(attributes, 30)
    biased = found.steps["released"]
    fitting = {
        a
        for of in attributes.classes
        for a in np.flatnonzero((of.has.sum(1) >= 2) & ((~of.has).sum(1) >= 3))
    }
    for classes, chosen, query, inter in zip(
        biased.class_ids, found.attributes, biased.query, found.inter_class, strict=True
    ):
        for k, c in enumerate(classes):
            has = attributes.classes[c].has
            others = np.delete(chosen, k)
            candidates = ~has[chosen[k]] & (has[others].any(axis=0) | (not inter[k]))
            ids = np.flatnonzero(candidates)
            rest = sorted(a for a in fitting - set(chosen) if has[a].any())
            shares = has[rest][:, ids].mean(axis=1)
            score = {
                i: sum(log(p * h + 1e-10) for p, h in zip(shares, has[rest][:, i], strict=True))
                for i in ids
            }
            worst = max(score[i] for i in query[k])
            better = [i for i in ids if score[i] < worst - 1e-9]
            assert set(better) <= set(query[k])


def _table(rows: list[list[str]]) -> pa.Table:
    lists = pa.array(rows, pa.list_(pa.string()))
    return pa.table({"image_id": pa.array(range(len(rows)), pa.int32()), "attributes": lists})


@pytest.mark.slow
def test_less_is_asked_for_after_five_misses() -> None:
    """Of one class 16 images can be inter-class queries, where 20 are needed."""
    few = [["a"]] * 8 + [["b"]] * 8 + [["c"]] * 8 + [[]] * 20
    many = [["a"]] * 15 + [["b"]] * 15 + [["c"]] * 15
    attributes = image_attributes(_table([*few, *many, *many]), [44, 45, 45])
    found = draw_released(attributes, Protocol(3, 5, 20), dataset="d", label="x", seed=0, tasks=5)
    biased = found.steps["released"]
    np.testing.assert_array_equal(found.inter_class, biased.class_ids != 0)


@pytest.mark.slow
def test_another_attribute_is_allowed_after_five_misses() -> None:
    """Of one class 4 images have an attribute alone, where 5 are needed."""
    pairs = [["a", "b"]] * 6 + [["b", "c"]] * 6 + [["a", "c"]] * 6
    few = [["a"]] * 4 + [["b"]] * 4 + [["c"]] * 4 + pairs
    many = [["a"]] * 15 + [["b"]] * 15 + [["c"]] * 15
    attributes = image_attributes(_table([*few, *many, *many]), [30, 45, 45])
    found = draw_released(attributes, Protocol(3, 5, 3), dataset="d", label="x", seed=0, tasks=5)
    biased = found.steps["released"]
    for classes, chosen, support in zip(
        biased.class_ids, found.attributes, biased.support, strict=True
    ):
        for k, c in enumerate(classes):
            others = attributes.classes[c].has[np.delete(chosen, k)][:, support[k]].sum(axis=0)
            assert (others.max() == 1) == (c == 0)


@pytest.mark.slow
def test_what_cannot_be_drawn_is_an_error_and_no_loop() -> None:
    rows, sizes = [["a"]] * 10 + [[]] * 10 + [["b"]] * 10 + [[]] * 10, [20, 20]
    attributes = image_attributes(_table(rows), sizes)
    with pytest.raises(SamplingError, match="none gave a 2w1s1q task"):
        draw_released(attributes, Protocol(2, 1, 1), dataset="d", label="x", seed=0, tasks=1)
    with pytest.raises(SamplingError, match="2 attributes x fit a class"):
        draw_released(attributes, PROTOCOL, dataset="d", label="x", seed=0, tasks=1)


def test_tasks_follow_from_the_seed() -> None:
    attributes = image_attributes(*random_attributes(0))
    first, again, other = (drawn(attributes, 10, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.steps["released"].query, again.steps["released"].query)
    assert (first.steps["released"].query != other.steps["released"].query).any()


@pytest.mark.parametrize("suite", [*ABLATION, *FEWSTAB])
def test_as_task_sets(suite: str) -> None:
    table, sizes = random_attributes(0)
    name = TaskSetName.parse(f"{suite}_x-3w2s3q")
    frozen, provenance = draw_task_set("d", name, sizes, tasks=20, attributes=table)
    again = draw_again("d", name, sizes, provenance, 20, attributes=table)
    assert again.equals(frozen)
    assert not list(task_problems(frozen, name, np.array(sizes)))
    assert not list(bias_problems(frozen, name, table))
    biased, _ = draw_task_set(
        "d", TaskSetName.parse("biased_x-3w2s3q"), sizes, tasks=20, attributes=table
    )
    same = frozen["class_ids"].equals(biased["class_ids"])
    assert same == (suite in ABLATION)
    if suite in ABLATION:
        asked, of_biased = (
            [sorted(row) for row in t["query"].to_pylist()] for t in (frozen, biased)
        )
        assert asked == of_biased
        assert frozen["support"].to_pylist() != biased["support"].to_pylist()
    if suite == "sc2":
        words = table["attributes"].to_pylist()
        own = [word for of_task in frozen["attributes"].to_pylist() for word in of_task]
        images = [image for support in frozen["support"].to_pylist() for image in support]
        assert all(word in words[i] for word, i in zip(np.repeat(own, 2), images, strict=True))


def test_names() -> None:
    assert suites_of("fewstab_x") == ("matched_x", "released_x")
    assert suites_of("ablation_x") == ("sc1_x", "sc2_x")
    with pytest.raises(UnknownNameError, match="unknown suite"):
        suites_of("open_fewstab_x")
