"""Names of classes in the card: what ``datasets`` makes of them, and of what has none."""

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
from fslbench_data.render.card import CardFacts, dataset_card

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


def _metadata(card: str) -> dict[str, list[dict[str, object]]]:
    metadata = yaml.safe_load(card.split("\n---\n")[0].removeprefix("---\n"))
    assert isinstance(metadata, dict)
    return metadata


def test_datasets_reads_tasks_with_names(release: Release) -> None:
    datasets = pytest.importorskip("datasets")
    folder = str(release.files.where)
    assert verify(Path(folder)).problems == ()
    for dataset, names in NAMES.items():
        for suite in ("open", "closed"):
            config = f"tasks-2w1s2q-{dataset}"
            named = datasets.load_dataset(folder, config, split=suite)
            tasks = release.task_set(dataset, f"{suite}-2w1s2q")
            label = datasets.ClassLabel(names=names)
            assert named.features["class_ids"] == datasets.List(label, length=2)
            for row, task in zip(named, tasks, strict=True):
                assert row["class_ids"] == task.class_ids.tolist()
                told = [label.int2str(i) for i in row["class_ids"]]
                assert told == [names[i] for i in task.class_ids]
            ours = release.load_dataset(config, suite)
            assert content_digest(ours.data.table) == content_digest(named.data.table)
            plain = datasets.load_dataset(folder, f"tasks-{suite}-2w1s2q", split=dataset)
            assert plain.features["class_ids"] == datasets.List(datasets.Value("int32"), length=2)
            assert plain["class_ids"][:] == named["class_ids"][:]
            assert plain.remove_columns("class_ids")[:] == named.remove_columns("class_ids")[:]


def test_columns_are_declared_as_datasets_would_declare_them(release: Release) -> None:
    datasets = pytest.importorskip("datasets")
    card = dataset_card(release.manifest, CardFacts.of(release))
    metadata = _metadata(card)
    declared = {info["config_name"]: info["features"] for info in metadata["dataset_info"]}
    assert list(declared) == ["tasks-2w1s2q-cats", "tasks-2w1s2q-dogs"]
    listed = [config["config_name"] for config in metadata["configs"]]
    assert listed == list(release.manifest.configs())
    for config, columns in declared.items():
        features = datasets.Features._from_yaml_list(columns)
        assert features._to_yaml_list() == columns
        assert features["class_ids"].feature.names == NAMES[str(config).split("-")[-1]]
        fields = {name: str(f.dtype) for name, f in features.items() if name == "task_id"}
        assert fields == {"task_id": "int32"}
        lists = {
            name: (f.feature.dtype, f.length)
            for name, f in features.items()
            if not fields.get(name)
        }
        assert lists == {
            "class_ids": ("int64", 2),
            "support": ("int32", 2),
            "query": ("int32", 4),
            "query_label": ("int8", 4),
        }


def test_a_card_is_compared_with_that_of_its_version(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Path(release.files.where) / CARD_FILE
    without = dataset_card(release.manifest, CardFacts())
    assert not any(name in without for name in ("dataset_info", "tasks-2w1s2q-"))
    assert len(_metadata(without)["configs"]) == len(_metadata(card.read_text())["configs"]) - 2
    card.write_text(dataset_card(release.manifest, CardFacts.of(release, "lab/cats")))
    assert verify(card.parent).problems == ()  # wherever it is published
    card.write_text(without)
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
