"""Whole releases from a specification, interrupted anywhere, verified and compared."""

import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from benchmark_spec.digest import content_digest, fingerprint
from benchmark_spec.errors import FSLBenchError, OutputError
from benchmark_spec.manifest import MANIFEST_FILE
from builders.build_journal import JOURNAL_FILE
from builders.cli import main
from builders.diff import diff
from builders.release_build import build_release
from builders.release_spec import ReleaseSpec, read_spec
from builders.verify import verify
from fslbench_data.release import load_release

SPEC = """
name = "small"
version = "{version}"
description = "d"
protocols = ["5w1s1q", "3w2s2q"]
seed = {seed}
tasks = {{ closed = {closed} }}
[[dataset]]
name = "vgg_flower"
source = "catalogue"
suites = ["published", "open", "closed", "balanced"]
[[dataset]]
name = "cub"
source = "catalogue"
suites = ["open", "balanced"]
"""
FILES = 16  # two class lists, twelve task sets, card, manifest


def _spec(folder: Path, version: str = "1.0.0", seed: int = 0, closed: int = 40) -> ReleaseSpec:
    path = folder / f"spec-{version}-{seed}-{closed}.toml"
    path.write_text(SPEC.format(version=version, seed=seed, closed=closed))
    return read_spec(path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    build_release(_spec(folder), folder / "release")
    return folder / "release"


def _content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_holds_what_the_specification_says(built: Path) -> None:
    release = load_release(built)
    assert str(release) == "small@1.0.0"
    names = [str(info) for info in release.task_sets]
    assert names == [
        *(
            f"vgg_flower/{suite}-{protocol}"
            for suite in ("published", "open", "closed", "balanced")
            for protocol in ("5w1s1q", "3w2s2q")
        ),
        *(
            f"cub/{suite}-{protocol}"
            for suite in ("open", "balanced")
            for protocol in ("5w1s1q", "3w2s2q")
        ),
    ]
    assert release.task_set_info("vgg_flower", "closed-5w1s1q").n_tasks == 40
    assert release.task_set_info("vgg_flower", "balanced-5w1s1q").n_tasks == 141
    assert len(_content(built)) == FILES


class Stop(Exception):
    """What an interruption at a step looks like."""


def test_stopped_before_every_step_in_turn_it_gives_the_same_files(
    built: Path, tmp_path: Path
) -> None:
    spec, folder = _spec(tmp_path), tmp_path / "release"
    seen: list[str] = []

    def stop_at_the_first_new_step(step: str) -> None:
        if step not in seen:
            seen.append(step)
            raise Stop

    for _ in range(FILES - 2):
        with pytest.raises(Stop):
            build_release(spec, folder, progress=stop_at_the_first_new_step)
        assert not (folder / MANIFEST_FILE).exists()
        assert (folder / JOURNAL_FILE).exists()
    again: list[str] = []
    build_release(spec, folder, progress=again.append)
    assert again == [seen[-1]]  # nothing that was finished is made again
    assert _content(folder) == _content(built)


def test_a_file_damaged_between_two_runs_is_made_again(built: Path, tmp_path: Path) -> None:
    spec, folder = _spec(tmp_path), tmp_path / "release"

    def stop_at_cub(step: str) -> None:
        if step == "cub":
            raise Stop

    with pytest.raises(Stop):
        build_release(spec, folder, progress=stop_at_cub)
    (folder / "tasks/open-5w1s1q/vgg_flower.parquet").write_bytes(b"PAR1")
    (folder / "classes/vgg_flower.parquet").unlink()
    (folder / "tasks/open-5w1s1q/.cub.parquet.abcd1234").write_bytes(b"left by a killed run")
    build_release(spec, folder)
    assert _content(folder) == _content(built)


_RUN = (
    "import sys; from pathlib import Path; from builders.release_build import build_release;"
    "from builders.release_spec import read_spec; print(flush=True);"
    "build_release(read_spec(Path(sys.argv[1])), Path(sys.argv[2]))"
)


@pytest.mark.slow
def test_killed_at_ten_random_moments_it_gives_the_same_files(built: Path, tmp_path: Path) -> None:
    _spec(tmp_path)
    (spec,) = tmp_path.glob("*.toml")
    expected = _content(built)

    def start(folder: Path) -> tuple[subprocess.Popen[str], float]:
        run = subprocess.Popen(
            [sys.executable, "-c", _RUN, spec, folder], stdout=subprocess.PIPE, text=True
        )
        assert run.stdout is not None
        run.stdout.readline()  # imports are done, the build begins
        return run, time.monotonic()

    run, begin = start(tmp_path / "timed")
    assert run.wait() == 0
    seconds = time.monotonic() - begin
    chance = random.Random(4)
    killed = 0
    for number in range(10):
        folder = tmp_path / str(number)
        while True:  # killed at least once, then until a run gets through
            run, begin = start(folder)
            if killed <= number:
                time.sleep(chance.random() * seconds * 0.9)
                run.send_signal(signal.SIGKILL)
                killed += run.wait() != 0
                found = _content(folder) if folder.exists() else {}
                for path, content in found.items():
                    hidden = path.split("/")[-1].startswith(".")
                    assert hidden or content == expected[path], "a final name, half-written"
                if MANIFEST_FILE in found and JOURNAL_FILE not in found:
                    shutil.rmtree(folder)  # it had got through: try again
                continue
            assert run.wait() == 0
            break
        assert _content(folder) == expected
    assert killed == 10


def test_an_unfinished_build_is_continued_by_none_but_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "release"

    def stop(step: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        build_release(_spec(tmp_path), folder, progress=stop)
    with pytest.raises(OutputError, match="another release: they differ in specification"):
        build_release(_spec(tmp_path, seed=1), folder)
    with pytest.raises(OutputError, match="they differ in release, specification"):
        build_release(_spec(tmp_path, version="1.0.1"), folder)
    for damaged in ("{", '{"build": null, "datasets": [], "tables": []}', "[]"):
        (folder / JOURNAL_FILE).write_text(damaged)
        with pytest.raises(OutputError, match="cannot be read"):
            build_release(_spec(tmp_path), folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    with pytest.raises(OutputError, match="not an empty folder"):
        build_release(_spec(tmp_path), other)
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


def test_one_build_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "release"

    def meanwhile(step: str) -> None:
        with pytest.raises(OutputError, match="another build is running"):
            build_release(_spec(tmp_path), folder)

    build_release(_spec(tmp_path), folder, progress=meanwhile)
    assert len(_content(folder)) == FILES


def test_a_journal_that_is_not_true(built: Path, tmp_path: Path) -> None:
    spec, folder = _spec(tmp_path), tmp_path / "release"

    def stop_at_cub(step: str) -> None:
        if step == "cub":
            raise Stop

    with pytest.raises(Stop):
        build_release(spec, folder, progress=stop_at_cub)
    journal = json.loads((folder / JOURNAL_FILE).read_text())
    for entry in journal["tables"]:
        entry["digest"] = "0" * 64
    (folder / JOURNAL_FILE).write_text(json.dumps(journal))
    build_release(spec, folder)
    assert _content(folder) == _content(built)


@pytest.mark.parametrize(
    ("dataset", "what"),
    [
        ('name = "cub"\nsource = "catalogue"\nfeatures = ["pixels"]', "no images to extract"),
        ('name = "cubs"\nsource = "catalogue"', "did you mean 'cub'"),
        ('name = "cubs"', "did you mean 'cub'"),
        ('name = "digits"\nfeatures = ["pixel"]', "did you mean 'pixels'"),
        ('name = "digits"\nfeatures = ["pixels"]\nheads = ["NC"]', "did you mean 'NCC'"),
        ('name = "digits"\nheads = ["NCC"]', "heads need features"),
        ('name = "digits"\nfeatures = ["pixels"]\nheads = ["NCC"]', "suites to run on"),
        ('name = "cub"\nsource = "catalogue"\n[dataset.options]\na = "b"', "takes no options"),
        ('name = "x"\nsource = "image_folder"\n[dataset.options]\ntitel = "b"', "'title'"),
        ('name = "x"\nsource = "image_folder"', "options are missing: title"),
        (
            'name = "cub"\nsource = "catalogue"\nsuites = ["published"]\ntasks = {published = 5}',
            "are what they are",
        ),
        ('name = "cub"\nsource = "catalogue"\nsuites = ["closed"]', "needs a number of tasks"),
        ('name = "cub"\nsource = "catalogue"\nsuites = ["grouped"]', "needs the groups"),
        ('name = "cub"\nsuites = ["open"]', "read from a raw folder"),
    ],
)
def test_what_cannot_be_made(tmp_path: Path, dataset: str, what: str) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(f'name = "r"\nversion = "1.0.0"\ndescription = "d"\n[[dataset]]\n{dataset}\n')
    with pytest.raises(FSLBenchError, match=what):
        build_release(read_spec(path), tmp_path / "release")


# ---- verify -------------------------------------------------------------------------------------


def test_features_and_reference_results_are_verified(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    path = tmp_path / "spec.toml"
    path.write_text(
        'name = "r"\nversion = "1.0.0"\ndescription = "d"\n[[dataset]]\nname = "digits"\n'
        'suites = ["open"]\nprotocols = ["5w5s5q"]\nfeatures = ["pixels"]\nheads = ["NCC"]\n'
    )
    folder = tmp_path / "release"
    build_release(read_spec(path), folder)
    assert load_release(folder).methods == ("pixels/NCC",)
    assert verify(folder).problems == ()
    results = "results/pixels-NCC.parquet"
    _rewrite(folder, results, lambda t: t.slice(0, 20))
    features = "features/pixels/digits-00000-of-00001.parquet"
    _rewrite(folder, features, lambda t: _column(t, "feature", lambda v: _set(v, (3, 0), np.nan)))
    found = {p.path: p.what for p in verify(folder).problems}
    assert "holds values that are not finite" in found[features]
    assert "tasks" in found[results]


def test_a_release_that_is_whole(built: Path) -> None:
    found = verify(built)
    assert found.problems == ()
    assert found.drawn_again == 12


def _rewrite(folder: Path, path: str, edit: object) -> None:
    """Change a table and make the manifest agree with it, as a clumsy maintainer would."""
    file = folder / path
    table = pq.read_table(file)
    assert callable(edit)
    pq.write_table(edit(table), file)
    table = pq.read_table(file)
    from fslbench_data.files import sha256_of

    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    for entry in manifest["tables"]:
        if entry["path"] == path:
            entry["sha256"], entry["digest"] = sha256_of(file), content_digest(table)
            entry["rows"], entry["bytes"] = table.num_rows, file.stat().st_size
            if entry["kind"] == "tasks":
                entry["fingerprint"] = fingerprint(entry["dataset"], entry["name"], entry["digest"])
    _sign(folder, manifest)


def _sign(folder: Path, manifest: dict[str, object]) -> None:
    """Write a manifest with the digest that it should have."""
    from benchmark_spec.manifest import Manifest, Table

    tables = tuple(Table(**t) for t in manifest["tables"])  # type: ignore[attr-defined]
    manifest["digest"] = Manifest(
        str(manifest["name"]), str(manifest["version"]), "", (), tables
    ).digest
    (folder / MANIFEST_FILE).write_text(json.dumps(manifest))


def _column(table: pa.Table, name: str, edit: object) -> pa.Table:
    kind = table.schema.field(name).type
    values = table.column(name).combine_chunks().flatten().to_numpy().reshape(len(table), -1).copy()
    assert callable(edit)
    edit(values)
    array = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=kind)
    return table.set_column(table.column_names.index(name), table.schema.field(name), array)


def _set(values: np.ndarray, at: object, value: object) -> None:
    values[at] = value


OPEN = "tasks/open-5w1s1q/vgg_flower.parquet"


@pytest.mark.parametrize(
    ("path", "edit", "what"),
    [
        (OPEN, lambda t: t.slice(0, 20), "drawn again from its provenance are others"),
        (OPEN, lambda t: t.take(list(range(19, -1, -1))), "task ids do not count from 0"),
        (
            OPEN,
            lambda t: _column(t, "class_ids", lambda v: _set(v, (3, 0), v[3, 1])),
            "task 3: a class twice",
        ),
        (
            OPEN,
            lambda t: _column(t, "class_ids", lambda v: _set(v, (3, 0), 16)),
            "names classes beyond 16",
        ),
        (
            OPEN,
            lambda t: _column(t, "query", lambda v: _set(v, (0, 0), 1425)),
            "names images beyond 1425",
        ),
        (
            OPEN,
            lambda t: _column(t, "support", lambda v: _set(v, 7, v[7, ::-1].copy())),
            "task 7: support images of other classes",
        ),
        (
            OPEN,
            lambda t: _column(t, "query_label", lambda v: _set(v, 8, v[8, ::-1].copy())),
            "task 8: mislabelled queries",
        ),
        (
            OPEN,
            lambda t: _column(t, "query_label", lambda v: _set(v, (2, 0), v[2, 1])),
            "task 2: not 1 queries of each class",
        ),
        (
            OPEN,
            lambda t: _column(t, "query", lambda v: _set(v, 1, v[0])),
            "images are used twice in the set",
        ),
        (
            "tasks/closed-3w2s2q/vgg_flower.parquet",
            lambda t: _column(t, "support", lambda v: _set(v, (5, 1), v[5, 0])),
            "task 5: an image twice, perhaps on both sides",
        ),
        (
            "classes/cub.parquet",
            lambda t: t.set_column(2, "n_images", pa.array([59] * 30, pa.int32())),
            "first image ids are not the sums",
        ),
        ("classes/cub.parquet", lambda t: t.slice(0, 29), "the manifest says 30 of 1770"),
        ("classes/cub.parquet", lambda t: t.drop_columns("n_images"), "expected: class_id"),
        (
            "classes/cub.parquet",
            lambda t: t.set_column(2, "n_images", pa.array([-5] * 30, pa.int32())),
            "classes without images",
        ),
        (
            "classes/cub.parquet",
            lambda t: t.set_column(1, "class_name", pa.array([""] * 30)),
            "class names are missing, empty or not different",
        ),
        (OPEN, lambda t: t.slice(0, 0), "has no tasks"),
    ],
)
def test_a_release_forged_with_its_digests(
    built: Path, tmp_path: Path, path: str, edit: object, what: str
) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    _rewrite(folder, path, edit)
    problems = verify(folder).problems
    assert any(p.path == path and what in p.what for p in problems), problems


def test_files_that_are_not_what_the_manifest_says(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    (folder / "classes/cub.parquet").unlink()
    data = bytearray((folder / OPEN).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / OPEN).write_bytes(data)
    (folder / "tasks/stray.parquet").write_bytes(b"x")
    (folder / "README.md").write_text("x")
    run = CliRunner().invoke(main, ["verify", str(folder)])
    assert run.exit_code == 1
    for line in (
        "classes/cub.parquet: cannot be read",
        f"{OPEN}: is not the file that was released",
        "tasks/open-5w1s1q/cub.parquet: cannot be checked without the classes of cub",
        "tasks/stray.parquet: is not in the manifest",
        "README.md: is not the card of this manifest",
        "problems",
    ):
        assert line in run.output


def test_provenance_that_is_not_true(built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "release"
    shutil.copytree(built, folder)
    manifest = json.loads((folder / MANIFEST_FILE).read_text())
    entry = next(t for t in manifest["tables"] if t["path"] == OPEN)
    true = dict(entry["provenance"])
    for change, what in (
        ({"seed": 5}, "the tasks drawn again from its provenance are others"),
        ({"seed": None}, "gives seed None"),
        ({"seed": 3.0}, "gives seed 3.0"),
        ({"max_tasks": 4.5}, "number of tasks 4.5"),
        ({"max_tasks": "4"}, "number of tasks '4'"),
        ({"suite": "balanced"}, "is not that of a set of this suite"),
    ):
        entry["provenance"] = true | change
        _sign(folder, manifest)
        (problem,) = verify(folder).problems
        assert what in problem.what
    entry["provenance"] = true
    closed = next(t for t in manifest["tables"] if "closed-5w1s1q" in t["path"])
    closed["provenance"]["tasks"] = 10**9
    _sign(folder, manifest)
    (problem,) = verify(folder).problems
    assert "it has 40 tasks, its provenance says 1000000000" in problem.what


def test_images_that_cannot_be(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")
    path = tmp_path / "spec.toml"
    path.write_text(
        'name = "r"\nversion = "1.0.0"\ndescription = "d"\n[[dataset]]\nname = "digits"\n'
    )
    whole = tmp_path / "whole"
    build_release(read_spec(path), whole)
    for column, values, what in (
        ("class_name", ["zzz"] * 1797, "class names are not those of the classes"),
        ("path", ["../../etc/passwd"] * 1797, "leads out of the raw folder"),
        ("path", ["a"] * 1797, "two images have the same path"),
        ("sha256", ["hello"] * 1797, "not 64 hexadecimal digits"),
        ("group", [7] * 1797, "not numbered from 0"),
    ):
        folder = tmp_path / f"{column}-{what[:5]}"
        shutil.copytree(whole, folder)

        def edit(table: pa.Table, column: str = column, values: Any = values) -> pa.Table:
            at, field = table.column_names.index(column), table.schema.field(column)
            return table.set_column(at, field, pa.array(values, field.type))

        _rewrite(folder, "images/digits.parquet", edit)
        assert any(what in p.what for p in verify(folder).problems)


def test_the_command_says_what_was_drawn_again(built: Path) -> None:
    run = CliRunner().invoke(main, ["verify", str(built)])
    assert run.exit_code == 0
    assert "14 tables, 12 of 12 task sets drawn again with equal digests, no problems" in run.output


# ---- diff ---------------------------------------------------------------------------------------


def test_two_builds_of_one_specification_say_the_same(built: Path, tmp_path: Path) -> None:
    build_release(_spec(tmp_path), tmp_path / "again")
    found = diff(load_release(built), load_release(tmp_path / "again"))
    assert (found.changes, found.needed, found.enough) == ((), None, True)
    run = CliRunner().invoke(main, ["diff", str(built), str(tmp_path / "again")])
    assert run.exit_code == 0
    assert "say the same" in run.output


@pytest.mark.parametrize(
    ("version", "enough"), [("1.0.0", False), ("1.0.1", False), ("1.1.0", False), ("2.0.0", True)]
)
def test_other_tasks_are_a_major_change(
    built: Path, tmp_path: Path, version: str, enough: bool
) -> None:
    build_release(_spec(tmp_path, version=version, closed=50), tmp_path / "b")
    run = CliRunner().invoke(main, ["diff", str(built), str(tmp_path / "b")])
    assert run.exit_code == (0 if enough else 1)
    assert run.output.count("major") >= 2
    assert (
        "major  tasks/closed-5w1s1q/vgg_flower.parquet: other content: "
        "40 tasks became 50, of which the first 40 are equal" in run.output
    )
    assert ("which is enough" in run.output) == enough


def test_additions_removals_and_texts(built: Path, tmp_path: Path) -> None:
    text = SPEC.format(version="1.1.0", seed=0, closed=40)
    path = tmp_path / "more.toml"
    path.write_text(text + '[[dataset]]\nname = "dtd"\nsource = "catalogue"\nsuites = ["open"]\n')
    build_release(read_spec(path), tmp_path / "more")
    old, new = load_release(built), load_release(tmp_path / "more")
    up, down = diff(old, new), diff(new, old)
    assert {c.level for c in up.changes} == {"minor"}
    assert [c.where for c in up.changes] == [
        "dtd",
        "classes/dtd.parquet",
        "tasks/open-3w2s2q/dtd.parquet",
        "tasks/open-5w1s1q/dtd.parquet",
    ]
    assert (up.needed, up.raised, up.enough) == ("minor", "minor", True)
    assert (down.needed, down.raised, down.enough) == ("major", None, False)
    path.write_text(text.replace('"d"', '"another text"').replace("1.1.0", "1.0.1"))
    build_release(read_spec(path), tmp_path / "text")
    texts = diff(old, load_release(tmp_path / "text"))
    assert [(c.level, c.what) for c in texts.changes] == [("patch", "the description differs")]
    assert texts.enough
