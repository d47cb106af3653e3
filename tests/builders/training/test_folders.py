"""Folders of trainings: several by one command, and others', of which no code runs unasked."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import build as called
from small_runs import OWN, stopped_at, write_run

import fslbench_data as fb
from benchmark_spec import errors
from builders.execution.engine import LocalEngine
from builders.features.backbones import load_backbone
from builders.training import images as kept_images
from builders.training import run as running
from builders.training import several, state_sha256
from builders.training.building import build_method
from builders.training.folder import ABOUT, CHECKPOINT, CURVE, WEIGHTS, resume
from builders.training.methods import METHODS
from builders.training.settings import DataSettings, read_settings
from builders.training.trained import load_network, load_trained


def _train(*words, out="out"):
    result = called(0, "train", *words, "-o", out)
    return result.stdout.splitlines(), result.stderr.splitlines()


def _refused(*words, out="out"):
    return " ".join(called(2, "train", *words, "-o", out).output.split())


def _never_read(monkeypatch):
    monkeypatch.setattr(kept_images, "read_images", lambda *_: pytest.fail("read"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The file of a training, in the current folder, and a module of one's own methods."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_methods.py").write_text(OWN)
    return write_run(tmp_path / "proto.toml")


def test_each_file_and_seed_has_a_folder_and_a_line(run):
    write_run(run.with_name("wide.toml"), channels=6)
    lines, told = _train("proto.toml", "wide.toml", "--seed", 0, "--seed", 3)
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


def test_images_are_read_once_and_finished_ones_left(run, monkeypatch):
    first, _ = _train("proto.toml")
    before = {p: p.read_bytes() for p in (run.parent / "out").rglob("*") if p.is_file()}
    _never_read(monkeypatch)
    assert _train("proto.toml") == (first, ["proto-0: finished before", "wrote out"])
    assert before == {p: p.read_bytes() for p in (run.parent / "out").rglob("*") if p.is_file()}
    assert _train("proto.toml", "--seed", 0, "--seed", 1)[0][0] == first[0]
    out = run.parent / "out/proto-0"
    (out / WEIGHTS).unlink()
    lines, told = _train("proto.toml")
    assert lines == first
    assert told[0] == "proto-0: its weights are gone or damaged, and it is trained again"
    _tell(out, images={"train": "0" * 64, "validate": "0" * 64})
    for seed in ((), ("--seed", 2)):
        assert "proto-0 was begun with other images" in _refused("proto.toml", *seed)
    shutil.rmtree("out/.images")
    assert _train("proto.toml")[1][0] == "proto-0: finished before"  # no image is needed for it


def test_kept_images_are_those_read_and_anew_where_the_raw_folder_changed(tmp_path):
    raw, data = tmp_path / "raw", DataSettings("digits", 8)
    (raw / "digits").mkdir(parents=True)
    path, told = tmp_path / "kept/images.npz", list[str]()
    for raw_or_none, name, reads in ((raw, "a", 1), (raw, "a", 1), (None, "a", 1), (raw, "b", 2)):
        if not (raw / "digits" / name).exists():
            (raw / "digits" / name).touch()
        kept_images.keep_images(data, raw_or_none, path, told.append)
        assert len(told) == reads
    fresh = kept_images.read_images(data, None, lambda _: None)[0]
    for part in kept_images.load_images(path):
        np.testing.assert_array_equal(part.pixels, fresh.pixels)
        np.testing.assert_array_equal(part.class_sizes, fresh.class_sizes)
        assert part.digest == fresh.digest
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(errors.SpecError, match="cannot be read"):
        kept_images.load_images(path)
    told.clear()  # of glyphs, which are drawn for minutes, what the source says is passed on
    data = DataSettings("canaries", channels=3, fit="squeeze")
    kept_images.keep_images(data, None, tmp_path / "kept.npz", told.append)
    assert told == ["reading canaries", "canaries"]


def test_what_was_trained_answers_task_sets(run):
    """`answer` writes results that a release accepts, under a name of its own."""
    _train("proto.toml", "--seed", 3)
    words = ["answer", "out/proto-3", "--dataset", "digits", "--task-set", "open-5w10s7q", "-o"]
    assert ".parquet" in called(2, *words, "results.csv").output
    called(0, *words, "results.parquet")
    (score,) = fb.score("results.parquet", references=False).scores
    assert (score.method, score.task_set) == ("ProtoNet-conv4-5w1s", "open-5w10s7q")
    assert {*fb.Submission.read("results.parquet").table["run"].to_pylist()} == {"3"}
    assert not Path("out/proto-3/answers.journal").exists()


def test_folders_that_are_refused(run):
    Path("b").mkdir()
    write_run(Path("b/proto.toml"), channels=5)
    assert "two trainings would be proto-0" in _refused("proto.toml", "b/proto.toml")
    assert "two trainings" in _refused("proto.toml", "--seed", 1, "--seed", 1)
    _train("proto.toml")
    assert "begun with other settings: network.channels 4, now 5" in _refused("b/proto.toml")
    assert "is the folder of one training" in _refused("proto.toml", out="out/proto-0")


def test_a_stopped_one_goes_on_with_as_many_threads_and_the_same_code(run):
    write_run(run, method="own_methods:Cosine", every=1)
    with stopped_at(2, errors.EngineError):
        assert "killed" in _refused("proto.toml")
    assert Path("out/proto-0", CHECKPOINT).exists()
    said = _refused("proto.toml", "--threads", 2)
    assert "begun with threads 1, not 2" in said
    assert "--threads 1" in said
    source = Path("own_methods.py")
    source.write_text(OWN + "\n# changed\n")
    assert "begun with code" in _refused("proto.toml")
    source.write_text(OWN)
    whole, _ = _train("proto.toml", out="whole")
    assert _train("proto.toml")[0] == whole


def test_a_gpu_that_is_not_there(run, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    _never_read(monkeypatch)
    assert "torch sees no GPU" in _refused("proto.toml", "--device", "cuda")


FILES = [
    ("ProtoNet", "Protonet", "did you mean 'ProtoNet'"),
    ("ProtoNet", "own_methods:Cosin", "did you mean 'Cosine'"),
    ("ProtoNet", "own_methods:NoMethod", "is no method to train"),
    ("ProtoNet", "own_methods:NoScores", "has no scores"),
    ("ProtoNet", "own_methods.py:Cosine", "names a file"),
    ("ProtoNet", "nothing_there:Cosine", "there is no module 'nothing_there'"),
    ("ProtoNet", "..a:b", "importing ..a raised"),
    ('"ProtoNet"', '"ProtoNet"\nsettings = { rate = 1 }', "setting of ProtoNet 'rate'"),
    ('"ProtoNet"', '"LEO"\nsettings = { steps = "x" }', "steps is 'x'"),
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
    *(
        ("steps = 4", f"steps = 4\n{line}", said)
        for line, said in (
            ("milestones = [2]", "milestones is"),
            ('schedule = "multistep"\nmilestones = [5]', "milestones is"),
            ("step_size = 2", "step_size is 2"),
            ("gamma = 0.5", "gamma is 0.5"),
            ("momentum = 0.5", "momentum is 0.5"),
            ("[augmentation]\nscale = [0.5, 1.0]", "scale is"),
            ("[augmentation]\njitter = [0.0, 0.0, 0.1, 0.0]", "jitter is"),
        )
    ),
    ("channels = 4", "channels = 4\ndrop = 0.1", "drop is 0.1"),
]


@pytest.mark.parametrize(("before", "after", "words"), FILES, ids=lambda text: text[:30])
def test_files_that_are_refused(before, after, words, run, monkeypatch):
    if "source" not in before:  # of which the name is known where it is read
        _never_read(monkeypatch)
    run.write_text(run.read_text().replace(before, after))
    assert words in _refused("proto.toml")


@pytest.mark.slow
def test_those_on_ray_are_those_of_this_machine(root, run):
    pytest.importorskip("ray", reason="needs the extra `ray`")
    write_run(run.with_name("own.toml"), method="own_methods:Cosine")
    start = [sys.executable, "-c", "from builders.cli import main; main()", "train"]
    command = [*start, "own.toml", "proto.toml", "--seed", "1"]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    here, there = (
        subprocess.run([*command, *more], capture_output=True, text=True, env=environment)
        for more in (["-o", "here"], ["-o", "there", "--engine", "ray"])
    )
    assert (here.returncode, len(here.stdout.splitlines())) == (0, 2), here.stderr
    assert (there.returncode, there.stdout) == (0, here.stdout), there.stderr


def test_files_of_the_ten_methods_are_trainings(root, tmp_path):
    planned = several.plan(sorted((root / "examples/training").iterdir()), [0], tmp_path)
    assert {one.settings.method for one in planned} == set(METHODS)
    assert {one.settings.data.channels for one in planned} == {3}


@pytest.fixture
def leo(run):
    """LEO, whose network is frozen, and starts from that of ProtoNet."""
    return write_run(run.with_name("leo.toml"), method="LEO", start="proto")


def test_a_start_is_followed_by_what_has_its_network(leo):
    """And what a stopped one started from must be what it goes on from."""
    lines, _ = _train("leo.toml", "proto.toml", "--seed", 0, "--seed", 1)
    digests = dict(line.split() for line in lines)
    assert list(digests) == ["proto-0", "proto-1", "leo-0", "leo-1"]
    assert digests["leo-0"] != digests["leo-1"]
    for seed in (0, 1):
        ours, theirs = (load_trained(Path(f"out/{name}-{seed}")) for name in ("leo", "proto"))
        assert ours.about["start"] == digests[f"proto-{seed}"]
        networks = (one.method.network.state_dict() for one in (ours, theirs))
        for own, start in zip(*(network.values() for network in networks), strict=True):
            assert torch.equal(own, start)
    optimizer = running._optimizer(ours.method, ours.settings.training)
    running.save(leo.parent, ours.about, ours.method, optimizer, running.Progress())
    with pytest.raises(errors.SpecError, match="begun with other start"):
        resume(leo.parent, {**ours.about, "start": "another"}, ours.method, optimizer)


def test_starts_that_are_refused(leo):
    proto = leo.with_name("proto.toml")
    said = _refused("leo.toml", "--seed", 1)
    assert "starts from the network of proto-1, which is not trained" in said
    assert "name proto.toml in the same command" in said
    with pytest.raises(errors.SpecError, match="network of proto-0"):
        several.plan([leo], [], leo.parent)
    write_run(proto, channels=5)
    assert "whose network is another" in _refused("leo.toml", "proto.toml")
    write_run(proto, start="leo")
    with pytest.raises(errors.SpecError, match="start from each other: leo-0, proto-0"):
        several.plan([leo, proto], [], leo.parent)


SPY = "from pathlib import Path\nPath({mark!r}).touch()\n"
COSINE = "own_methods:Cosine"


def _train_here(*runs):
    planned = several.plan([Path(run) for run in runs], [], Path("out").resolve())
    list(several.train_all(planned, None, engine=LocalEngine()))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with trainings: `whole` is finished, `stopped` is not, `own` has its own method."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        (folder / "own_methods.py").write_text(OWN)
        _train_here(write_run(folder / "whole.toml"), write_run(folder / "own.toml", method=COSINE))
        with pytest.raises(KeyboardInterrupt), stopped_at(3):
            _train_here(write_run(folder / "stopped.toml"))
    sys.modules.pop("own_methods")
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    folder = shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def mark(here):
    """Puts other code where the method's is; gives the file that shows that it has run."""
    mark = here / "it-ran"
    (here / "own_methods.py").write_text(OWN + SPY.format(mark=str(mark)))
    return mark


def _tell(folder, **changes):
    about = json.loads((folder / ABOUT).read_text()) | changes
    (folder / ABOUT).write_text(json.dumps({k: v for k, v in about.items() if v is not None}))


def test_code_is_named_before_it_runs_and_compared(here, mark):
    own, not_that = here / "out/own-0", "code of 'own_methods:Cosine' is not that which"
    said = r"somebody's own(.|\n)*--method own_methods:Cosine"
    with pytest.raises(errors.BackboneError, match=said):
        load_trained(own)
    words = ["answer", "out/own-0", "--dataset", "digits", "-o", "r.parquet"]
    assert "a method of somebody's own" in called(2, *words).output
    assert not mark.exists()
    for changes in ({}, {"code": None}):
        _tell(own, **changes)
        with pytest.raises(errors.BackboneError, match=not_that):
            load_trained(own, COSINE)
    with pytest.raises(errors.BackboneError, match="not by 'own_methods:NoScores'"):
        load_trained(own, "own_methods:NoScores")
    with pytest.raises(errors.BackboneError, match="it is one of fslbench"):
        load_trained(here / "out/whole-0", COSINE)


def test_only_the_network_is_asked_for_and_no_code_runs(here, mark):
    backbone = load_backbone(f"trained:{here / 'out/own-0'}")
    assert backbone.describe()["weights"]["method"] == "Cosine-conv4-5w1s"
    _train_here(write_run(here / "leo.toml", method="LEO", start="own"))
    network, settings, _ = load_network(here / "out/own-0")
    leo = load_trained(here / "out/leo-0").method.network.state_dict()
    assert settings.method == COSINE
    assert all(torch.equal(leo[name], values) for name, values in network.state_dict().items())
    assert not mark.exists()


def test_a_class_of_another_module_than_is_named(here):
    (here / "inside").mkdir()
    (here / "inside/__init__.py").write_text("from inside.methods import Cosine\n")
    (here / "inside/methods.py").write_text(OWN)
    _train_here(write_run(here / "packed.toml", method="inside:Cosine"))
    assert load_trained(here / "out/packed-0", "inside:Cosine").name == "Cosine-conv4-5w1s"


VALUES = [
    None, True, -1, 0, 2**64, 1e999, 0.5, "", "x", "\0", "../../x", "9" * 5000, [], [[[]]], {},
    {"a": {"b": 1}}, [1] * 5000,
]  # fmt: skip
CYCLE = cycle(VALUES)
WHOLE = ("method", "optimizer")
"""Parts of a checkpoint whose own parts are torch's."""


def _forgeries(content, count):
    """Put so many values in the place of each part in turn, and leave it out."""
    yield from islice(CYCLE, count)
    for name, part in content.items() if isinstance(content, dict) else ():
        yield {other: content[other] for other in content if other != name}
        for forged in _forgeries(None if name in WHOLE else part, count):
            yield {**content, name: forged}


def _every_use(folder):
    """Whatever reads a folder ends well, or in an error of ours."""
    settings = read_settings(folder.parent.parent / f"{folder.name.removesuffix('-0')}.toml")
    images = kept_images.TrainingImages(np.zeros((60, 1, 8, 8), np.uint8), np.full(10, 6), "x")
    uses = [
        lambda: load_trained(folder),
        lambda: load_network(folder),
        lambda: several.plan([Path("whole.toml"), Path("stopped.toml")], [], folder.parent),
        lambda: running.train(settings, images, images, folder),
    ]
    for use in uses:
        with suppress(errors.FSLBenchError):
            use()


@pytest.mark.slow
def test_every_field_of_a_finished_training(here):
    folder = here / "out/whole-0"
    about = json.loads((folder / ABOUT).read_text())
    for forged in _forgeries(about, 3):
        (folder / ABOUT).write_text(json.dumps(forged))
        _every_use(folder)


class Runs:
    def __reduce__(self):
        return os.mkdir, ("it-ran",)


NAMES = ("out/whole-0/trained.json", "out/whole-0/weights.pt", "out/stopped-0/checkpoint.pt")
OTHERS = {
    "a FIFO": lambda p: os.mkfifo(p),
    "a link to a FIFO": lambda p: (os.mkfifo(p.with_name("pipe")), p.symlink_to("pipe")),
    "a device": lambda p: p.symlink_to("/dev/zero"),
    "a folder": lambda p: p.mkdir(),
    "code": lambda p: p.write_bytes(pickle.dumps(Runs())),
    "torch's code": lambda p: torch.save({"a": Runs()}, p),
    "noise": lambda p: p.write_bytes(bytes(range(256)) * 9),
}
TEXTS = {
    "nothing": b"",
    "cut short": b'{"settings": {',
    "of another kind": b"[1, 2",
    "nested": b"[" * 100_000,
    "not UTF-8": b'{"settings": "\xff"}',
    "long numbers": b'{"settings": ' + b"9" * 10_000 + b"}",
    "large": b" " * (2**24 + 1),
}


@pytest.mark.parametrize(
    ("name", "put"),
    [
        *((name, put) for name in NAMES for put in OTHERS.values()),
        *((NAMES[0], text) for text in TEXTS.values()),
    ],
    ids=[*(f"{name} {kind}" for name in NAMES for kind in OTHERS), *TEXTS],
)
def test_files_that_are_none(name, put, here):
    (here / name).unlink()
    put(here / name) if callable(put) else (here / name).write_bytes(put)
    use = load_trained if "whole" in name else lambda _: _train_here("stopped.toml")
    said = r"trained\.json cannot be read" if isinstance(put, bytes) else None
    with pytest.raises(errors.FSLBenchError, match=said):
        use(here / "out/whole-0")
    _every_use((here / name).parent)
    assert not (here / "it-ran").exists()


STATES = {
    "a list": lambda state: list(state.values()),
    "no tensors": lambda state: dict.fromkeys(state, 1.0),
    "texts": lambda state: {**state, "network.blocks.0.bias": "x"},
    "numbers for names": lambda state: dict(enumerate(state.values())),
    "fewer": lambda state: dict(list(state.items())[1:]),
    "more": lambda state: {**state, "more": torch.zeros(3)},
    "other shapes": lambda state: {n: t.reshape(-1) for n, t in state.items()},
    "other types": lambda state: {n: torch.zeros(t.shape, dtype=torch.complex64)
                                  for n, t in state.items()},
    "sparse": lambda state: {n: t.to_sparse() for n, t in state.items()},
    "empty": lambda state: {},
}  # fmt: skip


@pytest.mark.parametrize("change", STATES.values(), ids=STATES)
def test_weights_of_something_else(change, here):
    folder = here / "out/whole-0"
    changed = change(torch.load(folder / WEIGHTS, weights_only=True))
    torch.save(changed, folder / WEIGHTS)
    with suppress(Exception):  # of some there is no digest
        _tell(folder, weights_sha256=state_sha256(changed))
    with pytest.raises(errors.BackboneError):
        load_trained(folder)
    with suppress(errors.BackboneError):
        load_network(folder)  # to which other weights do not matter


@pytest.mark.slow
def test_every_part_of_a_checkpoint(here):
    folder = here / "out/stopped-0"
    kept = torch.load(folder / CHECKPOINT, weights_only=True)
    about, settings = json.loads(kept["about"]), read_settings(here / "stopped.toml")
    changes = list(_forgeries(kept, len(VALUES) - 1))
    changes += [{**kept, "about": json.dumps({**about, name: 3})} for name in about]
    for changed in changes:
        torch.save(changed, folder / CHECKPOINT)
        method = build_method(settings, 10)
        optimizer = running._optimizer(method, settings.training)
        with suppress(errors.SpecError):
            progress = resume(folder, about, method, optimizer)
            assert progress.step == 2
            assert bool(progress.best) == bool(progress.curve)


def test_a_link_in_a_folder_is_not_written_through(here):
    folder = here / "out/stopped-0"
    for name in (CURVE, WEIGHTS):
        (folder / name).unlink(missing_ok=True)
        (here / f"victim-{name}").write_text("precious")
        (folder / name).symlink_to(here / f"victim-{name}")
    _train_here("stopped.toml")
    assert {p.read_text() for p in here.glob("victim-*")} == {"precious"}
    assert not (folder / WEIGHTS).is_symlink()
    (folder / "answers.journal").symlink_to(here / "nowhere")
    words = ["answer", "out/stopped-0", "--dataset", "digits", "--task-set", "open-5w10s7q"]
    assert "answers.journal is a link" in called(2, *words, "-o", "r.parquet").output
    assert not (here / "nowhere").exists()


def test_kept_images_that_are_forged(here):
    (path,) = (here / "out/.images").iterdir()
    whole = path.read_bytes()
    with np.load(path) as arrays:
        kept = dict(arrays)
    wrong = (np.array(3), np.array(["x"]), np.zeros((2, 3)), np.array([-1, 2**62]))
    forged = [{**kept, name: value} for name in kept for value in wrong]
    for content in (*forged, *({n: kept[n] for n in kept if n != name} for name in kept)):
        np.savez(path, **content)
        with suppress(errors.FSLBenchError):
            kept_images.load_images(path)
    for at in range(0, len(whole), len(whole) // 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        with suppress(errors.FSLBenchError):
            kept_images.load_images(path)


def test_what_a_method_raises_is_an_error_of_ours(here):
    """Such as of images too small for the network, which only the first step tells."""
    path = write_run(here / "x.toml")
    path.write_text(path.read_text().replace("side = 8", 'side = 1\nfit = "squeeze"'))
    said = r"ProtoNet raised RuntimeError(.|\n)*step 1, "
    with pytest.raises(errors.MethodFailedError, match=said):
        _train_here(path)


def test_a_seed_of_the_command_is_bounded_too(here):
    words = ["train", "whole.toml", "-o", "out", "--seed"]
    called(2, *words, 2**64)
    called(0, *words, 2**64 - 1)
