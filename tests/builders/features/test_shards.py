"""Features written in shards, whatever they come in, and read by everybody."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from tiny_features import feature_array

from benchmark_spec.digest import content_digest, content_digest_of
from benchmark_spec.errors import FSLBenchError, SpecError
from builders.execution.steps import Step
from builders.features.shards import cut, feature_table
from builders.release.verify import verify
from builders.release.writer import ReleaseWriter
from builders.sources.image_set import About
from fslbench_data.release.release import Release, load_release

Array = np.ndarray[Any, Any]

ABOUT = About("t", "h", "l", "c")


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark_spec.manifest.SHARD_IMAGES", 8)


def _half(n: int = 20, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal((n, 3)).astype(np.float16)


X = _half()


@pytest.mark.parametrize(
    "pieces",
    [
        lambda: [X],
        lambda: iter([X[:1], X[1:9], X[9:9], X[9:19], X[19:]]),
        lambda: (X[i : i + 1] for i in range(20)),
    ],
)
def test_pieces_of_any_size_give_the_same_shards(pieces: Callable[[], Any]) -> None:
    shards = list(cut(pieces(), 20, "x"))
    assert [len(shard) for shard in shards] == [8, 8, 4]
    assert content_digest_of(shards) == content_digest(feature_table(X))
    assert np.array_equal(np.concatenate([feature_array(s) for s in shards]), X)
    ids = [shard.column("image_id").to_pylist()[0] for shard in shards]
    assert ids == [0, 8, 16]


def test_images_that_fill_their_shards() -> None:
    assert [len(s) for s in cut([X[:16]], 16, "x")] == [8, 8]
    assert [len(s) for s in cut([X[:5]], 5, "x")] == [5]


def _with(at: tuple[int, int], value: float) -> Array:
    changed = X.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("pieces", "what"),
    [
        ([X[:19]], "of 19 images, not one row for each image: 20"),
        ([X, X[:1]], "of 21 images, not one"),
        ([], "of 0 images"),
        ([X[:5], _with((11, 2), np.nan)[5:]], "image 11 are not all finite"),
        ([_with((0, 0), np.inf)], "image 0 are not all finite"),
        ([X[:10], X[10:, :2]], r"from image 10 on are fixed_size_list<.*>\[2\]"),
        ([X[:10], X[10:].astype(np.int8)], "from image 10 on are"),
        ([X.astype(np.float32)], "type float32"),
        ([X[0]], r"shape \(3,\)"),
    ],
)
def test_what_are_no_features_of_these_images(pieces: Any, what: str) -> None:
    with pytest.raises(SpecError, match=what):
        list(cut(iter(pieces), 20, "x"))


def _writer(folder: Path) -> ReleaseWriter:
    writer = ReleaseWriter(folder, "small", "0.1.0", "x")
    add = partial(writer.add_dataset, "one", ABOUT, ["a", "b"], [12, 8])
    writer.run([Step("classes/one", [], add)])
    return writer


def test_scales_are_checked_and_names_that_collide_refused(tmp_path: Path) -> None:
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


def test_many_shards_are_written_to_be_read_fast(sharded: Release) -> None:
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


def test_a_large_set_in_one_file_is_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmark_spec.manifest.SHARD_IMAGES", 65_536)
    for large, nullable in ((8 * 2**20, True), (100, False)):
        monkeypatch.setattr("builders.execution.parquet.LARGE_FEATURES", large)
        writer = _writer(tmp_path / str(large))
        writer.add_features("one", "net", [X], {})
        writer.finish()
        path = tmp_path / str(large) / "features/net/one-00000-of-00001.parquet"
        assert pq.read_schema(path).field("feature").nullable is nullable
        assert np.array_equal(load_release(tmp_path / str(large)).features("one", "net"), X)


def test_steps_are_written_as_what_they_stand_for(tmp_path: Path) -> None:
    """Given as int8, or as an earlier release gives them; a byte each with few bytes besides."""
    chance = np.random.default_rng(2)
    steps = chance.integers(-127, 128, (20, 300)).astype(np.int8)
    scale = 0.006986899767071009
    stand_for = steps.astype(np.float32) * np.float32(scale)
    writer = _writer(tmp_path / "r")
    writer.add_features("one", "steps", iter([steps[:9], steps[9:]]), {"scale": scale})
    writer.add_features("one", "floats", [stand_for[:9], stand_for[9:]], {"scale": scale})
    for wrong, about in (
        (stand_for + np.float32(1e-6), f"are not -127 to 127 steps of {scale}"),
        (stand_for * np.float32(1.5), "are not -127 to 127 steps"),
        (np.full((20, 2), 128, np.float32) * np.float32(scale), "are not -127 to 127 steps"),
    ):
        with pytest.raises(SpecError, match=about):
            writer.add_features("one", "wrong", [wrong], {"scale": scale})
    writer.finish()
    assert verify(tmp_path / "r").problems == ()
    release = load_release(tmp_path / "r")
    for name in ("steps", "floats"):
        tables = [table for table in release.manifest.tables if table.name == name]
        stored = [pq.ParquetFile(tmp_path / "r" / table.path).read() for table in tables]
        assert np.array_equal(np.concatenate([feature_array(table) for table in stored]), stand_for)
        assert sum(table.bytes for table in tables) < steps.size + 3 * 2000
    first, again = ([t.digest for t in release.manifest.tables if t.name == name]
                    for name in ("steps", "floats"))  # fmt: skip
    assert first == again


@pytest.mark.parametrize("backbone", ["net", "net-pca4"])
def test_datasets_and_duckdb_read_what_the_client_reads(
    sharded: Release, backbone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
