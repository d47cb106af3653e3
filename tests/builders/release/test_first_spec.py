"""From a folder of images to a release: a first specification, texts of one's own."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tiny_features import ABOUT, write_pictures

from benchmark_spec.errors import SourceError
from builders.cli import main
from builders.release.spec_file import first_spec
from fslbench_data.release.release import load_release

pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Images of six classes, with lists of groups, superclasses and texts."""
    images = write_pictures(tmp_path / "My Birds", 6, classes=6)
    paths = sorted(p.relative_to(images).as_posix() for p in images.rglob("*.??g"))
    groups = [f"{path},{path[:7]}-{number // 2}" for number, path in enumerate(paths)]
    (images / "groups.csv").write_text("path,group\n" + "\n".join(groups) + "\n")
    kinds = [f"class_{number},kind {number % 2}" for number in range(6)]
    (images / "superclasses.csv").write_text("class,superclass\n" + "\n".join(kinds) + "\n")
    texts = [f"{path},{'a red bird on a branch' * (n < 30)}" for n, path in enumerate(paths)]
    (images / "texts.csv").write_text("path,text\n" + "\n".join(texts) + "\n")
    return images


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def _filled(text: str) -> str:
    """Fill in what only the owner knows, and take small protocols and no network."""
    text = text.replace('description = ""', 'description = "Birds."')
    for key in ("title", "homepage", "licence", "citation"):
        text = text.replace(f'{key} = ""', f'{key} = "{ABOUT[key]}"')
    text = text.replace('["5w1s", "5w5s"]', '["2w1s1q"]').replace('["5w1s"]', '["2w1s1q"]')
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.startswith(("features", "heads"))) + "\n"


def test_from_a_folder_to_a_release(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`")
    spec = tmp_path / "birds.toml"
    assert _run("init", folder, "-o", spec).exit_code == 0
    text = spec.read_text()
    assert 'name = "my_birds"' in text
    assert 'folder = "My Birds"' in text
    assert 'suites = ["open", "closed", "pooled", "grouped"]' in text
    unfilled = _run("release", spec, "--raw", tmp_path, "-o", tmp_path / "r")
    assert unfilled.exit_code == 2
    assert "the description is empty" in unfilled.output
    spec.write_text(text.replace('description = ""', 'description = "Birds."'))
    unfilled = _run("release", spec, "--raw", tmp_path, "-o", tmp_path / "r")
    assert "options are empty: title, homepage, licence, citation" in unfilled.output
    spec.write_text(_filled(text))
    assert not (tmp_path / "r").exists()
    made = _run("release", spec, "--raw", tmp_path, "-o", tmp_path / "r")
    assert made.exit_code == 0, made.output
    release = load_release(tmp_path / "r")
    assert release.superclasses("my_birds") == tuple(f"kind {n % 2}" for n in range(6))
    suites = {info.name.suite for info in release.task_sets}
    assert suites == {"open", "closed", "pooled", "grouped"}


def test_attributes_are_words_of_own_texts(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("textblob", reason="needs textblob, of the extra `attributes`")
    spec, out = tmp_path / "birds.toml", tmp_path / "titles.parquet"
    _run("init", folder, "-o", spec)
    spec.write_text(_filled(spec.read_text()))
    how = ("--spec", spec, "--raw", tmp_path, "--recipe", "given+textblob", "-o", out)
    told = _run("attributes", "my_birds", *how)
    assert told.exit_code == 0, told.output
    rows = pq.read_table(out).to_pylist()
    assert rows[0]["text"] == "a red bird on a branch"
    assert "bird" in rows[0]["attributes"]
    assert (rows[35]["text"], rows[35]["attributes"]) == (None, [])


@pytest.mark.parametrize(
    ("images", "protocols"), [(6, '["5w1s1q"]'), (9, '["5w1s"]'), (26, '["5w1s", "5w5s"]')]
)
def test_it_asks_for_what_the_images_allow(tmp_path: Path, images: int, protocols: str) -> None:
    """A number of queries is chosen only where three tasks of two queries can be drawn."""
    raw = write_pictures(tmp_path / "a b" / "birds", images, classes=6)
    text = first_spec(raw)
    assert f"protocols = {protocols}" in text
    assert f"--raw '{tmp_path / 'a b'}'" in text
    options = set(re.findall(r"--[a-z-]+", text.split("\n\n")[0].split("name =")[0]))
    (release,) = (command for name, command in main.commands.items() if name == "release")
    assert options <= {option for parameter in release.params for option in parameter.opts}


def test_one_class_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="one class gives no tasks"):
        first_spec(write_pictures(tmp_path / "birds", 9, classes=1))


def test_what_cannot_be_published_is_said_before_anything_is_made(
    folder: Path, tmp_path: Path
) -> None:
    spec = tmp_path / "birds.toml"
    _run("init", folder, "-o", spec)
    (tmp_path / "none").mkdir()
    text = _filled(spec.read_text()).replace("\nsuites", '\nattributes = { p = "pixels" }\nsuites')
    for more, said in (("", True), ('redistribution = "features"\n', False)):
        spec.write_text(text.replace("[dataset.options]\n", f"[dataset.options]\n{more}"))
        made = _run("release", spec, "--raw", tmp_path / "none", "-o", tmp_path / "r")
        assert ("my_birds: `publish` will refuse" in made.output) == said
