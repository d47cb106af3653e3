"""Addresses of releases on the Hub."""

from __future__ import annotations

import pytest

from benchmark_spec.errors import HubError
from fslbench_data.hub import (
    HubAddress,
    is_address,
    is_commit,
    meant_address,
    version_of,
)


@pytest.mark.parametrize(
    ("text", "repo_id", "revision"),
    [
        ("org/name", "org/name", ""),
        ("org/name@v1.0.0", "org/name", "v1.0.0"),
        ("Org-1/na.me_2@main", "Org-1/na.me_2", "main"),
        ("org/name@refs/pr/3", "org/name", "refs/pr/3"),
        (f"org/name@{'0a' * 20}", "org/name", "0a" * 20),
    ],
)
def test_an_address_is_a_repository_and_perhaps_a_revision(
    text: str, repo_id: str, revision: str
) -> None:
    address = HubAddress.parse(text)
    assert (address.repo_id, address.revision) == (repo_id, revision)
    assert str(address) == text
    assert is_address(text)


@pytest.mark.parametrize(
    "text",
    ["", "name", "/org/name", "./org/name", "../name", "a/../b", "org/name/more", "org/name@",
     "org/name@../x", "org/name@a b", "org/na me", "-org/name", "org/name@v1@v2", "org/näme",
     "org/name\n", "https://org/name"],
)  # fmt: skip
def test_nothing_else_is_one(text: str) -> None:
    assert not is_address(text)
    with pytest.raises(HubError, match="ORG/NAME"):
        HubAddress.parse(text)


def test_versions_and_commits() -> None:
    assert version_of("v1.20.3") == (1, 20, 3)
    assert version_of("v1.20.3") > version_of("v1.9.30")  # type: ignore[operator]
    for other in ("1.0.0", "v1.0", "v01.0.0", "v1.0.0rc1", "main", "v1.0.0\n"):
        assert version_of(other) is None
    assert is_commit("0a" * 20)
    assert not is_commit("0A" * 20)
    assert not is_commit("0a" * 19)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("https://hub.example/datasets/org/small", "org/small"),
        ("https://hub.example/datasets/org/small/tree/v1.0.0", "org/small@v1.0.0"),
        ("https://hub.example/datasets/org/small/blob/main/README.md", "org/small@main"),
        ("hf://datasets/org/small@v1.0.0/x.parquet", "org/small@v1.0.0"),
        ("datasets/org/small@v1.0.0", "org/small@v1.0.0"),
        ("org/small:v1.0.0", "org/small@v1.0.0"),
        ("org/small/1.0.0", "org/small@v1.0.0"),
        ("org/small@", "org/small"),
        (" org/small@v1.0.0 ", "org/small@v1.0.0"),
        ("small@v1.0.0", ""),
        ("../releases/mine", ""),
        ("/data/releases/mine", ""),
        ("release", ""),
    ],
)
def test_an_address_may_be_meant(text: str, meant: str) -> None:
    assert meant_address(text) == meant
