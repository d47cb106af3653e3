"""How fast features are read: ``python benchmarks/features.py [GB]``.

A release in a folder, in shards as it is written, of float16 features of 768 dimensions; half of
the values are zero, as a rectified layer's are, or none.  Every reader ends with all features of
the data set in one array (N, 768), and then every byte of it is read (a sum over its memory), all
from the page cache.  Rates are gigabytes of that array a second, each the median of rounds in which
the readers take turns.
"""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DIMENSIONS = 768
ROUNDS = 3
LIMIT = 5.0
"""GB/s of the second open."""

Array = np.ndarray[Any, Any]


def pieces(images: int, *, rectified: bool, block: int = 8192) -> Iterator[Array]:
    """Yield random features, float16 (n, 768), in blocks."""
    rng = np.random.default_rng(0)
    spread = rng.gamma(2, 0.5, DIMENSIONS).astype(np.float32)
    for first in range(0, images, block):
        shape = (min(block, images - first), DIMENSIONS)
        values = rng.standard_normal(shape, dtype=np.float32) * spread
        yield (np.maximum(values, 0) if rectified else values).astype(np.float16)


def make_release(folder: Path, images: int, *, rectified: bool) -> float:
    """Write the release; gives the seconds of writing."""
    from builders.release.writer import ReleaseWriter
    from builders.sources.image_set import About

    writer = ReleaseWriter(folder, "bench", "1.0.0", "Random features.")
    about = About("t", "h", "l", "c")
    writer.add_dataset("random", about, ["all"], [images])
    start = time.perf_counter()
    writer.add_features("random", "net", pieces(images, rectified=rectified), {})
    seconds = time.perf_counter() - start
    writer.finish()
    return seconds


def touch(array: Array) -> None:
    """Read every byte of an array."""
    array.reshape(-1).view(np.int64).sum()


def measure(readers: dict[str, Callable[[], Array]]) -> dict[str, float]:
    """Return GB/s of each reader, the median of rounds."""
    rates: dict[str, list[float]] = {name: [] for name in readers}
    for _ in range(ROUNDS):
        for name, read in readers.items():
            start = time.perf_counter()
            array = read()
            touch(array)
            rates[name].append(array.nbytes / (time.perf_counter() - start) / 1e9)
            del array
    return {name: statistics.median(values) for name, values in rates.items()}


def as_array(tables: list[pa.Table]) -> Array:
    """Return the features of shards read by pyarrow."""
    flat = [t.column("feature").combine_chunks().flatten().to_numpy() for t in tables]
    return np.concatenate(flat).reshape(-1, DIMENSIONS)


def run(images: int, work: Path, *, rectified: bool) -> dict[str, float]:
    """Measure all readers on one release; prints a table."""
    import datasets

    from fslbench_data.release.features import copies_folder
    from fslbench_data.release.release import load_release

    folder = work / "release"
    seconds = make_release(folder, images, rectified=rectified)
    start = time.perf_counter()
    release = load_release(folder)
    opening = time.perf_counter() - start
    paths = sorted(folder.rglob("random-*.parquet"))
    size, raw = sum(path.stat().st_size for path in paths), images * DIMENSIONS * 2
    plain = [work / f"{path.stem}.plain" for path in paths]
    for path, other in zip(paths, plain, strict=True):
        table = pq.read_table(path, partitioning=None)
        pq.write_table(
            table, other, compression="none", use_dictionary=False, write_statistics=["image_id"]
        )

    def first_open() -> Array:
        shutil.rmtree(copies_folder(), ignore_errors=True)
        return release.features("random", "net")

    found = datasets.load_dataset(
        str(folder), "features-net-random", split="random", cache_dir=str(work / "datasets")
    ).with_format("numpy")
    rates = measure(
        {
            "first open": first_open,
            "second open": lambda: release.features("random", "net"),
            "numpy.load": lambda: np.load(next(copies_folder().glob("*.npy"))),
            "numpy.load, mmap_mode='r'": lambda: np.load(
                next(copies_folder().glob("*.npy")), mmap_mode="r"
            ),
            "pyarrow, these files (zstd)": lambda: as_array([pq.read_table(p) for p in paths]),
            "pyarrow, uncompressed": lambda: as_array([pq.read_table(p) for p in plain]),
            "datasets, numpy format": lambda: found[:]["feature"],
        }
    )
    assert np.array_equal(
        release.features("random", "net")[-9:], as_array([pq.read_table(paths[-1])])[-9:]
    )
    kind = "rectified" if rectified else "not rectified"
    print(
        f"\n{images:,} images, {kind}: {raw / 1e9:.2f} GB in {len(paths)} shards of together "
        f"{size / raw:.0%}; made and written at {raw / seconds / 1e9:.2f} GB/s, compared by "
        f"load_release at {size / opening / 1e9:.2f} GB/s of files\n"
    )
    print("| reader | GB/s | times pyarrow on these files | limit |")
    print("|---|---|---|---|")
    yardstick = rates["pyarrow, these files (zstd)"]
    for name, rate in rates.items():
        limit = f"at least {LIMIT:.0f} GB/s" if name == "second open" else ""
        print(f"| {name} | {rate:.2f} | {rate / yardstick:.1f} | {limit} |")
    return rates


def main() -> int:
    """Print the tables; exit 1 if the limit is missed."""
    images = round(float(sys.argv[1] if len(sys.argv) > 1 else 1) * 1e9 / (DIMENSIONS * 2))
    print(f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores")
    seconds = []
    for rectified in (False, True):
        with tempfile.TemporaryDirectory(prefix="fslbench-features-") as work:
            import huggingface_hub.constants as constants

            constants.HF_ASSETS_CACHE = str(Path(work) / "assets")
            rates = run(images, Path(work), rectified=rectified)
            seconds.append(rates["second open"])
    return int(min(seconds) < LIMIT)


if __name__ == "__main__":
    sys.exit(main())
