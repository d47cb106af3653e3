"""Writing releases, and reading them back with every reader that is promised."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from full_checks import check_module

from benchmark_spec.errors import FSLBenchError, SpecError
from benchmark_spec.protocol import TaskSetName
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.export import export
from fslbench_data.scoring.score import score
from fslbench_data.submission.model import Submission
from fslbench_data.submission.recorder import Recorder

SIZES = [12, 12, 12]
CONFIGS = (
    "classes",  # with superclasses and without
    "images-groceries",  # with groups
    "tasks-grouped-5w5s5q",  # of all data sets that have them
    "tasks-5w5s5q-emoji",  # in four splits, with names of classes that are not sorted
    "tasks-pooled-5w5s5q",  # which the package draws
    "tasks-published-5w1s1q",
    "attributes-style-emoji",
    "features-pixels-digits",
    "results",
)
ABOUT = About("t", "h", "l", "c")


def _writer(folder: Path) -> ReleaseWriter:
    writer = ReleaseWriter(folder, "small", "0.1.0", "x")
    writer.add_dataset("one", ABOUT, ["a", "b", "c"], SIZES)
    return writer


def test_tables_are_checked_when_they_are_added(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "r")
    name = TaskSetName.parse("open-2w1s1q")
    table, provenance = draw_task_set("one", name, SIZES)
    with pytest.raises(FSLBenchError, match="unknown data set 'two'"):
        writer.add_tasks("two", name, table, provenance)
    with pytest.raises(FSLBenchError, match="expected: task_id"):
        writer.add_tasks("one", name, table.drop_columns("support"), provenance)
    with pytest.raises(FSLBenchError, match="type"):
        writer.add_tasks("one", TaskSetName.parse("open-2w2s1q"), table, provenance)
    writer.add_tasks("one", name, table, provenance)
    with pytest.raises(SpecError, match="twice"):
        writer.add_tasks("one", name, table, provenance)


@pytest.mark.slow
def test_configurations_of_every_kind_load_with_datasets(embedded: Release, tmp_path: Path) -> None:
    """Of each kind of table one; studies/checks/every_configuration.py loads all."""
    datasets = pytest.importorskip("datasets")
    export(embedded, tmp_path / "release")
    release = load_release(tmp_path / "release")
    listed, cache = release.manifest.configs(), tmp_path / "cache"
    assert datasets.get_dataset_config_names(release.files.where) == list(listed)
    assert (len(embedded.manifest.configs()), len(listed)) == (154, 160)
    kinds = [{config.partition("-")[0] for config in configs} for configs in (CONFIGS, listed)]
    assert kinds[0] == kinds[1]
    check_module("every_configuration").load_and_compare(release, CONFIGS, cache)


def test_ids_are_split_by_byte_and_halves_are_not(embedded: Release) -> None:
    def encodings(path: str) -> dict[str, tuple[str, ...]]:
        row_group = pq.ParquetFile(embedded.files.folder / path).metadata.row_group(0)
        columns = [row_group.column(i) for i in range(row_group.num_columns)]
        assert {c.compression for c in columns} == {"ZSTD"}
        assert not any(c.has_dictionary_page for c in columns)
        return {c.path_in_schema: c.encodings for c in columns}

    tasks = encodings("tasks/published-5w5s5q/cub.parquet")
    assert "BYTE_STREAM_SPLIT" in tasks["query.list.element"]
    assert "BYTE_STREAM_SPLIT" not in tasks["query_label.list.element"]
    features = encodings("features/pixels/digits-00000-of-00001.parquet")
    assert "BYTE_STREAM_SPLIT" not in features["feature.list.element"]


def test_a_reference_of_several_runs_bound_by_its_column(tmp_path: Path) -> None:
    writer = _writer(tmp_path / "r")
    name = TaskSetName.parse("open-2w1s1q")
    writer.add_tasks("one", name, *draw_task_set("one", name, SIZES))
    tasks = writer.so_far().task_set("one", str(name))
    prints = pa.repeat(pa.scalar(tasks.info.fingerprint), len(tasks))
    runs = []
    for run in ("a", "b"):
        recorder = Recorder("reference", run=run)
        recorder.add_counts(tasks, np.zeros(len(tasks), int))
        runs.append(recorder.submission().table.append_column("fingerprint", prints))
    writer.add_results(Submission(pa.concat_tables(runs)), {})
    writer.finish()
    mine = Recorder("mine")
    mine.add_counts(tasks, np.ones(len(tasks), int))
    report = score(mine.submission(), load_release(tmp_path / "r"))
    assert [c.versus for c in report.comparisons] == ["reference"]
    assert [s.runs for s in report.scores] == [1, 2]
