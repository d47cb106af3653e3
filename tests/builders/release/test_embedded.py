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
from builders.sampling import draw_again
from builders.sampling.published import draw_published
from fslbench_data.release.folder import embedded_folder
from fslbench_data.release.release import Release
from fslbench_data.tasks.draw import freeze, groups_of

MEGABYTE = 1_000_000
ANSWERED = ["open-5w5s5q", "balanced-5w10s7q", "grouped-5w1s1q"]


def test_every_table_has_its_golden_digest(golden: dict[str, str], embedded: Release) -> None:
    found = {
        table.path: content_digest(pq.ParquetFile(embedded.files.folder / table.path).read())
        for table in embedded.manifest.tables
        if not table.drawn  # which are drawn again below
    }
    assert found.items() <= golden.items()
    assert {t.path: t.digest for t in embedded.manifest.tables} == golden


def test_it_is_small() -> None:
    size = sum(path.stat().st_size for path in embedded_folder().rglob("*") if path.is_file())
    assert size < 11 * MEGABYTE


def _class_sizes(release: Release, dataset: str) -> list[int]:
    sizes: list[int] = release.classes(dataset).column("n_images").to_pylist()
    return sizes


@pytest.mark.parametrize(
    "dataset",
    [
        "digits",
        "groceries",
        pytest.param("openclipart", marks=pytest.mark.slow),
        pytest.param("emoji", marks=pytest.mark.slow),
        "fashion_mnist",
        pytest.param("glyphs_sample", marks=pytest.mark.slow),
        *(
            pytest.param(name, marks=pytest.mark.slow) if name == "mscoco" else name
            for name in catalogue()
            if name != "quickdraw"
        ),
    ],
)
def test_task_sets_are_drawn_again_bit_by_bit(
    dataset: str, golden: dict[str, str], embedded: Release
) -> None:
    """From class sizes and provenance alone; the check `embedded_release` draws quickdraw, too."""
    sizes = _class_sizes(embedded, dataset)
    pictured = dataset in embedded.datasets_with("images")
    groups = groups_of(embedded.images(dataset)) if pictured else None
    for table in embedded.manifest.tables:
        if table.kind == "tasks" and table.dataset == dataset:
            name = TaskSetName.parse(table.name)
            known = embedded.attributes(dataset, name.attributes) if name.attributes else None
            drawn = draw_again(dataset, name, sizes, table.provenance, table.rows, groups, known)
            assert content_digest(drawn) == golden[table.path]


def test_the_first_tasks_of_quickdraw_are_drawn_again(embedded: Release) -> None:
    """Whose classes have up to 340,029 images."""
    info = embedded.task_set_info("quickdraw", "published-5w10s7q")
    sizes = _class_sizes(embedded, "quickdraw")
    drawn = draw_published(sizes, info.protocol, dataset="quickdraw", max_tasks=20)
    shuffle = Stream("published", "quickdraw", str(info.protocol), 0, "queries")
    again = freeze(drawn, sizes, shuffle)
    assert content_digest(again) == content_digest(embedded.task_table(info).slice(0, 20))


def test_the_digits_are_made_again_from_their_source(golden: dict[str, str]) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    from builders.features.pixels import pixel_features
    from builders.features.shards import feature_table
    from builders.sources.packaged import digits

    source = digits.read()
    assert content_digest(source.images) == golden["images/digits.parquet"]
    assert source.pixels is not None
    features, _ = pixel_features(source.pixels, source.white)
    assert (
        content_digest(feature_table(features))
        == golden["features/pixels/digits-00000-of-00001.parquet"]
    )


@pytest.mark.parametrize(
    ("backbone", "head"),
    [
        ("pixels", "LR"),
        ("efficientnet_lite0-pca128", "NCC"),
        ("efficientnet_lite0-pca128", "MatchingNet"),
        pytest.param("efficientnet_lite0-pca128", "LR", marks=pytest.mark.slow),
    ],
)
def test_reference_results_are_made_again_from_the_features(
    backbone: str, head: str, embedded: Release
) -> None:
    """On task sets of three suites; studies/checks/reference_results.py answers all."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    digests_of_both = check_module("reference_results").digests_of_both
    datasets = embedded.datasets_with("features", backbone)
    again, kept = digests_of_both(embedded, backbone, head, datasets, ANSWERED)
    assert again == kept


def test_reference_results_on_pooled_tasks_are_made_again(embedded: Release) -> None:
    """Which readers draw, and of which only counts are kept."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    digests_of_both = check_module("reference_results").digests_of_both
    names = ["open-5w10s7q", "pooled-5w10s7q"]
    again, kept = digests_of_both(embedded, "pixels", "NCC", ["digits"], names)
    assert again == kept


@pytest.mark.slow
def test_the_example_is_what_its_script_writes(tmp_path: Path, root: Path, example: object) -> None:
    path = tmp_path / "again.parquet"
    script = root / "examples/my_method.py"
    subprocess.run([sys.executable, script, path], check=True, cwd=tmp_path)
    from fslbench_data import Submission

    again = Submission.read(path)
    assert isinstance(example, Submission)
    assert content_digest(again.table) == content_digest(example.table)
    assert again.bindings == example.bindings
