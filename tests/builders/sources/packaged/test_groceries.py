"""Groceries: names from the lists, doubles, and which photos show one scene."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark_spec.errors import SourceError
from builders.sources.lists import group_of, linked
from builders.sources.packaged import groceries

NAMES = {
    "train": ["train/Pear/Anjou/Anjou_002.jpg", "train/Kiwi/Kiwi_001.jpg"],
    "test": ["test/Satsumas/Satsumas_001.jpg"],
    "val": ["val/Pear/Anjou/Anjou_001.jpg"],
}
ROWS = [
    ("0", "train", "Pear", "Anjou", b"pear 2"),
    ("2", "test", "Satsumas", "Satsumas", b"satsuma"),
    ("3", "test", "Satsumas", "Satsumas", b"satsuma"),
    ("4", "val", "Pear", "Anjou", b"pear 1"),
]


def _write(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    data = folder / groceries.DATA
    data.mkdir(parents=True, exist_ok=True)
    lists = NAMES | {"train": NAMES["train"] + NAMES["test"]}  # as in the wheel
    for part, names in lists.items():
        (data / f"{part}_list.txt").write_text("".join(f"{name}\n" for name in names) + "\n")
    names = ["__index_level_0__", "dataset", "coarse_cat", "finegrained_cat", "image_data"]
    pq.write_table(
        pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))),
        data / "images2.parquet",
    )
    return data


def test_each_photo_is_there_once_under_its_name(
    fetched: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(fetched(groceries.PACKAGES[0]), ROWS)
    monkeypatch.setattr(groceries, "EXPECTED", {"Anjou": 2, "Satsumas": 1})
    monkeypatch.setattr(groceries, "frozen_groups", lambda: [[NAMES["train"][0], NAMES["val"][0]]])
    found = groceries.read(tmp_path / "raw")
    assert found.images["path"].to_pylist() == [
        "train/Pear/Anjou/Anjou_002.jpg",
        "val/Pear/Anjou/Anjou_001.jpg",
        "test/Satsumas/Satsumas_001.jpg",
    ]
    assert found.images["group"].to_pylist() == [0, 0, 1]
    assert [found.encoded(image) for image in range(3)] == [b"pear 2", b"pear 1", b"satsuma"]
    assert found.superclasses == ("Pear", "Satsumas")
    assert found.provenance["left_out_by_rule"] == {"doubles": 1}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("1", "train", "Pear", "Anjou", b"x"), r"row 4 .*Kiwi_001\.jpg"),
        (("0", "train", "Pear", "Kaiser", b"pear 2"), r"row 4 .*Anjou_002\.jpg"),
        (("99", "val", "Pear", "Anjou", b"x"), "name it not at all"),
        (("0", "train", "Pear", "Anjou", b"other"), "two different photos are named train/Pear"),
    ],
)
def test_rows_that_the_lists_contradict_are_refused(
    row: tuple[Any, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match=message):
        groceries.read_photos(_write(tmp_path, [*ROWS, row]))
    with pytest.raises(SourceError, match="cannot be read"):
        groceries.read_photos(tmp_path)


def test_what_pairs_link_is_one_group() -> None:
    pairs = [("d", "c"), ("a", "b"), ("e", "f"), ("b", "c"), ("a", "d")]
    groups = linked(pairs)
    assert groups == [["a", "b", "c", "d"], ["e", "f"]]
    assert group_of(groups)["d"] == "a"
    assert linked([]) == []


def test_the_frozen_groups_are_groups() -> None:
    groups = groceries.frozen_groups()
    names = [name for members in groups for name in members]
    assert (len(groups), len(names), len(set(names))) == (284, 990, 990)
    for members in groups:
        assert len(members) > 1
        assert list(members) == sorted(members)
        assert len({(name.split("/")[0], groceries.fine_class(name)) for name in members}) == 1
    # 1393 - 990 photos stand for themselves: 687 groups
    assert sum(groceries.EXPECTED.values()) - len(names) + len(groups) == 687
