"""Suites made with attributes: ladders, tasks after FewSTAB, counterfactuals, releases of them."""

import itertools
from functools import partial
from math import log

import numpy as np
import pyarrow as pa
import pytest
from bias_laws import bias_laws
from biased_release import SIZES, STYLES, random_attributes
from biased_release import STEPS as FROZEN_STEPS
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark_spec.errors import SamplingError, UnknownNameError
from benchmark_spec.protocol import (
    ABLATION,
    FAMILIES,
    FEWSTAB,
    SUITES,
    Protocol,
    TaskSetName,
    suites_of,
)
from builders.release.verify import task_problems
from builders.sampling import draw_again, draw_task_set
from builders.sampling.attribute_biased import STEPS, draw_ladder, image_attributes
from builders.sampling.counterfactual import STEPS as STYLE_STEPS
from builders.sampling.counterfactual import draw_counterfactual, versions
from builders.sampling.fewstab_code import draw_released

drawn = partial(draw_ladder, dataset="d", label="x", seed=0)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([Protocol(2, 1, 2), Protocol(3, 2, 3), Protocol(4, 1, 5)]),
    st.sampled_from([0.1, 0.3, 0.6]),
    st.booleans(),
)
def test_the_laws(seed, protocol, share, reuse):
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
        assert all(bias_laws(tasks, name, table))


@pytest.mark.parametrize("seed", range(20))
def test_queries_are_those_with_the_lowest_scores(seed):
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
        between = [image for image in images if names[t, k] not in image and image & others]
        assert ladder.inter_class[t, k] == (len(between) >= protocol.query)
        pool = [
            i
            for i, image in enumerate(images)
            if names[t, k] not in image and (not ladder.inter_class[t, k] or image & others)
        ]
        # equations 3 to 6 of the paper, as they stand there
        rest = [images[i] - chosen for i in pool]
        p = {a: sum(a in image for image in rest) / len(rest) for a in sorted(set().union(*rest))}
        literal = [sum(p[a] for a in image) for image in rest]
        ours = attributes.classes[c].scores(np.array(pool), ladder.attributes[t])
        np.testing.assert_allclose(ours / len(pool), literal, rtol=1e-12, atol=1e-12)
        taken = sorted(literal[pool.index(i)] for i in found.query[t, k])
        np.testing.assert_allclose(taken, sorted(literal)[:3], rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_equal_chances():
    rows = [["a"], ["a"], ["b"], ["b"], []] * 8
    table = pa.table({"image_id": pa.array(range(120), pa.int32()), "attributes": rows * 3})
    ladder = drawn(image_attributes(table, [40, 40, 40]), Protocol(2, 1, 1), tasks=3000)
    classes = np.bincount(ladder.steps["random"].class_ids.reshape(-1), minlength=3)
    assert np.abs(classes - 2000).max() < 4 * np.sqrt(6000 * 2 / 9)
    assert abs(np.bincount(ladder.attributes[:, 0], minlength=2)[0] - 1500) < 4 * np.sqrt(3000 / 4)
    support = np.bincount(ladder.steps["support"].support.reshape(-1), minlength=40)
    assert (support[4::5] == 0).all()
    assert abs(support[0] - 6000 / 32) < 5 * np.sqrt(6000 / 32)


def test_what_cannot_be_drawn():
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


# ---- after the released code of FewSTAB, and the paper's support ablation ------------------------
PROTOCOL = Protocol(3, 2, 3)


def released(attributes, tasks=60, seed=0):
    return draw_released(attributes, PROTOCOL, dataset="d", label="x", seed=seed, tasks=tasks)


def test_what_the_released_code_promises():
    """A class fits its attribute, and that of another class of the task, though few fit any."""
    attributes = image_attributes(*random_attributes(0, share=0.03))
    found = released(attributes)
    fits = np.array([(of.has.sum(1) >= 2) & ((~of.has).sum(1) >= 3) for of in attributes.classes])
    for classes, chosen in zip(found.steps["released"].class_ids, found.attributes, strict=True):
        for k, c in enumerate(classes):
            assert fits[c, chosen[k]]
            assert fits[c, np.delete(chosen, k)].any()
    assert found.inter_class.mean() > 0.9
    ids = (found.steps[step].class_ids for step in ("released", "matched"))
    np.testing.assert_array_equal(*ids)


def test_queries_have_the_lowest_scores_of_the_released_code():
    """Σ log(p [has] + 1e-10), written as that code has it, over all candidates of a class."""
    attributes = image_attributes(*random_attributes(3))
    found = released(attributes, 30)
    biased = found.steps["released"]
    fitting = {
        a
        for of in attributes.classes
        for a in np.flatnonzero((of.has.sum(1) >= 2) & ((~of.has).sum(1) >= 3))
    }
    rows = zip(biased.class_ids, found.attributes, biased.query, found.inter_class, strict=True)
    for classes, chosen, query, inter in rows:
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
            assert {i for i in ids if score[i] < worst - 1e-9} <= set(query[k])


def _of_words(rows):
    lists = pa.array(rows, pa.list_(pa.string()))
    return pa.table({"image_id": pa.array(range(len(rows)), pa.int32()), "attributes": lists})


@pytest.mark.slow
def test_less_is_asked_for_after_five_misses():
    few = [["a"]] * 8 + [["b"]] * 8 + [["c"]] * 8 + [[]] * 20
    many = [["a"]] * 15 + [["b"]] * 15 + [["c"]] * 15
    attributes = image_attributes(_of_words([*few, *many, *many]), [44, 45, 45])
    found = draw_released(attributes, Protocol(3, 5, 20), dataset="d", label="x", seed=0, tasks=5)
    np.testing.assert_array_equal(found.inter_class, found.steps["released"].class_ids != 0)


@pytest.mark.slow
def test_another_attribute_is_allowed_after_five_misses():
    pairs = [["a", "b"]] * 6 + [["b", "c"]] * 6 + [["a", "c"]] * 6
    few = [["a"]] * 4 + [["b"]] * 4 + [["c"]] * 4 + pairs
    many = [["a"]] * 15 + [["b"]] * 15 + [["c"]] * 15
    attributes = image_attributes(_of_words([*few, *many, *many]), [30, 45, 45])
    found = draw_released(attributes, Protocol(3, 5, 3), dataset="d", label="x", seed=0, tasks=5)
    biased = found.steps["released"]
    rows = zip(biased.class_ids, found.attributes, biased.support, strict=True)
    for classes, chosen, support in rows:
        for k, c in enumerate(classes):
            others = attributes.classes[c].has[np.delete(chosen, k)][:, support[k]].sum(axis=0)
            assert (others.max() == 1) == (c == 0)


@pytest.mark.slow
def test_what_the_released_code_cannot_draw():
    rows, sizes = [["a"]] * 10 + [[]] * 10 + [["b"]] * 10 + [[]] * 10, [20, 20]
    attributes = image_attributes(_of_words(rows), sizes)
    with pytest.raises(SamplingError, match="none gave a 2w1s1q task"):
        draw_released(attributes, Protocol(2, 1, 1), dataset="d", label="x", seed=0, tasks=1)
    with pytest.raises(SamplingError, match="2 attributes x fit a class"):
        draw_released(attributes, PROTOCOL, dataset="d", label="x", seed=0, tasks=1)


def test_tasks_follow_from_the_seed():
    attributes = image_attributes(*random_attributes(0))
    first, again, other = (released(attributes, 10, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.steps["released"].query, again.steps["released"].query)
    assert (first.steps["released"].query != other.steps["released"].query).any()


@pytest.mark.parametrize("suite", [*ABLATION, *FEWSTAB])
def test_as_task_sets(suite):
    table, sizes = random_attributes(0)
    name = TaskSetName.parse(f"{suite}_x-3w2s3q")
    frozen, provenance = draw_task_set("d", name, sizes, tasks=20, attributes=table)
    assert draw_again("d", name, sizes, provenance, 20, attributes=table).equals(frozen)
    assert not list(task_problems(frozen, name, np.array(sizes)))
    assert all(bias_laws(frozen, name, table))
    twin = TaskSetName.parse("biased_x-3w2s3q")
    biased, _ = draw_task_set("d", twin, sizes, tasks=20, attributes=table)
    assert frozen["class_ids"].equals(biased["class_ids"]) == (suite in ABLATION)
    if suite in ABLATION:
        asked = [[sorted(row) for row in t["query"].to_pylist()] for t in (frozen, biased)]
        assert asked[0] == asked[1]
        assert frozen["support"].to_pylist() != biased["support"].to_pylist()
    if suite == "sc2":
        words = table["attributes"].to_pylist()
        own = [word for of_task in frozen["attributes"].to_pylist() for word in of_task]
        images = [image for support in frozen["support"].to_pylist() for image in support]
        assert all(word in words[i] for word, i in zip(np.repeat(own, 2), images, strict=True))


# ---- counterfactual: the same objects with other values, never two of a group --------------------
VALUES = ("fluent", "noto", "open", "tw")


def made():
    """Objects of 7 classes in four values but every fifth, which lacks one; pairs are groups."""
    texts, attributes, groups = [], [], []
    for c, o in itertools.product(range(7), range(20)):
        for value in VALUES[: 3 if o % 5 == 4 else 4][:: 1 - 2 * (o % 2)]:  # in either order
            texts.append(f"{c}-{o}")
            attributes.append([value])
            groups.append(c * 20 + o // 2 if o < 6 else -1)
    sizes = [sum(t.startswith(f"{c}-") for t in texts) for c in range(7)]
    ids = pa.array(range(len(texts)), pa.int32())
    found = pa.table({"image_id": ids, "text": texts, "attributes": attributes})
    return versions(found, sizes, np.array(groups)), found, sizes


counterfactual = partial(draw_counterfactual, dataset="d", label="style", seed=0)


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("protocol", [Protocol(5, 1, 2), Protocol(3, 2, 3), Protocol(2, 1, 1)])
def test_the_laws_of_counterfactuals(reuse, protocol):
    objects, found, sizes = made()
    steps, values = counterfactual(objects, protocol, tasks=50 if reuse else None, reuse=reuse)
    first = np.cumsum(sizes) - sizes
    text, value = found["text"].to_pylist(), [v[0] for v in found["attributes"].to_pylist()]
    seen = []
    for t in range(len(values)):
        own = [VALUES[v] for v in values[t]]
        assert len(set(own)) == min(protocol.way, 4)
        shown = {}
        for step in STYLE_STEPS:
            drawn = steps[step]
            assert len(set(drawn.class_ids[t].tolist())) == protocol.way
            for k, c in enumerate(drawn.class_ids[t]):
                support, query = first[c] + drawn.support[t, k], first[c] + drawn.query[t, k]
                assert {value[i] for i in support} == {own[k]}
                asked = {value[i] for i in query}
                assert step != "same" or asked == {own[k]}
                assert step != "other" or asked <= set(own) - {own[k]}
                shown.setdefault(step, []).extend(text[i] for i in [*support, *query])
        assert shown["same"] == shown["any"] == shown["other"]
        assert len(set(shown["same"])) == len(shown["same"])
        seen += shown["same"]
    assert reuse or len(set(seen)) == len(seen)
    small = [(c, int(o) // 2) for c, o in (name.split("-") for name in seen) if int(o) < 6]
    assert reuse or len(set(small)) == len(small)


def test_any_is_any_and_other_is_uniform():
    objects, found, sizes = made()
    assert {len(of_class) for of_class in objects.groups} == {14}
    steps, values = counterfactual(objects, Protocol(2, 1, 5), tasks=600)
    value = np.array([VALUES.index(v[0]) for v in found["attributes"].to_pylist()])
    first = (np.cumsum(sizes) - sizes)[steps["any"].class_ids][..., None]
    counts = np.bincount(value[first + steps["any"].query].reshape(-1), minlength=4)
    assert np.abs(counts - 1500).max() < 4 * np.sqrt(6000 * 3 / 16)
    other = value[first + steps["other"].query]
    assert (other == values[:, ::-1, None]).all()  # of two classes there is one other


def test_counterfactuals_that_cannot_be_drawn():
    objects, found, sizes = made()
    with pytest.raises(SamplingError, match=r"19 groups .* once with each of"):
        counterfactual(objects, Protocol(2, 9, 10), tasks=1)
    with pytest.raises(SamplingError, match="cannot draw None tasks"):
        counterfactual(objects, Protocol(2, 1, 1))
    two = found.set_column(2, "attributes", pa.array([["a", "b"]] * len(found)))
    with pytest.raises(SamplingError, match="image 0 has 2 attributes"):
        versions(two, sizes, np.full(len(found), -1))
    one = found.set_column(2, "attributes", pa.array([["a"]] * len(found)))
    with pytest.raises(SamplingError, match="the same value"):
        versions(one, sizes, np.full(len(found), -1))


# ---- frozen into a release, drawn again, and spoilt ----------------------------------------------
def _table(biased, suite):
    return biased.task_table(biased.task_set_info("things", f"{suite}-3w2s3q"))


def test_steps_have_the_same_classes_attributes_and_number_of_tasks(biased):
    for suites in (FROZEN_STEPS[:5], FROZEN_STEPS[5:], STYLES[:3], STYLES[3:]):
        tables = [_table(biased, suite) for suite in suites]
        for table in tables[1:]:
            assert table["class_ids"].equals(tables[0]["class_ids"])
            assert table["attributes"].equals(tables[0]["attributes"])
        for table in tables[2:]:
            assert table["support"].equals(tables[1]["support"])
        if suites[-1] in STYLES:
            between = [{*np.ravel(table["inter_class"].to_pylist()).tolist()} for table in tables]
            assert between == [{False}, {False}, {True}]
    drawn = biased.task_set("things", "open_biased_words-3w2s3q")
    images = np.concatenate([drawn.support.reshape(len(drawn), -1), drawn.query], axis=1)
    assert np.unique(images).size == images.size
    assert len(drawn) > 3


def test_names_and_twins():
    name = TaskSetName.parse("open_biased_words-3w2s3q")
    assert str(name.closed_twin) == "biased_words-3w2s3q"
    assert (name.interval, name.closed_twin.interval) == ("open", "closed")
    assert suites_of("fewstab_x") == ("matched_x", "released_x")
    assert suites_of("ablation_x") == ("sc1_x", "sc2_x")
    steps = [*SUITES, *itertools.chain.from_iterable(FAMILIES.values())]
    assert len(steps) == len(set(steps))
    for wrong in ("biased", "biased_", "biased_Words", "shut_biased_words", "open_released_x"):
        with pytest.raises(UnknownNameError, match="unknown suite"):
            TaskSetName.parse(f"{wrong}-3w2s3q")
    with pytest.raises(UnknownNameError, match="unknown suite"):
        suites_of("open_fewstab_x")


def test_drawn_again_needs_the_same_attributes(biased):
    (entry,) = (t for t in biased.manifest.tables if t.name == "biased_words-3w2s3q")
    name = TaskSetName.parse(entry.name)
    words = biased.attributes("things", "words")
    again = draw_again("things", name, SIZES, entry.provenance, 15, attributes=words)
    assert again.equals(_table(biased, "biased_words"))
    changed = words.set_column(2, "attributes", pa.array([["x"]] * len(words)))
    with pytest.raises(SamplingError):
        draw_again("things", name, SIZES, entry.provenance, 15, attributes=changed)
    with pytest.raises(SamplingError, match="needs the attributes 'words'"):
        draw_again("things", name, SIZES, entry.provenance, 15)
