"""A training that is killed and called again, to the end: results that beat its untrained self."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from small_runs import OWN, command, environment, write_run

import fslbench_data as fb

torch = pytest.importorskip("torch", reason="needs torch, of the extra `builders`")
pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra `builders`")

from builders.sources.read import read_source  # noqa: E402
from builders.training.building import build_method  # noqa: E402
from builders.training.folder import ABOUT, CHECKPOINT  # noqa: E402
from builders.training.images import levels_in  # noqa: E402
from builders.training.trained import Trained, answer, load_trained  # noqa: E402

pytestmark = pytest.mark.slow
SETS = ("open-5w1s1q", "open-5w5s5q")


def _call(root: Path, folder: Path, *words: object) -> str:
    done = subprocess.run(
        command(*words), capture_output=True, text=True, cwd=folder, env=environment(root)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _kill_after_checkpoint(root: Path, folder: Path, trained: Path, *words: object) -> None:
    """Kill a command with SIGKILL as soon as there is something to go on from."""
    with subprocess.Popen(
        command(*words), cwd=folder, env=environment(root), stderr=subprocess.DEVNULL
    ) as process:
        while not (trained / CHECKPOINT).exists():
            assert process.poll() is None, "it ended before it had a checkpoint"
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (trained / ABOUT).exists()


def test_killed_gone_on_with_and_better_than_untrained(root: Path, tmp_path: Path) -> None:
    """The classes of these tasks are those that it was trained on: the way is tried, no claim."""
    write_run(tmp_path / "proto.toml", channels=16, steps=400, tasks=20, every=40)
    words = ("train", "proto.toml", "-o")
    _kill_after_checkpoint(root, tmp_path, tmp_path / "killed/proto-0", *words, "killed")
    gone_on = _call(root, tmp_path, *words, "killed")
    assert gone_on == _call(root, tmp_path, *words, "whole")
    digest = gone_on.split()[1]
    for name in ("killed", "whole"):
        about = json.loads((tmp_path / name / "proto-0" / ABOUT).read_text())
        assert about["weights_sha256"] == digest
    curves = [(tmp_path / n / "proto-0/curve.csv").read_text() for n in ("killed", "whole")]
    assert curves[0] == curves[1]
    assert len(curves[0].splitlines()) == 11

    chosen = [word for name in SETS for word in ("--task-set", name)]
    _call(root, tmp_path, "answer", "killed/proto-0", "--dataset", "digits", *chosen,
          "-o", "trained.parquet")  # fmt: skip
    trained = load_trained(tmp_path / "killed/proto-0")
    new = Trained(build_method(trained.settings, 10).eval(), trained.settings, trained.about)
    digits = read_source("digits", None)
    untrained = answer(
        new, fb.load_release(), lambda _: levels_in(digits, new.settings.data), name="new",
        datasets=["digits"], task_sets=SETS,
    )  # fmt: skip
    untrained.write(tmp_path / "new.parquet")
    results = [fb.Submission.read(tmp_path / f"{n}.parquet") for n in ("trained", "new")]
    report = fb.score(results, references=False)
    assert sorted(pair.task_set for pair in report.comparisons) == sorted(SETS)
    for pair in report.comparisons:
        assert (pair.method, pair.versus) == (trained.name, "new")
        assert str(pair.verdict) == "+", pair
        assert pair.difference.low is not None
        assert pair.difference.low > 0


def test_several_on_ray_are_those_of_this_machine(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs the extra `ray`")
    (tmp_path / "own_methods.py").write_text(OWN)
    write_run(tmp_path / "own.toml", method="own_methods:Cosine")
    write_run(tmp_path / "proto.toml")
    words = ("train", "own.toml", "proto.toml", "--seed", 1)
    here = _call(root, tmp_path, *words, "-o", "here")
    assert len(here.splitlines()) == 2
    assert here == _call(root, tmp_path, *words, "--engine", "ray", "-o", "there")
