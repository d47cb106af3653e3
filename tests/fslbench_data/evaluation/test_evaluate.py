"""Running methods: what they are given, what they may return, and stopping anywhere."""

import inspect
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from commands import invoke
from msgspec.structs import replace

import fslbench_data as fb
from benchmark_spec.digest import content_digest
from benchmark_spec.errors import (
    MethodFailedError,
    OutputError,
    PredictionError,
    SourceError,
    SpecError,
    UnknownNameError,
)
from builders.release.results import with_right_queries
from fslbench_data.release.pictures import MARK, mark_of, picture_name, picture_paths


def ncc(support, query, rng):
    def unit(x):
        x = x.astype(np.float64)
        return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))

    centroids = unit(unit(support).mean(axis=-2))
    return np.asarray((unit(query) @ np.swapaxes(centroids, -1, -2)).argmax(axis=-1))


class Counted:
    """Nearest centroids, until at one call something else happens."""

    def __init__(self, at=0, error=None):
        self.calls, self._at, self._error = 0, at, error

    def __call__(self, support, query, rng):
        self.calls += 1
        if self._error is not None and self.calls == self._at:
            raise self._error
        return ncc(support, query, rng)


ALL = {"features": "pixels", "datasets": "digits", "task_sets": "open-5w5s5q"}
BY_COMMAND = ["--features", "pixels", "--task-set", "open-5w5s5q", "-o", "x.parquet"]


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "x.partial"


@pytest.fixture
def journaled(journal):
    return lambda method, **how: fb.evaluate(
        method, **{"name": "ncc", "journal": journal} | ALL | how
    )


@pytest.mark.slow
def test_a_reference_method_again(embedded):
    names = ["open-5w1s1q", "open-5w10s7q", "closed-5w5s5q", "pooled-5w10s7q"]
    found = fb.evaluate(ncc, embedded, features="pixels", name="pixels/NCC", task_sets=names)
    infos = [embedded.task_set_info("digits", name) for name in names]
    reference = embedded.reference("pixels/NCC").on(infos)  # whose pixels the release holds
    for name in ("predictions", "second"):  # of tasks of all classes alone
        assert not pc.any(pc.is_valid(reference.table.column(name))).as_py()
    kept = reference.table.drop_columns(["predictions", "second"])
    assert content_digest(with_right_queries(found, embedded).table) == content_digest(kept)
    own = {key: replace(bound, of_release=False) for key, bound in reference.bindings.items()}
    assert found.bindings == own


def test_one_task_or_a_batch_gives_the_same_predictions():
    given = []

    def look(support, query, rng):
        assert support.dtype == query.dtype == np.float32
        assert isinstance(rng, np.random.Generator)
        given.append((support.shape, query.shape))
        return ncc(support, query, rng)

    one = fb.evaluate(look, name="it", **ALL)
    assert given == [((5, 5, 64), (25, 64))] * 31
    given.clear()
    many = fb.evaluate(look, name="it", batch=8, **ALL)
    assert given == [((8, 5, 5, 64), (8, 25, 64))] * 3 + [((7, 5, 5, 64), (7, 25, 64))]
    assert content_digest(one.table) == content_digest(many.table)


def test_the_generator_depends_on_seed_and_task_alone():
    def guess(support, query, rng):
        return rng.integers(0, len(support), len(query))

    def run(**options):
        return fb.evaluate(guess, **options, **ALL).table.column("predictions").to_pylist()

    assert run() == run()
    assert run(max_tasks=5) == run()[:5]
    assert run(seed=1) != run()
    assert len({tuple(p) for p in run()}) == 31


class _Strange:
    def __array__(self, *args, **kwargs):
        raise KeyError


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda n: np.zeros(n - 1, int), "shape (24,)"),
        (lambda n: np.zeros(n), "float64"),
        (lambda n: np.full(n, 5), "predicted 5"),
        (lambda n: np.full(n, -1), "predicted -1"),
        (lambda n: [[0] * n], "shape (1, 25)"),
        (lambda n: None, "a NoneType of which numpy makes no array"),
        (lambda n: _Strange(), "a _Strange of which numpy makes no array: KeyError"),
        (lambda n: np.ma.masked_all(n, int), "some of it is masked"),
        (lambda n: (np.zeros(n, int), {"loss": 0.1}), "tuple of which numpy makes no array"),
    ],
)
def test_what_is_no_answer(answer, said):
    with pytest.raises(PredictionError) as caught:
        fb.evaluate(lambda s, q, r: answer(25), name="x", **ALL)
    assert said in str(caught.value)
    assert caught.value.where == "x on digits/open-5w5s5q, task 0"


def test_a_method_that_raises_names_the_task_and_keeps_the_rest(journaled):
    fragile = Counted(8, ValueError("ran out of luck"))
    with pytest.raises(MethodFailedError, match=r"ValueError: ran out of luck") as caught:
        journaled(fragile)
    assert "open-5w5s5q, task 7" in str(caught.value)
    assert "in __call__" in str(caught.value)
    found = journaled(fragile)
    assert fragile.calls == 8 + 24
    assert content_digest(found.table) == content_digest(journaled(ncc, journal=None).table)


def test_an_error_whose_text_raises_is_named():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    with pytest.raises(MethodFailedError, match="the method raised Mute: its text cannot be"):
        fb.evaluate(Counted(1, Mute()), **ALL)


def test_an_interrupted_run_says_what_it_keeps():
    told = []
    with pytest.raises(KeyboardInterrupt):
        fb.evaluate(Counted(6, KeyboardInterrupt()), on_stop=told.append, **ALL)
    assert told == [5]


def test_a_journal_of_another_run_is_not_resumed(journaled, journal):
    journaled(ncc)
    for other, said in (
        ({"seed": 1}, r"another run(.|\n)*seed: 0, now 1"),
        ({"run": 2}, "another"),
    ):
        with pytest.raises(OutputError, match=said):
            journaled(ncc, **other)
    journal.write_text("something else\n")
    with pytest.raises(OutputError, match="no journal"):
        journaled(ncc)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on a file's size")
def test_a_disk_that_is_full_names_the_journal(journaled, journal):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limits[1]))
    try:
        with pytest.raises(OutputError, match=rf"^cannot write {journal}: "):
            journaled(ncc)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    whole = journaled(ncc, journal=None)
    assert content_digest(journaled(ncc).table) == content_digest(whole.table)


def test_a_journal_without_answers_never_blocks(journaled):
    with pytest.raises(MethodFailedError):
        journaled(Counted(1, ValueError("at once")), batch=4)
    assert journaled(ncc, seed=3).table.num_rows == 31


DAMAGES = {
    "cut": lambda lines: [*lines[:10], lines[10][:7]],
    "garbage": lambda lines: [*lines[:10], b"\0\0\0\n", *lines[11:]],
    "head": lambda lines: [lines[0][:9]],
    "class": lambda lines: [*lines[:10], re.sub(rb"\[\d", b"[9", lines[10]), *lines[11:]],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_journal_loses_only_what_is_damaged(damage, journaled, journal):
    expected, counted = journaled(ncc), Counted()
    whole = journal.read_bytes()
    journal.write_bytes(b"".join(DAMAGES[damage](whole.splitlines(keepends=True))))
    assert content_digest(journaled(counted).table) == content_digest(expected.table)
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
def test_killed_at_three_random_moments(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    code = "from fslbench_data.cli import main; main()"
    sets = [x for s in ("open-5w1s1q", "open-5w5s5q", "closed-5w1s1q") for x in ("--task-set", s)]
    arguments = ["evaluate", "slow.py:slow", "--features", "pixels", *sets]
    command = [sys.executable, "-c", code, *arguments]
    random.seed(7)
    path, partial = tmp_path / "x.parquet", tmp_path / "x.parquet.partial"

    def lines():
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


def _release(folder, dataset, task_set, classes, paths):
    from benchmark_spec.protocol import TaskSetName
    from builders.release.writer import ReleaseWriter
    from builders.sampling import draw_task_set
    from builders.sources.image_set import About, images_table

    sizes, names = [len(paths) // classes] * classes, [f"class {c}" for c in range(classes)]
    owner = np.repeat(range(classes), sizes)
    columns = {"image_id": range(len(paths)), "class_id": owner, "path": paths}
    images = images_table(columns | {"class_name": [names[c] for c in owner]})
    writer = ReleaseWriter(folder, "pictures", "1.0.0", "x")
    about = About("t", "h", "l", "c")
    writer.add_dataset(dataset, about, images=images, class_names=names, class_sizes=sizes)
    name = TaskSetName.parse(task_set)
    writer.add_tasks(dataset, name, *draw_task_set(dataset, name, sizes))
    writer.finish()
    return fb.load_release(folder)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A release of 5 classes with 4 images each, and the folder that they lie in."""
    base = tmp_path_factory.mktemp("pictures")
    paths = [f"{c}/{i}.txt" for c in range(5) for i in range(4)]
    for path in paths:
        (base / "raw" / path).parent.mkdir(parents=True, exist_ok=True)
        (base / "raw" / path).write_text(path[0])
    return _release(base / "release", "words", "open-2w1s1q", 5, paths), base / "raw"


def test_images_come_as_paths(pictures):
    release, folder = pictures

    def read(support, query, rng):
        classes = [row[0].read_text() for row in support]
        return [classes.index(path.read_text()) for path in query]

    def several(support, query, rng):
        return [read(*each, rng) for each in zip(support, query, strict=True)]

    for batch, method in ((None, read), (3, several)):
        found = fb.evaluate(method, release, name="read", images=folder, batch=batch)
        assert set(found.table.column("n_correct").to_pylist()) == {2}


SIGNS = {
    "number": lambda path: int(path.stem, 16),
    "name": lambda path: int.from_bytes(path.name.encode()[:16].ljust(16), "big"),
    "place in the folder's listing": lambda path: [
        each.name for each in os.scandir(path.parent)
    ].index(path.name),
    "inode": lambda path: path.stat().st_ino,
    "time": lambda path: path.stat().st_mtime_ns,
    "time of change": lambda path: path.stat().st_ctime_ns,
    "size": lambda path: path.stat().st_size,
    "links": lambda path: path.stat().st_nlink,
    "folder": lambda path: hash(path.resolve().parent),
}


def test_files_say_nothing_of_their_class(tmp_path):
    """A classifier that looks at all of a file but its content is at chance, 20 %."""
    for i in range(600):
        (tmp_path / picture_name(i)).touch()
        os.utime(tmp_path / picture_name(i), (i, i))  # written one after another
    release = _release(tmp_path / "release", "files", "open-5w1s5q", 10, [None] * 600)
    label = release.task_set("files", "open-5w1s5q").query_label
    guesses = {sign: [] for sign in SIGNS}

    def nearest(support, query, rng):
        for sign, of in SIGNS.items():
            marks, asked = [of(row[0]) for row in support], [of(q) for q in query]
            guesses[sign].append([min(range(5), key=lambda k: abs(marks[k] - q)) for q in asked])
        return [0] * len(query)

    fb.evaluate(nearest, release, name="x", images=tmp_path)
    chance = 5 * np.sqrt(0.2 * 0.8 / label.size)  # five standard deviations
    for sign, answers in guesses.items():
        right = np.array(answers[: len(label)]) == label
        assert abs(right.mean() - 0.2) < chance, sign


def test_images_are_copies_whose_names_follow_from_seed_and_task(pictures):
    release, folder = pictures
    names = []
    folders = set()
    for path in folder.rglob("*.txt"):
        path.chmod(0o444)

    def note(support, query, rng):
        paths = [path for row in support for path in row] + list(query)
        assert len({path.parent for path in paths}) == 1
        assert folder not in paths[0].parents
        assert {path.name for path in paths} == {p.name for p in paths[0].parent.iterdir()}
        assert all(path.suffix == ".txt" and path.stat().st_mode & 0o200 for path in paths)
        assert {path.stat().st_mtime for path in paths} == {0}
        folders.add(paths[0].parent)
        names[-1] += [path.name for path in paths]
        for path in paths:
            path.write_text("spoilt")  # a copy's content, not the image's
        if len(names) == 4:
            raise RuntimeError("no luck")
        return [0] * len(query)

    for seed in (0, 0, 1):
        names.append([])
        fb.evaluate(note, release, name="x", images=folder, seed=seed)
    names.append([])
    with pytest.raises(MethodFailedError, match="no luck"):
        fb.evaluate(note, release, name="x", images=folder)
    assert names[0] == names[1]
    assert not set(names[0]) & set(names[2])
    assert len(set(names[0])) == len(names[0])
    assert folders
    assert not any(each.exists() for each in folders)
    assert {path.read_text() for path in folder.rglob("*.txt")} == set("01234")


def test_images_that_are_not_there(pictures, embedded, tmp_path):
    with pytest.raises(SourceError, match="20 of 20 images of words are missing"):
        fb.evaluate(ncc, pictures[0], images=tmp_path)
    for dataset, of in (("digits", "1797"), ("emoji", r"\d+")):  # parts of an array, drawings
        said = rf"{of} images of {dataset} are not files(.|\n)*--pictures"
        with pytest.raises(SourceError, match=said):
            fb.evaluate(ncc, embedded, images=tmp_path, datasets=dataset)


def test_a_folder_of_images_that_is_not_there_is_named(embedded, tmp_path):
    with pytest.raises(SourceError, match=r"there is no folder .*nowhere"):
        picture_paths(embedded, "digits", tmp_path / "nowhere")


def test_numbered_pictures_come_first(pictures, tmp_path):
    """One file an image id, whatever the release's paths are; all, and of these images."""
    release, _ = pictures
    for i in range(20):
        (tmp_path / picture_name(i)).write_text(str(i))

    def read(support, query, rng):
        classes = [int(row[0].read_text()) // 4 for row in support]
        return [classes.index(int(path.read_text()) // 4) for path in query]

    for mark in (None, mark_of(release.images("words"))):
        if mark is not None:
            (tmp_path / MARK).write_text(mark)
        found = fb.evaluate(read, release, name="read", images=tmp_path)
        assert set(found.table.column("n_correct").to_pylist()) == {2}
    kept = {"name": "read", "images": tmp_path, "journal": tmp_path / "journal"}
    fb.evaluate(read, release, **kept)
    (tmp_path / "00000007.png").write_text("0007")
    with pytest.raises(OutputError, match="is of another run\n  where: pictures: "):
        fb.evaluate(read, release, **kept)
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


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"features": "pixels", "batch": 0}, SpecError, "at least 1"),
        ({"features": "pixels", "images": "x"}, SpecError, "features or on images"),
        ({"datasets": "digits"}, SpecError, r"where: digits of embedded(.|\n)*--features pixels"),
        ({"features": "pixels", "datasets": "digit"}, UnknownNameError, "did you mean 'digits'"),
        ({"features": "pixels", "task_sets": "open-5w5s6q"}, UnknownNameError, "'open-5w5s5q'"),
        ({"features": "pixels", "datasets": "cub"}, UnknownNameError, "features"),
        ({"features": "pixels", "datasets": "oxygen"}, UnknownNameError, "of another release"),
        # which the release has of the canaries alone
        ({"features": "efficientnet_lite0"}, SpecError, "there are no tasks of canaries"),
        ({"images": True}, SpecError, r"the release holds no pictures(.|\n)*--images FOLDER"),
    ],
)
def test_settings_that_are_wrong(options, kind, said):
    with pytest.raises(kind, match=said):
        fb.evaluate(ncc, **options)


METHODS = """
from json import loads
import sys
import numpy as np

class Centroid:
    def __call__(self, support, query, rng):
        return ((query[:, None] - support.mean(axis=1)) ** 2).sum(axis=2).argmin(axis=1)

class Broken:
    def __init__(self):
        raise RuntimeError("no weights")

class Exits:
    def __init__(self):
        sys.exit()

def exits(support, query, rng):
    raise SystemExit
"""


def test_methods_that_the_command_loads_and_those_that_it_cannot(tmp_path, monkeypatch):
    (tmp_path / "some_methods.py").write_text(METHODS)
    (tmp_path / "exits_at_once.py").write_text("import sys\nsys.exit()")
    monkeypatch.chdir(tmp_path)
    for method, said in (
        ("some_methods:Centroid", "wrote x.parquet"),
        ("some_methods.py:Broken", "Broken() raised RuntimeError: no weights"),
        ("some_methods.py:predict", "one of Centroid, Broken, Exits, exits\n"),  # none it imports
        ("some_methods.py:Exits", "raised SystemExit"),
        ("some_methods.py:exits", "raised SystemExit"),
        ("exits_at_once.py:m", "raised SystemExit"),
        ("no_such_module:f", "there is no module 'no_such_module'"),
        ("some_methods", "MODULE:CALLABLE"),
    ):
        result = invoke("evaluate", method, *BY_COMMAND, "--overwrite")
        assert said in result.stderr
        assert result.exit_code == (0 if "wrote" in said else 2)
    left = sorted(p.name for p in tmp_path.iterdir() if p.suffix)
    partial = "x.parquet.partial"  # of the one that exited in a task
    assert left == ["exits_at_once.py", "some_methods.py", "x.parquet", partial]


def test_a_method_that_changes_the_folder_is_written_where_it_was_asked_for(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "goes.py").write_text(
        "import os\nimport numpy as np\n"
        "def m(s, q, r):\n    os.chdir('elsewhere' if os.path.exists('elsewhere') else '.')\n"
        "    return np.zeros(len(q), int)"
    )
    monkeypatch.chdir(tmp_path)
    assert invoke("evaluate", "goes.py:m", *BY_COMMAND, "--run", "b").exit_code == 0
    assert {path.name for path in tmp_path.glob("**/x.*")} == {"x.parquet"}
    table = fb.Submission.read(tmp_path / "x.parquet").to_arrow()
    assert table.column("run").unique().to_pylist() == ["b"]


def _of_the_user(support, query, rng):
    raise ValueError("no")


def _of_a_library(support, query, rng):
    return np.linalg.inv(np.zeros((2, 2)))


def _raised_by(method):
    with pytest.raises(MethodFailedError) as caught:
        fb.evaluate(method, name="x", max_tasks=2, **ALL)  # the line that runs it
    return caught.value.where


@pytest.mark.parametrize(
    ("method", "of", "offset", "library"),
    [
        (_of_the_user, _of_the_user, 1, ""),
        (_of_a_library, _of_a_library, 1, "linalg.py"),
        (shutil.copyfileobj, _raised_by, 2, "shutil.py"),  # of an adapter the line that runs it
    ],
)
def test_a_failure_names_the_line_of_the_user_and_the_library_s(method, of, offset, library):
    where, _, further = _raised_by(method).partition("; raised at ")
    line = inspect.getsourcelines(of)[1] + offset
    assert where == f"x on digits/open-5w5s5q, task 0; {Path(__file__)}:{line}, in {of.__name__}"
    assert library in further
    assert bool(library) == bool(further)


@pytest.mark.parametrize(("said", "kept"), [(False, False), (True, True), ("resnet", None)])
def test_what_a_method_says_of_its_training_is_kept_if_it_is_yes_or_no(said, kept):
    (method := Counted()).trained = said
    assert fb.evaluate(method, name="mine", max_tasks=2, **ALL).methods["mine"].trained is kept


def test_runs_that_are_evaluated_one_by_one_are_scored_together():
    how = {"name": "mine", **ALL}
    runs = [
        fb.evaluate(lambda s, q, r: r.integers(0, 5, 25), run=n, seed=n, **how) for n in range(3)
    ]
    score, *alone = (fb.score(some, references=False).scores[0] for some in (runs, *runs))
    assert score.run_means == {n: one.accuracy.mean for n, one in zip("012", alone, strict=True)}
    assert fb.merge(runs).to_arrow().column("run").unique().to_pylist() == ["0", "1", "2"]


def test_a_method_is_inductive_if_no_run_was_not():
    runs = [fb.evaluate(ncc, run=run, **ALL) for run in range(2)]
    for said, both in (
        ((True, None), True),
        ((True, False), False),
        ((None, False), False),
        ((None, None), None),
    ):
        of_runs = [
            replace(run, methods={"ncc": replace(run.methods["ncc"], inductive=inductive)})
            for run, inductive in zip(runs, said, strict=True)
        ]
        for order in (of_runs, of_runs[::-1]):
            assert fb.merge(order).methods["ncc"].inductive is both


def _digest(method, **options):
    return content_digest(fb.evaluate(method, name="it", **ALL | options).table)


def test_an_estimator_is_cloned_for_every_task():
    neighbors = pytest.importorskip("sklearn.neighbors", reason="needs scikit-learn")

    def by_hand(support, query, rng):
        nearest = neighbors.KNeighborsClassifier(3)
        nearest.fit(support.reshape(25, 64), np.arange(5).repeat(5))
        return np.asarray(nearest.predict(query))

    estimator = neighbors.KNeighborsClassifier(3)
    assert _digest(fb.sklearn(estimator)) == _digest(by_hand)
    assert not hasattr(estimator, "classes_")
    assert fb.sklearn(estimator).__name__ == "KNeighborsClassifier"  # names a run


def test_seeds_come_from_the_task_where_none_is_set():
    ensemble = pytest.importorskip("sklearn.ensemble", reason="needs scikit-learn")
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import ExtraTreeClassifier

    def digest(random_state, seed=0):
        tree = ExtraTreeClassifier(max_depth=3, random_state=random_state)
        trees = ensemble.BaggingClassifier(tree, n_estimators=2, random_state=random_state)
        return _digest(fb.sklearn(make_pipeline(trees)), seed=seed, max_tasks=3)

    assert digest(None) == digest(None)
    assert digest(None) != digest(None, seed=1)
    assert digest(5) == digest(5, seed=1)
    assert digest(5) != digest(None)


def test_what_is_no_estimator():
    class Half:
        def fit(self, x, y): ...

    class Whole(Half):  # no parameters, no protocol of clones: copied as it is
        def predict(self, x):
            return np.zeros(len(x), int)

    with pytest.raises(SpecError, match=r"Whole is a class(.|\n)*call it first"):
        fb.sklearn(Whole)
    with pytest.raises(SpecError, match="a Half has no predict"):
        fb.sklearn(Half())
    assert fb.evaluate(fb.sklearn(Whole()), **ALL).table.num_rows == 31
    with pytest.raises(MethodFailedError, match=r"shape \(2, 5, 5, 64\)"):
        fb.evaluate(fb.sklearn(Whole()), batch=2, **ALL)


@pytest.mark.parametrize(
    ("module", "name"), [("cluster", "KMeans"), ("linear_model", "Ridge"), ("svm", "OneClassSVM")]
)
def test_estimators_that_are_no_classifiers(module, name):
    """Their answers are numbers, too, and would be scored as classes."""
    sklearn = pytest.importorskip(f"sklearn.{module}", reason="needs scikit-learn")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    estimator = getattr(sklearn, name)()
    for given in (estimator, make_pipeline(StandardScaler(), estimator)):
        with pytest.raises(SpecError, match=r"is no classifier, but a"):
            fb.sklearn(given)
