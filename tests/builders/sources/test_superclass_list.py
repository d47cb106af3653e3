"""The list of superclasses in a folder of images: its form, and what its errors teach."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark_spec.errors import SourceError
from builders.sources import image_folder
from builders.sources.image_set import About, ImageSet

ABOUT = About("Pets", "https://example.org", "CC0", "@misc{pets}")
HEADER = "class,superclass\n"


@pytest.fixture
def read(tmp_path: Path, draw: Callable[..., str]) -> Callable[[str], ImageSet]:
    for mark, name in enumerate(("cat", "dog", "oak")):
        draw(tmp_path / name / "1.png", mark=mark)

    def reader(text: str, *, allow_missing: bool = False) -> ImageSet:
        (tmp_path / "kinds.csv").write_text(text, encoding="utf-8")
        return image_folder.read(
            tmp_path,
            name="pets",
            about=ABOUT,
            superclasses="kinds.csv",
            allow_missing=allow_missing,
        )

    return reader


def test_the_order_is_that_of_the_classes(read: Callable[..., ImageSet], tmp_path: Path) -> None:
    text = HEADER + 'oak,"plant, tall"\n\ndog, animal \ncat,animal\n'
    assert read(text).superclasses == ("animal", "animal", "plant, tall")
    assert len(read(text).provenance["superclasses"]["kinds.csv"]) == 64
    assert image_folder.read(tmp_path, name="pets", about=ABOUT).superclasses is None


def test_a_class_that_is_left_out_takes_its_superclass_along(
    read: Callable[..., ImageSet], tmp_path: Path
) -> None:
    (tmp_path / "dog/1.png").write_bytes(b"no picture")
    text = HEADER + "cat,animal\ndog,guard\noak,plant\n"
    images = read(text, allow_missing=True)
    assert (images.class_names, images.superclasses) == (("cat", "oak"), ("animal", "plant"))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (HEADER + "cat,\n", "line 2 gives cat no superclass .a class like no other is"),
        (HEADER + "cow,animal\n", "1 of 1 names are no classes of the data set: cow"),
        (HEADER + "cat,animal\n", "2 of 3 classes are not listed: dog, oak"),
        (HEADER, "3 of 3 classes are not listed: cat, dog, oak"),
    ],
)
def test_lists_that_will_not_do(read: Callable[..., ImageSet], text: str, what: str) -> None:
    with pytest.raises(SourceError, match=what) as error:
        read(text)
    assert "kinds.csv" in str(error.value)
    assert error.value.expected
