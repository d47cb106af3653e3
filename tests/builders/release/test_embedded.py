"""The embedded release: frozen to the last bit, and made again from its sources."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
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
from fslbench_data.release.folder import embedded_folder
from fslbench_data.release.release import Release
from fslbench_data.tasks.draw import freeze, groups_of
from fslbench_data.tasks.redraw import EVIDENCE

MEGABYTE = 1_000_000
ANSWERED = ["open-5w5s5q", "balanced-5w10s7q", "grouped-5w1s1q"]


def test_every_table_has_its_golden_digest(golden: dict[str, str], embedded: Release) -> None:
    found = {
        table.path: content_digest(
            embedded.task_table(embedded.task_set_info(table.dataset, table.name))
            if table.drawn
            else pq.ParquetFile(embedded.files.folder / table.path).read()
        )
        for table in embedded.manifest.tables
    }
    assert found == golden
    assert {t.path: t.digest for t in embedded.manifest.tables} == golden


def test_it_is_small() -> None:
    size = sum(path.stat().st_size for path in embedded_folder().rglob("*") if path.is_file())
    assert size < 11.5 * MEGABYTE


def test_it_holds_what_its_specification_says(embedded: Release) -> None:
    """Their numbers of tasks are in the tables, whose digests are golden."""
    spec = with_canaries(read_spec(find_spec(Path("embedded"))))
    methods: set[str] = set()
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


def test_its_superclasses(embedded: Release) -> None:
    """Their number, of the smallest and of the largest how many classes, and where there are none.

    Task sets do not depend on them: the golden digests of version 1.3.0 are those of today.
    """
    found = {name: embedded.superclasses(name) for name in embedded.datasets}
    counts = {
        name: sorted(Counter(superclasses).values())
        for name, superclasses in found.items()
        if superclasses is not None
    }
    assert {name: (len(sizes), sizes[0], sizes[-1]) for name, sizes in counts.items()} == {
        "groceries": (5, 1, 5),
        "openclipart": (16, 1, 6),
        "emoji": (9, 1, 7),
        "glyphs_sample": (11, 16, 16),
        "fungi": (117, 1, 15),
        "omniglot": (20, 20, 47),
        "traffic_signs": (6, 4, 15),
    }
    about = {dataset.name: dataset.n_superclasses for dataset in embedded.manifest.datasets}
    assert {name: number for name, number in about.items() if number} == {
        name: len(sizes) for name, sizes in counts.items()
    }


def test_every_head_answers_every_task_of_the_four_real_collections(embedded: Release) -> None:
    tasks = {(s.dataset, str(s.name)): s.n_tasks for s in embedded.task_sets}
    collections = ("groceries", "openclipart", "emoji", "fashion_mnist")
    for submission in embedded.references():
        ((name, _),) = submission.methods.items()
        rows = submission.table.group_by(["dataset", "task_set"]).aggregate([([], "count_all")])
        found = {(r["dataset"], r["task_set"]): r["count_all"] for r in rows.to_pylist()}
        if "-pca" not in name and not name.startswith("pixels") and not name.endswith("/FT"):
            more = ("glyphs_sample",) if name.startswith("efficientnet_lite0/") else ()
            answered = (*collections, *more)
            of_heads = {
                key: number
                for key, number in tasks.items()
                if key[0] in answered and not key[1].startswith(("allway-", "episodes-"))
            }
            assert found == of_heads
        assert all(number <= tasks[key] for key, number in found.items())


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


@pytest.mark.slow
def test_string_hashes_feed_no_generator(golden: dict[str, str]) -> None:
    code = (
        "from benchmark_spec.digest import content_digest\n"
        "from benchmark_spec.protocol import TaskSetName\n"
        "from builders.sampling import draw_task_set\n"
        "from benchmark_spec.catalogue import lookup\n"
        "from fslbench_data.release.release import load_release\n"
        "sizes = load_release().classes('digits')['n_images'].to_pylist()\n"
        "for name, tasks in (('open-5w5s5q', None), ('closed-5w1s1q', 600)):\n"
        "    table, _ = draw_task_set('digits', TaskSetName.parse(name), sizes, tasks=tasks)\n"
        "    print(content_digest(table))\n"
        "name = TaskSetName.parse('published-5w1s1q')\n"
        "print(content_digest(draw_task_set('cub', name, lookup('cub').class_sizes)[0]))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "4242"},
    )
    assert out.stdout.split() == [
        golden["tasks/open-5w5s5q/digits.parquet"],
        golden["tasks/closed-5w1s1q/digits.parquet"],
        golden["tasks/published-5w1s1q/cub.parquet"],
    ]


def test_the_digits_are_made_again_from_their_source(golden: dict[str, str]) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    from builders.features import pixel_features
    from builders.features.shards import feature_table
    from builders.sources.packaged import digits

    source = digits.read()
    assert content_digest(source.images) == golden["images/digits.parquet"]
    (features,), _ = pixel_features(source)
    assert (
        content_digest(feature_table(features))
        == golden["features/pixels/digits-00000-of-00001.parquet"]
    )


@pytest.mark.parametrize("head", ["NCC", "MatchingNet", "LR"])
@pytest.mark.parametrize("backbone", ["pixels", "efficientnet_lite0-pca128"])
def test_reference_results_are_made_again_from_the_features(
    backbone: str, head: str, embedded: Release
) -> None:
    """On task sets of three suites; studies/checks/reference_results.py answers all."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    digests_of_both = check_module("reference_results").digests_of_both
    datasets = embedded.datasets_with("features", backbone)
    again, kept = digests_of_both(embedded, backbone, head, datasets, ANSWERED)
    assert again == kept


@pytest.mark.parametrize("head", ["NCC", "MatchingNet"])
def test_reference_results_on_pooled_tasks_are_made_again(head: str, embedded: Release) -> None:
    """Which readers draw."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    digests_of_both = check_module("reference_results").digests_of_both
    names = ["open-5w10s7q", "pooled-5w10s7q"]
    again, kept = digests_of_both(embedded, "pixels", head, ["digits"], names)
    assert again == kept


def test_tasks_hold_what_they_say(embedded: Release) -> None:
    """Labels, distinct classes, no image on both sides, and in open sets none used twice."""
    for info in embedded.task_sets:
        if info.name.suite in ("allway", "episodes"):
            continue  # verify looks at these, whose tasks have other shapes
        tasks = embedded.task_set(info.dataset, str(info.name))
        class_of = np.repeat(
            np.arange(len(_class_sizes(embedded, info.dataset))),
            _class_sizes(embedded, info.dataset),
        )
        assert (
            np.sort(tasks.query_label)
            == np.repeat(np.arange(info.protocol.way), info.protocol.query)
        ).all()
        ordered = np.sort(tasks.class_ids, axis=1)
        assert (ordered[:, 1:] > ordered[:, :-1]).all()
        assert (class_of[tasks.support] == tasks.class_ids[..., None]).all()
        by_label = np.take_along_axis(tasks.class_ids, tasks.query_label.astype(int), axis=1)
        assert (class_of[tasks.query] == by_label).all()
        images = np.concatenate([tasks.support.reshape(len(tasks), -1), tasks.query], axis=1)
        images.sort(axis=1)
        assert (images[:, 1:] > images[:, :-1]).all()
        if info.name.interval == "open":
            assert np.unique(images).size == images.size


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
