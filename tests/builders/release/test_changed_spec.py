"""An unfinished build goes on under a changed specification: what does not depend on it is kept."""

import shutil
from pathlib import Path

import pytest
from specs import HEAD, spec_in
from stopping import Stop, content, stopping
from tiny_features import write_pictures

from builders.release.build import build_release
from builders.release.spec import ReleaseSpec

pytest.importorskip("torch", reason="needs PyTorch, of the extra `builders`, for the heads")
pytest.importorskip("PIL.Image", reason="needs Pillow, of the extra `builders`")

SPEC = (
    HEAD
    + """
protocols = ["5w1s", "5w5s5q"]
queries = { seeds = 2 }
tasks = { closed = 20 }

[[dataset]]
name = "digits"
features = ["pixels"]
heads = ["NCC", "MatchingNet"]
suites = ["open", "closed"]

[[dataset]]
name = "tiny"
source = "image_folder"
suites = ["open", "open_biased_own"]
protocols = ["2w1s1q"]
attributes = { look = "pixels", own = "given" }
pictures = 16
[dataset.options]
title = "Tiny"
homepage = "https://example.org"
licence = "CC0"
citation = "@misc{tiny}"
redistribution = "images"
attributes = "own.csv"
"""
)
_TINY = SPEC[SPEC.rindex("[[dataset]]") :]

NCC, MATCHING = "pixels/NCC", "pixels/MatchingNet"
OPEN, OPEN_5, CLOSED, CLOSED_5 = (f"digits/{s}-5w{n}s" for s in ("open", "closed") for n in (1, 5))
LOOK, OWN = "tiny: attributes look", "tiny: attributes own"
BIASED = "tiny/open_biased_own-2w1s1q"
TINY_TASKS = ["tiny/open-2w1s1q", BIASED]
CHOICE, PICTURES = "digits: the number of", "tiny: 0 of 24 pictures"
Change = tuple[str, str, list[str]]
CHANGES: dict[str, Change] = {
    "nothing": ("", "", [MATCHING]),
    "version": ('"1.0.0"', '"1.1.0"', [MATCHING]),
    "description": ('"d"', '"What it is for."', [MATCHING]),
    "a head more": ('gNet"', 'gNet", "LR"', [MATCHING, "pixels/LR"]),
    "a head less": ('"NCC", ', "", [MATCHING]),
    "features more": (
        '["pixels"]',
        '["pixels-pca8", "pixels"]',
        ["digits: features of pixels-pca8", "pixels-pca8/NCC", "pixels-pca8/MatchingNet", MATCHING],
    ),
    "fewer suites": ('["open", "closed"]', '["open"]', [NCC, MATCHING]),
    "readers draw": ("tasks =", 'drawn = ["closed"]\ntasks =', [CLOSED, CLOSED_5, MATCHING]),
    "more tasks": ("closed = 20", "closed = 30", [CLOSED, CLOSED_5, NCC, MATCHING]),
    "another seed": (
        "tasks =", "seed = 1\ntasks =",
        [OPEN, OPEN_5, CLOSED, CLOSED_5, *TINY_TASKS, NCC, MATCHING],
    ),
    "another rule": ("seeds = 2", "seeds = 3", [CHOICE, OPEN, CLOSED, NCC, MATCHING]),
    "another title": ('"Tiny"', '"Small"', ["tiny", MATCHING]),
    "groups": (
        "citation", 'groups = "groups.csv"\ncitation', ["tiny", LOOK, OWN, *TINY_TASKS, MATCHING],
    ),
    "files": ("pictures = 16", 'pictures = "files"', [PICTURES, MATCHING]),
    "another licence": ('"CC0"', '"CC-BY-4.0"', ["tiny", PICTURES, MATCHING]),
    "other attributes": ('"own.csv"', '"others.csv"', ["tiny", LOOK, OWN, BIASED, MATCHING]),
    "no data set": (_TINY, "", [MATCHING]),
}  # fmt: skip
"""Of each change what is written otherwise, and how the steps begin that are then made."""


def _spec(folder: Path, change: str) -> ReleaseSpec:
    old, new, _ = CHANGES[change]
    assert old in SPEC
    return spec_in(folder, SPEC.replace(old, new) if old else SPEC)


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of raw folders: `tiny` has six images of each of four classes."""
    folder = tmp_path_factory.mktemp("raw")
    images = write_pictures(folder / "tiny", 6)
    (images / "groups.csv").write_text("path,group\nclass_0/0000.png,a\nclass_0/0002.png,a\n")
    paths = [path.relative_to(images) for path in images.glob("*/*")]
    for name, number in (("own", 2), ("others", 3)):
        rows = "".join(f"{path},{int(path.stem) % number == 0}\n" for path in paths)
        (images / f"{name}.csv").write_text(f"path,attributes\n{rows}")
    return folder


@pytest.fixture(scope="module")
def stopped(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a build that was stopped before its last table."""
    folder, at_the_last = tmp_path_factory.mktemp("stopped"), stopping(MATCHING.__eq__)
    with pytest.raises(Stop):
        build_release(_spec(folder, "nothing"), folder / "r", raw=raw, progress=at_the_last)
    return folder / "r"


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_what_does_not_depend_on_a_change_is_kept(
    change: str, raw: Path, stopped: Path, tmp_path: Path
) -> None:
    folder, fresh = tmp_path / "release", tmp_path / "fresh"
    shutil.copytree(stopped, folder)
    steps: list[str] = []
    build_release(_spec(tmp_path, change), folder, raw=raw, progress=steps.append)
    for expected in CHANGES[change][2]:
        assert any(step.startswith(expected) for step in steps), expected
    assert any(step.startswith(CHOICE) for step in steps) == (CHOICE in CHANGES[change][2])
    made = [step for step in steps if "/" in step or step in (LOOK, OWN)]
    made = [step for step in made if "images" not in step]
    assert len(made) == sum("/" in step or step in (LOOK, OWN) for step in CHANGES[change][2]), made
    build_release(_spec(tmp_path, change), fresh, raw=raw)
    assert content(folder) == content(fresh)
    names = [sorted(p.relative_to(one) for p in one.rglob("*")) for one in (folder, fresh)]
    assert names[0] == names[1]  # nor is a folder left
