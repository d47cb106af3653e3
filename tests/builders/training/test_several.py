"""Several trainings by one command: folders, kept images, own methods, starts, and errors."""

import json
import pickle
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from small_runs import OWN, write_run

import fslbench_data as fb
from benchmark_spec.errors import EngineError, SpecError
from builders.cli import main

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")

from builders.execution.engine import LocalEngine  # noqa: E402
from builders.training import images as kept_images  # noqa: E402
from builders.training import several, state_sha256  # noqa: E402
from builders.training.folder import ABOUT, CHECKPOINT, CURVE, WEIGHTS  # noqa: E402
from builders.training.methods import METHODS  # noqa: E402
from builders.training.settings import DataSettings  # noqa: E402
from builders.training.trained import load_trained  # noqa: E402


def _train(*words: object) -> tuple[list[str], list[str]]:
    """Lines of the output and of what is told beside it."""
    result = CliRunner().invoke(main, ["train", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines(), result.stderr.splitlines()


def _refused(*words: object) -> str:
    result = CliRunner().invoke(main, ["train", *map(str, words)])
    assert result.exit_code == 2, result.output
    return result.output


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a training, in the current folder."""
    monkeypatch.chdir(tmp_path)
    return write_run(tmp_path / "proto.toml")


@pytest.fixture
def own(run: Path) -> Path:
    """The file of a training of one's own method."""
    (run.parent / "own_methods.py").write_text(OWN)
    return write_run(run.parent / "own.toml", method="own_methods:Cosine")


def test_each_file_and_seed_has_a_folder_and_a_line(run: Path) -> None:
    write_run(run.with_name("wide.toml"), channels=6)
    lines, told = _train("proto.toml", "wide.toml", "--seed", 0, "--seed", 3, "-o", "out")
    names = ["proto-0", "proto-3", "wide-0", "wide-3"]
    assert [line.split()[0] for line in lines] == names
    assert len({line.split()[1] for line in lines}) == 4
    assert told[0] == "reading digits"
    assert [line.split(":")[0] for line in told[1:-1]] == [n for n in names for _ in range(2)]
    for line in lines:
        name, digest = line.split()
        folder = run.parent / "out" / name
        about = json.loads((folder / ABOUT).read_text())
        assert about["weights_sha256"] == digest
        assert (about["threads"], about["device"]) == (1, "cpu")
        assert about["settings"]["seed"] == int(name[-1])
        assert {p.name for p in folder.iterdir() if p.name[0] != "."} == {WEIGHTS, ABOUT, CURVE}
        assert state_sha256(torch.load(folder / WEIGHTS, weights_only=True)) == digest


def test_images_are_read_once_and_finished_ones_left(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = _train("proto.toml", "-o", "out")
    before = {p: p.read_bytes() for p in (run.parent / "out").rglob("*") if p.is_file()}
    monkeypatch.setattr(kept_images, "read_images", lambda *_: pytest.fail("read again"))
    assert _train("proto.toml", "-o", "out") == (first, ["proto-0: finished before", "wrote out"])
    assert before == {p: p.read_bytes() for p in (run.parent / "out").rglob("*") if p.is_file()}
    again, _ = _train("proto.toml", "--seed", 0, "--seed", 1, "-o", "out")
    assert again[0] == first[0]
    shutil.rmtree("out/.images")
    assert _train("proto.toml", "-o", "out")[0] == first  # which no image is needed for


def test_a_source_s_own_steps_are_told(tmp_path: Path) -> None:
    """Glyphs are drawn for minutes: what the source says on the way is passed on."""
    told: list[str] = []
    data = DataSettings("canaries", channels=3, fit="squeeze")
    kept_images.keep_images(data, None, tmp_path / "kept.npz", told.append)
    assert told == ["reading canaries", "canaries"]


def test_kept_images_are_those_that_were_read(run: Path, tmp_path: Path) -> None:
    data = several.plan([run], [], tmp_path / "out")[0].settings.data
    path = tmp_path / "kept/images.npz"
    kept_images.keep_images(data, None, path, lambda _: None)
    from builders.training.images import read_images

    fresh = read_images(data, None, lambda _: None)[0]
    for part in kept_images.load_images(path):
        np.testing.assert_array_equal(part.pixels, fresh.pixels)
        np.testing.assert_array_equal(part.class_sizes, fresh.class_sizes)
        assert part.digest == fresh.digest


def test_images_are_read_anew_where_the_raw_folder_changed(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = tmp_path / "raw"
    (raw / "digits").mkdir(parents=True)
    (raw / "digits/a").write_text("a")
    data = several.plan([run], [], tmp_path / "out")[0].settings.data
    path, told = tmp_path / "kept/images.npz", list[str]()
    for raw_or_none, reads in ((raw, 1), (raw, 1), (None, 1)):
        kept_images.keep_images(data, raw_or_none, path, told.append)
        assert len(told) == reads
    (raw / "digits/b").write_text("b")
    kept_images.keep_images(data, raw, path, told.append)
    assert len(told) == 2
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(SpecError, match="cannot be read"):
        kept_images.load_images(path)


def test_what_was_trained_answers_task_sets(run: Path) -> None:
    """`answer` writes results that a release accepts, under a name of its own."""
    _train("proto.toml", "--seed", 3, "-o", "out")
    words = ["answer", "out/proto-3", "--dataset", "digits", "--task-set", "open-5w10s7q", "-o"]
    refused = CliRunner().invoke(main, [*words, "results.csv"])
    assert refused.exit_code == 2
    assert ".parquet" in refused.output
    result = CliRunner().invoke(main, [*words, "results.parquet"])
    assert result.exit_code == 0, result.output
    (score,) = fb.score("results.parquet", references=False).scores
    assert (score.method, score.task_set) == ("ProtoNet-conv4-5w1s", "open-5w10s7q")
    assert {*fb.Submission.read("results.parquet").table["run"].to_pylist()} == {"3"}
    assert not Path("out/proto-3/answers.journal").exists()


def test_its_module_is_needed_to_load_it(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _train("own.toml", "-o", "out")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    sys.path[:] = [place for place in sys.path if place != str(own.parent)]
    del sys.modules["own_methods"]
    with pytest.raises(SpecError, match=r"no module 'own_methods'(.|\n)*folder that the module"):
        load_trained(Path("../out/own-0"), "own_methods:Cosine")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("Protonet", "did you mean 'ProtoNet'"),
        ("own_methods:Cosin", "did you mean 'Cosine'"),
        ("own_methods:NoMethod", "is no method to train"),
        ("own_methods:NoLoss", "has no loss"),
        ("own_methods.py:Cosine", "names a file"),
        ("nothing_there:Cosine", "there is no module 'nothing_there'"),
    ],
)
def test_methods_that_are_refused_before_images_are_read(
    method: str, words: str, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_images, "read_images", lambda *_: pytest.fail("read"))
    write_run(own, method=method)
    assert words in " ".join(_refused("own.toml", "-o", "out").split())


def test_folders_that_are_refused(run: Path) -> None:
    Path("b").mkdir()
    write_run(Path("b/proto.toml"), channels=5)
    assert "two trainings would be proto-0" in _refused("proto.toml", "b/proto.toml", "-o", "out")
    assert "two trainings" in _refused("proto.toml", "--seed", 1, "--seed", 1, "-o", "out")
    _train("proto.toml", "-o", "out")
    said = " ".join(_refused("b/proto.toml", "-o", "out").split())
    assert "begun with other settings: network.channels 4, now 5" in said
    assert "is the folder of one training" in _refused("proto.toml", "-o", "out/proto-0")


def test_a_stopped_one_goes_on_with_as_many_threads_and_the_same_code(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(own, method="own_methods:Cosine", every=1)
    from builders.training import run as running

    step = running._step

    def die(*arguments: Any) -> float:
        if arguments[-1] == 2:
            raise EngineError("killed")
        return step(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(running, "_step", die)
        assert "killed" in _refused("own.toml", "-o", "out")
    assert Path("out/own-0", CHECKPOINT).exists()
    said = _refused("own.toml", "-o", "out", "--threads", 2)
    assert "begun with threads 1, not 2" in said
    assert "--threads 1" in said
    source = Path("own_methods.py")
    source.write_text(OWN + "\n# changed\n")
    assert "begun with code" in _refused("own.toml", "-o", "out")
    source.write_text(OWN)
    whole, _ = _train("own.toml", "-o", "whole")
    assert _train("own.toml", "-o", "out")[0] == whole


def test_the_job_can_go_to_other_processes(run: Path, tmp_path: Path) -> None:
    (one,) = several.plan([run], [5], tmp_path / "out")
    job = several.Trainings(1, "cpu", print)
    kept_images.keep_images(one.settings.data, None, one.images, lambda _: None)
    (digest,) = pickle.loads(pickle.dumps(job)).start()([pickle.loads(pickle.dumps(one))])
    here = several.plan([run], [5], tmp_path / "here")
    assert list(several.train_all(here, None, engine=LocalEngine())) == [("proto-5", digest)]


def test_a_gpu_that_is_not_there(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(kept_images, "read_images", lambda *_: pytest.fail("read"))
    assert "torch sees no GPU" in _refused("proto.toml", "-o", "out", "--device", "cuda")


FILES = [
    ('source = "digits"', 'source = "digit"', "did you mean 'digits'"),
    ("side = 8", "side = 8\nchannels = 2", "channels is 2"),
    ("side = 8", "side = 1000000", "side is"),
    ("side = 8", "side = 8\nresize = 7", "resize is 7"),
    ("side = 8", "side = 8\nmean = [0.4, 0.4]", "of which there are 1 (`channels`)"),
    ("side = 8", "side = 8\nmean = [120.0]", "numbers up to 1, which is white"),
    ("steps = 4", 'steps = 4\nschedule = "multistep"', "milestones is"),
    ("steps = 4", 'steps = 4\nschedule = "step"', "step_size is"),
    ("steps = 4", "steps = 4\nwarmup = 4", "warmup is 4"),
    ("steps = 4", "steps = 4\n[augmentation]\npadding = 2", "padding is 2"),
    ('"ProtoNet"', '"LEO"\nsettings = { steps = "x" }', "steps is 'x'"),
    ('"ProtoNet"', '"..a:b"', "importing ..a raised"),
]


@pytest.mark.parametrize(("before", "after", "words"), FILES, ids=lambda text: text[:30])
def test_files_that_are_no_training_s(before: str, after: str, words: str, run: Path) -> None:
    text = run.read_text()
    assert before in text
    run.write_text(text.replace(before, after))
    assert words in " ".join(_refused("proto.toml", "-o", "out").split())


def test_files_of_the_ten_methods_are_trainings(root: Path, tmp_path: Path) -> None:
    planned = several.plan(sorted((root / "examples/training").iterdir()), [0], tmp_path)
    assert {one.settings.method for one in planned} == set(METHODS)
    assert {one.settings.data.channels for one in planned} == {3}


# ---- trainings that start from the network of another --------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """LEO, whose network is frozen, and ProtoNet, which trains it; the latter is named last."""
    monkeypatch.chdir(tmp_path)
    leo = write_run(tmp_path / "leo.toml", method="LEO", start="proto")
    return [leo, write_run(tmp_path / "proto.toml")]


def _train_runs(runs: list[Path], folder: Path, seeds: tuple[int, ...] = (0,)) -> dict[str, str]:
    planned = several.plan(runs, seeds, folder)
    return dict(several.train_all(planned, None, engine=LocalEngine()))


def test_a_start_is_followed_by_what_has_its_network(runs: list[Path], tmp_path: Path) -> None:
    digests = _train_runs(runs, tmp_path / "out", (0, 1))
    assert list(digests) == ["proto-0", "proto-1", "leo-0", "leo-1"]
    for seed in (0, 1):
        about = json.loads((tmp_path / f"out/leo-{seed}" / ABOUT).read_text())
        assert about["start"] == digests[f"proto-{seed}"]
        ours, theirs = (
            load_trained(tmp_path / f"out/{name}-{seed}").method.network.state_dict()
            for name in ("leo", "proto")
        )
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert digests["leo-0"] != digests["leo-1"]


def test_a_start_that_is_not_there(runs: list[Path], tmp_path: Path) -> None:
    words = ["train", "leo.toml", "-o", "out"]
    result = CliRunner().invoke(main, words)
    said = " ".join(result.output.split())
    assert result.exit_code == 2
    assert "starts from the network of proto-0, which is not trained" in said
    assert "name proto.toml in the same command" in said
    with pytest.raises(SpecError, match="network of proto-1"):
        several.plan(runs[:1], (1,), tmp_path / "out")


def test_a_start_with_another_network(runs: list[Path], tmp_path: Path) -> None:
    write_run(runs[1], channels=5)
    with pytest.raises(SpecError, match="whose network is another"):
        _train_runs(runs, tmp_path / "out")


def test_a_start_that_was_made_anew(runs: list[Path], tmp_path: Path) -> None:
    """What a stopped one started from must be what it goes on from."""
    from builders.training import run
    from builders.training.folder import resume

    _train_runs(runs, tmp_path / "out")
    (leo,) = several.plan(runs[:1], (0,), tmp_path / "out")
    about = json.loads((leo.folder / ABOUT).read_text())
    method = load_trained(leo.folder).method
    optimizer = run._optimizer(method, leo.settings.training)
    run.save(leo.folder, about, method, optimizer, run.Progress())
    with pytest.raises(SpecError, match="begun with other start"):
        resume(leo.folder, {**about, "start": "another"}, method, optimizer)


def test_trainings_that_start_from_each_other(runs: list[Path], tmp_path: Path) -> None:
    write_run(runs[1], start="leo")
    with pytest.raises(SpecError, match="start from each other: leo-0, proto-0"):
        several.plan(runs, (0,), tmp_path / "out")
