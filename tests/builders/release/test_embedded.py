"""The embedded release: frozen to the last bit, and made again from its sources."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from full_checks import check_module

from analysis_sql.intervals.random_stream import Stream
from benchmark_spec.catalogue import catalogue
from benchmark_spec.digest import content_digest
from benchmark_spec.protocol import TaskSetName
from builders.release.features import with_canaries
from builders.release.spec_file import find_spec, read_spec
from builders.sampling import draw_again, draw_published
from builders.sources.source import source_of
from fslbench_data import Submission
from fslbench_data.release.folder import embedded_folder
from fslbench_data.sampling.draw import freeze
from fslbench_data.sampling.redraw import EVIDENCE
from fslbench_data.tasks import groups_of

COLLECTIONS = ("digits", "groceries", "openclipart", "emoji", "fashion_mnist", "glyphs_sample")
SLOW = ("openclipart", "emoji", "glyphs_sample", "mscoco")
"""Data sets whose task sets take long to draw."""
ANSWERED = ["open-5w5s5q", "balanced-5w10s7q", "grouped-5w1s1q"]


def test_every_table_has_its_golden_digest(golden, embedded):
    found = {
        table.path: content_digest(
            embedded.task_table(embedded.task_set_info(table.dataset, table.name))
            if table.drawn
            else pq.ParquetFile(embedded_folder() / table.path).read()
        )
        for table in embedded.manifest.tables
    }
    assert found == golden
    assert {t.path: t.digest for t in embedded.manifest.tables} == golden


def test_it_is_small():
    size = sum(path.stat().st_size for path in embedded_folder().rglob("*") if path.is_file())
    assert size < 11_500_000


def test_it_holds_what_its_specification_says(embedded):
    """Their numbers of tasks are in the tables, whose digests are golden."""
    spec = with_canaries(read_spec(find_spec(Path("embedded"))))
    methods = set()
    for dataset in spec.datasets:
        infos = [info for info in embedded.task_sets if info.dataset == dataset.name]
        chosen = {
            (info.protocol.way, info.protocol.shot): info.protocol.query
            for info in infos
            if EVIDENCE in embedded.provenance(info)
        }
        expected = dataset.with_queries(chosen).every_task_set
        assert {info.name for info in infos} == {*expected}
        assert len(infos) == len(expected)
        tables = embedded.manifest.tables
        held = {t.name for t in tables if (t.kind, t.dataset) == ("features", dataset.name)}
        assert held == {*dataset.features}
        parts = [((*dataset.features, *dataset.backbones), dataset.heads)]
        parts += [(of.features, of.heads) for of in dataset.methods_of.values()]
        parts += [(dataset.fine_tuning.backbones, ("FT",))] if dataset.fine_tuning else []
        methods |= {f"{b}/{h}" for backbones, heads in parts for b in backbones for h in heads}
    assert {*embedded.methods} == methods
    assert set(embedded.datasets) == {dataset.name for dataset in spec.datasets}


@pytest.mark.parametrize(
    "dataset",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))
        for name in (*COLLECTIONS, *catalogue())
        if name != "quickdraw"
    ],
)
def test_task_sets_are_drawn_again(dataset, golden, embedded):
    """From class sizes and provenance alone; the check `embedded_release` draws quickdraw, too."""
    sizes = embedded.classes(dataset).column("n_images").to_pylist()
    pictured = dataset in embedded.datasets_with("images")
    groups = groups_of(embedded.images(dataset)) if pictured else None
    for table in embedded.manifest.tables:
        if table.kind == "tasks" and table.dataset == dataset:
            name = TaskSetName.parse(table.name)
            known = embedded.attributes(dataset, name.attributes) if name.attributes else None
            drawn = draw_again(dataset, name, sizes, table.provenance, table.rows, groups, known)
            assert content_digest(drawn) == golden[table.path]


def test_the_first_tasks_of_quickdraw_are_drawn_again(embedded):
    info = embedded.task_set_info("quickdraw", "published-5w10s7q")
    sizes = embedded.classes("quickdraw").column("n_images").to_pylist()
    drawn = draw_published(sizes, info.protocol, dataset="quickdraw", max_tasks=20)
    again = freeze(drawn, sizes, Stream("published", "quickdraw", str(info.protocol), 0, "queries"))
    assert content_digest(again) == content_digest(embedded.task_table(info).slice(0, 20))


def test_the_digits_are_made_again_from_their_source(golden):
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    from builders.features import pixel_features
    from builders.features.shards import feature_table

    source = source_of("digits").read()
    assert content_digest(source.images) == golden["images/digits.parquet"]
    (features,), _ = pixel_features(source)
    of_pixels = golden["features/pixels/digits-00000-of-00001.parquet"]
    assert content_digest(feature_table(features)) == of_pixels


@pytest.mark.parametrize("head", ["NCC", "MatchingNet", "LR"])
@pytest.mark.parametrize("backbone", ["pixels", "efficientnet_lite0-pca128"])
def test_reference_results_are_made_again(backbone, head, embedded):
    """On task sets of three suites; studies/checks/reference_results.py answers all."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    digests_of_both = check_module("reference_results").digests_of_both
    datasets = embedded.datasets_with("features", backbone)
    again, kept = digests_of_both(embedded, backbone, head, datasets, ANSWERED)
    assert again == kept


@pytest.mark.slow
def test_the_example_is_what_its_script_writes(tmp_path, root, example):
    path = tmp_path / "again.parquet"
    script = root / "examples/my_method.py"
    subprocess.run([sys.executable, script, path], check=True, cwd=tmp_path)
    again = Submission.read(path)
    assert content_digest(again.table) == content_digest(example.table)
    assert again.bindings == example.bindings
