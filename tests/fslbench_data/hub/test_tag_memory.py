"""What is remembered of the Hub between runs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from fslbench_data.hub import Memory, Pin


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return Memory("org/name")


def test_a_tag_is_remembered_until_its_file_is_removed(memory: Memory) -> None:
    pin = Pin("0a" * 20, "ff" * 32)
    assert memory.pin("v1.0.0") is None
    memory.remember_pin("v1.0.0", pin)
    memory.remember_pin("v0.9.0", pin)
    assert Memory("org/name").pin("v1.0.0") == pin
    assert Memory("org/other").pin("v1.0.0") is None
    assert memory.tags() == ["v0.9.0", "v1.0.0"]
    memory.pin_path("v1.0.0").unlink()
    assert memory.pin("v1.0.0") is None


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", '{"commit": "main", "manifest": "x"}', "[" * 9999]
)
def test_a_damaged_memory_is_no_memory(memory: Memory, damaged: str) -> None:
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    memory.pin_path("v1.0.0").write_text(damaged)
    assert memory.pin("v1.0.0") is None


def test_a_whole_file_is_remembered_until_it_is_touched(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    sha256 = hashlib.sha256(b"content").hexdigest()
    assert not memory.is_whole(file, sha256)
    memory.remember_whole(file, sha256)
    assert memory.is_whole(file, sha256)
    assert not memory.is_whole(file, "0" * 64)
    stat = file.stat()
    file.write_bytes(b"CONTENT")
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert not memory.is_whole(file, sha256)
    file.unlink()
    assert not memory.is_whole(file, sha256)


def test_a_cache_that_cannot_be_written_is_no_error(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assets").write_text("a file where the folder would be")
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    assert memory.pin("v1.0.0") is None
