"""Counterfactual tasks: the same objects with other values, and never two of a group."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from benchmark_spec.errors import SamplingError
from benchmark_spec.protocol import Protocol
from builders.sampling.counterfactual import STEPS, Versions, draw_counterfactual, versions

VALUES = ("fluent", "noto", "open", "tw")


def table(classes: int, objects: int) -> tuple[pa.Table, list[int], np.ndarray]:  # type: ignore[type-arg]
    """Objects of each class in four values but every fifth, which lacks one; pairs are groups."""
    texts, attributes, groups, sizes = [], [], [], []
    for c, o in itertools.product(range(classes), range(objects)):
        for value in VALUES[: 3 if o % 5 == 4 else 4]:
            texts.append(f"{c}-{o}")
            attributes.append([value])
            groups.append(c * objects + o // 2 if o < 6 else -1)
    sizes = [sum(t.startswith(f"{c}-") for t in texts) for c in range(classes)]
    ids = pa.array(range(len(texts)), pa.int32())
    made = pa.table({"image_id": ids, "text": texts, "attributes": attributes})
    return made, sizes, np.array(groups)


def made(classes: int = 7, objects: int = 20) -> tuple[Versions, pa.Table, list[int]]:
    found, sizes, groups = table(classes, objects)
    return versions(found, sizes, groups), found, sizes


def test_objects_with_every_value() -> None:
    """Objects 4, 9, 14, 19 lack a value; 0-1 and 2-3 are pairs, 5 is what is left of 4-5."""
    objects, _, _ = made()
    for of_class in objects.groups:
        assert (len(of_class), sum(map(len, of_class.values()))) == (14, 16)


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("protocol", [Protocol(5, 1, 2), Protocol(3, 2, 3), Protocol(2, 1, 1)])
def test_the_laws(reuse: bool, protocol: Protocol) -> None:
    objects, found, sizes = made()
    tasks = 50 if reuse else None
    steps, values = draw_counterfactual(
        objects, protocol, dataset="d", label="style", seed=0, tasks=tasks, reuse=reuse
    )
    first = np.cumsum(sizes) - sizes
    text, value = found["text"].to_pylist(), [v[0] for v in found["attributes"].to_pylist()]
    seen: list[str] = []
    for t in range(len(values)):
        own = [VALUES[v] for v in values[t]]
        assert len(set(own)) == min(protocol.way, 4)
        shown: dict[str, list[str]] = {}
        for step in STEPS:
            drawn = steps[step]
            assert len(set(drawn.class_ids[t].tolist())) == protocol.way
            for k, c in enumerate(drawn.class_ids[t]):
                support, query = first[c] + drawn.support[t, k], first[c] + drawn.query[t, k]
                assert {value[i] for i in support} == {own[k]}
                asked = {value[i] for i in query}
                if step == "same":
                    assert asked == {own[k]}
                if step == "other":
                    assert asked <= set(own) - {own[k]}
                shown.setdefault(step, []).extend(text[i] for i in [*support, *query])
        assert shown["same"] == shown["any"] == shown["other"]
        assert len(set(shown["same"])) == len(shown["same"])
        seen += shown["same"]
    assert reuse or len(set(seen)) == len(seen)
    pairs = {name: (name.split("-")[0], int(name.split("-")[1]) // 2) for name in seen}
    if not reuse:
        small = [pairs[name] for name in seen if int(name.split("-")[1]) < 6]
        assert len(set(small)) == len(small)


def test_any_is_any_and_other_is_uniform() -> None:
    objects, found, sizes = made()
    steps, values = draw_counterfactual(
        objects, Protocol(2, 1, 5), dataset="d", label="style", seed=0, tasks=600
    )
    value = np.array([VALUES.index(v[0]) for v in found["attributes"].to_pylist()])
    first = (np.cumsum(sizes) - sizes)[steps["any"].class_ids][..., None]
    asked = value[first + steps["any"].query]
    counts = np.bincount(asked.reshape(-1), minlength=4)
    assert np.abs(counts - 1500).max() < 4 * np.sqrt(6000 * 3 / 16)
    other = value[first + steps["other"].query]
    assert (other == values[:, ::-1, None]).all()  # of two classes there is one other


def test_what_cannot_be_drawn() -> None:
    objects, found, sizes = made()
    with pytest.raises(SamplingError, match=r"19 groups .* once with each of"):
        draw_counterfactual(objects, Protocol(2, 9, 10), dataset="d", label="s", seed=0, tasks=1)
    with pytest.raises(SamplingError, match="cannot draw None tasks"):
        draw_counterfactual(objects, Protocol(2, 1, 1), dataset="d", label="s", seed=0)
    two = found.set_column(2, "attributes", pa.array([["a", "b"]] * len(found)))
    with pytest.raises(SamplingError, match="image 0 has 2 attributes"):
        versions(two, sizes, np.full(len(found), -1))
    one = found.set_column(2, "attributes", pa.array([["a"]] * len(found)))
    with pytest.raises(SamplingError, match="the same value"):
        versions(one, sizes, np.full(len(found), -1))
