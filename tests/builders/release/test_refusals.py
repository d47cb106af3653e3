"""Everything that can be refused is refused before work."""

from pathlib import Path

import pytest
from specs import spec_in
from tiny_features import write_pictures

from benchmark_spec.errors import FSLBenchError, MissingPackageError
from builders.release.build import build_release

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
LITE = 'features = ["efficientnet_lite0"]\n'


def _after(dataset: str) -> str:
    """Say what is wrong of a data set after the first one."""
    return f"{HEAD}[[dataset]]\n{dataset}\n"


def _first(lines: str) -> str:
    """Say what is wrong of the catalogue."""
    return f"{HEAD}{lines}\n"


def _digits(rule: str) -> str:
    """Leave the number of queries of the digits to a rule."""
    return _after(
        'name = "digits"\nfeatures = ["pixels"]\nsuites = ["open"]\nprotocols = ["5w5s"]\n'
        f"queries = {{ {rule} }}"
    )


def _tiny(of_dataset: str = "", of_options: str = "") -> str:
    return f"{HEAD}{TINY}{of_dataset}{OPTIONS}{of_options}"


CASES: dict[str, tuple[str, str]] = {
    "no raw folder": (_tiny().replace('"tiny"', '"none"'), "there is no folder"),
    "no list of groups": (_tiny(of_options='groups = "none.csv"'), "list of groups, none.csv"),
    "groups of unknown images": (_tiny(of_options='groups = "bad_groups.csv"'), "are no images"),
    "texts of unknown images": (_tiny(of_options='texts = "bad_texts.csv"'), "are no images"),
    "texts of no image": (_tiny(of_options='texts = "no_texts.csv"'), "lists no image"),
    "texts of some": (_tiny(of_options='texts = "few_texts.csv"'), "19 of 20 images are not"),
    "texts without a header": (_tiny(of_options='texts = "headless.csv"'), "the header is"),
    "superclasses of some": (_tiny(of_options='superclasses = "bad_kinds.csv"'), "class_"),
    "too few images": (_tiny('task_sets = ["open-2w5s2q"]\n'), "no 2w5s2q task can be drawn"),
    "too few in a catalogue": (HEAD.replace("5w1s1q", "5w1s99q"), "no 5w1s99q task"),
    "no two tasks to choose on": (
        _tiny('task_sets = ["open-4w4s"]\nbackbones = ["mobilenet_v2"]\nheads = ["NCC"]\n'),
        "no number of queries can be chosen for 4w4s",
    ),
    "images of a catalogue": (
        f'{HEAD}features = ["pixels"]\nbackbones = ["pixels"]\npictures = 16\n'
        'attributes = { a = "pixels" }\noptions = { a = "b" }\n',
        "takes no features or backbones or attributes or pictures or options",
    ),
    "pictures": (_tiny("pictures = 16\n"), "its licence does not let them be passed on"),
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
    "tuning on episodes": (
        _tiny(
            'fine_tuning = { backbones = ["mobilenet_v2"], task_sets = ["episodes-5w5s5q"] }\n'
            'task_sets = ["episodes-5w5s5q"]\ntasks = { closed = 9 }\n'
        ),
        "fine-tuning cannot answer episodes-5w5s5q",
    ),
    "a head": (_tiny(f'{LITE}heads = ["NC"]\n'), "did you mean 'NCC'"),
    "a head on episodes": (
        _tiny(f'{LITE}heads = ["LR"]\ntask_sets = ["episodes-5w5s5q"]\ntasks = {{ closed = 9 }}\n'),
        "LR cannot answer episodes",
    ),
    "a recipe": (_tiny('attributes = { words = "given+textblob" }\n'), "tiny"),
    "canaries": (
        _tiny(LITE).replace('"tiny"', '"canaries"').replace('Tiny"', 'T"'),
        "its canaries",
    ),
    "groups of a catalogue": (_first('task_sets = ["grouped-5w1s1q"]'), "needs the groups"),
    "no such catalogue": (_after('name = "cubs"\nsource = "catalogue"'), "did you mean 'cub'"),
    "a source": (_after('name = "cubs"'), "did you mean 'cub'"),
    "a source without its folder": (_after('name = "dtd"\nsuites = ["open"]'), "raw folder of dtd"),
    "a backbone": (_after('name = "digits"\nfeatures = ["pixel"]'), "did you mean 'pixels'"),
    "heads without features": (_after('name = "digits"\nheads = ["NCC"]'), "heads need features"),
    "heads without suites": (
        _after('name = "digits"\nfeatures = ["pixels"]\nheads = ["NCC"]'),
        "suites to run on",
    ),
    "an option": (_tiny(of_options='titel = "b"'), "did you mean 'title'"),
    "no options": (_after('name = "x"\nsource = "image_folder"'), "options are missing: title"),
    "tasks of published sets": (
        _first('task_sets = ["published-5w1s1q"]\ntasks = { published = 5 }'),
        "are what they are",
    ),
    "open sets left out": (_first('drawn = ["open"]'), "open sets cannot be left out"),
    "no number of tasks": (_first('task_sets = ["closed-5w1s1q"]'), "needs a number of tasks"),
    "a head to choose by": (_digits('head = "nearest"'), "unknown head"),
    "a suite to choose on": (_digits('suite = "closed"'), "without replacement"),
    "features to choose by": (
        _digits('release = "embedded", features = "resnet"'),
        "unknown features",
    ),
    "a catalogue to choose by": (
        _first('task_sets = ["open-5w5s"]'),
        "cub has no features that could say how many queries are best",
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


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of raw folders: `tiny` has five images of each of four classes, and wrong lists."""
    folder = tmp_path_factory.mktemp("raw")
    images = write_pictures(folder / "tiny", 5)
    (images / "bad_groups.csv").write_text("path,group\nnone.png,a\n")
    (images / "bad_texts.csv").write_text("path,text\nnone.png,a bird\n")
    (images / "no_texts.csv").write_text("path,text\n")
    (images / "few_texts.csv").write_text("path,text\nclass_0/0000.png,a bird\n")
    (images / "headless.csv").write_text("path;text\n")
    (images / "bad_kinds.csv").write_text("class,superclass\nclass_0,a\n")
    return folder


@pytest.mark.parametrize("case", CASES)
def test_it_is_refused_before_work(
    case: str, raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "timm:" in CASES[case][0]:
        pytest.importorskip("timm", reason="needs timm, of the extra `builders`")
    text, expected = CASES[case]
    spec, steps = spec_in(tmp_path, text), list[str]()
    monkeypatch.setattr("builders.sources.pictures.check_bytes", lambda *_: pytest.fail("opened"))
    with pytest.raises(FSLBenchError) as error:
        build_release(spec, tmp_path / "r", raw=raw, progress=steps.append)
    assert expected in str(error.value)
    assert not steps
    assert not (tmp_path / "r").exists()


def test_it_says_which_package_is_missing(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thumbnails need Pillow."""

    def require(module: str) -> None:
        raise MissingPackageError(f"the package {module!r} is not installed")

    monkeypatch.setattr("builders.release.preflight.require", require)
    spec = spec_in(tmp_path, _tiny("pictures = 16\n", 'redistribution = "images"'))
    with pytest.raises(MissingPackageError, match="'PIL'"):
        build_release(spec, tmp_path / "r", raw=raw)
    assert not (tmp_path / "r").exists()


def test_a_raw_folder_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FSLBenchError, match="tiny is read from a raw folder, and none is given"):
        build_release(spec_in(tmp_path, _tiny()), tmp_path / "r")
