"""Attributes in a release: built, resumed, verified, read by the client; and the command."""

import hashlib
import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import build as called
from msgspec import structs, to_builtins

from benchmark_spec import schemas
from benchmark_spec.errors import CorruptReleaseError, SourceError, UnknownNameError
from builders.features import Settings
from builders.release.build import build_release
from builders.release.spec_file import read_spec
from builders.release.verify import verify
from builders.sources import image_folder
from builders.sources.source import read_source, source_of
from fslbench_data.release.release import load_release
from fslbench_data.sampling.redraw import SAMPLER_VERSION

SPEC = """
name = "drawn"
version = "1.0.0"
description = "d"
[[dataset]]
name = "tiny"
source = "image_folder"
folder = "tiny"
{tasks}
attributes = {{ {attributes} }}
[dataset.options]
title = "t"
homepage = "h"
licence = "CC0"
citation = "@misc{{x}}"
redistribution = "features"
"""
RECIPES = (
    'titles = "given+textblob", pixels = "pixels", blip = "blip@blip+textblob", style = "given"'
)
OPEN = 'suites = ["open"]\nprotocols = ["2w1s1q"]'
LISTED = 'texts = "texts.csv"\nattributes = "attributes.csv"\n'


def _spec(folder, attributes, tasks=OPEN, more=""):
    path = folder / "spec.toml"
    path.write_text(SPEC.format(attributes=attributes, tasks=tasks) + more)
    return read_spec(path)


@pytest.fixture
def raw(pictures, tiny, tmp_path, monkeypatch):
    """The folder of raw folders; texts and attributes come with the images."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/tiny").symlink_to(pictures)
    paths = tiny.images.column("path").to_pylist()
    came = {
        "texts": {path: f"a red dog in class {path[6]}. cats" for path in paths},
        "attributes": {path: (path.rpartition(".")[2],) for path in paths},
    }
    find, row = image_folder.find, source_of("image_folder")
    own = structs.replace(row, texts=True, attributes=("JPG", "png", "gif"))
    monkeypatch.setattr("builders.attributes.given.source_of", lambda _: own)
    monkeypatch.setattr(image_folder, "find", lambda *at, **how: replace(find(*at, **how), **came))
    return tmp_path / "raw"


def test_a_release_holds_them(raw, captioners, tmp_path):
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    settings, folder = Settings(weights=captioners, threads=1, workers=0), tmp_path / "release"
    build_release(_spec(tmp_path, RECIPES), folder, raw=raw, settings=settings)
    built = load_release(folder)
    assert built.attribute_sets == ("titles", "pixels", "blip", "style")
    assert built.datasets_with("attributes", "blip") == ("tiny",)
    titles, style = (built.attributes("tiny", name) for name in ("titles", "style"))
    assert titles.schema.equals(schemas.ATTRIBUTES)
    assert titles.column("attributes")[0].as_py() == ["cat", "dog", "red"]  # class_0 is the class
    assert set(style.column("attributes").combine_chunks().flatten().to_pylist()) == {"png", "jpg"}
    for table in (titles, style):
        assert table.column("text")[0].as_py() == "a red dog in class 0. cats"
    assert built.attributes("tiny", "pixels").column("text").null_count == 24
    about = {t.name: t.provenance for t in built.manifest.tables if t.kind == "attributes"}
    assert about["blip"]["recipe"] == "blip@blip+textblob"
    assert about["blip"]["texts"]["generation"]["num_beams"] == 3
    assert about["blip"]["words"]["tagger"] == "textblob"
    assert about["pixels"]["definitions"] == 1
    assert "attributes `titles`: tiny" in (folder / "README.md").read_text()
    with pytest.raises(UnknownNameError, match="did you mean 'titles'"):
        built.attributes("tiny", "title")
    assert not list(folder.glob(".*"))
    assert verify(folder).problems == ()


def test_verify_finds_what_is_wrong(raw, tmp_path):
    folder = tmp_path / "release"
    build_release(_spec(tmp_path, 'pixels = "pixels"'), folder, raw=raw)
    path = folder / "attributes/pixels/tiny.parquet"
    table = pq.read_table(path)
    lists = [["b", "a"], *table.column("attributes").to_pylist()[1:]]
    unsorted = pa.array(lists, pa.list_(pa.string()))
    pq.write_table(table.set_column(2, schemas.ATTRIBUTES.field(2), [unsorted]), path)
    problems = [p.what for p in verify(folder).problems if p.path.startswith("attributes")]
    assert any("not sorted, or twice with one image: images 0" in what for what in problems)
    with pytest.raises(CorruptReleaseError):
        load_release(folder)


@pytest.mark.slow
def test_a_stopped_build_goes_on(raw, captioners, tmp_path, monkeypatch):
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    from builders.attributes import captioners as module

    spec = _spec(tmp_path, 'titles = "given+textblob", blip = "blip@blip+textblob"')
    settings = Settings(weights=captioners, threads=1, workers=0, block=10)
    whole = build_release(spec, tmp_path / "whole", raw=raw, settings=settings)
    write, calls = module.Captioner.captions, []

    def captions(self, batch):
        calls.append(len(batch))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return write(self, batch)

    monkeypatch.setattr(module.Captioner, "captions", captions)
    with pytest.raises(KeyboardInterrupt):
        build_release(spec, tmp_path / "release", raw=raw, settings=settings)
    assert (tmp_path / "release/attributes/titles/tiny.parquet").exists()
    before = len(calls)
    found = build_release(spec, tmp_path / "release", raw=raw, settings=settings)
    assert found.digest == whole.digest
    assert sum(calls[before:]) == 14  # the first block of 10 was there


def test_a_specification_without_attributes_has_the_digest_that_it_had(tmp_path):
    spec = _spec(tmp_path, "")
    said = to_builtins(spec)
    for later in ("attributes", "task_sets", "drawn", "queries", "pictures", "methods_of", "test"):
        del said["datasets"][0][later]
    text = json.dumps([said, SAMPLER_VERSION], sort_keys=True)
    assert spec.digest == hashlib.sha256(text.encode()).hexdigest()
    others = [_spec(tmp_path, text).digest for text in ('a = "pixels"', 'b = "pixels"')]
    assert len({spec.digest, *others}) == 3


def test_the_command(raw, captioners, tmp_path):
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    _spec(tmp_path, "")
    out = tmp_path / "blip.parquet"

    def said(recipe, *words, exit_code=0):
        own = ["--spec", tmp_path / "spec.toml", "--raw", raw, "--recipe", recipe, *words]
        return called(exit_code, "attributes", "tiny", *own)

    assert said("given").stdout == (
        "tiny: 4 classes, 24 images, 2 attributes; per class 2.00, of these spurious 2.00; "
        "per image 1.00, none for 0\n"
    )
    words = ["--weights", captioners, "--threads", 1, "--workers", 0, "-o", out]
    told = said("blip@blip+textblob", *words).stderr
    assert "texts by blip@blip\nwords by textblob\nwrote " in told
    assert schemas.check(pq.read_table(out), schemas.ATTRIBUTES, "out").num_rows == 24
    assert sorted(p.name for p in tmp_path.iterdir()) == ["blip.parquet", "raw", "spec.toml"]
    assert "captions are computed in fp32" in said("pixels", "--dtype", "bf16", exit_code=2).stderr


def test_attributes_that_a_folder_lists(pictures, tmp_path):
    """Objects by `texts`, values by `attributes`: ladders, and counterfactual sets of own data."""
    raw, folder = tmp_path / "raw/tiny", tmp_path / "release"
    shutil.copytree(pictures, raw)
    paths = sorted(path.relative_to(raw).as_posix() for path in raw.rglob("*.*"))
    texts, attributes = "path,text\n", "path,attributes\n"
    for number, path in enumerate(paths):  # six of each class
        texts += f"{path},object {number % 6 // 2}\n"
        attributes += f"{path},{('Beach', 'forest; ')[number % 2]}\n"
    (raw / "texts.csv").write_text(texts)
    (raw / "attributes.csv").write_text(attributes)
    recipes = 'bg = "given", beach = "given:beach"'
    tasks = 'suites = []\ntask_sets = ["counterfactual_bg-3w1s2q"]\ntasks = { closed = 5 }'
    spec = _spec(tmp_path, recipes, tasks, LISTED)
    build_release(spec, folder, raw=tmp_path / "raw")
    release = load_release(folder)
    given, beach = (release.attributes("tiny", name).to_pylist() for name in ("bg", "beach"))
    assert [row["attributes"] for row in given[:3]] == [["beach"], ["forest"], ["beach"]]
    assert [row["text"] for row in given[:3]] == ["object 0", "object 0", "object 1"]
    assert {row["attributes"][0] for row in beach} == {"beach", "not beach"}
    same, other = (release.task_set("tiny", f"{of}_bg-3w1s2q") for of in ("same", "other"))
    assert not (same.query == other.query).any()
    assert not verify(folder, raw=tmp_path / "raw").problems
    for lines, said in (
        (f"{paths[0]},nan\n", r"no attributes \(let it end after the comma"),
        ("".join(f"{path},\n" for path in paths), "gives no image any attributes"),
    ):
        (raw / "attributes.csv").write_text(f"path,attributes\n{lines}")
        with pytest.raises(SourceError, match=said):
            read_source("image_folder", raw, name="tiny", options=spec.datasets[0].options)
