"""Attributes of pixels, on pictures whose every cell is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from tiny_features import read_pictures

from benchmark_spec.errors import SourceError
from builders.attributes.pixels import (
    CELLS,
    COLOURS,
    NAMES,
    attributes_of_picture,
    block_means,
    classified,
    pixel_attributes,
)

WHITE = (255, 255, 255)


def canvas(height: int = 40, width: int = 40, colour: tuple[int, int, int] = WHITE) -> Any:
    return np.full((height, width, 3), colour, np.uint8)


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ((255, 0, 0), "red"),
        ((255, 128, 0), "orange"),
        ((255, 255, 0), "yellow"),
        ((0, 255, 0), "green"),
        ((0, 255, 255), "turquoise"),
        ((0, 0, 255), "blue"),
        ((150, 50, 255), "purple"),
        ((255, 0, 255), "pink"),
        ((255, 180, 190), "pink"),
        ((139, 69, 19), "brown"),
        ((0, 0, 0), "black"),
        ((0, 0, 63), "black"),
        ((128, 128, 128), "grey"),
        ((229, 229, 229), "grey"),
    ],
)
def test_a_square_of_a_colour(colour: tuple[int, int, int], name: str) -> None:
    picture = canvas()
    picture[10:30, 10:30] = colour
    expected = {name, "filled"} | ({"monochrome"} if name in ("black", "grey") else set())
    assert set(attributes_of_picture(picture)) == expected


def test_the_bounds_of_colours_are_those_of_the_embedded_table() -> None:
    """How many of 52 x 52 x 52 levels are red, orange and so on."""
    levels = np.arange(0, 256, 5)
    cells = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1)
    _, _, colours = classified(cells.reshape(52, -1, 3))
    assert np.bincount(colours.ravel()).tolist() == [
        9843, 8172, 8837, 33423, 13077, 22340, 14992, 19845, 3511, 2197, 4155, 216,
    ]  # fmt: skip


def test_background_is_no_colour_but_enclosed_white_is() -> None:
    ring = canvas()
    ring[5:35, 5:35] = (255, 0, 0)
    ring[10:30, 10:30] = WHITE
    drawing, ink, colour = classified(block_means(ring))
    assert (drawing.sum(), ink.sum()) == (900, 500)
    assert colour[20, 20] == COLOURS.index("white")
    assert attributes_of_picture(ring) == ["red", "white"]
    ring[10:30, 30:35] = WHITE  # open to the right: the inside is background
    assert "white" not in attributes_of_picture(ring)


def test_a_fifth_of_the_drawing_is_enough() -> None:
    picture = canvas()
    picture[0:10, 0:10] = (0, 0, 255)
    picture[0:2, 0:10] = (255, 0, 0)  # 20 of 100 cells
    assert attributes_of_picture(picture) == ["blue", "filled", "red"]
    picture[0, 0] = (0, 0, 255)  # 19
    assert "red" not in attributes_of_picture(picture)


def test_monochrome_is_less_than_a_twentieth_in_colour() -> None:
    picture = canvas()
    picture[0:10, 0:10] = 0
    picture[0, 0:4] = (255, 0, 0)
    assert "monochrome" in attributes_of_picture(picture)
    picture[0, 4] = (255, 0, 0)
    assert "monochrome" not in attributes_of_picture(picture)


def test_line_art_is_thin_and_filled_is_not() -> None:
    lines = canvas(128, 128)
    lines[10:12, 10:110] = lines[108:110, 10:110] = 0
    lines[10:110, 10:12] = lines[10:110, 108:110] = 0
    assert attributes_of_picture(lines) == ["line art", "monochrome", "white"]
    blot = canvas(128, 128)
    blot[10:50, 10:50] = blot[100:110, 100:110] = 0  # sparse in its box, but thick
    assert attributes_of_picture(blot) == ["black", "monochrome"]
    blot[10:110, 10:110] = 0
    assert attributes_of_picture(blot) == ["black", "filled", "monochrome"]


def test_wide_and_tall_are_those_of_the_drawing() -> None:
    for height, width, expected in ((20, 30, "wide"), (30, 20, "tall"), (20, 29, "")):
        picture = canvas(60, 60)
        picture[5 : 5 + height, 5 : 5 + width] = (0, 0, 255)
        assert set(attributes_of_picture(picture)) - {expected} == {"blue", "filled"}


def test_all_white_has_none() -> None:
    assert attributes_of_picture(canvas()) == []
    assert attributes_of_picture(canvas(1, 1)) == []


@settings(max_examples=30)
@given(of_numpy.arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(200, 600), st.just(3))))
def test_block_means_are_rounded_means(picture: Any) -> None:
    means, size = block_means(picture), -(-max(picture.shape) // CELLS)
    assert max(means.shape) <= CELLS
    for i in range(means.shape[0]):
        for j in {*range(0, means.shape[1], 17), means.shape[1] - 1}:
            block = picture[i * size : (i + 1) * size, j * size : (j + 1) * size].reshape(-1, 3)
            assert means[i, j].tolist() == np.floor(block.mean(axis=0) + 0.5).tolist()


@settings(max_examples=50)
@given(of_numpy.arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12), st.just(3))))
def test_attributes_of_any_picture(picture: Any) -> None:
    found = attributes_of_picture(picture)
    assert found == sorted(set(found) & set(NAMES))
    assert not {"wide", "tall"} <= set(found)
    turned = attributes_of_picture(picture.transpose(1, 0, 2).copy())
    swap = {"wide": "tall", "tall": "wide"}
    assert turned == sorted(swap.get(name, name) for name in found)


def test_a_data_set_in_order_and_what_cannot_be_shown(tmp_path: Path) -> None:
    pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    for label, colour in (("a", (255, 0, 0)), ("b", (0, 0, 255))):
        (tmp_path / label).mkdir()
        pil.fromarray(canvas(colour=colour)).save(tmp_path / label / "0.png")
    images, told = read_pictures(tmp_path), []
    assert pixel_attributes(images, told.append) == [["filled", "red"], ["blue", "filled"]]
    assert told == [2]
    (tmp_path / "b/0.png").write_bytes(b"no picture")
    with pytest.raises(SourceError, match="tiny: image 1 cannot be shown") as error:
        pixel_attributes(images)
    assert error.value.where == "b/0.png"
