"""Addresses of releases on the Hub."""

import pytest

from benchmark_spec.errors import HubError
from fslbench_data.hub import HubAddress, is_address, meant_address


@pytest.mark.parametrize("revision", ["", "v1.0.0", "main", "refs/pr/3", "0a" * 20])
def test_an_address_is_a_repository_and_perhaps_a_revision(revision: str) -> None:
    text = f"Org-1/na.me_2@{revision}" if revision else "Org-1/na.me_2"
    address = HubAddress.parse(text)
    assert (address.repo_id, address.revision) == ("Org-1/na.me_2", revision)
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


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("https://hub.example/datasets/org/small", "org/small"),
        ("https://hub.example/datasets/org/small/tree/v1.0.0", "org/small@v1.0.0"),
        ("https://hub.example/datasets/org/small/blob/main/README.md", "org/small@main"),
        ("hf://datasets/org/small@v1.0.0/x.parquet", "org/small@v1.0.0"),
        ("org/small:v1.0.0", "org/small@v1.0.0"),
        ("org/small/1.0.0", "org/small@v1.0.0"),
        ("org/small@", "org/small"),
        (" org/small@v1.0.0 ", "org/small@v1.0.0"),
        ("small@v1.0.0", ""),
        ("../releases/mine", ""),
    ],
)
def test_an_address_may_be_meant(text: str, meant: str) -> None:
    assert meant_address(text) == meant
