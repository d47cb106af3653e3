"""Features in shards on the Hub: published, fetched, kept, and read by datasets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hub_server import HubServer
from msgspec.structs import replace

from benchmark_spec.errors import LicenceError
from builders.hub.publish import check_licences, publish
from fslbench_data.release.features import copies_folder
from fslbench_data.release.release import Release, load_release

REPO = "org/sharded"


@pytest.mark.parametrize("worth_a_copy", [0, 2**40])
def test_published_in_shards_and_read_as_one(
    hub: HubServer, sharded: Release, worth_a_copy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fslbench_data.release.features.WORTH_A_COPY", worth_a_copy)
    done = publish(Path(sharded.files.where), REPO)
    assert done.compared == len(sharded.manifest.tables) + 2
    hub.requests.clear()
    release = load_release(f"{REPO}@v1.0.0")
    assert not [r for r in hub.seen("/cdn/|/resolve/", "GET") if "features" in r.path]
    for _ in range(2):
        for backbone in ("net", "net-pca4"):
            found = release.features("birds", backbone)
            assert np.array_equal(found, sharded.features("birds", backbone))
        hub.requests.clear()
        with hub.offline():
            release = load_release(f"{REPO}@v1.0.0")
    assert not hub.requests
    copies = sorted(p.suffix for p in copies_folder().glob("*"))
    assert copies == ([".npy", ".npy", ".whole", ".whole"] if worth_a_copy == 0 else [])


def test_a_copy_serves_where_the_files_were_removed(
    hub: HubServer, sharded: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fslbench_data.release.features.WORTH_A_COPY", 0)
    hub.create_repo(REPO, files=Path(sharded.files.where))
    hub.tag(REPO, "v1.0.0")
    release = load_release(f"{REPO}@v1.0.0")
    expected = np.array(release.features("birds", "net"))
    for path in (copies_folder().parents[2] / "hub").rglob("*.parquet"):
        path.unlink()
    hub.requests.clear()
    assert np.array_equal(release.features("birds", "net"), expected)
    assert not hub.requests


def test_shards_that_may_not_be_passed_on(sharded: Release) -> None:
    kept = tuple(replace(d, redistribution="tables") for d in sharded.manifest.datasets)
    with pytest.raises(LicenceError, match="and 3 shards more ") as caught:
        check_licences(replace(sharded.manifest, datasets=kept))
    assert "birds-00001" not in str(caught.value)
