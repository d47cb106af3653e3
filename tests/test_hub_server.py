"""The local Hub of the tests, driven by the real clients."""

from __future__ import annotations

from pathlib import Path

import pytest
from hub_server import HubServer


@pytest.fixture
def release(hub: HubServer, root: Path) -> str:
    """The embedded release, uploaded by the real client and tagged v1.0.0."""
    from huggingface_hub import HfApi

    api = HfApi()
    api.create_repo("org/release", repo_type="dataset")
    folder = root / "fslbench_data/embedded"
    api.upload_folder(repo_id="org/release", repo_type="dataset", folder_path=folder)
    api.create_tag("org/release", repo_type="dataset", tag="v1.0.0")
    return "org/release"


def test_a_release_round_trip(hub: HubServer, release: str, root: Path) -> None:
    import datasets

    data = datasets.load_dataset(release, "classes", split="digits", revision="v1.0.0")
    assert data.num_rows == 10
