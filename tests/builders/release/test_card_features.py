"""The card's metadata: what ``datasets`` makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml

from benchmark_spec.digest import content_digest
from benchmark_spec.manifest import CARD_FILE
from benchmark_spec.protocol import Protocol, TaskSetName
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.card import dataset_card

NAMES = {
    "cats": ["no", "1", "a: b", "#", "é\u2028x", "\U0001f408", 'say "\\"', "  ", "\x7f\x01"],
    "dogs": ["hound", "pug", "null"],
}


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """Two data sets with other names and numbers of classes, each with two suites."""
    pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    writer = ReleaseWriter(tmp_path / "pets", "pets", "1.0.0", "x")
    about = About("t", "h", "l", "c")
    for dataset, names in NAMES.items():
        sizes = [6] * len(names)
        writer.add_dataset(dataset, about, names, sizes)
        for suite in ("open", "closed"):
            name = TaskSetName(suite, Protocol(2, 1, 2))
            tasks = 7 if suite == "closed" else None
            writer.add_tasks(
                dataset, name, *draw_task_set(dataset, name, sizes, seed=1, tasks=tasks)
            )
    writer.finish()
    return load_release(tmp_path / "pets")


def test_datasets_reads_tasks_by_data_set_and_by_suite(release: Release) -> None:
    """The names of classes stand in `classes`; the metadata are no longer than that takes."""
    datasets = pytest.importorskip("datasets")
    folder = str(release.files.where)
    assert verify(Path(folder)).problems == ()
    for dataset, names in NAMES.items():
        classes = datasets.load_dataset(folder, "classes", split=dataset)
        assert classes["class_name"][:] == names
        for suite in ("open", "closed"):
            config = f"tasks-2w1s2q-{dataset}"
            own = datasets.load_dataset(folder, config, split=suite)
            assert own.features["class_ids"] == datasets.List(datasets.Value("int32"), length=2)
            tasks = release.task_set(dataset, f"{suite}-2w1s2q")
            assert own["class_ids"][:] == tasks.class_ids.tolist()
            plain = datasets.load_dataset(folder, f"tasks-{suite}-2w1s2q", split=dataset)
            ours = release.load_dataset(config, suite)
            assert content_digest(ours.data.table) == content_digest(own.data.table)
            assert content_digest(plain.data.table) == content_digest(own.data.table)


def test_a_card_is_compared_with_that_of_its_version(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Path(release.files.where) / CARD_FILE
    metadata = yaml.safe_load(card.read_text().split("\n---\n")[0].removeprefix("---\n"))
    listed = [config["config_name"] for config in metadata["configs"]]
    assert listed == list(release.manifest.configs())
    card.write_text(dataset_card(release.manifest, release, "lab/cats"))
    assert verify(card.parent).problems == ()  # wherever it is published
    card.write_text(card.read_text().replace("lab/cats", "lab/dogs", 1))
    assert [problem.path for problem in verify(card.parent).problems] == [CARD_FILE]
    monkeypatch.setattr("builders.release.verify.MADE_WITH", "fslbench 99.0.0")
    assert verify(card.parent).problems == ()  # another version's words are not ours
    card.unlink()
    assert [problem.path for problem in verify(card.parent).problems] == [CARD_FILE]


def test_a_changed_table_with_names_is_refused(release: Release) -> None:
    """Of the configuration with names too the digest is compared."""
    import pyarrow.parquet as pq

    from benchmark_spec.errors import CorruptReleaseError

    path = Path(release.files.where) / "tasks/open-2w1s2q/dogs.parquet"
    table = pq.ParquetFile(path).read()
    swapped = table.take(np.arange(len(table))[::-1])
    pq.write_table(swapped, path)
    with pytest.raises(CorruptReleaseError, match=r"tasks/open-2w1s2q/dogs\.parquet"):
        release.load_dataset("tasks-2w1s2q-dogs", "open")
    assert release.load_dataset("tasks-2w1s2q-cats", "open").num_rows > 0
