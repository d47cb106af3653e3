"""Suites made with attributes of images, frozen into a release, drawn again, and spoilt."""

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from biased_release import SIZES, STEPS, STYLES
from specs import HEAD, spec_in

from benchmark_spec.errors import SamplingError, UnknownNameError
from benchmark_spec.protocol import FAMILIES, SUITES, TaskSetName, suite_of
from builders.release.build import build_release
from builders.release.verify import bias_problems, verify
from builders.sampling import draw_again
from fslbench_data.release.release import Release


@pytest.mark.slow
def test_the_whole_release_is_verified(biased: Release) -> None:
    found = verify(Path(biased.files.where))
    assert found.problems == ()
    assert found.drawn_again == len(STEPS) + len(STYLES)
    assert [s.name.interval for s in biased.task_sets] == (
        ["closed"] * 5 + ["open"] * 5 + ["closed"] * 3 + ["open"] * 3
    )


def test_steps_have_the_same_classes_attributes_and_number_of_tasks(biased: Release) -> None:
    for suites in (STEPS[:5], STEPS[5:], STYLES[:3], STYLES[3:]):
        tables = [
            biased.task_table(biased.task_set_info("things", f"{suite}-3w2s3q")) for suite in suites
        ]
        for table in tables[1:]:
            assert table["class_ids"].equals(tables[0]["class_ids"])
            assert table["attributes"].equals(tables[0]["attributes"])
        for table in tables[2:]:
            assert table["support"].equals(tables[1]["support"])
    drawn = biased.task_set("things", "open_biased_words-3w2s3q")
    images = np.concatenate([drawn.support.reshape(len(drawn), -1), drawn.query], axis=1)
    assert np.unique(images).size == images.size
    assert len(drawn) > 3


def test_names_and_twins() -> None:
    name = TaskSetName.parse("open_biased_words-3w2s3q")
    assert str(name.closed_twin) == "biased_words-3w2s3q"
    steps = [*SUITES, *itertools.chain.from_iterable(FAMILIES.values())]
    assert len(steps) == len(set(steps))
    for wrong in ("biased", "biased_", "biased_Words", "shut_biased_words", "open_released_x"):
        with pytest.raises(UnknownNameError, match="unknown suite"):
            TaskSetName.parse(f"{wrong}-3w2s3q")


def _spoilt(biased: Release, suite: str, column: str, task: int, values: list[object]) -> set[str]:
    info = biased.task_set_info("things", f"{suite}-3w2s3q")
    table = biased.task_table(info)
    rows = table[column].to_pylist()
    rows[task] = values
    at = table.column_names.index(column)
    table = table.set_column(at, column, pa.array(rows, table.schema.field(column).type))
    attributes = biased.attributes("things", suite_of(suite).attributes)
    problems = [what.split(": ", 1) for what in bias_problems(table, info.name, attributes)]
    return {law for tasks, law in problems if tasks == f"task {task}"}


@pytest.mark.parametrize("suite", STEPS)
def test_spoilt_ladders_are_seen(biased: Release, suite: str) -> None:
    table = biased.task_table(biased.task_set_info("things", f"{suite}-3w2s3q"))
    own = table["attributes"][1].as_py()
    assert "two classes have the same attribute" in _spoilt(
        biased, suite, "attributes", 1, [own[0], own[0], own[2]]
    )
    step = suite_of(suite).step
    if step != "random":
        has = biased.attributes("things", "words")["attributes"].to_pylist()
        without = next(i for i, words in enumerate(has) if not words)
        support = [without, *table["support"][1].as_py()[1:]]
        assert any("support" in law for law in _spoilt(biased, suite, "support", 1, support))
    if step in ("intra", "inter", "biased"):
        label = table["query_label"][1][0].as_py()
        with_own = next(i for i, words in enumerate(has) if own[label] in words)
        query = [with_own, *table["query"][1].as_py()[1:]]
        assert any("its class's" in law for law in _spoilt(biased, suite, "query", 1, query))


@pytest.mark.parametrize("suite", [s for s in STYLES if "any" not in s])
def test_spoilt_counterfactuals_are_seen(biased: Release, suite: str) -> None:
    table = biased.task_table(biased.task_set_info("things", f"{suite}-3w2s3q"))
    query = table["query"][0].as_py()
    other = [query[0] ^ 1, *query[1:]]  # the same object in the other style
    assert _spoilt(biased, suite, "query", 0, other) == {
        "a query has a value that its step forbids"
    }
    support = table["support"][0].as_py()
    assert "a support image has another value" in _spoilt(
        biased, suite, "support", 0, [support[0] ^ 1, *support[1:]]
    )


def test_drawn_again_needs_the_same_attributes(biased: Release) -> None:
    (entry,) = (t for t in biased.manifest.tables if t.name == "biased_words-3w2s3q")
    name = TaskSetName.parse(entry.name)
    words = biased.attributes("things", "words")
    again = draw_again("things", name, SIZES, entry.provenance, 15, attributes=words)
    assert again.equals(biased.task_table(biased.task_set_info("things", entry.name)))
    changed = words.set_column(2, "attributes", pa.array([["x"]] * len(words)))
    with pytest.raises(SamplingError):
        draw_again("things", name, SIZES, entry.provenance, 15, attributes=changed)
    with pytest.raises(SamplingError, match="needs the attributes 'words'"):
        draw_again("things", name, SIZES, entry.provenance, 15)


def test_a_suite_of_attributes_that_are_not_made(tmp_path: Path) -> None:
    lines = '[[dataset]]\nname = "digits"\ntask_sets = ["open_biased_titles-3w2s2q"]\n'
    with pytest.raises(UnknownNameError, match="unknown attributes 'titles'"):
        build_release(spec_in(tmp_path, HEAD + lines), tmp_path / "release")
