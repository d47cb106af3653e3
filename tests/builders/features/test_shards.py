"""Features written in shards, read by everybody; and projected, and rounded to int8 steps."""

from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from tiny_features import feature_array

from benchmark_spec.digest import content_digest, content_digest_of
from benchmark_spec.errors import FSLBenchError, SpecError
from builders.execution.steps import Step
from builders.features.compress import base_of, pca_int8
from builders.features.shards import cut, feature_table
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sources.image_set import About
from fslbench_data.release.release import load_release

X = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float16)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("benchmark_spec.manifest.SHARD_IMAGES", 8)


def test_pieces_of_any_size_give_the_same_shards():
    for pieces, sizes in (
        ([X], [8, 8, 4]),
        ([X[:1], X[1:9], X[9:9], X[9:19], X[19:]], [8, 8, 4]),
        ([X[i : i + 1] for i in range(20)], [8, 8, 4]),
        ([X[:16]], [8, 8]),
        ([X[:5]], [5]),
    ):
        images = sum(sizes)
        shards = list(cut(iter(pieces), images, "x"))
        assert [len(shard) for shard in shards] == sizes
        assert content_digest_of(shards) == content_digest(feature_table(X[:images]))
        assert np.array_equal(np.concatenate([feature_array(s) for s in shards]), X[:images])
        ids = [image_id for shard in shards for image_id in shard.column("image_id").to_pylist()]
        assert ids == list(range(images))


def _with(at, value):
    changed = X.copy()
    changed[at] = value
    return changed


def test_what_are_no_features_of_these_images():
    for pieces, what in (
        ([X[:19]], "of 19 images, not one row for each image: 20"),
        ([X, X[:1]], "of 21 images, not one"),
        ([], "of 0 images"),
        ([X[:5], _with((11, 2), np.nan)[5:]], "image 11 are not all finite"),
        ([_with((0, 0), np.inf)], "image 0 are not all finite"),
        ([X[:10], X[10:, :2]], r"from image 10 on are fixed_size_list<.*>\[2\]"),
        ([X[:10], X[10:].astype(np.int8)], "from image 10 on are"),
        ([X.astype(np.float32)], "type float32"),
        ([X[0]], r"shape \(3,\)"),
    ):
        with pytest.raises(SpecError, match=what):
            list(cut(iter(pieces), 20, "x"))


def _writer(folder):
    writer = ReleaseWriter(folder, "small", "0.1.0", "x")
    add = partial(writer.add_dataset, "one", About("t", "h", "l", "c"), ["a", "b"], [12, 8])
    writer.run([Step("classes/one", [], add)])
    return writer


def test_scales_are_checked_and_names_that_collide_refused(tmp_path):
    writer = _writer(tmp_path / "r")
    with pytest.raises(SpecError, match="from image 0 on are of type int8, without a scale"):
        writer.add_features("one", "net", [X.astype(np.int8)], {})
    with pytest.raises(FSLBenchError, match="provenance gives scale -1"):
        writer.add_features("one", "net", [X.astype(np.int8)], {"scale": -1})
    with pytest.raises(FSLBenchError, match="with a scale"):
        writer.add_features("one", "net", [X], {"scale": 1.0})
    writer.add_features("one", "a/b", [X], {})
    with pytest.raises(SpecError, match="written twice"):
        writer.add_features("one", "a-b", [X], {})
    with pytest.raises(FSLBenchError, match="unknown data set 'two'"):
        writer.add_features("two", "net", [X], {})


def test_many_shards_are_written_to_be_read_fast(sharded):
    for table in sharded.manifest.tables:
        if table.kind != "features":
            continue
        file = pq.ParquetFile(Path(sharded.files.where) / table.path)
        feature = file.schema_arrow.field("feature")
        assert not feature.nullable
        assert not feature.type.value_field.nullable
        ids, values = (file.metadata.row_group(0).column(i) for i in (0, 1))
        assert ids.compression == values.compression == "ZSTD"
        assert values.has_dictionary_page is (table.name == "net-pca4")
        assert "BYTE_STREAM_SPLIT" not in values.encodings
        assert ids.statistics is not None
        assert values.statistics is None


def test_a_large_set_in_one_file_is_too(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark_spec.manifest.SHARD_IMAGES", 65_536)
    for large, nullable in ((8 * 2**20, True), (100, False)):
        monkeypatch.setattr("builders.execution.parquet.LARGE_FEATURES", large)
        folder = tmp_path / str(large)
        writer = _writer(folder)
        writer.add_features("one", "net", [X], {})
        writer.finish()
        schema = pq.read_schema(folder / "features/net/one-00000-of-00001.parquet")
        assert schema.field("feature").nullable is nullable
        assert np.array_equal(load_release(folder).features("one", "net"), X)


def test_steps_are_written_as_what_they_stand_for(tmp_path):
    """Given as int8, or as an earlier release gives them; a byte each with few bytes besides."""
    steps = np.random.default_rng(2).integers(-127, 128, (20, 300)).astype(np.int8)
    scale = 0.006986899767071009
    stand_for = steps.astype(np.float32) * np.float32(scale)
    writer = _writer(tmp_path / "r")
    writer.add_features("one", "steps", iter([steps[:9], steps[9:]]), {"scale": scale})
    writer.add_features("one", "floats", [stand_for[:9], stand_for[9:]], {"scale": scale})
    too_many = np.full((20, 2), 128, np.float32) * np.float32(scale)
    for wrong in (stand_for + np.float32(1e-6), stand_for * np.float32(1.5), too_many):
        with pytest.raises(SpecError, match=f"are not -127 to 127 steps of {scale}"):
            writer.add_features("one", "wrong", [wrong], {"scale": scale})
    writer.finish()
    assert verify(tmp_path / "r").problems == ()
    release = load_release(tmp_path / "r")
    digests = []
    for name in ("steps", "floats"):
        tables = [table for table in release.manifest.tables if table.name == name]
        digests.append([table.digest for table in tables])
        stored = [pq.ParquetFile(tmp_path / "r" / table.path).read() for table in tables]
        assert np.array_equal(np.concatenate([feature_array(table) for table in stored]), stand_for)
        assert sum(table.bytes for table in tables) < steps.size + 3 * 2000
    assert digests[0] == digests[1]


@pytest.mark.parametrize("backbone", ["net", "net-pca4"])
def test_datasets_and_duckdb_read_what_the_client_reads(sharded, backbone, tmp_path, monkeypatch):
    """The same numbers of the same type, to the last bit; DuckDB widens halves, which is exact."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "ours")
    folder = Path(sharded.files.where)
    expected = sharded.features("birds", backbone)
    assert expected.dtype == (np.float16 if backbone == "net" else np.float32)
    config = f"features-{backbone}-birds"
    loaded = datasets.load_dataset(str(folder), config, split="birds", cache_dir=str(tmp_path))
    assert loaded["image_id"][:] == list(range(100))
    values = loaded.with_format("arrow")["feature"][:].combine_chunks().flatten().to_numpy()
    assert (values.dtype, values.tobytes()) == (expected.dtype, expected.tobytes())
    assert np.array_equal(loaded.with_format("numpy")["feature"][:], expected)
    ours = sharded.load_dataset(config, "birds")
    assert content_digest(ours.data.table) == content_digest(loaded.data.table)
    pattern = str(folder / f"features/{backbone}/birds-*.parquet")
    query = "SELECT image_id, feature FROM read_parquet(?) ORDER BY image_id"
    rows = duckdb.connect().execute(query, [pattern]).fetchall()
    assert [row[0] for row in rows] == list(range(100))
    assert np.array_equal(np.array([row[1] for row in rows], np.float64), expected)
    assert len(pq.read_table(folder / f"features/{backbone}")) == 100  # one schema for all


def _features(n=300, d=20, seed=0):
    """Rectified, with most of their variance in few directions."""
    rng = np.random.default_rng(seed)
    found = rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + 0.1 * rng.random((n, d))
    return np.maximum(found + 1, 0).astype(np.float16)


def _unit(x):
    x = x.astype(np.float64)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def test_it_is_the_singular_value_decomposition():
    x = _features()
    values, scale, about = pca_int8(x, 6)
    assert (values.shape, values.dtype) == ((300, 6), np.int8)
    u, s, vt = np.linalg.svd(_unit(x), full_matrices=False)
    signs = np.sign(vt[np.arange(6), np.abs(vt[:6]).argmax(axis=1)])
    expected = (u * s)[:, :6] * signs
    assert np.abs(values * scale - expected).max() <= scale / 2 + 1e-9
    assert np.abs(values).max() == 127
    assert about["pca"]["kept"] == pytest.approx((s[:6] ** 2).sum() / (s**2).sum(), abs=1e-4)
    assert (about["scale"], about["dtype"], about["pca"]["from"]) == (scale, "float32", 20)
    assert float(np.float32(scale)) == scale


def test_blocks_and_scaled_images_change_nothing(monkeypatch):
    x = _features()
    values, scale, _ = pca_int8(x, 6)
    longer = (x.astype(np.float32) * np.float32(4)).astype(np.float16)
    assert np.array_equal(pca_int8(longer, 6)[0], values)
    monkeypatch.setattr("builders.features.compress._ROWS", 64)
    found, other, _ = pca_int8(x, 6)
    assert np.array_equal(found, values)
    assert other == scale


def test_what_cannot_be_projected():
    for features, what in (
        (_features(n=300, d=5), "at most 5"),
        (_features(n=4), "at most 4"),
        (np.zeros((0, 20)), "at most 0"),
        (np.zeros((30, 20)), "all zero"),
    ):
        with pytest.raises(SpecError, match=what):
            pca_int8(features, 6)


def test_directions_without_any_image_are_zero():
    x = np.zeros((30, 8), np.float16)
    x[:, :2] = np.random.default_rng(0).random((30, 2))
    values, _, about = pca_int8(x, 5)
    assert not values[:, 2:].any()
    assert about["pca"]["kept"] == 1.0


def test_names():
    assert base_of("efficientnet_lite0-pca128") == ("efficientnet_lite0", 128)
    assert base_of("timm:vit_base-pca64") == ("timm:vit_base", 64)
    for name in ("efficientnet_lite0", "x-pca", "x-pca0", "x-pca128b", "-pca128"):
        assert base_of(name) == (name, None)
