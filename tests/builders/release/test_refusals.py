"""Everything that can be refused is refused before work."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_features import write_pictures

from benchmark_spec.errors import FSLBenchError, MissingPackageError
from builders.release.build import build_release
from builders.release.spec import ReleaseSpec
from builders.release.spec_file import read_spec

pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

HEAD = """
name = "r"
version = "1.0.0"
description = "d"
queries = { seeds = 2 }

[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open"]
protocols = ["5w1s1q"]
"""
TINY = """
[[dataset]]
name = "tiny"
source = "image_folder"
protocols = ["2w1s1q"]
suites = ["open"]
"""
OPTIONS = """
[dataset.options]
title = "Tiny"
homepage = "https://example.org"
licence = "CC0"
citation = "@misc{tiny}"
"""
OPTIONS_OF_TINY = {
    "title": "Tiny",
    "homepage": "https://example.org",
    "licence": "CC0",
    "citation": "@misc{tiny}",
}
LITE = 'features = ["efficientnet_lite0"]\n'


def _tiny(of_dataset: str = "", of_options: str = "") -> str:
    return f"{HEAD}{TINY}{of_dataset}{OPTIONS}{of_options}"


CASES: dict[str, tuple[str, str]] = {
    "no raw folder": (_tiny().replace('"tiny"', '"none"'), "there is no folder"),
    "no list of groups": (_tiny(of_options='groups = "none.csv"'), "list of groups, none.csv"),
    "no list of texts": (_tiny(of_options='texts = "none.csv"'), "list of texts, none.csv"),
    "no list of superclasses": (
        _tiny(of_options='superclasses = "none.csv"'),
        "list of superclasses, none.csv",
    ),
    "groups of unknown images": (_tiny(of_options='groups = "bad_groups.csv"'), "are no images"),
    "texts of unknown images": (_tiny(of_options='texts = "bad_texts.csv"'), "are no images"),
    "superclasses of some": (_tiny(of_options='superclasses = "bad_kinds.csv"'), "class_"),
    "too few images": (_tiny('task_sets = ["open-2w5s2q"]\n'), "no 2w5s2q task can be drawn"),
    "too few classes": (_tiny('task_sets = ["open-9w1s1q"]\n'), "no 9w1s1q task can be drawn"),
    "too few in a catalogue": (HEAD.replace("5w1s1q", "5w1s99q"), "no 5w1s99q task"),
    "no two tasks to choose on": (
        _tiny('task_sets = ["open-4w4s"]\nbackbones = ["mobilenet_v2"]\nheads = ["NCC"]\n'),
        "no number of queries can be chosen for 4w4s",
    ),
    "pictures of a catalogue": (f"{HEAD}pictures = 16\n", "no images, and takes no pictures"),
    "attributes of a catalogue": (
        f'{HEAD}attributes = {{ a = "pixels" }}\nheads = ["NCC"]\nbackbones = ["pixels"]\n',
        "takes no backbones or attributes",
    ),
    "pictures that are not passed on": (
        _tiny("pictures = 16\n"),
        "its licence does not let them be passed on",
    ),
    "pictures of a source": (
        f'{HEAD}[[dataset]]\nname = "digits"\npictures = 16\n',
        "its licence does not let them be passed on",
    ),
    "no folder of weights": (_tiny(LITE), "weights of efficientnet_lite0 come in the package"),
    "weights of a projection": (_tiny(LITE.replace("0", "0-pca8")), "come in the package"),
    "weights to tune": (
        _tiny('fine_tuning = { backbones = ["mobilenet_v2"], task_sets = ["open-2w1s1q"] }\n'),
        "weights of mobilenet_v2 come in the package",
    ),
    "no checkpoint": (_tiny('features = ["timm:resnet18@none.pt"]\n'), "there is no file none.pt"),
    "tuning of no network": (
        _tiny('fine_tuning = { backbones = ["pixels"], task_sets = ["open-2w1s1q"] }\n'),
        "pixels is no network",
    ),
    "tuning on a set to be chosen": (
        _tiny(
            'task_sets = ["open-2w2s"]\nbackbones = ["mobilenet_v2"]\nheads = ["NCC"]\n'
            'fine_tuning = { backbones = ["mobilenet_v2"], task_sets = ["open-2w2s1q"] }\n'
        ),
        "has no name yet",
    ),
    "a head": (_tiny(f'{LITE}heads = ["NC"]\n'), "did you mean 'NCC'"),
    "a recipe": (_tiny('attributes = { words = "given+textblob" }\n'), "tiny"),
    "canaries": (
        _tiny(LITE).replace('"tiny"', '"canaries"').replace('Tiny"', 'T"'),
        "its canaries",
    ),
    "a release that is not there": (
        _tiny(f'{LITE}task_sets = ["open-2w1s"]\nqueries = {{ release = "./none" }}\n'),
        "none",
    ),
    "a data set that is not there": (
        _tiny(f'{LITE}task_sets = ["open-2w1s"]\nqueries = {{ dataset = "digits" }}\n'),
        "list it before this one",
    ),
}


def _spec(folder: Path, text: str) -> ReleaseSpec:
    path = folder / "spec.toml"
    path.write_text(text)
    return read_spec(path)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of raw folders: `tiny` has five images of each of four classes, and wrong lists."""
    folder = tmp_path_factory.mktemp("raw")
    images = write_pictures(folder / "tiny", 5)
    (images / "bad_groups.csv").write_text("path,group\nnone.png,a\n")
    (images / "bad_texts.csv").write_text("path,text\nnone.png,a bird\n")
    (images / "bad_kinds.csv").write_text("class,superclass\nclass_0,a\n")
    return folder


def _said(run: Callable[[], object]) -> str:
    """What a refusal says; empty if there was none."""
    try:
        run()
    except FSLBenchError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_before_work(
    case: str, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "timm:" in CASES[case][0]:
        pytest.importorskip("timm", reason="needs timm, of the extra `builders`")
    text, expected = CASES[case]
    spec, steps = _spec(tmp_path, text), list[str]()
    monkeypatch.setattr("builders.sources.checking.look_at_files", lambda *_: pytest.fail("opened"))
    said = _said(lambda: build_release(spec, tmp_path / "r", raw=raw, progress=steps.append))
    assert expected in said
    assert not steps
    assert not (tmp_path / "r").exists()


def test_it_says_which_package_is_missing(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thumbnails need Pillow."""

    def require(module: str) -> None:
        raise MissingPackageError(f"the package {module!r} is not installed")

    monkeypatch.setattr("builders.release.preflight.require", require)
    spec = _spec(tmp_path, _tiny("pictures = 16\n", 'redistribution = "images"'))
    said = _said(lambda: build_release(spec, tmp_path / "r", raw=raw))
    assert said == "the package 'PIL' is not installed"
    assert not (tmp_path / "r").exists()


def test_what_can_be_made_is_not_refused(raw: Path, tmp_path: Path) -> None:
    spec = _spec(tmp_path, _tiny('task_sets = ["open-2w2s1q"]\n'))
    assert build_release(spec, tmp_path / "r", raw=raw).tables
