"""Running methods: what they are given, what they may return, and stopping anywhere."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_matrix

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    CountError,
    FSLBenchError,
    MethodFailedError,
    OutputError,
    PredictionError,
    SourceError,
    SpecError,
    UnknownNameError,
)
from builders.release.results import with_right_queries
from fslbench_data.cli import main
from fslbench_data.evaluation.adapters import load_callable
from fslbench_data.release.pictures import MARK, mark_of, picture_name
from fslbench_data.release.release import Release

Array = np.ndarray[Any, Any]


def ncc(support: Array, query: Array, rng: np.random.Generator) -> Array:
    """Nearest class centroid by cosine."""

    def unit(x: Array) -> Array:
        x = x.astype(np.float64)
        return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))

    centroids = unit(unit(support).mean(axis=-2))
    return np.asarray((unit(query) @ np.swapaxes(centroids, -1, -2)).argmax(axis=-1))


def guess(support: Array, query: Array, rng: np.random.Generator) -> Array:
    return rng.integers(0, support.shape[-3], query.shape[:-1])


class Counted:
    """Nearest centroids, until at one call something else happens."""

    def __init__(self, at: int = 0, error: BaseException | None = None) -> None:
        self.calls, self._at, self._error = 0, at, error

    def __call__(self, support: Array, query: Array, rng: np.random.Generator) -> Array:
        self.calls += 1
        if self._error is not None and self.calls == self._at:
            raise self._error
        return ncc(support, query, rng)


ALL = {"features": "pixels", "datasets": "digits"}


@pytest.mark.slow
def test_a_reference_method_again(embedded: Release) -> None:
    names = ["open-5w1s1q", "open-5w10s7q", "closed-5w5s5q", "pooled-5w10s7q"]
    found = fb.evaluate(ncc, embedded, features="pixels", name="pixels/NCC", task_sets=names)
    infos = [embedded.task_set_info("digits", name) for name in names]
    reference = embedded.reference("pixels/NCC").on(infos)  # whose pixels the release holds
    for name in ("predictions", "second"):  # of tasks of all classes alone
        assert not pc.any(pc.is_valid(reference.table.column(name))).as_py()
    kept = reference.table.drop_columns(["predictions", "second"])
    assert content_digest(with_right_queries(found, embedded).table) == content_digest(kept)
    assert found.bindings == reference.bindings


def test_what_a_method_is_given(embedded: Release) -> None:
    seen: list[tuple[Any, ...]] = []

    def look(support: Array, query: Array, rng: np.random.Generator) -> Array:
        seen.append((support.shape, support.dtype, query.shape, query.dtype, type(rng)))
        return np.zeros(len(query), np.int64)

    fb.evaluate(look, embedded, task_sets="open-5w10s7q", max_tasks=2, **ALL)
    f32 = np.dtype(np.float32)
    assert seen == [((5, 10, 64), f32, (35, 64), f32, np.random.Generator)] * 2


def test_batches_give_the_same_predictions(embedded: Release) -> None:
    one = fb.evaluate(ncc, embedded, task_sets="open-5w5s5q", **ALL)
    shapes = []

    def batched(support: Array, query: Array, rng: np.random.Generator) -> Array:
        shapes.append((support.shape, query.shape))
        return ncc(support, query, rng)

    many = fb.evaluate(batched, embedded, task_sets="open-5w5s5q", batch=8, name="ncc", **ALL)
    assert content_digest(one.table) == content_digest(many.table)
    assert shapes == [((8, 5, 5, 64), (8, 25, 64))] * 3 + [((7, 5, 5, 64), (7, 25, 64))]


def test_the_generator_depends_on_seed_and_task_alone(embedded: Release) -> None:
    def run(**options: Any) -> Any:
        found = fb.evaluate(guess, embedded, task_sets="open-5w5s5q", **options, **ALL)
        return found.table.column("predictions").to_pylist()

    assert run() == run()
    assert run(max_tasks=5) == run()[:5]
    assert run(seed=1) != run()
    assert len({tuple(p) for p in run()}) == 31


def test_a_part_is_declared(embedded: Release) -> None:
    found = fb.evaluate(ncc, embedded, task_sets="open-5w5s5q", max_tasks=4, **ALL)
    (binding,) = found.bindings.values()
    assert binding.tasks == 4
    assert fb.validate(found, embedded).groups[0].tasks == 4


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda q: np.zeros(len(q) - 1, int), "shape (24,)"),
        (lambda q: np.zeros(len(q)), "float64"),
        (lambda q: np.full(len(q), 5), "predicted 5"),
        (lambda q: np.full(len(q), -1), "predicted -1"),
        (lambda q: None, "a NoneType of which numpy makes no array"),
        (lambda q: {"predictions": q}, "a dict of which numpy makes no array"),
        (lambda q: (i for i in range(len(q))), "a generator of which numpy makes no array"),
        (lambda q: _Strange(), "a _Strange of which numpy makes no array: KeyError"),
        (lambda q: np.ma.masked_all(len(q), int), "some of it is masked"),
        (lambda q: csr_matrix((len(q), 5)), "a csr_matrix of which numpy makes no array"),
        (lambda q: [[0] * len(q)], "shape"),
        (lambda q: (np.zeros(len(q), int), {"loss": 0.1}), "tuple of which numpy makes no array"),
        (lambda q: (np.zeros(len(q), int), np.zeros((len(q), 5))), "tuple of which numpy makes no"),
        (lambda q: object(), "object"),
    ],
)
def test_what_is_no_answer(answer: Any, said: str, embedded: Release) -> None:
    tasks = embedded.task_set("digits", "open-5w5s5q")
    with pytest.raises(PredictionError) as caught:
        fb.evaluate(lambda s, q, r: answer(q), embedded, name="x", task_sets="open-5w5s5q", **ALL)
    assert said in str(caught.value)
    assert caught.value.where == "x on digits/open-5w5s5q, task 0"
    if "numpy makes no" not in str(caught.value):
        return  # one that may be right elsewhere
    with pytest.raises(PredictionError) as caught:
        fb.Recorder("x").add(tasks[0], answer(tasks[0].query))
    assert caught.value.where == "x on digits/open-5w5s5q, task 0"
    with pytest.raises(CountError) as counted:
        fb.Recorder("x").add_counts(tasks, answer(range(32)))
    assert counted.value.where == "x on digits/open-5w5s5q"


class _Strange:
    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise KeyError


def test_a_method_that_raises_names_the_task_and_keeps_the_rest(
    embedded: Release, tmp_path: Path
) -> None:
    fragile = Counted(8, ValueError("ran out of luck"))
    journal = tmp_path / "x.partial"
    options = {"task_sets": "open-5w5s5q", "journal": journal, "name": "ncc", **ALL}
    with pytest.raises(MethodFailedError, match=r"ValueError: ran out of luck") as caught:
        fb.evaluate(fragile, embedded, **options)
    assert "open-5w5s5q, task 7" in str(caught.value)
    assert "in __call__" in str(caught.value)
    found = fb.evaluate(fragile, embedded, **options)
    assert fragile.calls == 8 + 24
    assert content_digest(found.table) == content_digest(
        fb.evaluate(ncc, embedded, task_sets="open-5w5s5q", **ALL).table
    )


def test_a_journal_of_another_run_is_not_resumed(embedded: Release, tmp_path: Path) -> None:
    journal = tmp_path / "x.partial"
    options = {"task_sets": "open-5w5s5q", "journal": journal, **ALL}
    fb.evaluate(ncc, embedded, **options)
    with pytest.raises(OutputError, match=r"another run(.|\n)*seed: 0, now 1"):
        fb.evaluate(ncc, embedded, seed=1, **options)
    journal.write_text("something else\n")
    with pytest.raises(OutputError, match="no journal"):
        fb.evaluate(ncc, embedded, **options)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a file's size")
def test_a_disk_that_is_full_names_the_journal(embedded: Release, tmp_path: Path) -> None:
    import resource

    journal = tmp_path / "x.partial"
    options = {"task_sets": "open-5w5s5q", "journal": journal, **ALL}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
    try:
        with pytest.raises(OutputError, match=rf"^cannot write {journal}: "):
            fb.evaluate(ncc, embedded, **options)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    resumed = fb.evaluate(ncc, embedded, **options)
    whole = fb.evaluate(ncc, embedded, **options | {"journal": None})
    assert content_digest(resumed.table) == content_digest(whole.table)


def test_a_journal_without_answers_never_blocks(embedded: Release, tmp_path: Path) -> None:
    journal = tmp_path / "x.partial"
    options = {"task_sets": "open-5w5s5q", "journal": journal, "name": "x", **ALL}
    with pytest.raises(MethodFailedError):
        fb.evaluate(Counted(1, ValueError("at once")), embedded, batch=4, **options)
    assert fb.evaluate(ncc, embedded, seed=3, **options).table.num_rows == 31


def test_an_interrupted_run_says_what_it_keeps(embedded: Release, tmp_path: Path) -> None:
    told: list[int] = []
    stopped = Counted(6, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        fb.evaluate(stopped, embedded, task_sets="open-5w5s5q", on_stop=told.append, **ALL)
    assert told == [5]


@pytest.mark.parametrize("damage", ["cut", "garbage", "head", "class"])
def test_a_damaged_journal_loses_only_what_is_damaged(
    damage: str, embedded: Release, tmp_path: Path
) -> None:
    journal = tmp_path / "x.partial"
    options = {"task_sets": "open-5w5s5q", "journal": journal, **ALL}
    expected = fb.evaluate(ncc, embedded, **options)
    whole = journal.read_bytes()
    lines = whole.splitlines(keepends=True)
    journal.write_bytes(
        {
            "cut": b"".join(lines[:10]) + lines[10][:7],
            "garbage": b"".join(lines[:10]) + b"\0\0\0\n" + b"".join(lines[11:]),
            "head": lines[0][:9],
            "class": b"".join(lines[:10])
            + re.sub(rb"\[\d", b"[9", lines[10])
            + b"".join(lines[11:]),
        }[damage]
    )
    counted = Counted()
    again = fb.evaluate(counted, embedded, name="ncc", **options)
    assert content_digest(again.table) == content_digest(expected.table)
    assert counted.calls == (31 if damage == "head" else 22)
    assert journal.read_bytes() == whole


SLOW = """
import time
import numpy as np

def slow(support, query, rng):
    time.sleep(0.004)
    distances = ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2)
    return (distances + rng.normal(0, 1e-3, distances.shape)).argmin(axis=1)
"""


@pytest.mark.slow
def test_killed_at_three_random_moments(tmp_path: Path) -> None:
    """SIGKILL, again and again: the same submission as an uninterrupted run."""
    (tmp_path / "slow.py").write_text(SLOW)
    code = "from fslbench_data.cli import main; main()"
    sets = [x for s in ("open-5w1s1q", "open-5w5s5q", "closed-5w1s1q") for x in ("--task-set", s)]
    arguments = ["evaluate", "slow.py:slow", "--features", "pixels", *sets]
    command = [sys.executable, "-c", code, *arguments]
    random.seed(7)
    path, partial = tmp_path / "x.parquet", tmp_path / "x.parquet.partial"

    def lines() -> int:
        return len(partial.read_bytes().splitlines()) if partial.exists() else 0

    kept = [0]
    for _ in range(3):
        process = subprocess.Popen(
            [*command, "-o", str(path)], cwd=tmp_path, stderr=subprocess.DEVNULL, env=os.environ
        )
        while lines() <= kept[-1]:  # until it has gone on, however slow the machine
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(random.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not path.exists()
        kept.append(lines())
    assert kept == sorted(kept)
    assert 0 < kept[-1] < 807
    subprocess.run([*command, "-o", str(path)], cwd=tmp_path, check=True, capture_output=True)
    assert not partial.exists()
    subprocess.run([*command, "-o", "y.parquet"], cwd=tmp_path, check=True, capture_output=True)
    assert path.read_bytes() == (tmp_path / "y.parquet").read_bytes()


def test_transductive_methods_are_marked(embedded: Release) -> None:
    def balanced(support: Array, query: Array, rng: np.random.Generator) -> Array:
        return ncc(support, query, rng)

    balanced.transductive = True  # type: ignore[attr-defined]
    found = fb.evaluate(balanced, embedded, task_sets="open-5w5s5q", **ALL)
    plain = fb.evaluate(ncc, embedded, task_sets="open-5w5s5q", **ALL)
    assert found.methods["balanced"].transductive
    assert not plain.methods["ncc"].transductive


# ---- images -------------------------------------------------------------------------------------


def _release(folder: Path, dataset: str, task_set: str, classes: int, paths: list[Any]) -> Release:
    """A release of one data set, of so many classes of as many images each."""
    from benchmark_spec import schemas
    from benchmark_spec.protocol import TaskSetName
    from builders.release.writer import ReleaseWriter
    from builders.sampling import draw_task_set
    from builders.sources.image_set import About

    number = len(paths)
    owner = [i * classes // number for i in range(number)]
    columns: dict[str, list[Any]] = {name: [None] * number for name in schemas.IMAGES.names}
    columns |= {"image_id": list(range(number)), "class_id": owner, "path": paths}
    columns["class_name"] = [f"class {c}" for c in owner]
    images = pa.table({f.name: pa.array(columns[f.name], f.type) for f in schemas.IMAGES})
    writer = ReleaseWriter(folder, "pictures", "1.0.0", "x")
    sizes, names = [number // classes] * classes, [f"class {c}" for c in range(classes)]
    about = About("t", "h", "l", "c")
    writer.add_dataset(dataset, about, images=images, class_names=names, class_sizes=sizes)
    name = TaskSetName.parse(task_set)
    writer.add_tasks(dataset, name, *draw_task_set(dataset, name, sizes))
    writer.finish()
    return fb.load_release(folder)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    """A release of 5 classes with 4 images each, and the folder that they lie in."""
    base = tmp_path_factory.mktemp("pictures")
    paths = [f"{c}/{i}.txt" for c in range(5) for i in range(4)]
    for path in paths:
        (base / "raw" / path).parent.mkdir(parents=True, exist_ok=True)
        (base / "raw" / path).write_text(path[0])
    return _release(base / "release", "words", "open-2w1s1q", 5, paths), base / "raw"


def test_images_come_as_paths(pictures: tuple[Release, Path]) -> None:
    release, folder = pictures

    def read(support: list[list[Path]], query: list[Path], rng: object) -> list[int]:
        classes = [row[0].read_text() for row in support]
        return [classes.index(path.read_text()) for path in query]

    def several(support: Any, query: Any, rng: object) -> list[list[int]]:
        return [read(*each, rng) for each in zip(support, query, strict=True)]

    for batch, method in ((None, read), (3, several)):
        found = fb.evaluate(method, release, name="read", images=folder, batch=batch)
        assert set(found.table.column("n_correct").to_pylist()) == {2}


@pytest.fixture(scope="module")
def empty_files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Path]:
    """A release of 10 classes with 60 images each, and numbered files with nothing in them."""
    base = tmp_path_factory.mktemp("empty")
    for i in range(600):
        path = base / picture_name(i)
        path.touch()
        os.utime(path, (i, i))  # written one after another
    return _release(base / "release", "files", "open-5w1s5q", 10, [None] * 600), base


def _listed(path: Path) -> int:
    return [each.name for each in os.scandir(path.parent)].index(path.name)


SIGNS: dict[str, Callable[[Path], int]] = {
    "number": lambda path: int(path.stem, 16),
    "name": lambda path: int.from_bytes(path.name.encode()[:16].ljust(16), "big"),
    "place in the folder's listing": _listed,
    "inode": lambda path: path.stat().st_ino,
    "time": lambda path: path.stat().st_mtime_ns,
    "time of change": lambda path: path.stat().st_ctime_ns,
    "size": lambda path: path.stat().st_size,
    "links": lambda path: path.stat().st_nlink,
    "folder": lambda path: hash(path.resolve().parent),
}


@pytest.mark.parametrize("batch", [None, 4])
def test_files_say_nothing_of_their_class(
    batch: int | None, empty_files: tuple[Release, Path]
) -> None:
    """A classifier that looks at all of a file but its content is at chance, 20 %."""
    release, folder = empty_files
    label = release.task_set("files", "open-5w1s5q").query_label
    guesses: dict[str, list[list[int]]] = {sign: [] for sign in SIGNS}

    def nearest(support: list[list[Path]], query: list[Path], rng: object) -> list[int]:
        for sign, of in SIGNS.items():
            marks, asked = [of(row[0]) for row in support], [of(q) for q in query]
            guesses[sign].append([min(range(5), key=lambda k: abs(marks[k] - q)) for q in asked])
        return [0] * len(query)

    def each(support: Any, query: Any, rng: object) -> list[list[int]]:
        return [nearest(*task, rng) for task in zip(support, query, strict=True)]

    fb.evaluate(nearest if batch is None else each, release, name="x", images=folder, batch=batch)
    chance = 5 * np.sqrt(0.2 * 0.8 / label.size)  # five standard deviations
    for sign, answers in guesses.items():
        right = np.array(answers[: len(label)]) == label
        assert abs(right.mean() - 0.2) < chance, sign


def test_names_of_images_follow_from_seed_and_task(pictures: tuple[Release, Path]) -> None:
    release, folder = pictures
    names: list[list[str]] = []

    def note(support: list[list[Path]], query: list[Path], rng: object) -> list[int]:
        paths = [path for row in support for path in row] + list(query)
        assert len({path.parent for path in paths}) == 1
        assert folder not in paths[0].parents
        assert {path.name for path in paths} == {p.name for p in paths[0].parent.iterdir()}
        assert all(path.suffix == ".txt" and path.is_file() for path in paths)
        folders.add(paths[0].parent)
        names[-1] += [path.name for path in paths]
        for path in paths:
            path.write_text("spoilt")  # a copy's content, not the image's
        return [0] * len(query)

    folders: set[Path] = set()
    for seed in (0, 0, 1):
        names.append([])
        fb.evaluate(note, release, name="x", images=folder, seed=seed)
    assert names[0] == names[1]
    assert not set(names[0]) & set(names[2])
    assert len(set(names[0])) == len(names[0])
    assert folders
    assert not any(each.exists() for each in folders)
    assert {path.read_text() for path in folder.rglob("*.txt")} == set("01234")


def test_copies_are_removed_when_a_method_fails(pictures: tuple[Release, Path]) -> None:
    release, folder = pictures
    folders: list[Path] = []

    def fail(support: list[list[Path]], query: list[Path], rng: object) -> list[int]:
        folders.append(query[0].parent)
        raise RuntimeError("x")

    with pytest.raises(MethodFailedError):
        fb.evaluate(fail, release, images=folder)
    assert not folders[0].exists()


def test_images_of_folders_that_may_only_be_read(
    pictures: tuple[Release, Path], tmp_path: Path
) -> None:
    release, folder = pictures
    locked = tmp_path / "locked"
    shutil.copytree(folder, locked)
    for path in (*locked.rglob("*"), locked):
        path.chmod(0o555 if path.is_dir() else 0o444)

    def write(support: list[list[Path]], query: list[Path], rng: object) -> list[int]:
        query[0].write_text("a copy may be written")
        return [0] * len(query)

    try:
        assert fb.evaluate(write, release, name="x", images=locked).table.num_rows
    finally:
        for path in (locked, *locked.rglob("*")):
            path.chmod(0o755)


def test_images_that_are_not_there(
    pictures: tuple[Release, Path], embedded: Release, tmp_path: Path
) -> None:
    with pytest.raises(SourceError, match="20 of 20 images of words are missing"):
        fb.evaluate(ncc, pictures[0], images=tmp_path)
    for dataset, of in (("digits", "1797"), ("emoji", r"\d+")):  # parts of an array, drawings
        said = rf"{of} images of {dataset} are not files(.|\n)*--pictures"
        with pytest.raises(SourceError, match=said):
            fb.evaluate(ncc, embedded, images=tmp_path, datasets=dataset)


def test_numbered_pictures_come_first(pictures: tuple[Release, Path], tmp_path: Path) -> None:
    """One file an image id, whatever the release's paths are; all, and of these images."""
    release, _ = pictures
    for i in range(20):
        (tmp_path / picture_name(i)).write_text(str(i))

    def read(support: list[list[Path]], query: list[Path], rng: object) -> list[int]:
        classes = [int(row[0].read_text()) // 4 for row in support]
        return [classes.index(int(path.read_text()) // 4) for path in query]

    for mark in (None, mark_of(release.images("words"))):
        if mark is not None:
            (tmp_path / MARK).write_text(mark)
        found = fb.evaluate(read, release, name="read", images=tmp_path)
        assert set(found.table.column("n_correct").to_pylist()) == {2}
    (tmp_path / "00000007.png").unlink()
    said = r"1 of 20 images of words are missing(.|\n)*00000007\.png(.|\n)*--pictures"
    with pytest.raises(SourceError, match=said):
        fb.evaluate(read, release, images=tmp_path)
    (tmp_path / "00000000.png").unlink()  # still a folder of pictures, by its mark
    with pytest.raises(SourceError, match=r"2 of 20 images of words are missing"):
        fb.evaluate(read, release, images=tmp_path)
    (tmp_path / MARK).write_text(mark_of(release.images("words").slice(1)))
    with pytest.raises(SourceError, match="are not those of words"):
        fb.evaluate(read, release, images=tmp_path)


# ---- settings and the command --------------------------------------------------------------------


def test_settings_that_are_wrong(embedded: Release) -> None:
    with pytest.raises(SpecError, match="features or on images"):
        fb.evaluate(ncc, embedded)
    with pytest.raises(SpecError, match="at least 1"):
        fb.evaluate(ncc, embedded, features="pixels", batch=0)
    for options, said in (
        ({"features": "clip"}, "pixels"),
        ({"features": "pixels", "datasets": "digit"}, "did you mean 'digits'"),
        ({"features": "pixels", "task_sets": "open-5w5s6q"}, "did you mean 'open-5w5s5q'"),
        ({"features": "pixels", "datasets": "cub"}, "features"),
        ({"features": "pixels", "datasets": "oxygen"}, "if it is of another release"),
    ):
        with pytest.raises(UnknownNameError) as caught:
            fb.evaluate(ncc, embedded, **options)
        assert said in str(caught.value)


def test_a_release_without_what_the_method_is_to_be_given(embedded: Release) -> None:
    with pytest.raises(SpecError, match="there are no tasks of canaries") as caught:
        fb.evaluate(ncc, embedded, features="efficientnet_lite0")  # of the canaries alone
    assert "release" in caught.value.fix
    with pytest.raises(SpecError, match="the release holds no pictures") as caught:
        fb.evaluate(ncc, embedded, images=True)
    assert "--images FOLDER" in caught.value.fix


METHODS = """
import numpy as np

class Centroid:
    def __call__(self, support, query, rng):
        return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)

class Broken:
    def __init__(self):
        raise RuntimeError("no weights")

number = 3
"""


@pytest.mark.parametrize("method", ["some_methods.py:Centroid", "some_methods:Centroid"])
def test_the_command_takes_classes_of_files_and_modules(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "some_methods.py").write_text(METHODS)
    monkeypatch.chdir(tmp_path)
    options = ["--features", "pixels", "--task-set", "open-5w5s5q", "-o", "x.parquet"]
    result = CliRunner().invoke(main, ["evaluate", method, *options])
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    left = sorted(p.name for p in tmp_path.iterdir() if p.suffix)
    assert left == ["some_methods.py", "x.parquet"]


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("x.py:f", SpecError, "no file x.py"),
        ("no_such_module:f", SpecError, "no module"),
        ("json", SpecError, "MODULE:CALLABLE"),
        ("json:lods", UnknownNameError, "did you mean 'loads'"),
        ("some_methods_b.py:number", SpecError, "is a int"),
        ("some_methods_b.py:Broken", MethodFailedError, "no weights"),
    ],
)
def test_methods_that_cannot_be_loaded(
    text: str,
    error: type[FSLBenchError],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "some_methods_b.py").write_text(METHODS)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=said):
        load_callable(text)


def test_a_name_that_a_module_lacks_is_answered_with_its_own_not_with_what_it_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some_methods_c.py"
    path.write_text("from json import loads\ndef mine(s, q): ...\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError, match="mine") as caught:
        load_callable(f"{path.name}:predict")
    assert "loads" not in str(caught.value)
