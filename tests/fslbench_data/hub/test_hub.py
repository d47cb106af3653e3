"""Addresses of releases on the Hub, what its client raises, and what is remembered of it."""

import errno
from importlib import import_module
from pathlib import Path
from unittest.mock import Mock

import pytest
from huggingface_hub import errors

from benchmark_spec.errors import (
    FSLBenchError,
    HubAccessError,
    HubError,
    HubNotFoundError,
    HubUnreachableError,
    OutputError,
)
from fslbench_data.hub import HubAddress, Memory, Pin, hub_errors, is_address, plain


@pytest.mark.parametrize("revision", ["", "v1.0.0", "main", "refs/pr/3", "0a" * 20])
def test_an_address_is_a_repository_and_perhaps_a_revision(revision):
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
def test_nothing_else_is_one(text):
    assert not is_address(text)
    with pytest.raises(HubError, match="ORG/NAME"):
        HubAddress.parse(text)


TOKEN = "hf_" + "A1b2" * 8


def _answer(status, kind=errors.HfHubHTTPError):
    http = import_module(errors.HfHubHTTPError.__mro__[1].__module__.split(".")[0])
    request = http.Request("GET", f"http://hub/x?token={TOKEN}", headers={"authorization": TOKEN})
    response = http.Response(status, request=request)
    return kind(f"{status} for {TOKEN}", response=response, server_message=f"no: Bearer {TOKEN}")


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (_answer(401), HubAccessError),
        (_answer(403), HubAccessError),
        (_answer(404, errors.RevisionNotFoundError), HubNotFoundError),
        (_answer(409), HubError),
        (_answer(412), HubError),
        (_answer(418), HubError),
        (_answer(429), HubUnreachableError),
        (errors.OfflineModeIsEnabled("off"), HubUnreachableError),
        (errors.LocalEntryNotFoundError("nothing"), HubUnreachableError),
        (errors.FileMetadataError("no commit"), HubUnreachableError),
        (errors.HFValidationError("a//b"), HubError),
        (UnicodeEncodeError("ascii", "hf_é", 3, 4, "ordinal not in range"), HubAccessError),
        (OSError(errno.ENOSPC, "No space left on device", "/cache/x"), OutputError),
        (OSError("Consistency check failed: file should be of size 3"), HubUnreachableError),
        (ValueError("LFS batch API returned errors:\nrefused"), HubError),
    ],
)
def test_each_kind_has_its_own_error(raised, expected):
    with pytest.raises(FSLBenchError) as caught, hub_errors("fetching x", "org/name"):
        raise raised
    assert type(caught.value) is expected
    assert "hf_" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_first_cause_says_most():
    wrapped = RuntimeError("Error while uploading 'x' to the Hub.")
    wrapped.__cause__ = _answer(403)
    with pytest.raises(HubAccessError), hub_errors("uploading", "org/name"):
        raise wrapped


def test_own_errors_and_defects_pass():
    with pytest.raises(HubNotFoundError, match="mine"), hub_errors("x", "org/name"):
        raise HubNotFoundError("mine")
    with pytest.raises(ZeroDivisionError), hub_errors("x", "org/name"):
        raise ZeroDivisionError


def test_foreign_messages_are_printable_and_without_secrets():
    said = plain(f"\n\x1b[31mno\x07: token={TOKEN} for ?X-Amz-Signature=abc&x=1\nmore")
    assert said == "?[31mno?: … for …"


@pytest.fixture
def memory(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return Memory("org/name")


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", '{"commit": "main", "manifest": "x"}', "[" * 9999]
)
def test_a_damaged_memory_is_no_memory(memory, damaged):
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    memory.pin_path("v1.0.0").write_text(damaged)
    assert memory.pin("v1.0.0") is None


def test_a_cache_that_cannot_be_written_is_no_error(memory, tmp_path, monkeypatch):
    (tmp_path / "assets").write_text("a file where the folder would be")
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    assert memory.pin("v1.0.0") is None


def test_a_cache_that_cannot_be_read_is_no_error(memory, monkeypatch):
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    assert memory.tags() == ["v1.0.0"]
    monkeypatch.setattr(Path, "glob", Mock(side_effect=PermissionError(13, "Permission denied")))
    assert memory.tags() == []
