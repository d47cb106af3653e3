"""What is remembered of the Hub between runs."""

from pathlib import Path

import pytest

from fslbench_data.hub import Memory, Pin


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    return Memory("org/name")


@pytest.mark.parametrize(
    "damaged", ["", "{", "[]", '{"commit": "main", "manifest": "x"}', "[" * 9999]
)
def test_a_damaged_memory_is_no_memory(memory: Memory, damaged: str) -> None:
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    memory.pin_path("v1.0.0").write_text(damaged)
    assert memory.pin("v1.0.0") is None


def test_a_cache_that_cannot_be_written_is_no_error(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assets").write_text("a file where the folder would be")
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    assert memory.pin("v1.0.0") is None


def test_a_cache_that_cannot_be_read_is_no_error(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root reads everything, the system's refusal is played."""
    memory.remember_pin("v1.0.0", Pin("0a" * 20, "ff" * 32))
    assert memory.tags() == ["v1.0.0"]

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "glob", refused)
    assert memory.tags() == []
