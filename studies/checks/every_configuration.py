"""Load every configuration of the exported release with ``datasets.load_dataset``."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import datasets
import pyarrow.parquet as pq

from benchmark_spec.digest import content_digest
from fslbench_data.release.release import Release, load_release
from fslbench_data.render.export import export


def load_and_compare(release: Release, configs: Iterable[str], cache: Path) -> None:
    """Load some configurations and compare each with its files."""
    folder = Path(release.files.where)
    digests = {table.path: table.digest for table in release.manifest.tables}
    listed = release.manifest.configs()
    for config in configs:
        splits = listed[config]
        whole = datasets.load_dataset(str(folder), config, cache_dir=str(cache))
        assert list(whole) == list(splits)
        for split, paths in splits.items():
            loaded = whole[split]
            table = loaded.data.table
            if "superclass" in table.column_names and table["superclass"].null_count:
                assert table["superclass"].null_count == table.num_rows  # the file has none
                table = table.drop_columns("superclass")
            if len(paths) == 1:
                assert content_digest(table) == digests[paths[0]], (config, split)
            else:
                rows = [pq.ParquetFile(folder / path).metadata.num_rows for path in paths]
                assert table.num_rows == sum(rows), (config, split)
                assert release.load_dataset(config, split).num_rows == sum(rows)  # and digests


def main() -> None:
    """Load all of them."""
    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder, "release")
        manifest = export(load_release(), exported)
        assert manifest.digest == load_release().manifest.digest
        configs = manifest.configs()
        assert datasets.get_dataset_config_names(str(exported)) == list(configs)
        load_and_compare(load_release(exported), configs, Path(folder, "cache"))
    print(f"{len(configs)} configurations: all are their files")
